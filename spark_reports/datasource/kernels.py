"""The work for every record of a log: following the chain, and sums by group, in one pass over the mapped bytes.

Compiled, because numpy's passes take seven times as long (500 ns a record against 70); imported only to read a log, because
numba takes 70 MiB and half a second. Compiled code has no bounds checks: each position is compared with the end of the bytes
before it is read, whatever lengths a record has.

The layout of a record is that of `broker_core.protocol.message.record`, whose constants are compiled in; properties are items
of NAME 0x01 VALUE with 0x02 between.

Source: docs/spec/store.md §2.1, §2.3 to §2.6.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numba import boolean, int32, int64, types, uint8

from broker_core.engine.store.layout import Bytes, Int32s, Int64s
from broker_core.protocol.message import properties, record, sys_flag
from broker_core.protocol.message.properties import ITEM_SEPARATOR
from broker_core.protocol.message.record import (
    BODY_LENGTH_POSITION_V4,
    BORN_HOST_POSITION,
    FIXED_BYTES,
    LINK_BYTES,
    MAGIC_POSITION,
    MAGIC_V1,
    MAGIC_V2,
    PHYSICAL_OFFSET_POSITION,
    QUEUE_ID_POSITION,
    STORE_TIMESTAMP_POSITION_V4,
    SYS_FLAG_POSITION,
    V6_EXTRA_BYTES,
)
from broker_core.protocol.message.sys_flag import BORN_HOST_V6, STORE_HOST_V6, TRANSACTION_MASK, TransactionType
from spark_reports.datasource.compiled import Compiler, loader, part

_COMMIT = int(TransactionType.COMMIT)
_ITEM_END = ord(ITEM_SEPARATOR)
_LENGTH_MAX = 0x7FFF
"""Largest length in two bytes of a record: they are signed."""
MINUTE_MS = 60_000
_LINE_BYTES = 64

NO_NAME = -1
"""Base offset of records that were taken out of their log, whose own offsets do not match their positions."""

# A row of the table of groups.
HASH, MINUTE, QUEUE, COMMITTED, MESSAGES, BODY, STORED, BODY_MAX, STORED_MAX, FIRST, LAST, TEXTS = range(12)
"""From `TEXTS` on two columns for each text: place in the pool, and bytes; -1 if there is none."""
KEYS = MESSAGES
"""Number of columns of a record's group key."""
TOPIC_TEXT, HOST_TEXT, PROPERTY_TEXT = range(3)
"""Numbers of the texts: properties come last."""
# The counters.
GROUPS, POOL_BYTES, OUTSIDE_ROWS, OUTSIDE_BYTES, IS_FULL, TOUCHED, COUNTERS = range(7)
# Columns of a property to find: begin and end of its name with the separator, and whether its value matters.
NAME_START, NAME_STOP, IS_VALUE_KEPT = range(3)
# Parts of the group key besides properties.
BY_MINUTE, BY_QUEUE, BY_COMMITTED, BY_TOPIC, BY_HOST = 1, 2, 4, 8, 16

_MIX = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(29)
_BYTE = np.uint64(8)
_ONES = np.uint64(0x0101010101010101)
_ITEM_ENDS = np.uint64(_ITEM_END * 0x0101010101010101)
_HIGHS = np.uint64(0x8080808080808080)
_LOWEST = np.uint64(0xFF)
_NONE = np.uint64(0)


_byte = loader(8, is_swapped=True, is_signed=False)
_int32 = loader(32, is_swapped=True)
_int64 = loader(64, is_swapped=True)
_word = loader(64, is_signed=False)
"""Eight bytes, the first one lowest."""


