"""Consume queue: where the messages of one queue lie in the commit log, 20 bytes each.

    physical offset i64 | record size i32 | tags code i64

New units are kept in memory and `write` writes them from time to time: the log is the truth, and the next start completes a
queue that lags it. So a queue needs no mapping and no open file, and a store can have many.

Offsets and units in memory are in the queue's row (`broker_core.native.queue_rows`), which machine code reads and writes too.

Not thread-safe: callers hold the store's lock, except in `write`.

Source: docs/spec/store.md §4, §10.2, §10.5.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from broker_core.config import CONSUME_QUEUE_UNIT_BYTES
from broker_core.engine.store.consume_queue_ext import ConsumeQueueExtension, PendingExt, is_address
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.file_row import FileRow
from broker_core.engine.store.queue_extent import queue_extent
from broker_core.native import queue_rows as r
from broker_core.native.queue_rows import QueueRows
from broker_core.protocol.names import SCHEDULE_TOPIC
from broker_core.protocol.queue_unit import QueueUnit

UNIT = struct.Struct(">qiq")
UNIT_BYTES = CONSUME_QUEUE_UNIT_BYTES
assert UNIT.size == UNIT_BYTES

PRE_BLANK_SIZE = 0x7FFFFFFF
PRE_BLANK = UNIT.pack(0, PRE_BLANK_SIZE, 0)
"""Fills a file before the first unit of a queue whose older files are deleted (docs/spec/store.md §4.4)."""

KEPT_UNITS = 16
"""Written units kept in memory for the consumers that keep up: half of the smallest block."""
UNWRITTEN_UNITS_MAX = (16 << 20) // UNIT_BYTES
"""A put that finds more unwritten units in memory writes the queue."""

_SCAN_UNITS = 3276

_pack_unit_into = UNIT.pack_into


class PendingUnits(NamedTuple):
    """Units that `ConsumeQueue.write` writes."""

    start_offset: int
    data: bytes
    extension: PendingExt | None = None


class ConsumeQueue:
    """One consume queue.

    Args:
        topic: Name as stored.
        queue_id: Number.
        directory: Directory of its files; may not exist yet.
        file_bytes: Size of a file, a multiple of 20.
        disk: Access to the operating system.
        read_only: Never write to the directory.
        rows: Has its row.
        extension: The queue's extension, if any.
    """

    __slots__ = (
        "_files",
        "_mended",
        "_read_only",
        "_rows",
        "_table",
        "extension",
        "file_bytes",
        "is_damaged",
        "queue_id",
        "row",
        "topic",
    )

    def __init__(
        self,
        topic: str,
        queue_id: int,
        directory: Path,
        file_bytes: int,
        disk: Disk,
        *,
        read_only: bool,
        rows: QueueRows,
        extension: ConsumeQueueExtension | None = None,
    ) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.file_bytes = file_bytes
        self.extension = extension
        self._rows = rows
        self._table = rows.table
        self.row = rows.add(queue_id, is_open=extension is None and topic != SCHEDULE_TOPIC)
        """Place in the table; `NO_ROW` once the queue is removed."""
        self.is_damaged = False
        """`load` found files that do not follow each other; the queue must be built again."""
        self._files = FileRow(directory, file_bytes, disk, read_only=read_only)
        self._read_only = read_only
        self._mended: dict[int, bytes] | None = None
        """If read-only: units that replace those in the files."""

    @property
    def max_offset(self) -> int:
        """Offset of the next message."""
        return self._table[self.row + r.MAX_OFFSET]

    @property
    def min_offset(self) -> int:
        """Offset of the first message that is kept."""
        return self._table[self.row + r.MIN_OFFSET]

    @min_offset.setter
    def min_offset(self, offset: int) -> None:
        self._table[self.row + r.MIN_OFFSET] = offset

    @property
    def written_offset(self) -> int:
        """The files hold the units before this offset."""
        return self._table[self.row + r.WRITTEN_OFFSET]

    @property
    def tail_start(self) -> int:
        """Offset of the first unit in memory."""
        return self._table[self.row + r.TAIL_START]

    @property
    def last_store_ms(self) -> int:
        """Store time of the last message; -1 if unknown."""
        return self._table[self.row + r.LAST_STORE_MS]

    @last_store_ms.setter
    def last_store_ms(self, store_ms: int) -> None:
        self._table[self.row + r.LAST_STORE_MS] = store_ms

    # ---- writing -------------------------------------------------------------------------------------------------------

    def next_offset(self, units: int) -> int:
        """Offset of the next message. There is room for so many then: a put asks before it writes to the log.

        Raises:
            MemoryError: There is no room.
        """
        table, row = self._table, self.row
        end = table[row + r.MAX_OFFSET]
        if end - table[row + r.TAIL_START] + units > table[row + r.TAIL_ROOM]:
            self._rows.make_room(row, units)
        return end

    def append(self, physical_offset: int, record_bytes: int, tags_code: int, store_ms: int) -> None:
        """Add the unit of the next message; `next_offset` has made room."""
        rows, table, row = self._rows, self._table, self.row
        end = table[row + r.MAX_OFFSET]
        place = table[row + r.TAIL_AT] + (end - table[row + r.TAIL_START]) * UNIT_BYTES
        _pack_unit_into(rows.tails, place, physical_offset, record_bytes, tags_code)
        table[row + r.MAX_OFFSET] = end + 1
        table[row + r.LAST_STORE_MS] = store_ms
        if not table[row + r.LISTED] & r.IN_TOUCHED:
            rows.touch(row)

    def extend(self, units: bytes) -> None:
        """Add the units of the next messages."""
        end = self.next_offset(len(units) // UNIT_BYTES)
        rows, table, row = self._rows, self._table, self.row
        place = table[row + r.TAIL_AT] + (end - table[row + r.TAIL_START]) * UNIT_BYTES
        rows.tails[place : place + len(units)] = units
        table[row + r.MAX_OFFSET] = end + len(units) // UNIT_BYTES
        rows.touch(row)

    def start_at(self, offset: int) -> None:
        """Set the first offset of an empty queue: earlier units in the same file become blanks."""
        first = offset - offset % (self.file_bytes // UNIT_BYTES)
        self._empty_at(first)
        self.extend(PRE_BLANK * (offset - first))
        self.min_offset = offset

    def _empty_at(self, offset: int) -> None:
        """Drop all units; the next message gets an offset."""
        self._rows.drop_window(self.row)
        table, row = self._table, self.row
        self._rows.drop_tail(row, offset)
        for column in (r.WRITTEN_OFFSET, r.MIN_OFFSET, r.MAX_OFFSET):
            table[row + column] = offset

    @property
    def unwritten_units(self) -> int:
        """Number of units that `write` has to write."""
        return self.max_offset - self.written_offset

    def pending(self) -> PendingUnits:
        """Copy of the unwritten units; taken under the store's lock."""
        extension = self.extension.pending() if self.extension is not None else None
        return PendingUnits(self.written_offset, self._in_memory(self.written_offset, self.max_offset), extension)

    def write(self, pending: PendingUnits) -> None:
        """Write units to the files, without the store's lock, on one thread at a time.

        Raises:
            OSError: The disk is full or broken; `written` must not be called then.
        """
        if pending.extension is not None and self.extension is not None:
            self.extension.write(pending.extension)  # first: a unit must not name what is not there
        self._files.write(pending.data, pending.start_offset * UNIT_BYTES)

    def written(self, pending: PendingUnits) -> None:
        """Note that `write` succeeded; called under the store's lock."""
        if pending.extension is not None and self.extension is not None:
            self.extension.written(pending.extension)
        written = pending.start_offset + len(pending.data) // UNIT_BYTES
        self._table[self.row + r.WRITTEN_OFFSET] = written
        self._rows.shorten_tail(self.row, written - KEPT_UNITS)

    @property
    def needs_sync(self) -> bool:
        """Whether written bytes may not be on the disk."""
        return self._files.needs_sync

    def sync(self) -> None:
        """Sync the written files, on the thread that writes.

        Raises:
            OSError: The sync failed.
        """
        if self.extension is not None:
            self.extension.sync()
        self._files.sync()

    # ---- reading -------------------------------------------------------------------------------------------------------

    def units(self, offset: int, count: int) -> bytes:
        """Bytes of up to ``count`` units from ``offset`` on, within one file's range; empty without any."""
        units_in_file = self.file_bytes // UNIT_BYTES
        table, row = self._table, self.row
        end = min(offset + count, table[row + r.MAX_OFFSET], offset - offset % units_in_file + units_in_file)
        if offset < 0 or offset >= end:
            return b""
        tail_start = table[row + r.TAIL_START]
        if offset >= tail_start:
            return self._in_memory(offset, end)
        on_disk = self._read(offset, min(end, tail_start) - offset)
        is_whole = end > tail_start and len(on_disk) == (tail_start - offset) * UNIT_BYTES
        return on_disk + self._in_memory(tail_start, end) if is_whole else on_disk

    def _in_memory(self, start: int, end: int) -> bytes:
        """Bytes of the units between two offsets of the tail."""
        table, row = self._table, self.row
        first = table[row + r.TAIL_AT] - table[row + r.TAIL_START] * UNIT_BYTES
        return bytes(self._rows.tails[first + start * UNIT_BYTES : first + end * UNIT_BYTES])

    def unit(self, offset: int) -> QueueUnit | None:
        """One unit; None without one."""
        data = self.units(offset, 1)
        return QueueUnit._make(UNIT.unpack(data)) if len(data) == UNIT_BYTES else None

    def units_backwards(self, end: int) -> Iterator[tuple[int, int, int]]:
        """Fields of the units before ``end``, the last one first."""
        step, in_file = _SCAN_UNITS, self.file_bytes // UNIT_BYTES
        while end > self.min_offset:
            start = max(self.min_offset, end - step, (end - 1) // in_file * in_file)
            yield from reversed(list(UNIT.iter_unpack(self.units(start, end - start))))
            end = start

    def plain_code(self, tags_code: int) -> int | None:
        """The tags code of a unit's third field, looked up in the extension if it is an address; None if it is lost."""
        if not is_address(tags_code):
            return tags_code
        unit = self.extension.unit(tags_code) if self.extension is not None else None
        return None if unit is None else unit.tags_code

    def next_file_offset(self, offset: int) -> int:
        """First queue offset of the file after the one that holds ``offset``."""
        units_in_file = self.file_bytes // UNIT_BYTES
        return offset - offset % units_in_file + units_in_file

    def _read(self, offset: int, count: int) -> bytes:
        data = self._files.read(offset * UNIT_BYTES, count * UNIT_BYTES)
        data = data[: len(data) // UNIT_BYTES * UNIT_BYTES]
        return data if self._mended is None else _with_mended(self._mended, offset, data)

    # ---- recovery ------------------------------------------------------------------------------------------------------

    def load(self) -> None:
        """Find the first and the last unit in the files."""
        extent = queue_extent(self._files)
        self.is_damaged = extent is None
        if extent is not None:
            first, end = extent
            self._empty_at(end)
            self.min_offset = first

    def cut(self, offset: int) -> None:
        """Drop all units from ``offset`` on, on the disk too unless read-only."""
        if offset >= self.max_offset:
            return
        self._rows.drop_window(self.row)
        table, row, end = self._table, self.row, max(offset, 0)
        if end < self.tail_start:
            self._rows.drop_tail(row, end)
        table[row + r.MAX_OFFSET] = end
        for column in (r.MIN_OFFSET, r.WRITTEN_OFFSET):
            table[row + column] = min(table[row + column], end)
        self.clear_behind_end()

    def clear_behind_end(self) -> None:
        """Remove left-overs after the last written unit from the files, unless read-only."""
        self._files.clear_from(self.written_offset * UNIT_BYTES)

    def settle_extension(self) -> None:
        """End the extension after the last unit that has one; called once recovery has found the queue's end."""
        if self.extension is not None:
            addresses = (code for _, _, code in self.units_backwards(self.max_offset) if is_address(code))
            self.extension.settle(next(addresses, None))

    def mend(self, offset: int, unit: bytes) -> None:
        """Replace a damaged unit; if read-only, in memory only. On the thread that writes, under the store's lock.

        Raises:
            OSError: The disk is full or broken.
        """
        self._rows.drop_window(self.row)
        if offset >= self.tail_start:
            place = self._table[self.row + r.TAIL_AT] + (offset - self.tail_start) * UNIT_BYTES
            self._rows.tails[place : place + UNIT_BYTES] = unit
        if self._read_only:
            if self._mended is None:
                self._mended = {}
            self._mended[offset] = unit
            self._table[self.row + r.OPEN_AS] = 0
        elif offset < self.written_offset:
            self.write(PendingUnits(offset, unit))

    def remove_before_min(self) -> int:
        """Delete files that hold only units before the min offset, never the last; returns the number."""
        removed = self._files.remove_before(min(self.min_offset, self.written_offset) * UNIT_BYTES)
        if removed and self.extension is not None and (first := self.unit(self.min_offset)) and is_address(first.tags_code):
            self.extension.remove_before(first.tags_code)
        return removed

    def forget(self) -> None:
        """Drop all units and files, to build the queue again."""
        self._files.clear_from(0)
        self._empty_at(0)
        self.is_damaged = False

    def remove(self) -> None:
        """Delete files and directory, and the topic's directory if it is empty then; the queue loses its row."""
        row, self.row = self.row, r.NO_ROW
        self._rows.remove(row)
        self._files.clear_from(0)
        if self.extension is not None:
            self.extension.remove()
        self._files.remove_directory()


def _with_mended(mended: dict[int, bytes], offset: int, data: bytes) -> bytes:
    units = bytearray(data)
    for number in range(len(data) // UNIT_BYTES):
        if offset + number in mended:
            units[number * UNIT_BYTES : (number + 1) * UNIT_BYTES] = mended[offset + number]
    return bytes(units)
