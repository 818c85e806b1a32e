"""The chain of records in one mapped log file: its extent, broken places, and an end that is still being written.

Source: docs/spec/store.md §2.1, §2.3.
"""

from __future__ import annotations

import mmap
import struct
import time
from array import array
from zlib import crc32

from broker_core.engine.store.layout import next_record, scan_records
from broker_core.native import sums
from broker_core.native.calls import call
from broker_core.protocol.message.record import (
    CRC_MASK,
    MAGIC_BLANK,
    MAGIC_V1,
    MAGIC_V2,
    PHYSICAL_OFFSET_POSITION,
    SIZE,
    SIZE_AND_MAGIC,
)
from spark_reports.datasource.kernels import library

RESYNC_BYTES = 8 << 20
"""Distance after a broken place of the last file within which the next record is searched: two of the largest records."""
SURE_RECORDS = 16
"""So many consecutive records with matching own offsets cannot be part of a message body by chance."""
_PIECE_BYTES = 64 << 20
"""Length of one call: a signal waits for the end of compiled code, which takes long on a slow disk."""
TAIL_LOOKS = 3
TAIL_PAUSE_S = 0.02

_PHYSICAL_OFFSET = struct.Struct(">q")


def follow(buffer: mmap.mmap, base_offset: int, start: int, limit: int, split_bytes: int) -> tuple[list[int], int]:
    """Follow the chain of records; return the starts of parts of about ``split_bytes``, and the end of the chain."""
    borders, end, _ = follow_to_last(buffer, base_offset, start, limit, split_bytes)
    return borders, end


def follow_to_last(buffer: mmap.mmap, base_offset: int, start: int, limit: int, split_bytes: int) -> tuple[list[int], int, int]:
    """`follow`, also with the start of the last record (-1: none)."""
    room = array("q", bytes(8 * (min(max(0, limit - start), _PIECE_BYTES) // split_bytes + 1)))
    state = array("q", bytes(8 * sums.STATE_COLUMNS))
    state[sums.AT], state[sums.BASE], state[sums.LIMIT] = start, base_offset, min(limit, len(buffer))
    state[sums.NEXT_BORDER], state[sums.SPLIT_BYTES], state[sums.LAST_AT] = start + split_bytes, split_bytes, -1
    borders, position, reached = [start], -1, start
    while position < reached < limit:
        position = reached
        state[sums.STOP] = min(limit, position + _PIECE_BYTES)
        count = call(library(), sums.follow, buffer, state, room)
        borders += room[:count]
        reached = state[sums.AT]
    return borders, reached, state[sums.LAST_AT]


def _last_start(buffer: mmap.mmap, borders: list[int], end: int) -> int | None:
    """Start of the last record of a followed chain before ``end``, None for an empty chain."""
    position = max((border for border in borders if border < end), default=None)
    if position is None:
        return None
    return follow_to_last(buffer, _own_offset(buffer, position) - position, position, end, end)[2]


def _own_offset(buffer: mmap.mmap, start: int) -> int:
    offset: int = _PHYSICAL_OFFSET.unpack_from(buffer, start + PHYSICAL_OFFSET_POSITION)[0]
    return offset


def border_behind(buffer: mmap.mmap, base_offset: int, position: int) -> int | None:
    """Start of the first of `SURE_RECORDS` consecutive records behind a position of a file that is not followed from its start.

    None if there is none near.
    """
    border = _record_near(buffer, base_offset, position)
    at = border
    for _ in range(SURE_RECORDS - 1):
        if at is None:
            return None
        behind = _first_end(buffer, at)
        at = behind if _record_near(buffer, base_offset, behind) == behind else None
    return None if at is None else border


def _record_near(buffer: mmap.mmap, base_offset: int, position: int) -> int | None:
    return next_record(memoryview(buffer)[: position + RESYNC_BYTES], base_offset, position)


def before_torn_body(buffer: mmap.mmap, borders: list[int], end: int) -> int:
    """``end``, or the start of the last record if that is incomplete or its body's checksum is wrong."""
    start = _last_start(buffer, borders, end)
    if start is None:
        return end
    base_offset = _own_offset(buffer, start) - start
    heads = scan_records(buffer, base_offset, start, end)
    if len(heads) != 1:
        return start
    body_start = int(heads.body_position[0])
    body = buffer[body_start : body_start + int(heads.body_bytes[0])]
    return end if not body or crc32(body) & CRC_MASK == int(heads.body_crc[0]) else start


def record_behind(buffer: mmap.mmap, base_offset: int, borders: list[int], position: int) -> int | None:
    """Start of the next record after a broken place of the last file, None if the log ends there.

    Later records count only if they were stored after the one before the place: a log that was truncated by recovery and
    written again can have old records after its end.
    """
    if position + SIZE_AND_MAGIC.size > len(buffer):
        return None
    size, magic = SIZE_AND_MAGIC.unpack_from(buffer, position)
    if magic == MAGIC_BLANK or not (size or magic):
        return None
    window = scan_records(buffer, base_offset, position + 1, min(len(buffer), position + RESYNC_BYTES))
    if not len(window):
        return None
    last_start = _last_start(buffer, borders, position)
    if last_start is not None:
        before = scan_records(buffer, base_offset, last_start, position)
        if len(before) and int(before.store_ms[-1]) > int(window.store_ms[0]):
            return None
    return int(window.position[0])


def becomes_a_record(buffer: mmap.mmap, base_offset: int, end: int, limit: int) -> bool:
    """Whether the bytes at the end become a whole record within a moment, because a broker was in the middle of a put."""
    for _ in range(TAIL_LOOKS):
        time.sleep(TAIL_PAUSE_S)  # a put under way takes microseconds; what is still incomplete then is torn
        if is_filler(buffer, end):
            return True
        _, now = follow(buffer, base_offset, end, limit, limit)
        if now > end and before_torn_body(buffer, [end], _first_end(buffer, end)) > end:
            return True
    return False


def _first_end(buffer: mmap.mmap, start: int) -> int:
    size: int = SIZE.unpack_from(buffer, start)[0]
    return start + size


def tail_bytes(buffer: mmap.mmap, end: int) -> int:
    """Bytes after the end up to the last nonzero one, limited to the largest record."""
    if end + SIZE_AND_MAGIC.size > len(buffer):
        return 0
    if SIZE_AND_MAGIC.unpack_from(buffer, end)[1] == MAGIC_BLANK:
        return 0
    return len(buffer[end : end + RESYNC_BYTES // 2].rstrip(b"\0"))


def damage_reason(buffer: mmap.mmap, position: int) -> str:
    """Why no record could be read at a position, in words."""
    if position + SIZE_AND_MAGIC.size > len(buffer):
        return "too few bytes for a record"
    size, magic = SIZE_AND_MAGIC.unpack_from(buffer, position)
    if not size and not magic:
        return "zeros where a record should be"
    if magic not in (MAGIC_V1, MAGIC_V2):
        return "no magic code of a record"
    return "record whose lengths or own offset do not fit"


def is_filler(buffer: mmap.mmap, position: int) -> bool:
    """Whether an end-of-file filler begins at a position."""
    if position + SIZE_AND_MAGIC.size > len(buffer):
        return False
    size, magic = SIZE_AND_MAGIC.unpack_from(buffer, position)
    return bool(magic == MAGIC_BLANK and size == len(buffer) - position)
