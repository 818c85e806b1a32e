"""The kernels of reports: the chain of records, and sums of records by group. They run as they are, or as machine code.

Properties are items of NAME 0x01 VALUE with 0x02 between.

Source: docs/spec/store.md §2.1, §2.3 to §2.6.
"""

from __future__ import annotations

from typing import Final

from broker_core.native.access import Bytes, Table, copy, fetch, find1, i32, i64, mix, same
from broker_core.native.records import END, FETCHED_AHEAD, FULL, ITEM_END, link_at, record_at
from broker_core.protocol.message.record import BORN_HOST_POSITION, QUEUE_ID_POSITION, SYS_FLAG_POSITION
from broker_core.protocol.message.sys_flag import BORN_HOST_V6, TRANSACTION_MASK, TransactionType

MINUTE_MS: Final = 60_000
_COMMIT: Final = int(TransactionType.COMMIT)
_TOP: Final = (1 << 63) - 1
_SPREAD: Final = 1_000_003

# Columns of the state: what a kernel is given and what it found.
AT: Final = 0
"""Where the next record begins; of records that lie anywhere, the number of the next one."""
BASE: Final = 1
"""Physical offset of the first byte; `broker_core.native.heads.NO_BASE`: own offsets are not checked."""
LIMIT: Final = 2
"""Where records end at most."""
STOP: Final = 3
"""Records that begin from here on are left out; of records that lie anywhere, how many there are."""
BY_PLACES: Final = 4
NEXT_BORDER: Final = 5
"""The first record from here on begins a part."""
SPLIT_BYTES: Final = 6
"""Approximate distance of borders."""
BORDERS: Final = 7
LAST_AT: Final = 8
"""Start of the last record; -1 for none."""
FIRST_MS: Final = 9
"""Least store time that counts, epoch milliseconds."""
LAST_MS: Final = 10
PARTS: Final = 11
"""Group key besides properties, the sum of `BY_MINUTE` and so on."""
PROPERTIES: Final = 12
"""Number of properties in the group key."""
SLOT_MASK: Final = 13
"""Slots of the hash table, a power of 2, less 1."""
GROUPS_MAX: Final = 14
"""At most half as many as slots."""
POOL_MAX: Final = 15
GROUPS: Final = 16
POOL_BYTES: Final = 17
OUTSIDE_ROWS: Final = 18
OUTSIDE_BYTES: Final = 19
STATE_COLUMNS: Final = 24

# Columns of a group's row.
HASH, MINUTE, QUEUE, COMMITTED, MESSAGES, BODY, STORED, BODY_MAX, STORED_MAX, FIRST, LAST, TEXTS = range(12)
"""From `TEXTS` on two columns for each text: place in the pool, and bytes; -1 if there is none."""
KEYS: Final = 4
"""Columns of a record's group key; behind them two for each text, place in the data and bytes."""
TOPIC_TEXT, HOST_TEXT, PROPERTY_TEXT = range(3)
"""Numbers of the texts: properties come last."""

# Columns of a property to find: begin and end of its name with the separator, and whether its value matters.
NAME_START, NAME_STOP, IS_VALUE_KEPT = range(3)
PROPERTY_COLUMNS: Final = 3

# Parts of the group key besides properties.
BY_MINUTE, BY_QUEUE, BY_COMMITTED, BY_TOPIC, BY_HOST = 1, 2, 4, 8, 16


def follow(data: Bytes, state: Table, borders: Table) -> int:
    """Follow the chain of records to the first position without one.

    Args:
        data: The file.
        state: The columns above. ``state[AT]`` gets the end of the chain.
        borders: Receives the starts of parts; large enough for them.

    Returns:
        Number of borders.
    """
    at, count = state[AT], 0
    while at < state[STOP]:
        size = link_at(data, state[BASE], at, state[LIMIT])
        if size == 0:
            break
        if at >= state[NEXT_BORDER]:
            borders[count] = at
            count += 1
            state[NEXT_BORDER] = at + state[SPLIT_BYTES]
        fetch(data, at + FETCHED_AHEAD, min(size, FETCHED_AHEAD))
        state[LAST_AT] = at
        at += size
    state[AT] = at
    return count


