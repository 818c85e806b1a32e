"""Many messages at once are read as each of them alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.schedule.timer.intake import NOT_A_TIMER, take
from broker_core.engine.schedule.timer.messages import facts_of, properties_of
from broker_core.engine.schedule.timer.timer_store import QueueUnits
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.record import encode_record

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


class Source:
    """Records one behind the other, with a gap now and then."""

    log_min = 0

    def __init__(self, messages, gaps=()):
        self.log, units = bytearray(), []
        for number, message in enumerate(messages):
            self.log += bytes(dict(gaps).get(number, 0))
            record = encode_record(message, queue_offset=number, physical_offset=len(self.log), store_timestamp_ms=1)
            units.append((len(self.log), len(record)))
            self.log += record
        self.log_end = len(self.log)
        self.single = 0
        self.units = QueueUnits(*(np.array(column, np.int64) for column in zip(*units, strict=True)))

    def bytes_at(self, physical_offset, size):
        return memoryview(self.log)[physical_offset : physical_offset + size]

    def record(self, physical_offset, record_bytes):
        self.single += 1
        return self.bytes_at(physical_offset, record_bytes)

    def one_by_one(self):
        rows = zip(self.units.physical_offset.tolist(), self.units.record_bytes.tolist(), strict=True)
        return [facts_of(properties_of(self.bytes_at(*row))) for row in rows]


def message(properties, *, body=b"body", host=V4, topic="rmq_sys_wheel_timer"):
    return MessageToStore(topic, 0, 0, 0, 1, host, host, 0, 0, body, properties)


def taken_rows(source):
    taken = take(source, source.units)
    rows = zip(taken.out_ms.tolist(), taken.columns.topic_hash.tolist(), taken.columns.is_delete.tolist(), strict=True)
    return [None if row[0] == NOT_A_TIMER else row for row in rows]


bodies = st.binary(max_size=300) | st.sampled_from([ORDINARY, b"\x02TIMER_DEL_UNIQKEY\x01x", b"\x01" * 50])
messages = st.builds(
    message,
    st.sampled_from([ORDINARY, *ODD]),
    body=bodies,
    host=st.sampled_from([V4, V6]),
    topic=st.sampled_from(["T", "t" * 90]),
)


@given(st.lists(messages, min_size=1, max_size=40), st.lists(st.tuples(st.integers(0, 39), st.integers(1, 400)), max_size=3))
def test_a_piece_is_read_as_its_messages_are(found, gaps):
    source = Source(found, gaps)
    assert taken_rows(source) == source.one_by_one()


@pytest.mark.parametrize("properties", ODD)
def test_the_odd_among_the_ordinary_is_read_as_it_is(properties):
    source = Source([message(ORDINARY)] * 9 + [message(properties)] + [message(ORDINARY)] * 9)
    assert taken_rows(source) == source.one_by_one()


def test_ordinary_messages_of_any_size_and_many_topics_are_not_looked_at_one_by_one():
    many = [message(ORDINARY.replace(b"Later", b"Topic%d" % (n % 20)), body=b"b" * (n * 7 % 100)) for n in range(500)]
    source = Source(many)
    rows = taken_rows(source)
    assert source.single == 0
    assert rows == source.one_by_one()


def test_records_far_from_each_other_are_not_copied_in_one_piece():
    source = Source([message(ORDINARY)] * 20, [(10, 1_000_000)])
    assert len(taken_rows(source)) == source.single == 20


@pytest.mark.parametrize("size", [1, 84, 85, 87, 88, 90])
@pytest.mark.parametrize("row", [0, 9])
def test_a_unit_too_small_for_a_record_spoils_no_other(size, row, monkeypatch):
    source = Source([message(ORDINARY)] * 10)
    expected = source.one_by_one()
    expected[row] = None
    source.units.record_bytes[row] = size
    record = source.record
    monkeypatch.setattr(source, "record", lambda physical, length: None if length == size else record(physical, length))
    assert taken_rows(source) == expected


def test_a_time_beyond_64_bits_is_no_timer():
    assert facts_of(ODD[8]) is None
