from __future__ import annotations

import contextlib
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import RecordError
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import (
    MAGIC_V1,
    MAGIC_V2,
    check_record,
    decode_record,
    encode_record,
    read_head,
    store_timestamp_ms,
)

BROKER = HostAddress.parse("192.168.1.10:10911")
PRODUCER = HostAddress.parse("192.168.1.20:54321")
BROKER_V6 = HostAddress.parse("[::1]:10911")
PRODUCER_V6 = HostAddress.parse("[fe80::2]:54321")

# Worked example of docs/spec/store.md §17.1 and §17.2.
MESSAGE_1 = bytes.fromhex(
    "000000c4" "daa320a7" "69c865ed" "00000001" "00000000" "0000000000000000" "0000000000000000" "00000000"
    "0000018bcfe56800" "c0a801140000d431" "0000018bcfe5687b" "c0a8010a00002a9f" "00000000" "0000000000000000"
    "0000000e" "48656c6c6f20526f636b65744d51" "09" "546f70696354657374" "0052"
    "4b455953014b3102554e49515f4b455901433041383031313431413242313842344141433234374237363030303030303002434c5553544552"
    "0144656661756c74436c757374657202544147530154616741"
)  # fmt: skip
MESSAGE_2 = bytes.fromhex(
    "000000c0daa320a74f7ad7d40000000100000000000000000000000100000000000000c4000000000000018bcfe57548c0a801140000d431"
    "0000018bcfe575acc0a8010a00002a9f0000000000000000000000000000000342796509546f7069635465737400594b455953014b3102554e"
    "49515f4b455901433041383031313431413242313842344141433234374237364434383030303102434c55535445520144656661756c74436c"
    "75737465720254414753017061792d73756363657373"
)


def message(body: bytes = b"Hello RocketMQ", **changes) -> MessageToStore:
    properties = {"KEYS": "K1", "UNIQ_KEY": "C0A801141A2B18B4AAC247B760000000", "CLUSTER": "DefaultCluster", "TAGS": "TagA"}
    values = {
        "topic": "TopicTest",
        "queue_id": 1,
        "flag": 0,
        "sys_flag": 0,
        "born_timestamp_ms": 1700000000000,
        "born_host": PRODUCER,
        "store_host": BROKER,
        "reconsume_times": 0,
        "prepared_transaction_offset": 0,
        "body": body,
        "properties": encode_properties(properties),
    }
    return MessageToStore(**(values | changes))


def encode(value: MessageToStore, **changes) -> bytes:
    place = {"queue_offset": 0, "physical_offset": 0, "store_timestamp_ms": 1700000000123} | changes
    return encode_record(value, **place)


def test_the_first_record_of_the_worked_example():
    assert encode(message()) == MESSAGE_1
    assert decode_record(MESSAGE_1).body == b"Hello RocketMQ"
    assert decode_record(MESSAGE_1).properties["TAGS"] == "TagA"


def test_the_second_record_of_the_worked_example():
    stored = decode_record(MESSAGE_2, check_crc=True)
    assert (stored.body, stored.queue_offset, stored.physical_offset) == (b"Bye", 1, 196)
    assert stored.properties["TAGS"] == "pay-success"
    assert str(stored.born_host) == "192.168.1.20:54321"
    assert store_timestamp_ms(MESSAGE_2) == 1700000003500


@pytest.mark.parametrize("born", [PRODUCER, PRODUCER_V6], ids=["born-v4", "born-v6"])
@pytest.mark.parametrize("store", [BROKER, BROKER_V6], ids=["store-v4", "store-v6"])
def test_all_host_families_round_trip(born, store):
    data = encode(message(born_host=born, store_host=store, sys_flag=0x31 | 0x8))
    stored = decode_record(data)
    assert (stored.born_host, stored.store_host) == (born, store)
    assert stored.sys_flag == 0x1 | 0x8 | (0x10 if born.is_v6 else 0) | (0x20 if store.is_v6 else 0)
    assert store_timestamp_ms(data) == stored.store_timestamp_ms == 1700000000123


@pytest.mark.parametrize(("length", "magic"), [(127, MAGIC_V1), (128, MAGIC_V2), (255, MAGIC_V2)])
def test_long_topics_are_version_2(length, magic):
    stored = decode_record(encode(message(topic="t" * length)))
    assert (stored.magic_code, stored.topic) == (magic, "t" * length)


@given(
    body=st.binary(max_size=300),
    flag=st.integers(-(2**31), 2**31 - 1),
    offset=st.integers(0, 2**62),
    properties=st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "值"])),
)
def test_records_round_trip(body, flag, offset, properties):
    value = message(body, flag=flag, properties=encode_properties(properties))
    stored = decode_record(encode(value, queue_offset=offset, physical_offset=offset), check_crc=True)
    assert (stored.body, stored.flag, stored.queue_offset, stored.physical_offset) == (body, flag, offset, offset)
    assert stored.properties == properties
    assert stored.body_crc == zlib.crc32(body) & 0x7FFFFFFF


@pytest.mark.parametrize("length", range(len(MESSAGE_1)))
def test_a_cut_off_record_is_an_error(length):
    with pytest.raises(RecordError):
        decode_record(MESSAGE_1[:length])


def test_a_changed_body_is_noticed_by_its_checksum():
    data = bytearray(MESSAGE_1)
    data[90] ^= 1
    assert decode_record(bytes(data)).body != b"Hello RocketMQ"
    with pytest.raises(RecordError, match="checksum"):
        decode_record(bytes(data), check_crc=True)


@pytest.mark.parametrize("position", [0, 3, 4, 7, 84, 87, 102, 112, 113])
def test_a_changed_length_or_magic_is_noticed(position):
    data = bytearray(MESSAGE_1)
    data[position] ^= 1
    with pytest.raises(RecordError):
        decode_record(bytes(data))


@given(st.binary(max_size=300))
def test_any_bytes_decode_or_raise_the_documented_error(noise):
    head = struct.pack(">ii", len(noise) + 8, MAGIC_V1)
    for data in (noise, head + noise, MESSAGE_1[:60] + noise):
        try:
            found = decode_record(data, check_crc=True)
        except RecordError:
            continue
        assert found.store_size == struct.unpack_from(">i", data)[0] <= len(data)
        assert zlib.crc32(found.body) & 0x7FFFFFFF == found.body_crc


@given(st.integers(0, len(MESSAGE_1) - 1), st.integers(0, 255))
def test_any_changed_byte_decodes_or_raises_the_documented_error(position, value):
    data = bytearray(MESSAGE_1)
    data[position] = value
    with contextlib.suppress(RecordError):
        assert decode_record(bytes(data)).store_size == len(MESSAGE_1)


def test_reading_stops_at_the_limit_even_if_bytes_follow():
    with pytest.raises(RecordError, match="195 are there"):
        check_record(MESSAGE_1, 0, len(MESSAGE_1) - 1, check_crc=False)


def test_the_head_says_where_and_how_large():
    head = read_head(MESSAGE_1 + MESSAGE_2, len(MESSAGE_1))
    assert (head.size, head.physical_offset, head.body_bytes) == (192, 196, 3)


@pytest.mark.parametrize("changes", [{"topic": ""}, {"topic": "t" * 32768}, {"properties": bytes(32768)}])
def test_what_a_record_cannot_hold_is_refused(changes):
    with pytest.raises(RecordError):
        encode(message(**changes))
