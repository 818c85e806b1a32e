"""Finds records one by one, also behind damaged places, by magic code and own offset (Source: docs/spec/store.md §2.1)."""

from __future__ import annotations

from collections.abc import Iterator

from broker_core.engine.store.commit_log import CommitLog
from broker_core.errors import RecordError
from broker_core.native.records import record_at
from broker_core.protocol.message.record import FIXED_BYTES, MAGIC_POSITION, MAGIC_V1, SIZE, RecordParts, check_record

_SEARCH_BYTES = 1 << 20
_MAGIC_START = SIZE.pack(MAGIC_V1)[:3]
"""Both magic codes begin so."""


def next_record(data: memoryview, base: int, start: int, searched_to: int | None = None) -> int | None:
    """Position of the first record from ``start`` on that ends within some bytes; None without one.

    Args:
        data: The bytes.
        base: Physical offset of the first one.
        start: Position of the first byte that is searched.
        searched_to: Position after the last byte that is searched, such as the begin of a hole; None: all bytes are.
    """
    stop = len(data) - FIXED_BYTES + 1
    if searched_to is not None:
        stop = min(stop, searched_to - MAGIC_POSITION - len(_MAGIC_START) + 1)
    for begin in range(start, stop, _SEARCH_BYTES):
        end = min(begin + _SEARCH_BYTES, stop) + MAGIC_POSITION + len(_MAGIC_START) - 1
        piece = bytes(data[begin + MAGIC_POSITION : end])
        at = piece.find(_MAGIC_START)
        while at >= 0:
            if record_at(data, base, begin + at, len(data))[0]:
                return begin + at
            at = piece.find(_MAGIC_START, at + 1)
    return None


def record_here(data: memoryview, base: int, at: int) -> RecordParts | None:
    """The record at a position, which names its own offset; None without one."""
    try:
        parts = check_record(data, at, len(data), check_crc=False)
    except RecordError:
        return None
    return parts if parts.head.physical_offset == base + at else None


def records_between(log: CommitLog, start: int, end: int) -> Iterator[RecordParts]:
    """All records between two physical offsets, without damaged places and missing files."""
    position = start
    while position < min(end, log.end):
        base = position - position % log.file_bytes
        mapped = log.map_at(base)
        if mapped is not None:
            yield from _records_of(mapped[: min(end, log.end, base + log.file_bytes) - base], base, position - base)
        position = base + log.file_bytes


def _records_of(data: memoryview, base: int, start: int) -> Iterator[RecordParts]:
    at: int | None = start
    while at is not None:
        parts = record_here(data, base, at)
        if parts is None:
            at = next_record(data, base, at + 1)
        else:
            yield parts
            at += parts.head.size
