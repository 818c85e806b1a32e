"""Concatenated records in the answer to a pull: counted, split, and cut to some offsets of their queue. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from broker_core.errors import RecordError
from broker_core.protocol.message.record import FIXED_BYTES, PHYSICAL_OFFSET_POSITION, QUEUE_OFFSET_POSITION, SIZE


def split_records(body: bytes | memoryview) -> Iterator[bytes]:
    """Records of an answer; raises `RecordError` when they do not add up."""
    data, position, end, size_at = bytes(body), 0, len(body), SIZE.unpack_from
    while position < end:
        (size,) = size_at(data, position) if position + SIZE.size <= end else (0,)
        if size <= 0 or position + size > end:
            raise RecordError(f"an answer of {end:,} bytes holds no whole record at {position:,}")
        yield data[position : position + size]
        position += size


def record_count(body: bytes) -> int:
    """Records in an answer, as far as their lengths add up."""
    count = position = 0
    while position + SIZE.size <= len(body):
        (size,) = SIZE.unpack_from(body, position)
        if size <= 0:
            break
        position, count = position + size, count + 1
    return count


def queue_offset_of(body: bytes, position: int = 0) -> int:
    """Queue offset of the record at ``position`` of an answer, which holds at least `FIXED_BYTES` from there."""
    return int.from_bytes(body[position + QUEUE_OFFSET_POSITION : position + PHYSICAL_OFFSET_POSITION], "big", signed=True)


def cut_to(body: bytes, first: int, end: int) -> bytes:
    """The records of an answer whose offsets lie within a range, and the bytes after the last readable record.

    When offsets are missing a broker answers with later messages, and when a record holds several messages, with one that
    begins before the requested offset.
    """
    kept = []
    position = 0
    while position + FIXED_BYTES <= len(body):
        (size,) = SIZE.unpack_from(body, position)
        if size < FIXED_BYTES:
            break
        if first <= queue_offset_of(body, position) < end:
            kept.append(body[position : position + size])
        position += size
    return b"".join([*kept, body[position:]])
