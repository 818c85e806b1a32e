"""The kernels of readers: heads of records as columns, and a search of bytes. They run as they are, or as machine code.

Source: docs/spec/store.md §2.1 to §2.5.
"""

from __future__ import annotations

from typing import Final

from broker_core.native.access import Bytes, Table, fetch, find1, find3, i32, i64, mix, put8, same, u8
from broker_core.native.records import END, FETCHED_AHEAD, FULL, record_at
from broker_core.protocol.message.record import (
    BODY_CRC_POSITION,
    BORN_TIMESTAMP_POSITION,
    FLAG_POSITION,
    PHYSICAL_OFFSET_POSITION,
    QUEUE_ID_POSITION,
    QUEUE_OFFSET_POSITION,
    SYS_FLAG_POSITION,
)

# Columns of the state: what a scan is given and what it found.
AT: Final = 0
"""Where the next record begins; of records that lie anywhere, the number of the next one."""
BASE: Final = 1
"""Physical offset of the first byte; `NO_BASE`: own offsets are not checked."""
LIMIT: Final = 2
"""Where records end at most."""
STOP: Final = 3
"""Records that begin from here on are left out; of records that lie anywhere, how many there are."""
ROWS: Final = 4
ROWS_MAX: Final = 5
BY_PLACES: Final = 6
"""Whether records lie anywhere; places that hold none are passed over."""
ORIGIN: Final = 7
"""What is subtracted from given places."""
STATE_COLUMNS: Final = 8

NO_BASE: Final = -1

# Columns of a record; times are epoch milliseconds, positions count from the first byte.
POSITION: Final = 0
SIZE: Final = 1
BODY_POSITION: Final = 2
BODY_BYTES: Final = 3
TOPIC_POSITION: Final = 4
TOPIC_BYTES: Final = 5
PROPERTIES_POSITION: Final = 6
PROPERTIES_BYTES: Final = 7
BODY_CRC: Final = 8
QUEUE_ID: Final = 9
FLAG: Final = 10
QUEUE_OFFSET: Final = 11
PHYSICAL_OFFSET: Final = 12
SYS_FLAG: Final = 13
BORN_MS: Final = 14
STORE_MS: Final = 15
RECONSUME: Final = 16
PREPARED_OFFSET: Final = 17
HEAD_COLUMNS: Final = 18

_BEHIND_RECONSUME: Final = 16
"""Bytes from the number of deliveries to the body."""
_BEHIND_PREPARED: Final = 12
_TEXTS_AHEAD: Final = 8
"""How many texts later the one is that is brought near meanwhile."""


def scan_heads(data: Bytes, state: Table, places: Table, columns: Table) -> int:
    """Read the heads of records, one behind the other or at given places.

    Args:
        data: The records.
        state: The columns above.
        places: Where records begin, if they lie anywhere.
        columns: Room for ``state[ROWS_MAX]`` numbers of each column, one column behind the other.

    Returns:
        Why it stopped: `END`, or `FULL`.
    """
    room, row, turn = state[ROWS_MAX], state[ROWS], state[AT]
    reason = END
    while turn < state[STOP]:
        if row >= room:
            reason = FULL
            break
        at = places[turn] - state[ORIGIN] if state[BY_PLACES] else turn
        size, body_at, body_bytes, topic_at, topic_bytes, properties_at, time_at = record_at(
            data, state[BASE], at, state[LIMIT]
        )
        if size == 0:
            if not state[BY_PLACES]:
                break
            turn += 1
            continue
        fetch(data, at + FETCHED_AHEAD, min(size, FETCHED_AHEAD))
        columns[POSITION * room + row] = at
        columns[SIZE * room + row] = size
        columns[BODY_POSITION * room + row] = body_at
        columns[BODY_BYTES * room + row] = body_bytes
        columns[TOPIC_POSITION * room + row] = topic_at
        columns[TOPIC_BYTES * room + row] = topic_bytes
        columns[PROPERTIES_POSITION * room + row] = properties_at
        columns[PROPERTIES_BYTES * room + row] = at + size - properties_at
        columns[BODY_CRC * room + row] = i32(data, at + BODY_CRC_POSITION)
        columns[QUEUE_ID * room + row] = i32(data, at + QUEUE_ID_POSITION)
        columns[FLAG * room + row] = i32(data, at + FLAG_POSITION)
        columns[QUEUE_OFFSET * room + row] = i64(data, at + QUEUE_OFFSET_POSITION)
        columns[PHYSICAL_OFFSET * room + row] = i64(data, at + PHYSICAL_OFFSET_POSITION)
        columns[SYS_FLAG * room + row] = i32(data, at + SYS_FLAG_POSITION)
        columns[BORN_MS * room + row] = i64(data, at + BORN_TIMESTAMP_POSITION)
        columns[STORE_MS * room + row] = i64(data, time_at)
        columns[RECONSUME * room + row] = i32(data, body_at - _BEHIND_RECONSUME)
        columns[PREPARED_OFFSET * room + row] = i64(data, body_at - _BEHIND_PREPARED)
        row += 1
        turn = turn + 1 if state[BY_PLACES] else at + size
    state[AT], state[ROWS] = turn, row
    return reason


