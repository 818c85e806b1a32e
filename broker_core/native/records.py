"""Kernels that walk the records of a commit log file. They run as they are, or as machine code.

A kernel allocates nothing, raises nothing and decides nothing. It takes the records that are plain and stops in front of the
first one that is not, with the reason; the caller looks at that one in Python.

Source: docs/spec/store.md §2.1 to §2.6, §4.1, §4.2.
"""

from __future__ import annotations

from typing import Final

from broker_core.native.access import Bytes, Table, body_crc, copy, fetch, find1, i32, i64, mix, put32, put64, same, u8, u16
from broker_core.protocol.message.record import (
    BODY_CRC_POSITION,
    BODY_LENGTH_POSITION_V4,
    FIXED_BYTES,
    MAGIC_POSITION,
    MAGIC_V1,
    MAGIC_V2,
    PHYSICAL_OFFSET_POSITION,
    QUEUE_ID_POSITION,
    QUEUE_OFFSET_POSITION,
    STORE_TIMESTAMP_POSITION_V4,
    SYS_FLAG_POSITION,
    V6_EXTRA_BYTES,
)
from broker_core.protocol.message.sys_flag import BORN_HOST_V6, STORE_HOST_V6, TRANSACTION_MASK, TransactionType

# Why a scan stopped.
END: Final = 0
"""No record begins at the place, or the next one reaches beyond the end."""
ODD: Final = 1
"""Python has to look at the record."""
DAMAGED: Final = 2
"""The body has another checksum than the record says, or the record is torn."""
NEW_QUEUE: Final = 3
"""The table has no row for the queue of the record."""
FULL: Final = 4
"""There is no room for another unit."""

# Columns of the state: what a scan is given and what it found.
AT: Final = 0
"""Where the next record begins."""
BASE: Final = 1
"""Physical offset of the first byte of the file."""
LIMIT: Final = 2
"""Where records end at most."""
FIRST_TAKEN: Final = 3
"""Physical offset from which on records give units."""
CHECKS_CRC: Final = 4
SLOT_MASK: Final = 5
"""Slots of the hash table, a power of 2, less 1."""
SEED: Final = 6
"""Of the hashes."""
UNITS_MAX: Final = 7
UNITS: Final = 8
RECORDS: Final = 9
TOUCHED: Final = 10
"""Queues that got units."""
LAST_STORE_MS: Final = 11
DATA_END: Final = 12
"""Where the file ends."""
ODD_UNITS: Final = 13
"""Units whose code Python has to make."""
STATE_COLUMNS: Final = 16

# Columns of a queue's row.
Q_HASH: Final = 0
Q_TOPIC_AT: Final = 1
Q_TOPIC_BYTES: Final = 2
Q_ID: Final = 3
Q_COUNT: Final = 4
"""Units of this scan."""
Q_FIRST: Final = 5
"""Queue offset of the first of them."""
Q_PLACE: Final = 6
"""Where its units begin in the gathered ones; while they are gathered, where the next one goes."""
QUEUE_COLUMNS: Final = 8

UNIT_BYTES: Final = 20
CODE_POSITION: Final = 12
"""Of the third field of a unit."""
PAGE_BYTES: Final = 4096
_PREPARED: Final = int(TransactionType.PREPARED)
_ROLLBACK: Final = int(TransactionType.ROLLBACK)
_LENGTH_MAX: Final = 0x7FFF
FETCHED_AHEAD: Final = 2048
"""Bytes from a record to those that are brought near meanwhile: one step after the other would wait for the memory."""
NAME_END: Final = 1
ITEM_END: Final = 2
NOT_ASCII: Final = -1
_HIGH: Final = 0x80
_FOUR_HIGH: Final = 0x80808080
_31_2: Final = 31**2
_31_3: Final = 31**3
_31_4: Final = 31**4
_TAGS: Final = int.from_bytes(b"TAGS", "big")
_INNER: Final = int.from_bytes(b"INNE", "big")
"""Begin of the names of multi-dispatch."""
_SHORTEST_ITEM: Final = 5
_FURTHER_QUEUES: Final = b"INNER_MULTI_DISPATCH\x01"
_FURTHER_BYTES: Final = len(_FURTHER_QUEUES)
_FURTHER_1, _FURTHER_2 = (int.from_bytes(_FURTHER_QUEUES[at : at + 8], "big") for at in (0, 8))
_FURTHER_3: Final = int.from_bytes(_FURTHER_QUEUES[13:], "big")
_SCHEDULE_BYTES: Final = len("SCHEDULE_TOPIC_XXXX")
_SCHED: Final = int.from_bytes(b"SCHE", "big")
_NONE: Final = (0, 0, 0, 0, 0, 0, 0)
ODD_CODE: Final = 1 << 40
"""Stands for a hash that the kernel does not make."""


