"""The kernels that look at each of many records, and at its unit. They run as they are, or as machine code.

Source: docs/spec/store.md §2.5, §4.1, §4.2.
"""

from __future__ import annotations

from typing import Final

from broker_core.native.access import Bytes, Table, body_crc, fetch, i32, i64
from broker_core.native.heads import NO_BASE
from broker_core.native.records import (
    FETCHED_AHEAD,
    ODD_CODE,
    UNIT_BYTES,
    enters_queue,
    is_torn,
    put_unit,
    record_at,
    unit_code,
)
from broker_core.protocol.message.record import BODY_CRC_POSITION

# What is wrong with a record, or has to be looked at in Python.
TORN: Final = 1
WRONG_BODY: Final = 2
HAS_RECORD_CRC: Final = 4

RECORD_CRC_BYTES: Final = 20
"""Property at a record's end: name, 0x01, ten digits, 0x02."""
_RECORD_CRC: Final = int.from_bytes(b"__CRC32#", "big")
_RECORDS_AHEAD: Final = 4


def tags_codes(data: Bytes, limit: int, places: Table, count: int, codes: Table) -> int:
    """Hash of the tags of records, `ODD_CODE` for what Python has to look at; returns how many of these there are.

    Args:
        data: The records.
        limit: Where they end.
        places: Where each begins.
        count: How many there are.
        codes: Gets the codes.
    """
    odd = 0
    for number in range(count):
        size, _, _, topic_at, topic_bytes, properties_at, _ = record_at(data, NO_BASE, places[number], limit)
        codes[number] = unit_code(data, topic_at, topic_bytes, properties_at, places[number] + size, limit)
        odd += codes[number] == ODD_CODE
    return odd


def find_faults(data: Bytes, limit: int, places: Table, count: int, faults: Table) -> int:
    """What is wrong with records, the sum of the bits above; returns how many have any. Arguments as of `tags_codes`."""
    found = 0
    for number in range(count):
        at = places[number]
        fetch(data, places[min(number + _RECORDS_AHEAD, count - 1)], FETCHED_AHEAD)
        size, body_at, body_bytes, topic_at, _, properties_at, _ = record_at(data, NO_BASE, at, limit)
        end = at + size
        fault = TORN if is_torn(data, topic_at, properties_at, end, limit) else 0
        if body_bytes and body_crc(data, body_at, body_bytes) != i32(data, at + BODY_CRC_POSITION):
            fault |= WRONG_BODY
        if end - RECORD_CRC_BYTES >= properties_at and i64(data, end - RECORD_CRC_BYTES) == _RECORD_CRC:
            fault |= HAS_RECORD_CRC
        faults[number] = fault
        found += fault != 0
    return found


def make_units(
    count: int, groups: Table, sys_flags: Table, queue_offsets: Table, physical_offsets: Table, sizes: Table, codes: Table,
    group_count: int, ends: Table, rows: Table, units: Bytes, runs: Table,
) -> int:  # fmt: skip
    """Make the units of the records that are in their queue, one queue after the other; returns how many runs they have.

    Args:
        count: How many records there are.
        groups: The queue of each.
        sys_flags: Column of their heads.
        queue_offsets: Likewise.
        physical_offsets: Likewise.
        sizes: Likewise.
        codes: Third field of each unit.
        group_count: How many queues there are.
        ends: Zeros, one more than queues; gets the end of each queue's units.
        rows: Gets the record of each unit.
        units: Gets the units.
        runs: Gets the first unit of each run of consecutive queue offsets, and behind them how many units there are.
    """
    for row in range(count):
        if enters_queue(sys_flags[row]):
            ends[groups[row] + 1] += 1
    for group in range(group_count):
        ends[group + 1] += ends[group]
    total, found = ends[group_count], 0
    for row in range(count):  # the begin of each queue becomes its end
        if enters_queue(sys_flags[row]):
            number = ends[groups[row]]
            ends[groups[row]] = number + 1
            rows[number] = row
            put_unit(units, number, physical_offsets[row], sizes[row], codes[row])
    for number in range(total):
        row, before = rows[number], rows[max(number - 1, 0)]
        if number == 0 or groups[row] != groups[before] or queue_offsets[row] != queue_offsets[before] + 1:
            runs[found] = number
            found += 1
    runs[found] = total
    return found


# Columns of the state of `check_units` and `unit_places`.
AT: Final = 0
"""Number of the next unit."""
UNITS: Final = 1
"""How many there are."""
REACHED: Final = 2
"""Physical offset of the last record that a unit named."""
LOG_START: Final = 3
LOG_END: Final = 4
IN_LOG: Final = 5
"""Units of records that the log may hold."""
BEYOND: Final = 6
"""Units whose records would begin after the end of the log."""
FIRST_BEYOND: Final = 7
"""The first of these."""
IN_HOLE: Final = 8
"""Whether the unit before the next one is empty."""
STATE_COLUMNS: Final = 12

BLANK_SIZE: Final = 0x7FFFFFFF
"""Record bytes of a unit that only fills the place of a deleted one; it names offset 0."""
# What `check_units` stopped at.
ALL_UNITS: Final = 0
HOLE: Final = 1
"""The unit at `AT` is empty and the one before it is not, or the other way round."""
NOT_BEHIND: Final = 2
"""The record of the unit before `AT` does not lie behind the one before it."""


def check_units(state: Table, units: Bytes) -> int:
    """Check the units of a queue up to the next place that is to be reported; returns which.

    Args:
        state: The columns above.
        units: The units.
    """
    while state[AT] < state[UNITS]:
        at = state[AT] * UNIT_BYTES
        physical, size = i64(units, at), i32(units, at + 8)
        is_empty = 1 if size <= 0 else 0
        if is_empty != state[IN_HOLE]:
            state[IN_HOLE] = is_empty
            return HOLE
        state[AT] += 1
        if is_empty or (size == BLANK_SIZE and physical == 0):
            continue
        if physical >= state[LOG_END]:
            if state[BEYOND] == 0:
                state[FIRST_BEYOND] = state[AT] - 1
            state[BEYOND] += 1
        elif physical >= state[LOG_START]:
            state[IN_LOG] += 1
        before = state[REACHED]
        state[REACHED] = physical
        if physical <= before:
            return NOT_BEHIND
    return ALL_UNITS


def unit_places(state: Table, units: Bytes, places: Table) -> int:
    """Physical offsets of the records that units name, ascending; returns how many.

    Units that are empty, or do not lie behind those before them, are left out and counted in ``state[BEYOND]``.

    Args:
        state: The columns above.
        units: The units.
        places: Gets the offsets.
    """
    found = 0
    for number in range(state[UNITS]):
        physical, size = i64(units, number * UNIT_BYTES), i32(units, number * UNIT_BYTES + 8)
        if size == BLANK_SIZE and physical == 0:
            continue
        if size > 0 and physical > state[REACHED]:
            places[found] = physical
            found += 1
        else:
            state[BEYOND] += 1
        state[REACHED] = max(state[REACHED], physical)
    return found
