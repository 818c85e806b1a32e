"""From the record that waits to the message that is delivered."""

import pytest

from broker_core.engine.schedule.delayed_message import delayed_again, delivered, real_place
from broker_core.errors import RecordError
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import decode_record, encode_record

BORN = HostAddress.parse("10.0.0.7:4711")
STORE = HostAddress.parse("[::1]:10911")


def waiting(**properties):
    values = {"TAGS": "a", "DELAY": "3", "REAL_TOPIC": "Orders", "REAL_QID": "2"} | properties
    encoded = encode_properties({name: value for name, value in values.items() if value})
    message = MessageToStore("SCHEDULE_TOPIC_XXXX", 2, 7, 0x8, 99, BORN, STORE, 4, 55, b"body", encoded)
    return encode_record(message, queue_offset=6, physical_offset=700, store_timestamp_ms=1_000)


def test_all_but_place_and_prepared_offset_is_copied():
    record = waiting(DELAY="18", KEYS="k")
    copy = delivered(memoryview(record))
    assert (copy.topic, copy.queue_id, copy.body, copy.flag) == ("Orders", 2, b"body", 7)
    assert (copy.sys_flag & 0xC, copy.born_timestamp_ms, copy.reconsume_times) == (0x8, 99, 4)
    assert (copy.born_host, copy.store_host, copy.prepared_transaction_offset) == (BORN, STORE, 0)
    assert copy.properties == decode_record(record).properties_bytes


def test_a_message_that_waits_anew_keeps_its_place():
    again = delayed_again(decode_record(waiting()), 5)
    assert (again.topic, again.queue_id) == ("SCHEDULE_TOPIC_XXXX", 4)
    stored = decode_record(encode_record(again, queue_offset=0, physical_offset=0, store_timestamp_ms=1))
    assert (stored.properties["DELAY"], real_place(stored.properties_bytes, 0)) == ("5", ("Orders", 2))


@pytest.mark.parametrize(
    "wrong", [{"REAL_TOPIC": ""}, {"REAL_QID": ""}, {"REAL_QID": "-1"}, {"REAL_TOPIC": "RMQ_SYS_TRANS_HALF_TOPIC"}]
)
def test_a_message_without_a_place_is_named_with_its_position(wrong):
    with pytest.raises(RecordError, match="at 700"):
        delivered(memoryview(waiting(**wrong)))
