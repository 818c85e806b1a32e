"""The commit log record: codec between bytes and values. Knows no files.

    TOTALSIZE i32 | MAGICCODE i32 | BODYCRC i32 | QUEUEID i32 | FLAG i32                       0  4  8 12 16
    QUEUEOFFSET i64 | PHYSICALOFFSET i64 | SYSFLAG i32 | BORNTIMESTAMP i64                     20 28 36 40
    BORNHOST 8 or 20 | STORETIMESTAMP i64 | STOREHOST 8 or 20                                  48 56 64
    RECONSUMETIMES i32 | PREPAREDTRANSACTIONOFFSET i64 | body length i32 | body                72 76 84 88
    topic length i8 (V1) or i16 (V2) | topic | properties length i16 | properties

The figures are positions for two IPv4 hosts; an IPv6 host adds 12. All numbers are big-endian and signed.

Source: docs/spec/store.md §2.1 to §2.5.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from zlib import crc32

from broker_core.errors import RecordError
from broker_core.protocol.message.model import HostAddress, MessageToStore, StoredMessage
from broker_core.protocol.message.properties import decode_properties
from broker_core.protocol.message.sys_flag import BORN_HOST_V6, HOST_V6_MASK, STORE_HOST_V6

Buffer = bytes | bytearray | memoryview

MAGIC_V1 = -626843481
MAGIC_V2 = -626843477
MAGIC_BLANK = -875286124

TOPIC_BYTES_MAX_V1 = 127
TOPIC_BYTES_MAX_V2 = 32767
CRC_MASK = 0x7FFFFFFF

SIZE = struct.Struct(">i")
FILLER = struct.Struct(">ii")
LENGTH_I16 = struct.Struct(">h")
SIZE_AND_MAGIC = struct.Struct(">ii")
_I64 = struct.Struct(">q")

FIXED_BYTES = 91
"""Bytes of a V1 record with two IPv4 hosts, without body, topic and properties."""
SMALLEST_RECORD = FIXED_BYTES
MAGIC_POSITION = 4
BODY_CRC_POSITION = 8
QUEUE_ID_POSITION = 12
FLAG_POSITION = 16
QUEUE_OFFSET_POSITION = 20
PHYSICAL_OFFSET_POSITION = 28
LINK_BYTES = PHYSICAL_OFFSET_POSITION + _I64.size
"""Bytes of a record up to and including its physical offset."""
SYS_FLAG_POSITION = 36
BORN_TIMESTAMP_POSITION = 40
BORN_HOST_POSITION = 48
STORE_TIMESTAMP_POSITION_V4 = 56
STORE_HOST_POSITION_V4 = 64
BODY_LENGTH_POSITION_V4 = 84
V6_EXTRA_BYTES = 12

_HEAD_FIELDS = "iiiqqiq{born}sq{store}siqi"


def _heads(prefix: str) -> tuple[struct.Struct, ...]:
    """One struct for each combination of host families, at ``(sys_flag & HOST_V6_MASK) >> 4``."""
    return tuple(
        struct.Struct(prefix + _HEAD_FIELDS.format(born=20 if v6 & 1 else 8, store=20 if v6 & 2 else 8)) for v6 in range(4)
    )


HEADS = _heads(">ii")
"""Whole head up to and including the body length."""
HEADS_AFTER_SIZE = _heads(">i")
"""The same without TOTALSIZE, which the commit log writes last."""
HEAD_BYTES = tuple(head.size for head in HEADS)
FIXED_BYTES_OF = tuple(size + 3 for size in HEAD_BYTES)
"""Record bytes without body, topic and properties (V1), by host families."""

assert HEAD_BYTES == (88, 100, 100, 112)
assert FIXED_BYTES_OF[0] == FIXED_BYTES


class RecordHead(NamedTuple):
    """Fields of a record before its body."""

    size: int
    magic_code: int
    body_crc: int
    queue_id: int
    flag: int
    queue_offset: int
    physical_offset: int
    sys_flag: int
    born_timestamp_ms: int
    born_host: bytes
    store_timestamp_ms: int
    store_host: bytes
    reconsume_times: int
    prepared_transaction_offset: int
    body_bytes: int


@dataclass(frozen=True, slots=True)
class TopicField:
    """A topic as records hold it. No named tuple, because reading its fields takes five times as long."""

    magic_code: int
    field: bytes


class RecordParts(NamedTuple):
    """A checked record: its head, and the position of its body in the buffer."""

    head: RecordHead
    body_position: int
    topic: bytes
    properties: bytes


def host_flags(message: MessageToStore) -> int:
    """SYSFLAG of the message with the host bits set by its addresses."""
    sys_flag = message.sys_flag & ~HOST_V6_MASK
    if len(message.born_host.ip) > 4:
        sys_flag |= BORN_HOST_V6
    if len(message.store_host.ip) > 4:
        sys_flag |= STORE_HOST_V6
    return sys_flag


@functools.lru_cache(maxsize=4096)
def topic_field(topic: bytes) -> TopicField:
    """Form of a topic in records, and its magic code; long ones need version 2. The queues of a topic share it.

    Raises `RecordError` when the topic is empty or has more than 32767 bytes.
    """
    if not 0 < len(topic) <= TOPIC_BYTES_MAX_V2:
        raise RecordError(f"a topic has 1 to {TOPIC_BYTES_MAX_V2} bytes, this one {len(topic)}")
    if len(topic) <= TOPIC_BYTES_MAX_V1:
        return TopicField(MAGIC_V1, bytes((len(topic),)) + topic)
    return TopicField(MAGIC_V2, LENGTH_I16.pack(len(topic)) + topic)


def encode_record(message: MessageToStore, *, queue_offset: int, physical_offset: int, store_timestamp_ms: int) -> bytes:
    """Bytes of one record; raises `RecordError` when topic or properties are too long for their length fields."""
    in_record = topic_field(message.topic.encode())
    magic, topic = in_record.magic_code, in_record.field
    sys_flag = host_flags(message)
    head = HEADS[(sys_flag & HOST_V6_MASK) >> 4]
    if len(message.properties) > TOPIC_BYTES_MAX_V2:
        raise RecordError(f"properties have {len(message.properties)} bytes; a record holds {TOPIC_BYTES_MAX_V2}")
    size = head.size + len(message.body) + len(topic) + LENGTH_I16.size + len(message.properties)
    packed = head.pack(
        size, magic, crc32(message.body) & CRC_MASK, message.queue_id, message.flag, queue_offset, physical_offset, sys_flag,
        message.born_timestamp_ms, message.born_host.packed, store_timestamp_ms, message.store_host.packed,
        message.reconsume_times, message.prepared_transaction_offset, len(message.body),
    )  # fmt: skip
    return b"".join((packed, message.body, topic, LENGTH_I16.pack(len(message.properties)), message.properties))


def read_head(buffer: Buffer, position: int) -> RecordHead:
    """Head of the record at ``position``, unchecked; raises `RecordError` when the buffer ends inside it."""
    try:
        (sys_flag,) = SIZE.unpack_from(buffer, position + SYS_FLAG_POSITION)
        return RecordHead._make(HEADS[(sys_flag & HOST_V6_MASK) >> 4].unpack_from(buffer, position))
    except struct.error as error:
        raise RecordError(f"the record at {position} is cut off in its head") from error


def check_record(buffer: Buffer, position: int, limit: int, *, check_crc: bool) -> RecordParts:
    """Record at ``position`` with all its lengths checked, and its body checksum if ``check_crc``.

    The record must end before ``limit``. Raises `RecordError` when it is not a record, is cut off, its parts do not add up, or
    the checksum differs.
    """
    if position + SMALLEST_RECORD > limit:
        raise RecordError(f"{limit - position} bytes at {position} are too few for a record")
    size, magic = SIZE_AND_MAGIC.unpack_from(buffer, position)
    if magic not in (MAGIC_V1, MAGIC_V2):
        raise RecordError(f"no record at {position}: magic code {magic & 0xFFFFFFFF:08x}")
    if size < SMALLEST_RECORD or position + size > limit:
        raise RecordError(f"the record at {position} says {size} bytes; {limit - position} are there")
    head = read_head(buffer, position)
    parts = _split_tail(buffer, position, head)
    if check_crc and head.body_bytes:
        found = crc32(memoryview(buffer)[parts.body_position : parts.body_position + head.body_bytes]) & CRC_MASK
        if found != head.body_crc:
            raise RecordError(f"the body of the record at {position} has checksum {found:08x}, not {head.body_crc:08x}")
    return parts


def _split_tail(buffer: Buffer, position: int, head: RecordHead) -> RecordParts:
    end = position + head.size
    body_position = position + HEAD_BYTES[(head.sys_flag & HOST_V6_MASK) >> 4]
    topic_position = body_position + head.body_bytes
    fault = RecordError(f"the parts of the record at {position} do not add up to its {head.size} bytes")
    if head.body_bytes < 0 or topic_position + 3 > end:
        raise fault
    if head.magic_code == MAGIC_V1:
        topic_bytes = buffer[topic_position]
        topic_position += 1
    else:
        (topic_bytes,) = LENGTH_I16.unpack_from(buffer, topic_position)
        topic_position += 2
    properties_position = topic_position + topic_bytes + 2
    if topic_bytes <= 0 or properties_position > end:
        raise fault
    (properties_bytes,) = LENGTH_I16.unpack_from(buffer, properties_position - 2)
    if properties_bytes < 0 or properties_position + properties_bytes != end:
        raise fault
    return RecordParts(
        head,
        body_position,
        bytes(buffer[topic_position : topic_position + topic_bytes]),
        bytes(buffer[properties_position:end]),
    )


def decode_record(buffer: Buffer, position: int = 0, *, check_crc: bool = False) -> StoredMessage:
    """The record at ``position`` as a value; any input decodes or raises `RecordError`, see `check_record`."""
    parts = check_record(buffer, position, len(buffer), check_crc=check_crc)
    head = parts.head
    return StoredMessage(
        store_size=head.size,
        magic_code=head.magic_code,
        body_crc=head.body_crc,
        topic=parts.topic.decode("utf-8", "replace"),
        queue_id=head.queue_id,
        flag=head.flag,
        queue_offset=head.queue_offset,
        physical_offset=head.physical_offset,
        sys_flag=head.sys_flag,
        born_timestamp_ms=head.born_timestamp_ms,
        born_host=HostAddress.from_packed(head.born_host),
        store_timestamp_ms=head.store_timestamp_ms,
        store_host=HostAddress.from_packed(head.store_host),
        reconsume_times=head.reconsume_times,
        prepared_transaction_offset=head.prepared_transaction_offset,
        body=bytes(buffer[parts.body_position : parts.body_position + head.body_bytes]),
        properties=decode_properties(parts.properties),
        properties_bytes=parts.properties,
    )


def decode_records(body: Buffer) -> Iterator[StoredMessage]:
    """Concatenated records as values; raises as `decode_record`."""
    data, position = bytes(body), 0
    while position < len(data):
        message = decode_record(data, position)
        position += message.store_size
        yield message


def record_properties(buffer: Buffer) -> bytes:
    """Encoded properties of the record that fills a buffer; raises `RecordError` when its parts do not add up."""
    return _split_tail(buffer, 0, read_head(buffer, 0)).properties


def store_timestamp_ms(buffer: Buffer, position: int = 0) -> int:
    """Store timestamp of the record at ``position``; fast, unchecked."""
    (sys_flag,) = SIZE.unpack_from(buffer, position + SYS_FLAG_POSITION)
    extra = V6_EXTRA_BYTES if sys_flag & BORN_HOST_V6 else 0
    timestamp: int = _I64.unpack_from(buffer, position + STORE_TIMESTAMP_POSITION_V4 + extra)[0]
    return timestamp