def find_properties(data: Bytes, at: int, end: int, state: Table, names: Bytes, sought: Table, record: Table) -> None:
    """Positions and bytes of the last value of each property to find."""
    spans = KEYS + 2 * PROPERTY_TEXT
    for index in range(state[PROPERTIES]):
        record[spans + 2 * index], record[spans + 2 * index + 1] = 0, -1
    while at < end and state[PROPERTIES] > 0:
        stop = find1(data, at, end, state[LIMIT], ITEM_END)
        for index in range(state[PROPERTIES]):
            start = sought[PROPERTY_COLUMNS * index + NAME_START]
            length = sought[PROPERTY_COLUMNS * index + NAME_STOP] - start
            if stop - at > length and same(data, at, names, start, length):
                record[spans + 2 * index] = at + length
                is_kept = sought[PROPERTY_COLUMNS * index + IS_VALUE_KEPT]
                record[spans + 2 * index + 1] = stop - at - length if is_kept else 0
        at = stop + 1


def hash_of(data: Bytes, state: Table, record: Table) -> int:
    """Hash of a record's group key."""
    mixed = (record[MINUTE] * _SPREAD ^ record[QUEUE] << 1 ^ record[COMMITTED]) & _TOP
    for text in range(PROPERTY_TEXT + state[PROPERTIES]):
        at, length = record[KEYS + 2 * text], record[KEYS + 2 * text + 1]
        mixed = (mixed * _SPREAD + length) & _TOP
        if length > 0:
            mixed = mix(mixed, data, at, length)
    return mixed


def is_same_group(data: Bytes, state: Table, record: Table, groups: Table, row: int, pool: Bytes) -> bool:
    """Whether a record belongs to a group."""
    for column in range(KEYS):
        if groups[row + column] != record[column]:
            return False
    for text in range(PROPERTY_TEXT + state[PROPERTIES]):
        length = record[KEYS + 2 * text + 1]
        if groups[row + TEXTS + 2 * text + 1] != length:
            return False
        if length > 0 and not same(pool, groups[row + TEXTS + 2 * text], data, record[KEYS + 2 * text], length):
            return False
    return True


def begin_group(data: Bytes, state: Table, record: Table, groups: Table, pool: Bytes) -> int:
    """Number of a new group; -1: there is no room for it."""
    texts, room = PROPERTY_TEXT + state[PROPERTIES], 0
    for text in range(texts):
        room += max(record[KEYS + 2 * text + 1], 0)
    number, place = state[GROUPS], state[POOL_BYTES]
    if number >= state[GROUPS_MAX] or place + room > state[POOL_MAX]:
        return -1
    row = number * (TEXTS + 2 * texts)
    for column in range(TEXTS):
        groups[row + column] = record[column] if column < KEYS else 0
    for text in range(texts):
        length = record[KEYS + 2 * text + 1]
        groups[row + TEXTS + 2 * text], groups[row + TEXTS + 2 * text + 1] = place, length
        if length > 0:
            copy(pool, place, data, record[KEYS + 2 * text], length)
            place += length
    state[GROUPS], state[POOL_BYTES] = number + 1, place
    return int(number)


def group_of_record(data: Bytes, state: Table, record: Table, slots: Table, groups: Table, pool: Bytes) -> int:
    """Number of a record's group, which is begun if it is missing; -1: there is no room for it."""
    columns = TEXTS + 2 * (PROPERTY_TEXT + state[PROPERTIES])
    slot = record[HASH] & state[SLOT_MASK]
    while slots[slot]:
        if is_same_group(data, state, record, groups, (slots[slot] - 1) * columns, pool):
            return int(slots[slot] - 1)
        slot = (slot + 1) & state[SLOT_MASK]
    number = begin_group(data, state, record, groups, pool)
    slots[slot] = number + 1
    return number


