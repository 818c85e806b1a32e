"""Where the records of a part of a commit log file start: each says how long it is, so it says where the next one starts.

numpy cannot follow one chain, but many at a time. A part is cut into lanes; where the first record of each begins is looked
for by its magic code, and then all lanes go a record further with each step. Every place found is only a proposal: whoever
takes it checks the records and that each starts where the one before it ends (`broker_core.engine.store.layout`).
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
"""A lane is as long as so many records like the part's first one, but at least so long."""
_LANES_MIN = 16
"""With fewer, one record after the other takes less time than numpy's calls."""
_SEARCHED_RECORDS = 2
_SEARCHED_BYTES_MIN = 512
_SEARCHED_SHARE_MAX = 4
"""How much of a lane is searched for its first record, by the same measure; a fourth of it at most."""
_STEPS_BETWEEN_LOOKS = 4
_ALIKE_PROBED = 256
"""So many records of one size, one behind the other, are worth it to look for more of them first."""
_SEARCH_BYTES = 1 << 20
_MAGICS = tuple(struct.pack(">i", magic) for magic in (MAGIC_V1, MAGIC_V2))
_MAGIC_FIRST_BYTE = _MAGICS[0][0]
_U32 = struct.Struct(">I")
_I64 = struct.Struct(">q")


def follow(data: Bytes, base_offset: int, start: int, stop: int) -> Int64s:
    """Proposed starts of consecutive records.

    Args:
        data: The file up to where records may reach.
        base_offset: Physical offset of its first byte.
        start: Where a record is said to start.
        stop: Records that start from here on are left out.

    Returns:
        None where no record can start, else ``start`` and what follows it; where many records of one size are followed by
        others, only those. A record that would reach beyond the data is left out, and behind each of them there is room for
        the smallest one.
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
    """As `follow`, for records that need not name their own places: each length is believed."""
    return _one_by_one(data, start, min(stop, len(data) - FIXED_BYTES + 1))


def next_start(data: Bytes, base_offset: int, start: int) -> int | None:
    """First place from a position on where magic code and PHYSICALOFFSET are those of a record; None if there is none."""
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
    """First place in a piece of the data, which starts at an offset, with a magic code and that place's own offset."""
    at = piece.find(magic)
    while at >= 0:
        if _I64.unpack_from(data.data, begin + at + PHYSICAL_OFFSET_POSITION)[0] == offset + at:
            return begin + at
        at = piece.find(magic, at + 1)
    return None


def _of_one_size(data: Bytes, start: int, stop: int) -> Int64s | None:
    """Records that are as long as the first one, with no step from one to the next; None where they are too few to be worth it.

    A third of the time of lanes; producers that send one kind of message, with numbers in them, write such logs.
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
    """How many of some records are of one size, from the first one on."""
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
    """First record of each lane that has one near its beginning; what has none is part of the lane before it."""
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
    """Those positions whose magic code and PHYSICALOFFSET are those of a record."""
    magic = at_every_byte(data, ">i4")[positions + MAGIC_POSITION]
    positions = positions[(magic == MAGIC_V1) | (magic == MAGIC_V2)]
    own_offset = at_every_byte(data, ">i8")[positions + PHYSICAL_OFFSET_POSITION]
    kept: Int64s = positions[own_offset == positions + base_offset]
    return kept


def _in_lanes(data: Bytes, starts: Int64s, stop: int) -> Int64s:
    """All lanes a record further with each step; one that has come to its end goes on unheeded until the last has."""
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
        if not ((position < ends) & (position != looked_at)).any():  # a lane that stands has met unused bytes
            break
        looked_at = position
    lanes = np.stack(rows, axis=1)
    found: Int64s = lanes[lanes < ends[:, None]]
    return found
