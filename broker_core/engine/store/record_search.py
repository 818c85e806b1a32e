"""Finds the next record behind a damaged place, by its magic code and its own offset (Source: docs/spec/store.md §2.1)."""

from __future__ import annotations

from broker_core.errors import RecordError
from broker_core.native.records import record_at
from broker_core.protocol.message.record import FIXED_BYTES, MAGIC_POSITION, MAGIC_V1, SIZE, RecordParts, check_record

_SEARCH_BYTES = 1 << 20
_MAGIC_START = SIZE.pack(MAGIC_V1)[:3]
"""Both magic codes begin so."""


def next_record(data: memoryview, base: int, start: int) -> int | None:
    """Position of the first record from ``start`` on that ends within some bytes; None without one.

    Args:
        data: The bytes.
        base: Physical offset of the first one.
        start: Position of the first byte that is searched.
    """
    stop = len(data) - FIXED_BYTES + 1
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
