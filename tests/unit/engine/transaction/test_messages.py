"""The records of a transaction, made from one another."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.transaction import messages as m
from broker_core.errors import RecordError
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import decode_properties
from broker_core.protocol.message.record import decode_record, encode_record

HOST = HostAddress.parse("127.0.0.1:10911")


def half(properties=b"REAL_TOPIC\x01T\x02REAL_QID\x012\x02PGROUP\x01PG", *, sys_flag=0, offset=9):
    message = MessageToStore("RMQ_SYS_TRANS_HALF_TOPIC", 0, 77, sys_flag, 5, HOST, HOST, 3, 0, b"body", properties)
    return encode_record(message, queue_offset=offset, physical_offset=4_096, store_timestamp_ms=6)


@pytest.mark.parametrize(
    ("body", "offsets"),
    [
        (b"5", [5]),
        (b"5,7,", [5, 7]),
        (b"12,15,16,", [12, 15, 16]),
        (b"", []),
        (b",,", []),
        (b"5,x,-1,7", [5, 7]),
        (b"\xff", []),
    ],
)
def test_both_forms_of_an_op_body_are_understood(body, offsets):
    assert m.parse_op_body(body) == offsets


@given(st.lists(st.integers(0, 1 << 40)), st.integers(1, 60))
def test_op_bodies_are_read_back_and_bounded(offsets, bytes_max):
    bodies = m.op_bodies(offsets, bytes_max=bytes_max)
    assert [offset for body in bodies for offset in m.parse_op_body(body)] == offsets
    assert all(len(body) <= bytes_max or body.count(b",") == 1 for body in bodies)


@given(st.binary(max_size=200))
def test_any_op_body_is_read(body):
    assert all(offset >= 0 for offset in m.parse_op_body(body))


def test_an_op_record_with_a_foreign_tag_decides_nothing():
    message = m.op_message(b"5", HOST, 1)
    record = memoryview(encode_record(message, queue_offset=3, physical_offset=0, store_timestamp_ms=1))
    assert m.read_op(record) == (3, [5])
    message.properties = b"TAGS\x01x"
    record = memoryview(encode_record(message, queue_offset=3, physical_offset=0, store_timestamp_ms=1))
    assert m.read_op(record) == (3, [])


def test_a_real_message_keeps_everything_but_place_and_type():
    real = m.to_real(decode_record(half(sys_flag=0x105)))
    assert (real.topic, real.queue_id, real.flag, real.sys_flag, real.reconsume_times) == ("T", 2, 77, 0x109, 3)
    assert (real.prepared_transaction_offset, real.body, real.born_timestamp_ms) == (4_096, b"body", 5)


@pytest.mark.parametrize("properties", [b"", b"REAL_TOPIC\x01T", b"REAL_QID\x012", b"REAL_TOPIC\x01T\x02REAL_QID\x01-2"])
def test_a_half_message_without_a_real_place_cannot_be_committed(properties):
    with pytest.raises(RecordError, match="REAL_TOPIC"):
        m.to_real(decode_record(half(properties)))


def test_a_copy_names_count_and_origin_and_loses_nothing():
    stored = decode_record(half(b"TRANSACTION_CHECK_TIMES\x011\x02A\x01b\x02TRAN_PREPARED_QUEUE_OFFSET\x014\x02"))
    copy = m.to_copy(stored, check_times=2, origin=4)
    assert decode_properties(copy.properties) == {
        "A": "b", "TRANSACTION_CHECK_TIMES": "2", "TRAN_PREPARED_QUEUE_OFFSET": "4",
    }  # fmt: skip
    assert (copy.flag, copy.reconsume_times, copy.queue_id) == (77, 3, 0)
    assert "TRAN_PREPARED_QUEUE_OFFSET" not in decode_properties(m.to_copy(stored, check_times=0, origin=-1).properties)


def test_a_resumed_message_names_its_first_half_where_there_is_room():
    """A check has the longer count, so the room is asked for again."""
    stored = decode_record(half(b"TRANSACTION_CHECK_TIMES\x0115\x02TRAN_PREPARED_QUEUE_OFFSET\x014\x02"))
    resumed = m.to_resumed(stored)
    assert decode_properties(resumed.properties) == {"TRANSACTION_CHECK_TIMES": "0", "ORBIT_RESUMED_OFFSET": "4"}
    again = m.to_resumed(decode_record(half(resumed.properties, offset=12)))
    assert decode_properties(again.properties)["ORBIT_RESUMED_OFFSET"] == "4"
    for filler in range(32_767 - 60, 32_767 - 3):
        properties = b"A\x01" + b"x" * filler
        copy = m.to_copy(decode_record(half(m.to_resumed(decode_record(half(properties))).properties)), check_times=1, origin=9)
        assert len(copy.properties) <= 32_767 or "ORBIT_RESUMED_OFFSET" not in decode_properties(copy.properties)


@pytest.mark.parametrize(
    ("properties", "immunity", "origin", "times"),
    [
        (b"", -1, 9, 0),
        (
            b"CHECK_IMMUNITY_TIME_IN_SECONDS\x0160\x02TRAN_PREPARED_QUEUE_OFFSET\x014\x02TRANSACTION_CHECK_TIMES\x013",
            60_000,
            4,
            3,
        ),
        (b"CHECK_IMMUNITY_TIME_IN_SECONDS\x01-1\x02TRAN_PREPARED_QUEUE_OFFSET\x01-1\x02TRANSACTION_CHECK_TIMES\x01x", 7, 9, 0),
        (b"CHECK_IMMUNITY_TIME_IN_SECONDS\x0199999999999999999999\x02TRAN_PREPARED_QUEUE_OFFSET\x0199", 7, 9, 0),
    ],
)
def test_what_a_half_message_says_of_itself(properties, immunity, origin, times):
    found = m.read_half(memoryview(half(properties)), timeout_ms=7)
    assert (found.immunity_ms, found.origin, found.check_times, found.half_offset) == (immunity, origin, times, 9)


@given(
    st.dictionaries(st.sampled_from(["A", "AB", "B", "KEYS"]), st.text("xyz", min_size=1), max_size=4),
    st.text("pq", min_size=1),
)
def test_setting_a_property_changes_no_other(properties, value):
    encoded = "\x02".join(f"{name}\x01{text}" for name, text in properties.items()).encode()
    assert decode_properties(m.with_property(encoded, "A", value)) == properties | {"A": value}
    without = {name: text for name, text in properties.items() if name != "A"}
    assert decode_properties(m.with_property(encoded, "A", None)) == without