def text_hash(data: Bytes, at: int, end: int, before: int) -> int:
    """Java's hash of a text that goes on, as a number from 0 to 2³² − 1; `NOT_ASCII` where a byte is none of ASCII."""
    found = before
    while at + 4 <= end:  # one multiplication in four waits for the one before it
        word = i32(data, at)
        if word & _FOUR_HIGH:
            return NOT_ASCII
        found = found * _31_4 + (word >> 24) * _31_3 + (word >> 16 & 0xFF) * _31_2 + (word >> 8 & 0xFF) * 31 + (word & 0xFF)
        found &= 0xFFFFFFFF
        at += 4
    while at < end:
        if u8(data, at) >= _HIGH:
            return NOT_ASCII
        found = (found * 31 + u8(data, at)) & 0xFFFFFFFF
        at += 1
    return found


def tags_hash(data: Bytes, at: int, end: int, limit: int) -> int:
    """Hash of the TAGS of some properties, 0 where they have none; `ODD_CODE` where Python has to look at the properties."""
    found, seen = 0, 0
    while at < end:
        stop = find1(data, at, end, limit, ITEM_END)
        if stop - at >= _SHORTEST_ITEM:
            name = i32(data, at)
            if name == _INNER:
                return ODD_CODE
            if name == _TAGS and u8(data, at + 4) == NAME_END:
                found = text_hash(data, at + 5, stop, 0)
                if seen or found == NOT_ASCII:
                    return ODD_CODE
                seen = 1
        at = stop + 1
    return found - ((found & 0x80000000) << 1)


def has_further_queues(data: Bytes, at: int, end: int, limit: int) -> bool:
    """Whether properties name queues beside the record's own."""
    while at + _FURTHER_BYTES <= end:
        if i64(data, at) == _FURTHER_1 and i64(data, at + 8) == _FURTHER_2 and i64(data, at + 13) == _FURTHER_3:
            return True
        at = find1(data, at, end, limit, ITEM_END) + 1
    return False


def is_scheduled(data: Bytes, topic_at: int, topic_bytes: int) -> bool:
    """Whether a topic may be that of delayed messages, whose code is a time."""
    return topic_bytes == _SCHEDULE_BYTES and i32(data, topic_at) == _SCHED


