"""Finds where the records of a part of a commit log file start, from the sizes in them.

numpy cannot follow one chain, but many at a time. A part is cut into lanes; the first record of each is found by its magic
code, and then each step takes all lanes one record further. Every start found is only a proposal: the caller checks the
records, and that each starts where the one before it ends (`broker_core.engine.store.layout`).
"""

from __future__ import annotations

import struct

import numpy as np

from broker_core.engine.store.record_heads import Bytes, Int64s, at_every_byte
from broker_core.protocol.message.record import (
    FIXED_BYTES,
    MAGIC_POSITION,
    MAGIC_V1,
    MAGIC_V2,
    PHYSICAL_OFFSET_POSITION,
    SIZE_AND_MAGIC,
    SMALLEST_RECORD,
)

_LANE_RECORDS = 26
_LANE_BYTES_MIN = 8192
"""Length of a lane: so many records like the part's first one, but at least these bytes."""
_LANES_MIN = 16
"""With fewer lanes, following one record after the other takes less time than numpy's calls."""
_SEARCHED_RECORDS = 2
_SEARCHED_BYTES_MIN = 512
_SEARCHED_SHARE_MAX = 4
"""Part of a lane that is searched for its first record, by the same measure; a fourth of it at most."""
_STEPS_BETWEEN_LOOKS = 4
_ALIKE_PROBED = 256
"""Only after so many consecutive records of one size more of them are searched first."""
_SEARCH_BYTES = 1 << 20
_MAGICS = tuple(struct.pack(">i", magic) for magic in (MAGIC_V1, MAGIC_V2))
_MAGIC_FIRST_BYTE = _MAGICS[0][0]
_U32 = struct.Struct(">I")
_I64 = struct.Struct(">q")


def follow(data: Bytes, base_offset: int, start: int, stop: int) -> Int64s:
    """Proposed starts of consecutive records from ``start`` on that lie before ``stop``; empty if no record can start there.

    ``base_offset`` is the physical offset of the data's first byte. If many records of one size are followed by others, only
    those are returned. A record that would reach beyond the data is left out, and each has room for the smallest one.
    """
    stop = min(stop, len(data) - FIXED_BYTES + 1)
    alike = _of_one_size(data, start, stop)
    if alike is not None:
        return alike
    if stop - start < _LANES_MIN * _LANE_BYTES_MIN:
        return _one_by_one(data, start, stop)
    found = _in_lanes(data, _lane_starts(data, base_offset, start, stop), stop)
    last = int(found[-1])
    return found if last + _U32.unpack_from(data.data, last)[0] <= len(data) else found[:-1]


def one_by_one(data: Bytes, start: int, stop: int) -> Int64s:
    """As `follow`, for records that need not name their own offsets: each length is believed."""
    return _one_by_one(data, start, min(stop, len(data) - FIXED_BYTES + 1))


def next_start(data: Bytes, base_offset: int, start: int) -> int | None:
    """First position from ``start`` on where magic code and PHYSICALOFFSET are those of a record; None without one."""
    stop = len(data) - FIXED_BYTES + 1
    for begin in range(start, stop, _SEARCH_BYTES):
        end = min(begin + _SEARCH_BYTES, stop)
        piece = data[begin + MAGIC_POSITION : end + MAGIC_POSITION + len(_MAGICS[0]) - 1].tobytes()
        places = [
            place for magic in _MAGICS if (place := _own_place(data, base_offset + begin, begin, piece, magic)) is not None
        ]
        if places:
            return min(places)
    return None


def _own_place(data: Bytes, offset: int, begin: int, piece: bytes, magic: bytes) -> int | None:
    """First position in a piece of the data with a magic code and its own offset."""
    at = piece.find(magic)
    while at >= 0:
        if _I64.unpack_from(data.data, begin + at + PHYSICAL_OFFSET_POSITION)[0] == offset + at:
            return begin + at
        at = piece.find(magic, at + 1)
    return None


