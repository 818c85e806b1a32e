import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.nameserver.registration import DataVersion, Registration
from broker_core.errors import CodecError
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.protocol.json_body import emit

VERSION = DataVersion(1_700_000_000_000, 3)
TOPICS = {"T": TopicConfig("T", 4, 2, 6), "O": TopicConfig("O", 1, 1, 4, order=True)}


def compressed(version=VERSION, lines=("T 4 2 6 SINGLE_TAG",), servers=b"[]"):
    def field(data):
        return struct.pack(">i", len(data)) + data

    body = field(emit(version.to_json())) + struct.pack(">i", len(lines))
    return zlib.compress(body + b"".join(field(line.encode()) for line in lines) + field(servers))


def test_the_plain_body_reads_as_it_was_written():
    registration = Registration(VERSION, TOPICS, ("f:1",))
    assert Registration.from_bytes(registration.to_bytes()) == registration


def test_the_plain_body_has_the_names_of_rocketmq():
    body = Registration(VERSION, {"T": TOPICS["T"]}).to_bytes()
    assert body == (
        b'{"filterServerList":[],"topicConfigSerializeWrapper":{"dataVersion":{"counter":3,"timestamp":1700000000000},'
        b'"topicConfigTable":{"T":{"order":false,"perm":6,"readQueueNums":4,"topicFilterType":"SINGLE_TAG","topicName":"T",'
        b'"topicSysFlag":0,"writeQueueNums":2}}}}'
    )


def test_the_compressed_body_reads_with_and_without_attributes():
    body = compressed(lines=("T 4 2 6 SINGLE_TAG", 'U 1 1 6 SINGLE_TAG {"a":"b c"}'), servers=b'["f:1"]')
    registration = Registration.from_bytes(body, compressed=True)
    assert registration.version == VERSION
    assert registration.topics == {"T": TopicConfig("T", 4, 2, 6), "U": TopicConfig("U", 1, 1, 6)}
    assert registration.filter_servers == ("f:1",)


@pytest.mark.parametrize(
    "body",
    [
        b"no zlib",
        compressed(lines=("T 4 2",)),
        compressed(lines=("T four 2 6 SINGLE_TAG",)),
        zlib.compress(struct.pack(">i", 1000) + b"short"),
        zlib.compress(struct.pack(">i", -1)),
        zlib.compress(b"\x00"),
    ],
)
def test_a_broken_compressed_body_is_refused(body):
    with pytest.raises(CodecError):
        Registration.from_bytes(body, compressed=True)


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"topicConfigSerializeWrapper":{"dataVersion":{"counter":"x"}}}'])
def test_a_broken_plain_body_is_refused(body):
    with pytest.raises(CodecError):
        Registration.from_bytes(body)


PLAIN = Registration(VERSION, TOPICS, ("f:1",)).to_bytes()
TEXT = zlib.decompress(compressed(lines=("T 4 2 6 SINGLE_TAG", "O 1 1 4 SINGLE_TAG"), servers=b'["f:1"]'))


def read_or_refused(body, *, is_compressed=False):
    """Every other exception fails the test; what is taken for a registration is one, that can be passed on."""
    try:
        registration = Registration.from_bytes(body, compressed=is_compressed)
    except CodecError:
        return
    assert Registration.from_bytes(registration.to_bytes()) == registration


@given(st.binary(max_size=200))
def test_any_bytes_read_or_are_refused(data):
    read_or_refused(data)
    read_or_refused(data, is_compressed=True)
    read_or_refused(zlib.compress(data), is_compressed=True)


@given(st.integers(0), st.integers(1, 255))
def test_any_damage_reads_or_is_refused(place, change):
    for whole, is_compressed in ((PLAIN, False), (TEXT, True)):
        damaged = bytearray(whole)
        damaged[place % len(whole)] ^= change
        read_or_refused(zlib.compress(damaged) if is_compressed else bytes(damaged), is_compressed=is_compressed)