def is_torn(data: Bytes, topic_at: int, properties_at: int, end: int, data_end: int) -> bool:
    """Whether topic or properties reach into a page of zeros, which a power cut kept from the disk.

    BODYCRC does not cover them, and their lengths may lie in the page before. Only a whole page of zeros after a page's border
    counts, so that a value which ends in zero bytes is no fault: only a last record whose properties are zero bytes from the
    border on would be. A page that was written to the disk in the middle of an append, and then not again, is not found.
    """
    border = (topic_at + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES
    if properties_at - 2 <= border < properties_at:
        border += PAGE_BYTES
    while border < end:
        at, stop = border, min(border + PAGE_BYTES, data_end)
        while at < stop and u8(data, at) == 0:
            at += 1
        if at == stop:
            return True
        border += PAGE_BYTES
    return False


def unit_code(data: Bytes, topic_at: int, topic_bytes: int, properties_at: int, end: int, limit: int) -> int:
    """Third field of the consume queue unit of a record; `ODD_CODE` for what Python has to look at."""
    if is_scheduled(data, topic_at, topic_bytes):
        return ODD_CODE
    return tags_hash(data, properties_at, end, limit)


def enters_queue(sys_flag: int) -> bool:
    """Whether a record is in its queue: not that of an open or rolled back transaction."""
    return sys_flag & TRANSACTION_MASK not in (_PREPARED, _ROLLBACK)


def put_unit(units: Bytes, number: int, physical_offset: int, size: int, code: int) -> None:
    """Write a consume queue unit."""
    put64(units, number * UNIT_BYTES, physical_offset)
    put32(units, number * UNIT_BYTES + 8, size)
    put64(units, number * UNIT_BYTES + CODE_POSITION, code)


def find_queue(
    data: Bytes,
    topic_at: int,
    topic_bytes: int,
    queue_id: int,
    hashed: int,
    queues: Table,
    slots: Table,
    texts: Bytes,
    mask: int,
) -> int:
    """Number of a queue's row, -1 where the table has none."""
    slot = hashed & mask
    while slots[slot]:
        row = (slots[slot] - 1) * QUEUE_COLUMNS
        is_alike = (
            queues[row + Q_HASH] == hashed and queues[row + Q_TOPIC_BYTES] == topic_bytes and queues[row + Q_ID] == queue_id
        )
        if is_alike and same(texts, queues[row + Q_TOPIC_AT], data, topic_at, topic_bytes):
            return int(slots[slot] - 1)
        slot = (slot + 1) & mask
    return -1


def link_at(data: Bytes, base: int, at: int, limit: int) -> int:
    """Bytes of the record at a place; 0 where there is none: by magic code, end, and own offset unless ``base`` < 0."""
    if at < 0 or at + FIXED_BYTES > limit:
        return 0
    size, magic = i32(data, at), i32(data, at + MAGIC_POSITION)
    if size < FIXED_BYTES or at + size > limit or magic not in (MAGIC_V1, MAGIC_V2):
        return 0
    return 0 if base >= 0 and i64(data, at + PHYSICAL_OFFSET_POSITION) != base + at else size


def record_at(data: Bytes, base: int, at: int, limit: int) -> tuple[int, int, int, int, int, int, int]:
    """The parts of a record: its bytes, its body's place and bytes, its topic's, and the places of properties and store time.

    No bytes where there is no record, see `link_at`, and where the lengths do not add up.
    """
    size = link_at(data, base, at, limit)
    if size == 0:
        return _NONE
    end, magic, flags = at + size, i32(data, at + MAGIC_POSITION), i32(data, at + SYS_FLAG_POSITION)
    store_time_at, body_at = at + STORE_TIMESTAMP_POSITION_V4, at + BODY_LENGTH_POSITION_V4
    if flags & BORN_HOST_V6:
        store_time_at += V6_EXTRA_BYTES
        body_at += V6_EXTRA_BYTES
    if flags & STORE_HOST_V6:
        body_at += V6_EXTRA_BYTES
    if body_at + 4 > end:
        return _NONE
    body_bytes = i32(data, body_at)
    body_at += 4
    topic_at = body_at + body_bytes
    if body_bytes < 0 or topic_at + 3 > end:
        return _NONE
    topic_bytes = u8(data, topic_at)
    topic_at += 1
    if magic == MAGIC_V2:
        topic_bytes = topic_bytes << 8 | u8(data, topic_at)
        topic_at += 1
    properties_at = topic_at + topic_bytes + 2
    if topic_bytes == 0 or topic_bytes > _LENGTH_MAX or properties_at > end:
        return _NONE
    properties_bytes = u16(data, properties_at - 2)
    if properties_bytes > _LENGTH_MAX or properties_at + properties_bytes != end:
        return _NONE
    return size, body_at, body_bytes, topic_at, topic_bytes, properties_at, store_time_at


def add_unit(state: Table, queues: Table, queue: int, queue_offset: int, rows: Table, touched: Table) -> int:
    """Give a queue the next unit; returns its number, or -1 where its offset does not follow the one before it."""
    row, number = queue * QUEUE_COLUMNS, state[UNITS]
    if queues[row + Q_COUNT] == 0:
        queues[row + Q_FIRST] = queue_offset
        touched[state[TOUCHED]] = queue
        state[TOUCHED] += 1
    elif queue_offset != queues[row + Q_FIRST] + queues[row + Q_COUNT]:
        return -1
    queues[row + Q_COUNT] += 1
    rows[number] = queue
    state[UNITS] = number + 1
    return number


def take_unit(
    data: Bytes, at: int, size: int, topic_at: int, topic_bytes: int, properties_at: int, state: Table, queues: Table,
    slots: Table, texts: Bytes, rows: Table, units: Bytes, touched: Table, odd: Table,
) -> int:  # fmt: skip
    """Make the unit of a record that is in its queue; returns why not, or `END`."""
    if not enters_queue(i32(data, at + SYS_FLAG_POSITION)):
        return END
    code = unit_code(data, topic_at, topic_bytes, properties_at, at + size, state[LIMIT])
    if code == ODD_CODE and has_further_queues(data, properties_at, at + size, state[LIMIT]):
        return ODD
    queue_id = i32(data, at + QUEUE_ID_POSITION)
    hashed = mix(state[SEED] ^ queue_id, data, topic_at, topic_bytes)
    queue = find_queue(data, topic_at, topic_bytes, queue_id, hashed, queues, slots, texts, state[SLOT_MASK])
    if queue < 0:
        return NEW_QUEUE
    if state[UNITS] >= state[UNITS_MAX]:
        return FULL
    number = add_unit(state, queues, queue, i64(data, at + QUEUE_OFFSET_POSITION), rows, touched)
    if number < 0:
        return ODD
    if code == ODD_CODE:
        odd[2 * state[ODD_UNITS]] = number
        odd[2 * state[ODD_UNITS] + 1] = state[BASE] + at
        state[ODD_UNITS] += 1
    put_unit(units, number, state[BASE] + at, size, code)
    return END


def scan_units(
    data: Bytes, state: Table, queues: Table, slots: Table, texts: Bytes, rows: Table, units: Bytes, touched: Table, odd: Table
) -> int:
    """Check records one behind the other, and make the consume queue units of those from an offset on.

    Args:
        data: The file.
        state: The columns above; those from `UNITS` on are counted on.
        queues: A row for each queue.
        slots: Numbers of rows by hash, plus 1; 0: none.
        texts: Topics of the queues.
        rows: Room for the row of each unit.
        units: Room for the units, in the order of the log.
        touched: Room for the rows of queues that got units.
        odd: Room for the number of each unit that gets `ODD_CODE`, and the physical offset of its record: it is delayed, or
            its tags are not ASCII or named twice.

    Returns:
        Why it stopped. ``state[AT]`` is behind the last record that it took.
    """
    at, base, reason = state[AT], state[BASE], END
    while True:
        size, body_at, body_bytes, topic_at, topic_bytes, properties_at, time_at = record_at(data, base, at, state[LIMIT])
        if size == 0:
            break
        if is_torn(data, topic_at, properties_at, at + size, state[DATA_END]):
            reason = DAMAGED
            break
        if state[CHECKS_CRC] and body_bytes and body_crc(data, body_at, body_bytes) != i32(data, at + BODY_CRC_POSITION):
            reason = DAMAGED
            break
        if base + at >= state[FIRST_TAKEN]:
            reason = take_unit(
                data, at, size, topic_at, topic_bytes, properties_at, state, queues, slots, texts, rows, units, touched, odd
            )
            if reason != END:
                break
        fetch(data, at + FETCHED_AHEAD, min(size, FETCHED_AHEAD))
        state[LAST_STORE_MS] = i64(data, time_at)
        state[RECORDS] += 1
        at += size
    state[AT] = at
    return reason


def gather_units(state: Table, queues: Table, rows: Table, units: Bytes, touched: Table, gathered: Bytes) -> int:
    """Put the units of each queue one behind the other, in the order of ``touched``; returns how many there are."""
    place = 0
    for number in range(state[TOUCHED]):
        row = touched[number] * QUEUE_COLUMNS
        queues[row + Q_PLACE] = place
        place += queues[row + Q_COUNT]
    for number in range(state[UNITS]):
        row = rows[number] * QUEUE_COLUMNS
        copy(gathered, queues[row + Q_PLACE] * UNIT_BYTES, units, number * UNIT_BYTES, UNIT_BYTES)
        queues[row + Q_PLACE] += 1
    return place


def queue_of(data: Bytes, at: int) -> tuple[bytes, int]:
    """Topic and queue id of the record at a position, which a scan stopped in front of; for Python only."""
    flags, topic_at = i32(data, at + SYS_FLAG_POSITION), at + BODY_LENGTH_POSITION_V4
    topic_at += V6_EXTRA_BYTES * ((flags & BORN_HOST_V6 != 0) + (flags & STORE_HOST_V6 != 0))
    topic_at += 4 + i32(data, topic_at)
    is_wide = i32(data, at + MAGIC_POSITION) == MAGIC_V2
    topic_bytes = u16(data, topic_at) if is_wide else u8(data, topic_at)
    topic_at += 1 + is_wide
    return bytes(data[topic_at : topic_at + topic_bytes]), i32(data, at + QUEUE_ID_POSITION)
