"""Heads of many records as numpy columns, made by the kernel of `broker_core.native.heads`.

Source: docs/spec/store.md §2.1 to §2.5.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from broker_core.native import checks as c
from broker_core.native import heads as k
from broker_core.native.calls import call
from broker_core.native.library import Function, Library
from broker_core.native.records import FULL
from broker_core.protocol.message.record import FIXED_BYTES

Bytes = npt.NDArray[np.uint8]
Int64s = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_ROWS_MAX = (1 << 16) + 24
"""Records of one call: 9 MB. No power of two, because columns would then share the lines of the cache."""
_SPARSE = 16
"""Fewer rows than this part of the room are copied, so that the room is given back."""
_GROUPS_AT_FIRST = 1 << 8
_SEED = secrets.randbits(62)
_NO_PLACES: Int64s = np.zeros(1, dtype=np.int64)


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

    def __get__(self, heads: RecordHeads, _owner: type[RecordHeads]) -> Int64s:
        found: Int64s = heads.columns[self._number]
        return found


@dataclass(frozen=True, slots=True)
class RecordHeads:
    """Heads of records, ascending; all columns have one entry a record, positions count from the start of the buffer.

    Times are epoch milliseconds, lengths bytes.

    Attributes:
        columns: The numbers, one row a column, as `broker_core.native.heads` names them.
        end: Position after the last record; the filler and unused bytes follow.
        ended_by_filler: The file is complete: a filler follows the last record.
        damage: Places before the end that hold no record.
    """

    columns: Int64s
    end: int
    ended_by_filler: bool = False
    damage: list[Damage] = field(default_factory=list)

    def __len__(self) -> int:
        return int(self.columns.shape[1])

    def part(self, first: int, last: int) -> RecordHeads:
        """Rows from ``first`` to ``last``, without the damage."""
        if not first and last == len(self):
            return self
        end = int(self.position[last - 1] + self.size[last - 1]) if last > first else 0
        return RecordHeads(self.columns[:, first:last], end)

    def without(self, rows: Int64s) -> RecordHeads:
        """The heads without some rows; ``end`` and ``damage`` stay."""
        return self.only(np.delete(np.arange(len(self)), rows))

    def only(self, rows: Int64s) -> RecordHeads:
        """Some of the rows; ``end`` and ``damage`` stay."""
        return RecordHeads(self.columns[:, rows], self.end, self.ended_by_filler, self.damage)

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

    firsts: Int64s
    of_row: Int64s


class HeadScan:
    """Reads heads, and searches the bytes of records.

    Args:
        library: The machine code; None runs the kernel in Python.
    """

    def __init__(self, library: Library | None) -> None:
        self._library = library

    def chain(self, data: Bytes, base: int | None, start: int, stop: int) -> RecordHeads:
        """Consecutive records from a position on, up to the first place without one; those that begin at ``stop`` are left out.

        Args:
            data: The file up to where records may reach.
            base: Physical offset of its first byte; None for records outside of their log, whose offsets are not checked.
            start: Position of the first record.
            stop: Position before which they begin.
        """
        columns, end = self._columns(data, base, start, stop, None)
        return RecordHeads(columns, end)

    def at(self, data: Bytes, base: int | None, places: Int64s) -> RecordHeads:
        """The records at some positions, ascending; positions without one are left out. Arguments as of `chain`."""
        columns, _ = self._columns(data, base, 0, len(places), np.ascontiguousarray(places, dtype=np.int64))
        last = columns[: k.SIZE + 1, -1:].sum()
        return RecordHeads(columns, int(last))

    def _columns(self, data: Bytes, base: int | None, start: int, stop: int, places: Int64s | None) -> tuple[Int64s, int]:
        least_bytes = FIXED_BYTES if places is None else 1
        parts, state = [], np.zeros(k.STATE_COLUMNS, dtype=np.int64)
        state[[k.AT, k.BASE, k.LIMIT, k.STOP]] = start, k.NO_BASE if base is None else base, len(data), stop
        state[k.BY_PLACES] = places is not None
        is_full = True
        while is_full:
            room = min(_ROWS_MAX, max(stop - int(state[k.AT]), 0) // least_bytes + 1)
            state[[k.ROWS, k.ROWS_MAX]] = 0, room
            columns = np.empty((k.HEAD_COLUMNS, room), dtype=np.int64)
            anywhere = _NO_PLACES if places is None else places
            is_full = call(self._library, k.scan_heads, data, state, anywhere, columns.reshape(-1)) == FULL
            found = columns[:, : state[k.ROWS]]
            parts.append(found.copy() if found.size < columns.size // _SPARSE else found)
        return parts[0] if len(parts) == 1 else np.concatenate(parts, axis=1), int(state[k.AT])

    def which_hold(self, data: Bytes, starts: Int64s, ends: Int64s, needle: bytes) -> Bools:
        """Which of some ranges of the data hold some bytes, at least one."""
        found = np.zeros(len(starts), dtype=np.int64)
        first, last = (np.ascontiguousarray(column, dtype=np.int64) for column in (starts, ends))
        call(self._library, k.find_bytes, data, len(data), first, last, len(first), needle, len(needle), found)
        return found.astype(np.bool_)

    def groups(self, data: Bytes, starts: Int64s, lengths: Int64s, numbers: Int64s | None = None) -> Groups:
        """Rows by their texts, and by the numbers beside these."""
        beside = np.zeros(len(starts), dtype=np.int64) if numbers is None else numbers
        texts = [np.ascontiguousarray(column, dtype=np.int64) for column in (starts, lengths, beside)]
        found, room = np.empty(len(starts), dtype=np.int64), _GROUPS_AT_FIRST
        while True:
            state, slots, firsts = (np.zeros(size, dtype=np.int64) for size in (k.STATE_COLUMNS, 2 * room, room))
            state[[k.TEXTS, k.SLOT_MASK, k.SEED, k.GROUPS_MAX]] = len(starts), 2 * room - 1, _SEED, room
            if call(self._library, k.number_texts, data, *texts, state, slots, firsts, found) != FULL:
                return Groups(firsts[: state[k.GROUPS]], found)
            room *= 16

    def codes(self, data: Bytes, heads: RecordHeads) -> Int64s:
        """Hash of each record's tags; `ODD_CODE` where Python has to look at its properties."""
        return self._of_each(c.tags_codes, data, heads)

    def faults(self, data: Bytes, heads: RecordHeads) -> Int64s:
        """What is wrong with each record, as `broker_core.native.checks` names it."""
        return self._of_each(c.find_faults, data, heads)

    def _of_each(self, kernel: Function, data: Bytes, heads: RecordHeads) -> Int64s:
        places, found = np.ascontiguousarray(heads.position), np.zeros(len(heads), dtype=np.int64)
        call(self._library, kernel, data, len(data), places, len(places), found)
        return found
