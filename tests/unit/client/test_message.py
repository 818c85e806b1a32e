import pytest

from broker_core.client.message import Message, ReceivedMessage, message_properties
from broker_core.errors import CodecError, UsageError
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.body import compress_body
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import decode_properties, encode_properties
from broker_core.protocol.message.record import decode_record, encode_record

HOST = HostAddress(b"\x7f\x00\x00\x01", 10911)
QUEUE = MessageQueue("%RETRY%g", "b", 0)


def received(body=b"x", sys_flag=0, **properties):
    message = MessageToStore("%RETRY%g", 0, 0, sys_flag, 1, HOST, HOST, 0, 0, body, encode_properties(properties))
    record = encode_record(message, queue_offset=7, physical_offset=0, store_timestamp_ms=2)
    return ReceivedMessage(decode_record(record), QUEUE)


def test_properties_hold_id_tag_keys_and_the_users_own():
    message = Message("T", b"x", tags="PAID", keys=("k1", "k2"), properties={"sku": "耳机"})
    assert decode_properties(message_properties(message, "ID")) == {
        "UNIQ_KEY": "ID", "WAIT": "true", "TAGS": "PAID", "KEYS": "k1 k2", "sku": "耳机",
    }  # fmt: skip


def test_a_text_of_keys_is_not_taken_apart():
    assert decode_properties(message_properties(Message("T", b"x", keys="order-1"), "ID"))["KEYS"] == "order-1"


@pytest.mark.parametrize(
    "message",
    [
        Message("T", b"x", tags="a\x02b"),
        Message("T", b"x", keys=("a\x01",)),
        Message("T", b"x", properties={"": "v"}),
        Message("T", b"x", properties={"big": "v" * 33_000}),
        Message("no topic", b"x"),
    ],
)
def test_what_cannot_be_encoded_is_refused(message):
    with pytest.raises(UsageError):
        message_properties(message, "ID")


def test_a_message_that_came_back_has_its_first_topic():
    message = received(RETRY_TOPIC="orders", TAGS="PAID", KEYS="a b", UNIQ_KEY="ID")
    assert (message.topic, message.tags, message.keys, message.message_id) == ("orders", "PAID", ["a", "b"], "ID")
    assert (message.queue, message.queue_offset, message.attempts) == (QUEUE, 7, 0)


def test_a_message_without_properties_has_none():
    message = received()
    assert (message.topic, message.tags, message.keys, message.message_id) == ("%RETRY%g", None, [], "")


def test_bodies_are_decompressed_when_read():
    assert received(compress_body(b"hello" * 1000), 0x301).body == b"hello" * 1000
    with pytest.raises(CodecError):
        _ = received(b"not compressed", 0x301).body