def _of_one_size(data: Bytes, start: int, stop: int) -> Int64s | None:
    """Records as long as the first one, without a step from one to the next; None if they are too few to be worth it.

    A third of the time of lanes; producers of one kind of message, with numbers in them, write such logs.
    """
    if start >= stop:
        return None
    (size,) = _U32.unpack_from(data.data, start)
    # Of each record there must be the place of its length, and all of the record.
    count = min(-(-(stop - start) // size), (len(data) - start) // size) if size >= SMALLEST_RECORD else 0
    if count < _ALIKE_PROBED or _same_sizes(data, start, size, _ALIKE_PROBED) < _ALIKE_PROBED:
        return None
    count = _same_sizes(data, start, size, count)
    return np.arange(start, start + count * size, size, dtype=np.int64)


def _same_sizes(data: Bytes, start: int, size: int, count: int) -> int:
    """Number of records of one size, from the first one on."""
    sizes: Bytes = np.ndarray((count,), dtype=">u4", buffer=data, offset=start, strides=(size,))
    is_same = sizes == size
    return count if is_same.all() else int(is_same.argmin())


def _one_by_one(data: Bytes, start: int, stop: int) -> Int64s:
    unpack, view, end = SIZE_AND_MAGIC.unpack_from, data.data, len(data)
    found = []
    position = start
    while position < stop:
        size, magic = unpack(view, position)
        if size < SMALLEST_RECORD or position + size > end or magic not in (MAGIC_V1, MAGIC_V2):
            break
        found.append(position)
        position += size
    return np.array(found, dtype=np.int64)


def _lane_starts(data: Bytes, base_offset: int, start: int, stop: int) -> Int64s:
    """First record of each lane that has one near its begin; other lanes are part of the lane before."""
    (first_bytes,) = _U32.unpack_from(data.data, start)
    lane_bytes = min(max(_LANE_RECORDS * first_bytes, _LANE_BYTES_MIN), (stop - start) // _LANES_MIN)
    searched_bytes = min(max(_SEARCHED_RECORDS * first_bytes, _SEARCHED_BYTES_MIN), lane_bytes // _SEARCHED_SHARE_MAX)
    begins = np.arange(start + lane_bytes, stop - searched_bytes, lane_bytes)
    if not len(begins):
        return np.array([start], dtype=np.int64)
    shape, strides = (len(begins), searched_bytes), (lane_bytes, 1)
    looked_at: Bytes = np.ndarray(shape, dtype=np.uint8, buffer=data, offset=int(begins[0]) + MAGIC_POSITION, strides=strides)
    lane, within = np.divmod(np.flatnonzero(looked_at == _MAGIC_FIRST_BYTE), searched_bytes)
    positions = _of_records(data, base_offset, begins[lane] + within)
    lane = (positions - start) // lane_bytes
    is_first = np.ones(len(lane), dtype=np.bool_)
    np.not_equal(lane[1:], lane[:-1], out=is_first[1:])
    return np.concatenate((np.array([start], dtype=np.int64), positions[is_first]))


def _of_records(data: Bytes, base_offset: int, positions: Int64s) -> Int64s:
    """The positions whose magic code and PHYSICALOFFSET are those of a record."""
    magic = at_every_byte(data, ">i4")[positions + MAGIC_POSITION]
    positions = positions[(magic == MAGIC_V1) | (magic == MAGIC_V2)]
    own_offset = at_every_byte(data, ">i8")[positions + PHYSICAL_OFFSET_POSITION]
    kept: Int64s = positions[own_offset == positions + base_offset]
    return kept


def _in_lanes(data: Bytes, starts: Int64s, stop: int) -> Int64s:
    """All records of all lanes, one of each lane a step; a finished lane continues unheeded until the last has finished."""
    ends = np.append(starts[1:], stop)
    # Sizes below 16 MiB, byte by byte: half of the time of items of four bytes that lie anywhere.
    high, middle, low = data[1:], data[2:], data[3:]
    last = len(low) - 1
    steps_max = int((ends - starts).max()) // SMALLEST_RECORD + _STEPS_BETWEEN_LOOKS
    position = looked_at = starts
    rows = [starts]
    while len(rows) < steps_max:
        for _ in range(_STEPS_BETWEEN_LOOKS):
            size = high[position].astype(np.int64)
            size <<= 8
            size |= middle[position]
            size <<= 8
            size |= low[position]
            position = np.minimum(size + position, last)
            rows.append(position)
        if not ((position < ends) & (position != looked_at)).any():  # a lane that stays has reached unused bytes
            break
        looked_at = position
    lanes = np.stack(rows, axis=1)
    found: Int64s = lanes[lanes < ends[:, None]]
    return found
