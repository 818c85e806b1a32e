"""Heads of many records as columns, made by the kernel of `broker_core.native.heads`.

A column is a memoryview of numbers (format q). Which of the rows are meant say bytes of 1 and 0, one a row.

Source: docs/spec/store.md §2.1 to §2.5.
"""

from __future__ import annotations

import secrets
from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from broker_core.native import checks as c
from broker_core.native import heads as k
from broker_core.native.addresses import room
from broker_core.native.calls import call
from broker_core.native.library import Function, Library
from broker_core.native.records import FULL
from broker_core.protocol.message.record import FIXED_BYTES

_ROWS_AT_FIRST = (1 << 16) + 24
"""Room for records: 9 MB. No power of two, because columns would then share the lines of the cache."""
_SPARSE = 16
"""Fewer rows than this part of the room are copied, so that the room is given back."""
_GROUPS_AT_FIRST = 1 << 8
_SEED = secrets.randbits(62)
_NO_PLACES = memoryview(array("q", [0]))


@dataclass(frozen=True, slots=True)
class Damage:
    """A place in a commit log file where no record could be read."""

    position: int
    """In the file."""
    reason: str


class _Column:
    """A column by its name."""

    def __init__(self, number: int) -> None:
        self._number = number

    def __get__(self, heads: RecordHeads, _owner: type[RecordHeads]) -> memoryview:
        return heads.columns[self._number]


@dataclass(frozen=True, slots=True)
class RecordHeads:
    """Heads of records, ascending; all columns have one entry a record, positions count from the start of the buffer.

    Times are epoch milliseconds, lengths bytes.

    Attributes:
        columns: The numbers, one column after the other, as `broker_core.native.heads` names them.
        end: Position after the last record; the filler and unused bytes follow.
        ended_by_filler: The file is complete: a filler follows the last record.
        damage: Places before the end that hold no record.
    """

    columns: list[memoryview]
    end: int
    ended_by_filler: bool = False
    damage: list[Damage] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.columns[0])

    def first(self, count: int) -> RecordHeads:
        """The first rows, without the damage."""
        if count == len(self):
            return self
        end = self.position[count - 1] + self.size[count - 1] if count else 0
        return RecordHeads([column[:count] for column in self.columns], end)

    def without(self, rows: Iterable[int]) -> RecordHeads:
        """The heads without some rows; ``end`` and ``damage`` stay."""
        left_out = set(rows)
        kept = [row for row in range(len(self)) if row not in left_out]
        columns = [memoryview(array("q", [column[row] for row in kept])) for column in self.columns]
        return RecordHeads(columns, self.end, self.ended_by_filler, self.damage)

    position = _Column(k.POSITION)
    size = _Column(k.SIZE)
    body_position = _Column(k.BODY_POSITION)
    body_bytes = _Column(k.BODY_BYTES)
    topic_position = _Column(k.TOPIC_POSITION)
    topic_bytes = _Column(k.TOPIC_BYTES)
    properties_position = _Column(k.PROPERTIES_POSITION)
    properties_bytes = _Column(k.PROPERTIES_BYTES)
    body_crc = _Column(k.BODY_CRC)
    queue_id = _Column(k.QUEUE_ID)
    flag = _Column(k.FLAG)
    queue_offset = _Column(k.QUEUE_OFFSET)
    physical_offset = _Column(k.PHYSICAL_OFFSET)
    sys_flag = _Column(k.SYS_FLAG)
    born_ms = _Column(k.BORN_MS)
    store_ms = _Column(k.STORE_MS)
    reconsume = _Column(k.RECONSUME)
    prepared_offset = _Column(k.PREPARED_OFFSET)


class Groups(NamedTuple):
    """Rows by a text and a number: the first row of each group, and the group of each row."""

    firsts: memoryview
    of_row: memoryview