@part
def _record(data: Bytes, base: int, at: int, limit: int) -> tuple[int, int, int, int, int]:
    """Bytes of the record and of its body, position and bytes of its topic, and bytes of its properties, which end the record.

    All 0 if there is no record: by magic code, own offset, and lengths that add up.
    """
    if at < 0 or at + FIXED_BYTES > limit:
        return 0, 0, 0, 0, 0
    size, magic, flags = _int32(data, at), _int32(data, at + MAGIC_POSITION), _int32(data, at + SYS_FLAG_POSITION)
    end = at + size
    if size < FIXED_BYTES or end > limit or magic not in (MAGIC_V1, MAGIC_V2):
        return 0, 0, 0, 0, 0
    if base >= 0 and _int64(data, at + PHYSICAL_OFFSET_POSITION) != base + at:
        return 0, 0, 0, 0, 0
    place = at + BODY_LENGTH_POSITION_V4
    if flags & BORN_HOST_V6:
        place += V6_EXTRA_BYTES
    if flags & STORE_HOST_V6:
        place += V6_EXTRA_BYTES
    if place + 4 > end:
        return 0, 0, 0, 0, 0
    body_bytes = _int32(data, place)
    place += 4 + body_bytes
    if body_bytes < 0 or place + 3 > end:
        return 0, 0, 0, 0, 0
    topic_bytes = _byte(data, place)
    if magic == MAGIC_V2:
        topic_bytes = topic_bytes << 8 | _byte(data, place + 1)
        place += 1
    place += 1
    behind = place + topic_bytes + 2
    if not 0 < topic_bytes <= _LENGTH_MAX or behind > end:
        return 0, 0, 0, 0, 0
    properties_bytes = _byte(data, behind - 2) << 8 | _byte(data, behind - 1)
    if properties_bytes > _LENGTH_MAX or behind + properties_bytes != end:
        return 0, 0, 0, 0, 0
    return size, body_bytes, place, topic_bytes, properties_bytes


def _follow(
    data: Bytes, base: int, start: int, stop: int, limit: int, next_border: int, split_bytes: int, borders: Int64s
) -> tuple[int, int, int, int]:
    """Follow the chain of records from a position to the first position without one.

    Args:
        data: The file.
        base: Physical offset of its first byte.
        start: First position.
        stop: Records that begin from here on are left out.
        limit: Greatest end of a record.
        next_border: The first record from here on begins a part.
        split_bytes: Approximate distance of borders.
        borders: Receives the starts of parts; large enough for them.

    Returns:
        Number of borders, end of the chain, start of its last record (-1: none), and a checksum without meaning.
    """
    limit = min(limit, len(data))
    at, last, count, touched = start, -1, 0, 0
    while 0 <= at < stop and at + LINK_BYTES <= limit:
        size, magic = _int32(data, at), _int32(data, at + MAGIC_POSITION)
        if size < FIXED_BYTES or at + size > limit or magic not in (MAGIC_V1, MAGIC_V2):
            break
        if _int64(data, at + PHYSICAL_OFFSET_POSITION) != base + at:
            break
        if at >= next_border:
            borders[count] = at
            count += 1
            next_border = at + split_bytes
            # Touching every cache line lets memory prefetch them, which takes a sixth of the time.
        for line in range(at + _LINE_BYTES, at + size, _LINE_BYTES):
            touched ^= _byte(data, line)
        last = at
        at += size
    return count, at, last, touched


@part
def _item_end(data: Bytes, at: int, end: int) -> int:
    while at + 8 <= len(data):
        other = _word(data, at) ^ _ITEM_ENDS
        found = (other - _ONES) & ~other & _HIGHS
        if found != _NONE:
            while found & _LOWEST == _NONE:
                found >>= _BYTE
                at += 1
            return min(at, end)
        at += 8
        if at >= end:
            return end
    while at < end and data[at] != _ITEM_END:
        at += 1
    return at


@part
def _find(data: Bytes, at: int, end: int, names: Bytes, sought: Int64s, spans: Int64s) -> None:
    """Positions and bytes of the last value of each property to find."""
    for index in range(len(sought)):
        spans[2 * (PROPERTY_TEXT + index)] = 0
        spans[2 * (PROPERTY_TEXT + index) + 1] = -1
    while at < end and len(sought):
        stop = _item_end(data, at, end)
        for index in range(len(sought)):
            start = sought[index, NAME_START]
            length = sought[index, NAME_STOP] - start
            if stop - at > length and data[at] == names[start]:
                same = 1
                while same < length and data[at + same] == names[start + same]:
                    same += 1
                if same == length:
                    spans[2 * (PROPERTY_TEXT + index)] = at + length
                    spans[2 * (PROPERTY_TEXT + index) + 1] = stop - at - length if sought[index, IS_VALUE_KEPT] else 0
        at = stop + 1


