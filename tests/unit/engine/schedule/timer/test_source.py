"""Many messages at once are read as each of them alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.schedule.timer.messages import facts_of, properties_of, timer_facts
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import find_property_bytes, property_marker
from broker_core.protocol.message.record import encode_record
from broker_core.protocol.message.tags import java_string_hash

V4, V6 = HostAddress.parse("127.0.0.1:10911"), HostAddress.parse("[::1]:10911")
ORDINARY = b"UNIQ_KEY\x01A1\x02TIMER_OUT_MS\x011718000000000\x02REAL_TOPIC\x01Later\x02REAL_QID\x010"
ODD = [
    b"REAL_TOPIC\x01Later\x02TIMER_OUT_MS\x011718000000000",
    b"TIMER_OUT_MS\x011718000000000\x02REAL_TOPIC\x01Later\x02TIMER_DEL_UNIQKEY\x01Later+A1",
    b"XTIMER_OUT_MS\x011718000000000\x02REAL_TOPIC\x01Later",
    b"MY_TIMER_OUT_MS\x011\x02TIMER_OUT_MS\x011718000000000\x02REAL_TOPIC\x01Later\x02",
    b"TIMER_OUT_MS\x01\x02REAL_TOPIC\x01Later",
    b"TIMER_OUT_MS\x0117180000000\x02REAL_TOPIC\x01Later",
    b"TIMER_OUT_MS\x0117180000000000\x02REAL_TOPIC\x01Later",
    b"TIMER_OUT_MS\x01171800000000x\x02REAL_TOPIC\x01Later",
    b"TIMER_OUT_MS\x019999999999999999999\x02REAL_TOPIC\x01Later",
    b"TIMER_OUT_MS\x011718000000000\x02REAL_TOPIC\x01",
    b"TIMER_OUT_MS\x011718000000000\x02REAL_TOPIC\x01\x02REAL_TOPIC\x01Later",
    b"TIMER_OUT_MS\x011718000000000\x02TIMER_OUT_MS\x011718000001000\x02REAL_TOPIC\x01Later",
    b"TIMER_OUT_MS\x011718000000000\x02TIMER_DEL_UNIQKEY\x01\x02REAL_TOPIC\x01Later",
    b"REAL_TOPIC\x01Later",
    b"TIMER_OUT_MS\x011718000000000",
    b"",
]


class Log:
    """Records one behind the other, with a gap now and then, in a store whose log is one file or many."""

    def __init__(self, messages, gaps=(), *, is_one_file=True):
        self.log, self.units = bytearray(), []
        self.single, self.is_one_file = 0, is_one_file
        for number, message in enumerate(messages):
            self.log += bytes(dict(gaps).get(number, 0))
            record = encode_record(message, queue_offset=number, physical_offset=len(self.log), store_timestamp_ms=1)
            self.units.append((len(self.log), len(record)))
            self.log += record

    def bytes_at(self, physical_offset, size):
        return memoryview(self.log)[physical_offset : physical_offset + size] if self.is_one_file else None

    def record_at(self, physical_offset):
        self.single += 1
        size = int.from_bytes(self.log[physical_offset : physical_offset + 4])
        return memoryview(self.log)[physical_offset : physical_offset + size]

    def one_by_one(self):
        return [facts_by_name(properties_of(memoryview(self.log)[at : at + size])) for at, size in self.units]


def facts_by_name(properties):
    markers = (property_marker(name) for name in ("TIMER_OUT_MS", "REAL_TOPIC", "TIMER_DEL_UNIQKEY"))
    out, topic, cancels = (find_property_bytes(properties, marker) for marker in markers)
    if out is None or topic is None or not out.isdigit() or len(out) > 18:
        return None
    return int(out), java_string_hash(topic.decode()), cancels is not None


def message(properties, *, body=b"body", host=V4, topic="rmq_sys_wheel_timer"):
    return MessageToStore(topic, 0, 0, 0, 1, host, host, 0, 0, body, properties)


def taken_rows(log):
    records = StoreSource(log, len(log.log)).records(log.units)
    return [None if record is None else timer_facts(record) for record in records]


bodies = st.binary(max_size=300) | st.sampled_from([ORDINARY, b"\x02TIMER_DEL_UNIQKEY\x01x", b"\x01" * 50])
messages = st.builds(
    message,
    st.sampled_from([ORDINARY, *ODD]),
    body=bodies,
    host=st.sampled_from([V4, V6]),
    topic=st.sampled_from(["T", "t" * 90]),
)


@given(
    st.lists(messages, min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 39), st.integers(1, 400)), max_size=3),
    st.booleans(),
)
def test_a_piece_is_read_as_its_messages_are(found, gaps, is_one_file):
    log = Log(found, gaps, is_one_file=is_one_file)
    assert taken_rows(log) == log.one_by_one()


@pytest.mark.parametrize("properties", ODD)
def test_the_odd_among_the_ordinary_is_read_as_it_is(properties):
    log = Log([message(ORDINARY)] * 9 + [message(properties)] + [message(ORDINARY)] * 9)
    assert taken_rows(log) == log.one_by_one()


def test_messages_of_any_size_and_many_topics_are_looked_up_at_once():
    many = [message(ORDINARY.replace(b"Later", b"Topic%d" % (n % 20)), body=b"b" * (n * 7 % 100)) for n in range(500)]
    log = Log(many)
    rows = taken_rows(log)
    assert log.single == 0
    assert rows == [(1_718_000_000_000, java_string_hash(f"Topic{n % 20}"), False) for n in range(500)]


def test_messages_in_two_files_are_looked_up_one_by_one():
    log = Log([message(ORDINARY)] * 20, is_one_file=False)
    assert len(taken_rows(log)) == log.single == 20


@pytest.mark.parametrize("size", [1, 84, 85, 87, 88, 90])
@pytest.mark.parametrize("row", [0, 9])
def test_a_unit_too_small_for_a_record_spoils_no_other(size, row):
    log = Log([message(ORDINARY)] * 10)
    expected = log.one_by_one()
    expected[row] = None
    log.units[row] = log.units[row][0], size
    assert taken_rows(log) == expected


@pytest.mark.parametrize("row", [0, 5])
def test_a_unit_that_does_not_ascend_spoils_no_other(row):
    log = Log([message(ORDINARY)] * 9)
    expected = log.one_by_one()
    for other in (-1, 1 << 40):
        log.units[row] = other, 100
        expected[row] = None
        assert taken_rows(log) == expected


def test_a_time_beyond_64_bits_is_no_timer():
    assert facts_of(ODD[8]) is None