class HeadScan:
    """Reads heads, and searches the bytes of records.

    Args:
        library: The machine code; None runs the kernel in Python.
    """

    def __init__(self, library: Library | None) -> None:
        self._library = library

    def chain(self, data: memoryview, base: int | None, start: int, stop: int) -> RecordHeads:
        """Consecutive records from a position on, up to the first place without one; those that begin at ``stop`` are left out.

        Args:
            data: The file up to where records may reach.
            base: Physical offset of its first byte; None for records outside of their log, whose offsets are not checked.
            start: Position of the first record.
            stop: Position before which they begin.
        """
        return self._heads(data, base, start, stop, None)

    def at(self, data: memoryview, base: int, offsets: memoryview) -> RecordHeads:
        """The records at some physical offsets, ascending; those without one are left out. Arguments as of `chain`."""
        found = self._heads(data, base, 0, len(offsets), offsets)
        return RecordHeads(found.columns, found.position[-1] + found.size[-1] if len(found) else 0)

    def _heads(self, data: memoryview, base: int | None, start: int, stop: int, offsets: memoryview | None) -> RecordHeads:
        """Heads, and where the scan ended; with more records than there is room for, it begins again with more room."""
        state, anywhere = array("q", bytes(8 * k.STATE_COLUMNS)), _NO_PLACES if offsets is None else offsets
        state[k.BASE], state[k.LIMIT], state[k.STOP] = k.NO_BASE if base is None else base, len(data), stop
        state[k.BY_PLACES], state[k.ORIGIN] = offsets is not None, base or 0
        rows_max = min(_ROWS_AT_FIRST, max(stop - start, 0) // FIXED_BYTES + 1) if offsets is None else stop + 1
        while True:
            state[k.AT], state[k.ROWS], state[k.ROWS_MAX] = start, 0, rows_max
            table = room(k.HEAD_COLUMNS * rows_max)
            if call(self._library, k.scan_heads, data, state, anywhere, table) != FULL:
                break
            rows_max *= 4
        rows = state[k.ROWS]
        columns = [table[begin : begin + rows] for begin in range(0, len(table), rows_max)]
        if rows < rows_max // _SPARSE:
            columns = [memoryview(bytes(column)).cast("q") for column in columns]
        return RecordHeads(columns, state[k.AT])

    def narrow(self, data: memoryview, starts: memoryview, lengths: memoryview, needle: bytes, rows: bytearray) -> None:
        """Take those of some rows away whose range of the data does not hold some bytes, at least one."""
        call(self._library, k.find_bytes, data, len(data), starts, lengths, len(starts), needle, len(needle), rows)

    def between(self, column: memoryview, borders: Iterable[int]) -> bytearray:
        """The rows whose number lies in some ranges: from the first border up to, not including, the second, and so on."""
        table, rows = array("q", borders), bytearray(len(column))
        call(self._library, k.mark_between, column, len(column), table, len(table), rows)
        return rows

    def with_bits(self, column: memoryview, bits: int) -> bytearray:
        """The rows whose number has some of the bits."""
        rows = bytearray(len(column))
        call(self._library, k.mark_with, column, len(column), bits, rows)
        return rows

    def groups(self, data: memoryview, starts: memoryview, lengths: memoryview, numbers: memoryview | None = None) -> Groups:
        """Rows by their texts, and by the numbers beside these."""
        count = len(starts)
        beside = memoryview(bytes(8 * count)).cast("q") if numbers is None else numbers
        found, groups_max = room(count), _GROUPS_AT_FIRST
        while True:
            state, slots, firsts = (array("q", bytes(8 * size)) for size in (k.STATE_COLUMNS, 2 * groups_max, groups_max))
            state[k.TEXTS], state[k.SLOT_MASK], state[k.SEED], state[k.GROUPS_MAX] = (
                count,
                2 * groups_max - 1,
                _SEED,
                groups_max,
            )
            if call(self._library, k.number_texts, data, starts, lengths, beside, state, slots, firsts, found) != FULL:
                return Groups(memoryview(firsts)[: state[k.GROUPS]], found)
            groups_max *= 16

    def codes(self, data: memoryview, heads: RecordHeads) -> tuple[memoryview, int]:
        """Hash of each record's tags, `ODD_CODE` where Python has to look at its properties; and how many are odd."""
        return self._of_each(c.tags_codes, data, heads)

    def faults(self, data: memoryview, heads: RecordHeads) -> tuple[memoryview, int]:
        """What is wrong with each record, as `broker_core.native.checks` names it; and how many have anything."""
        return self._of_each(c.find_faults, data, heads)

    def _of_each(self, kernel: Function, data: memoryview, heads: RecordHeads) -> tuple[memoryview, int]:
        found = room(len(heads))
        return found, call(self._library, kernel, data, len(data), heads.position, len(heads), found)


def joined(parts: list[list[memoryview]]) -> list[memoryview]:
    """Columns of several scans one behind the other; without a copy where there is one scan."""
    return parts[0] if len(parts) == 1 else [memoryview(b"".join(column)).cast("q") for column in zip(*parts, strict=True)]