def count_record(groups: Table, row: int, size: int, body_bytes: int, store_ms: int) -> None:
    """Add a record to the sums of its group."""
    is_first = groups[row + MESSAGES] == 0
    groups[row + MESSAGES] += 1
    groups[row + BODY] += body_bytes
    groups[row + STORED] += size
    groups[row + BODY_MAX] = max(groups[row + BODY_MAX], body_bytes)
    groups[row + STORED_MAX] = max(groups[row + STORED_MAX], size)
    groups[row + FIRST] = store_ms if is_first else min(groups[row + FIRST], store_ms)
    groups[row + LAST] = store_ms if is_first else max(groups[row + LAST], store_ms)


def take_key(
    data: Bytes, at: int, topic_at: int, topic_bytes: int, properties_at: int, end: int, store_ms: int, state: Table,
    names: Bytes, sought: Table, record: Table,
) -> None:  # fmt: skip
    """Make the group key of a record."""
    parts, flags = state[PARTS], i32(data, at + SYS_FLAG_POSITION)
    record[MINUTE] = store_ms // MINUTE_MS if parts & BY_MINUTE else 0
    record[QUEUE] = i32(data, at + QUEUE_ID_POSITION) if parts & BY_QUEUE else 0
    record[COMMITTED] = 1 if parts & BY_COMMITTED and flags & TRANSACTION_MASK == _COMMIT else 0
    record[KEYS + 2 * TOPIC_TEXT] = topic_at
    record[KEYS + 2 * TOPIC_TEXT + 1] = topic_bytes if parts & BY_TOPIC else -1
    record[KEYS + 2 * HOST_TEXT] = at + BORN_HOST_POSITION
    host_bytes = 16 if flags & BORN_HOST_V6 else 4
    record[KEYS + 2 * HOST_TEXT + 1] = host_bytes if parts & BY_HOST else -1
    find_properties(data, properties_at, end, state, names, sought, record)
    record[HASH] = hash_of(data, state, record)


def add_up(
    data: Bytes, state: Table, places: Table, names: Bytes, sought: Table, slots: Table, groups: Table, pool: Bytes,
    record: Table,
) -> int:  # fmt: skip
    """Add records to the sums of their groups.

    Args:
        data: The file, up to the greatest end of a record.
        state: The columns above. ``state[AT]`` gets ``state[STOP]``, or the first position without a record, or of a record
            whose group has no room.
        places: Starts of records, if ``state[BY_PLACES]``.
        names: Names of properties, concatenated.
        sought: Rows of ``names`` that are in the group key.
        slots: Number of a group by hash, plus 1; 0: none.
        groups: The groups.
        pool: Their texts.
        record: Scratch space for the key of a record.

    Returns:
        `END`, or `FULL`: a group has no room.
    """
    turn, reason = state[AT], END
    while turn < state[STOP]:
        at = places[turn] if state[BY_PLACES] else turn
        size, _, body_bytes, topic_at, topic_bytes, properties_at, time_at = record_at(data, state[BASE], at, state[LIMIT])
        if size == 0:
            break
        fetch(data, at + FETCHED_AHEAD, min(size, FETCHED_AHEAD))
        store_ms = i64(data, time_at)
        if store_ms < state[FIRST_MS] or store_ms > state[LAST_MS]:
            state[OUTSIDE_ROWS] += 1
            state[OUTSIDE_BYTES] += size
        else:
            take_key(data, at, topic_at, topic_bytes, properties_at, at + size, store_ms, state, names, sought, record)
            number = group_of_record(data, state, record, slots, groups, pool)
            if number < 0:
                reason = FULL
                break
            columns = TEXTS + 2 * (PROPERTY_TEXT + state[PROPERTIES])
            count_record(groups, number * columns, size, body_bytes, store_ms)
        turn = turn + 1 if state[BY_PLACES] else at + size
    state[AT] = turn
    return reason