@part
def _hash(data: Bytes, at: int, length: int, before: np.uint64) -> np.uint64:
    """Hash of a text and the hash before it; a length below 0 is no text."""
    mixed = (before ^ np.uint64(length)) * _MIX
    end = at + length
    while at + 8 <= end:
        mixed = (mixed ^ _word(data, at)) * _MIX
        mixed ^= mixed >> _SHIFT
        at += 8
    if at < end:
        rest = np.uint64(0)
        for index in range(end - at):
            rest = rest << _BYTE | np.uint64(data[at + index])
        mixed = (mixed ^ rest) * _MIX
    return mixed ^ (mixed >> _SHIFT)


@part
def _is_same(data: Bytes, spans: Int64s, pool: Bytes, groups: Int64s, row: int) -> bool:
    for text in range(len(spans) // 2):
        if groups[row, TEXTS + 2 * text + 1] != spans[2 * text + 1]:
            return False
    for text in range(len(spans) // 2):
        at, place = spans[2 * text], groups[row, TEXTS + 2 * text]
        for index in range(spans[2 * text + 1]):
            if _byte(pool, place + index) != _byte(data, at + index):
                return False
    return True


@part
def _begun(data: Bytes, keys: Int64s, spans: Int64s, groups: Int64s, pool: Bytes, counters: Int64s) -> int:
    """Row of a new group; -1: the table is full."""
    room = 0
    for text in range(len(spans) // 2):
        room += max(spans[2 * text + 1], 0)
    row, place = counters[GROUPS], counters[POOL_BYTES]
    if row == len(groups) or place + room > len(pool):
        return -1
    counters[GROUPS] = row + 1
    counters[POOL_BYTES] = place + room
    for column in range(groups.shape[1]):
        groups[row, column] = keys[column] if column < len(keys) else 0
    for text in range(len(spans) // 2):
        groups[row, TEXTS + 2 * text] = place
        groups[row, TEXTS + 2 * text + 1] = spans[2 * text + 1]
        for index in range(spans[2 * text + 1]):
            pool[place] = data[spans[2 * text] + index]
            place += 1
    return int(row)


@part
def _row_of(data: Bytes, keys: Int64s, spans: Int64s, slots: Int32s, groups: Int64s, pool: Bytes, counters: Int64s) -> int:
    """Row of a record's group, which is created if it is missing; -1: the table is full."""
    mask = len(slots) - 1
    slot = keys[HASH] & mask
    while slots[slot] >= 0:
        row = slots[slot]
        if (
            groups[row, HASH] == keys[HASH]
            and groups[row, MINUTE] == keys[MINUTE]
            and groups[row, QUEUE] == keys[QUEUE]
            and groups[row, COMMITTED] == keys[COMMITTED]
            and _is_same(data, spans, pool, groups, row)
        ):
            return int(row)
        slot = (slot + 1) & mask
    row = _begun(data, keys, spans, groups, pool, counters)
    slots[slot] = row
    return int(row)


@part
def _hash_of(data: Bytes, keys: Int64s, spans: Int64s) -> int:
    mixed = np.uint64(keys[MINUTE]) * _MIX ^ np.uint64(keys[QUEUE] << 1 | keys[COMMITTED])
    for text in range(len(spans) // 2):
        mixed = _hash(data, spans[2 * text], spans[2 * text + 1], mixed)
    return int(np.int64(mixed))


@part
def _count(groups: Int64s, row: int, size: int, body_bytes: int, store_ms: int) -> None:
    is_first = groups[row, MESSAGES] == 0
    groups[row, MESSAGES] += 1
    groups[row, BODY] += body_bytes
    groups[row, STORED] += size
    groups[row, BODY_MAX] = max(groups[row, BODY_MAX], body_bytes)
    groups[row, STORED_MAX] = max(groups[row, STORED_MAX], size)
    groups[row, FIRST] = store_ms if is_first else min(groups[row, FIRST], store_ms)
    groups[row, LAST] = store_ms if is_first else max(groups[row, LAST], store_ms)


def _add_up(
    data: Bytes,
    base: int,
    start: int,
    stop: int,
    places: Int64s,
    is_by_places: bool,
    first_ms: int,
    last_ms: int,
    parts: int,
    names: Bytes,
    sought: Int64s,
    slots: Int32s,
    groups: Int64s,
    pool: Bytes,
    counters: Int64s,
    keys: Int64s,
    spans: Int64s,
) -> int:
    """Add records to the sums of their groups.

    Args:
        data: The file, up to the greatest end of a record.
        base: Physical offset of its first byte, or `NO_NAME`.
        start: Start of the first record.
        stop: Records that begin from here on are left out.
        places: Starts of records, if ``is_by_places``; ``start`` and ``stop`` are then indexes of this list.
        is_by_places: Records are not consecutive.
        first_ms: Least store time that counts, epoch milliseconds.
        last_ms: Greatest one.
        parts: Group key besides properties, the sum of `BY_MINUTE` and so on.
        names: Names of properties, concatenated.
        sought: Rows of ``names`` that are in the group key.
        slots: Rows of ``groups`` by hash; -1: none. The size is a power of 2 above the number of groups.
        groups: The groups.
        pool: Their texts.
        counters: `GROUPS` and so on.
        keys: Scratch space for `KEYS` numbers of a record.
        spans: Scratch space for positions and bytes of its texts, two for each.

    Returns:
        ``stop``, or the first position without a record, or of a record whose group has no room.
    """
    limit = len(data)
    touched, turn = 0, start
    while turn < stop:
        at = places[turn] if is_by_places else turn
        size, body_bytes, topic_at, topic_bytes, properties_bytes = _record(data, base, at, limit)
        if not size:
            break
        for line in range(at + _LINE_BYTES, at + size, _LINE_BYTES):  # as in `_follow`
            touched ^= _byte(data, line)
        flags, time_at = _int32(data, at + SYS_FLAG_POSITION), at + STORE_TIMESTAMP_POSITION_V4
        if flags & BORN_HOST_V6:
            time_at += V6_EXTRA_BYTES
        store_ms = _int64(data, time_at)
        if store_ms < first_ms or store_ms > last_ms:
            counters[OUTSIDE_ROWS] += 1
            counters[OUTSIDE_BYTES] += size
        else:
            keys[MINUTE] = store_ms // MINUTE_MS if parts & BY_MINUTE else 0
            keys[QUEUE] = _int32(data, at + QUEUE_ID_POSITION) if parts & BY_QUEUE else 0
            keys[COMMITTED] = parts & BY_COMMITTED and flags & TRANSACTION_MASK == _COMMIT
            spans[2 * TOPIC_TEXT] = topic_at
            spans[2 * TOPIC_TEXT + 1] = topic_bytes if parts & BY_TOPIC else -1
            spans[2 * HOST_TEXT] = at + BORN_HOST_POSITION
            spans[2 * HOST_TEXT + 1] = (16 if flags & BORN_HOST_V6 else 4) if parts & BY_HOST else -1
            _find(data, at + size - properties_bytes, at + size, names, sought, spans)
            keys[HASH] = _hash_of(data, keys, spans)
            row = _row_of(data, keys, spans, slots, groups, pool, counters)
            if row < 0:
                counters[IS_FULL] = 1
                break
            _count(groups, row, size, body_bytes, store_ms)
        turn = turn + 1 if is_by_places else at + size
    counters[TOUCHED] = touched
    return turn


_READ = types.Array(uint8, 1, "C", readonly=True)
_PLACES = types.Array(int64, 1, "C", readonly=True)

with Compiler(Path(__file__), constants_of=(properties, record, sys_flag)) as _compiler:
    follow = _compiler.compiled(_follow, _READ, *[int64] * 6, int64[::1])
    add_up = _compiler.compiled(
        _add_up,
        *(_READ, int64, int64, int64, _PLACES, boolean, int64, int64, int64, _READ, int64[:, ::1]),
        *(int32[::1], int64[:, ::1], uint8[::1], *[int64[::1]] * 3),
    )