def holds(data: Bytes, at: int, end: int, limit: int, needle: Bytes, needle_bytes: int) -> bool:
    """Whether a range holds some bytes, at least one."""
    word = 0
    if needle_bytes > 2:
        word = u8(needle, 0) << 16 | u8(needle, 1) << 8 | u8(needle, 2)
    while at + needle_bytes <= end:
        at = find3(data, at, end, limit, word) if needle_bytes > 2 else find1(data, at, end, limit, u8(needle, 0))
        if at < 0 or at + needle_bytes > end:
            return False
        if same(data, at, needle, 0, needle_bytes):
            return True
        at += 1
    return False


def find_bytes(
    data: Bytes, limit: int, starts: Table, lengths: Table, count: int, needle: Bytes, needle_bytes: int, rows: Bytes
) -> int:
    """Find which of some ranges hold some bytes; returns how many.

    Args:
        data: The bytes that the ranges are of.
        limit: Where they end.
        starts: Where each range begins.
        lengths: Bytes of each.
        count: How many there are.
        needle: What is searched, at least one byte.
        needle_bytes: Its length.
        rows: A 1 for each range that is searched; stays where it holds the bytes.
    """
    hits = 0
    for number in range(count):
        later = min(number + _TEXTS_AHEAD, count - 1)
        if rows[later]:
            fetch(data, starts[later], min(lengths[later], FETCHED_AHEAD))
        if rows[number] == 0:
            continue
        if holds(data, starts[number], starts[number] + lengths[number], limit, needle, needle_bytes):
            hits += 1
        else:
            put8(rows, number, 0)
    return hits


def mark_between(column: Table, count: int, borders: Table, border_count: int, rows: Bytes) -> int:
    """Mark the rows whose number lies in some ranges; returns how many.

    Args:
        column: A number of each row.
        count: How many rows there are.
        borders: The ranges, ascending: of each its first number and the first number after it.
        border_count: How many there are; odd where the last range has no end.
        rows: Gets 1 or 0 for each row.
    """
    found = 0
    for row in range(count):
        low, high = 0, border_count
        while low < high:
            middle = (low + high) // 2
            if borders[middle] <= column[row]:
                low = middle + 1
            else:
                high = middle
        put8(rows, row, low & 1)
        found += low & 1
    return found


def mark_with(column: Table, count: int, bits: int, rows: Bytes) -> int:
    """Mark the rows whose number has some of the bits; returns how many. Arguments as of `mark_between`."""
    found = 0
    for row in range(count):
        has_some = 1 if column[row] & bits else 0
        put8(rows, row, has_some)
        found += has_some
    return found


def merge(one: Table, count: int, other: Table, other_count: int, merged: Table) -> int:
    """Merge two ascending columns, equal numbers once; returns how many there are."""
    found, left, right = 0, 0, 0
    while left < count or right < other_count:
        if right == other_count or (left < count and one[left] <= other[right]):
            value = one[left]
            left += 1
        else:
            value = other[right]
            right += 1
        if found == 0 or merged[found - 1] != value:
            merged[found] = value
            found += 1
    return found


def touch_pages(data: Bytes, start: int, stop: int, step: int) -> int:
    """Read bytes at a distance from each other, so that what reads all of them does not wait for the disk; their maximum."""
    most, at = 0, start
    while at < stop:
        most = max(most, u8(data, at))
        at += step
    return most


# Columns of the state of `number_texts`.
TEXTS: Final = 0
"""How many texts there are."""
SLOT_MASK: Final = 1
"""Slots of the hash table, a power of 2, less 1."""
SEED: Final = 2
GROUPS: Final = 3
GROUPS_MAX: Final = 4
"""At most half as many as slots."""


def group_of(
    data: Bytes, row: int, starts: Table, lengths: Table, numbers: Table, state: Table, slots: Table, firsts: Table
) -> int:
    """The group of a text and a number beside it; -1 where there is no room for another."""
    hashed = mix(state[SEED] ^ numbers[row], data, starts[row], lengths[row])
    slot = hashed & state[SLOT_MASK]
    while slots[slot]:
        first = firsts[slots[slot] - 1]
        is_alike = lengths[first] == lengths[row] and numbers[first] == numbers[row]
        if is_alike and same(data, starts[first], data, starts[row], lengths[row]):
            return int(slots[slot] - 1)
        slot = (slot + 1) & state[SLOT_MASK]
    group = state[GROUPS]
    if group >= state[GROUPS_MAX]:
        return -1
    firsts[group] = row
    slots[slot] = group + 1
    state[GROUPS] = group + 1
    return int(group)


def number_texts(
    data: Bytes, starts: Table, lengths: Table, numbers: Table, state: Table, slots: Table, firsts: Table, groups: Table
) -> int:
    """Number texts, each with a number beside it: equal ones have one group, in the order of their first occurrence.

    Args:
        data: The bytes.
        starts: Where each text begins.
        lengths: Bytes of each.
        numbers: The number beside each.
        state: The columns above.
        slots: The hash table: group plus 1; 0: none.
        firsts: Gets the first row of each group.
        groups: Gets the group of each row.

    Returns:
        `END`, or `FULL`.
    """
    for row in range(state[TEXTS]):
        fetch(data, starts[min(row + _TEXTS_AHEAD, state[TEXTS] - 1)], 1)
        groups[row] = group_of(data, row, starts, lengths, numbers, state, slots, firsts)
        if groups[row] < 0:
            return FULL
    return END
