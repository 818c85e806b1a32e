"""Bodies of messages that clients of gRPC get."""

import pytest

from broker_core.engine.grpc.outgoing import outgoing
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.message.body import compress_body
from broker_core.protocol.message.model import HostAddress, StoredMessage
from broker_core.protocol.message.sys_flag import Compression, with_compression

HOST = HostAddress(bytes((127, 0, 0, 1)), 10911)


def sent(body: bytes, compression: Compression) -> pb.Message:
    """What a client gets for a stored body."""
    stored = StoredMessage(
        store_size=100, magic_code=0, body_crc=0, topic="T", queue_id=0, flag=0, queue_offset=0, physical_offset=0,
        sys_flag=with_compression(0, compression), born_timestamp_ms=1, born_host=HOST, store_timestamp_ms=1, store_host=HOST,
        reconsume_times=0, prepared_transaction_offset=0, body=body, properties={}, properties_bytes=b"",
    )  # fmt: skip
    return outgoing(stored, "T", now_ms=1)


@pytest.mark.parametrize("compression", list(Compression))
@pytest.mark.parametrize("body", [b"", b"x" * 5_000], ids=["nothing", "5,000 bytes"])
def test_a_compressed_body_is_unpacked(body, compression):
    message = sent(compress_body(body, compression), compression)
    assert (message.body, message.system_properties.body_encoding) == (body, pb.IDENTITY)


@pytest.mark.parametrize("packed", [b"no zlib", compress_body(bytes((32 << 20) + 1))], ids=["damaged", "above 32 MiB"])
def test_a_body_that_the_client_must_unpack_is_as_stored(packed):
    message = sent(packed, Compression.ZLIB)
    assert (message.body, message.system_properties.body_encoding) == (packed, pb.GZIP)
