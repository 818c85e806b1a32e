"""The timer log: appended in memory, written behind, read one unit at a time.

Units not yet written are lost with the process and rebuilt from the wheel topic (`recovery`), so an append never waits for the
disk. One thread appends and reads; `write` may run on another.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from broker_core.engine.schedule.timer.checkpoint import SlotProgress
from broker_core.engine.schedule.timer.layout import (
    BLANK_MAGIC,
    FILLER,
    MAGIC_DELETE,
    MAGIC_MASK,
    MAGIC_ROLL,
    NO_POSITION,
    UNIT,
    Slot,
    TimerUnit,
    unpack_unit,
)
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.paths import offset_files, offset_name
from broker_core.errors import CorruptStoreError
from broker_core.platform import replacing

_BLOCK_UNITS = 128
_BLOCK_BYTES = _BLOCK_UNITS * UNIT.size
_BLOCKS_KEPT = 8
_KIND = MAGIC_DELETE | MAGIC_ROLL


class PendingBytes(NamedTuple):
    """Bytes to write, and their position."""

    position: int
    data: bytes


PendingUnit = tuple[int, int, tuple[int, ...]]
"""Position, time of the slot, and the fields of `UNIT`. No class, because a start makes one for each pending message."""


class TimerLog:
    """The files in ``timerlog`` of a store, made with the first write. Existing files keep their size.

    Attributes:
        end: Position after the last unit.
        last: Position of the last unit that `pending` has found, `NO_POSITION` without any.
        start: Position of the first byte that is kept.
        written: Position up to which the files are complete.
    """

    def __init__(self, directory: Path, file_bytes: int, disk: Disk) -> None:
        self._directory = directory
        self._disk = disk
        self.file_bytes = self._size_on_disk(file_bytes)
        self.start = self.end = self.written = 0
        self.last = NO_POSITION
        self._tail = bytearray()
        self._blocks: dict[int, bytes] = {}

    def _size_on_disk(self, configured: int) -> int:
        sizes = [path.stat().st_size for path, _base in offset_files(self._directory)]
        if not sizes or (len(sizes) == 1 and not sizes[0]):
            return configured
        if min(sizes[:-1], default=sizes[0]) != sizes[0] or max(sizes) != sizes[0] or sizes[0] < UNIT.size + FILLER.size:
            raise CorruptStoreError(
                f"the files in {self._directory} have sizes from {min(sizes):,} to {max(sizes):,} bytes; files of one timer "
                "log have one size. Move the directory away: pending timers are then made again from the wheel topic",
                file=str(self._directory),
                position=0,
            )
        return sizes[0]

    @property
    def unwritten_bytes(self) -> int:
        """Bytes that only memory holds."""
        return len(self._tail)

    # ---- appending and writing ----

    def next_position(self) -> int:
        """Position of the next unit; ends the file if it has no room for one."""
        rest = self.file_bytes - self.end % self.file_bytes
        if UNIT.size + FILLER.size > rest:
            self._tail += FILLER.pack(rest, 0, BLANK_MAGIC).ljust(rest, b"\0")
            self.end += rest
        return self.end

    def room(self) -> int:
        """Units that fit into the file of the next one, at least one."""
        return (self.file_bytes - self.next_position() % self.file_bytes - FILLER.size) // UNIT.size

    def append(self, unit: TimerUnit) -> int:
        """Add a unit; returns its position."""
        position = self.next_position()
        self.append_many(unit.pack())
        return position

    def append_many(self, units: bytes) -> None:
        """Add packed units, at `next_position`, no more than there is `room` for."""
        self._tail += units
        self.end += len(units)

    def unwritten(self) -> PendingBytes:
        """The bytes for `write`."""
        return PendingBytes(self.written, bytes(self._tail))

    def write(self, pending: PendingBytes) -> None:
        """Write and sync; on any thread, one at a time.

        Raises:
            OSError: It failed; the same bytes are written again.
        """
        if not pending.data:
            return
        is_new = not self._directory.is_dir()
        self._directory.mkdir(exist_ok=True)
        position, rest = pending.position, memoryview(pending.data)
        while rest:
            base = position - position % self.file_bytes
            part = rest[: base + self.file_bytes - position]
            descriptor = self._disk.open_sized(self._directory / offset_name(base), self.file_bytes)
            try:
                self._disk.write_at(descriptor, part, position - base)
                self._disk.sync(descriptor)
            finally:
                self._disk.close(descriptor)
            position, rest = position + len(part), rest[len(part) :]
        self._disk.sync_directory(self._directory)
        if is_new:
            self._disk.sync_directory(self._directory.parent)

    def was_written(self, pending: PendingBytes) -> None:
        """Record that `write` succeeded."""
        del self._tail[: len(pending.data)]
        self.written = pending.position + len(pending.data)

    # ---- reading ----

    def unit(self, position: int) -> TimerUnit | None:
        """One unit; None if it is not kept any more."""
        if not self.start <= position < self.end:
            return None
        if position >= self.written:
            return unpack_unit(self._tail, position - self.written)
        base = position - position % self.file_bytes
        inside = position - base
        index = inside // _BLOCK_BYTES
        block = self._block(base, index)
        inside -= index * _BLOCK_BYTES
        return unpack_unit(block, inside) if inside + UNIT.size <= len(block) else None

    def _block(self, base: int, index: int) -> bytes:
        key = base + index * _BLOCK_BYTES
        block = self._blocks.get(key)
        if block is not None:
            return block
        size = min(_BLOCK_BYTES, max(0, self.written - key))
        try:
            block = self._disk.read_at(self._directory / offset_name(base), size, index * _BLOCK_BYTES)
        except FileNotFoundError:
            return b""
        if len(block) < _BLOCK_BYTES:
            return block  # still growing
        if len(self._blocks) >= _BLOCKS_KEPT:
            del self._blocks[next(iter(self._blocks))]
        self._blocks[key] = block
        return block

    # ---- opening and cutting ----

    def pending(self, from_ms: int, log_min: int, log_end: int, progress: SlotProgress) -> Iterator[PendingUnit]:
        """Units in the files, by position: of slots from a time on, of records in a range of the commit log, not done yet.

        Reads up to the first bytes that are no unit. The first step sets `start`, the last one `end`, `last` and `written`.
        """
        progress_ms, done_until, _physical = progress
        unit_bytes, odd = UNIT.size, ~MAGIC_MASK
        files = offset_files(self._directory)
        self.start = self.end = files[0][1] if files else 0
        self.last = NO_POSITION
        for path, base in files:
            if base != self.end:
                break
            data = self._disk.map_read_only(path) if path.stat().st_size else memoryview(b"")
            units = UNIT.iter_unpack(data[: len(data) // UNIT.size * UNIT.size])
            end = base
            for unit in units:
                size, _previous, magic, write_ms, delay_ms, physical, _record_bytes, _topic, _reserved = unit
                if size != unit_bytes or magic & odd:
                    break
                slot_ms = write_ms + delay_ms
                is_done = slot_ms == progress_ms and end <= done_until and magic & _KIND != MAGIC_DELETE
                if slot_ms >= from_ms and log_min <= physical < log_end and not is_done:
                    yield end, slot_ms, unit
                end += unit_bytes
            if end > base:
                self.last = end - UNIT.size
            self.end = end
            filler = data[end - base : end - base + FILLER.size]
            if len(filler) < FILLER.size or FILLER.unpack(filler)[2] != BLANK_MAGIC:
                break
            self.end = base + self.file_bytes
        self.written = self.end

    def cut(self) -> None:
        """Remove everything after `end` from the files."""
        for path, base in offset_files(self._directory):
            if base >= self.end and base > self.start:
                path.unlink()
            elif self.end < base + self.file_bytes:
                self._disk.clear_behind(path, self.end - base)

    def skip_to_new_file(self) -> int:
        """Continue in a new file, to rewrite the log; returns its start."""
        if self.end % self.file_bytes:
            rest = self.file_bytes - self.end % self.file_bytes
            self._tail += FILLER.pack(rest, 0, BLANK_MAGIC)[:rest].ljust(rest, b"\0")
            self.end += rest
        return self.end

    def remove_before(self, position: int) -> int:
        """Delete files that end before a position, never the one written last; returns how many.

        A file that the system does not delete while it is in use stays until a later call.
        """
        removed = 0
        for path, base in offset_files(self._directory):
            if base + self.file_bytes > min(position, self.written) or not replacing.remove(path):
                break
            removed += 1
            self.start = base + self.file_bytes
        if removed:
            self._blocks.clear()
        return removed

    def outlived_before(self, log_min: int) -> int:
        """Position before which all units are of records that the commit log has deleted."""
        keep_from = self.start
        for _path, base in offset_files(self._directory)[:-1]:
            last = self._last_unit(base)
            if last is None or last.physical_offset >= log_min:
                break
            keep_from = base + self.file_bytes
        return keep_from

    def _last_unit(self, base: int) -> TimerUnit | None:
        inside = (self.file_bytes - FILLER.size) // UNIT.size * UNIT.size - UNIT.size
        return self.unit(base + inside) if inside >= 0 else None


def chain(log: TimerLog, slot: Slot) -> Iterator[tuple[int, TimerUnit]]:
    """Units of a slot with their positions, the newest first; ends at its first unit, which may follow delivered ones."""
    position = slot.last
    while position >= slot.first:
        unit = log.unit(position)
        if unit is None:
            return
        yield position, unit
        if unit.previous >= position:
            return  # a chain leads back; what does not is damaged
        position = unit.previous
