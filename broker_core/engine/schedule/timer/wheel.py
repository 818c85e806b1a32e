"""The timer wheel: one slot per tick of the precision, kept in memory, its changed pages written behind.

It is only an index into the timer log and is rebuilt from that at every start, so a damaged file, one of another precision or
one from before a crash does no harm. The file is kept for brokers that trust it, and replaced as a whole after a start.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from broker_core.engine.schedule.timer.layout import NO_POSITION, SLOT, SLOT_TYPE, SLOTS_TOTAL, WHEEL_BYTES, Slot
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.record_heads import Bools, Int64s
from broker_core.platform import replacing

PAGE_BYTES = 4096
_BLOCK_SLOTS = 1_024
_BLOCKS = -(-SLOTS_TOTAL // _BLOCK_SLOTS)


class DirtyPages(NamedTuple):
    """Pages to write, ascending by number; ``is_whole``: all others are zero."""

    numbers: list[int]
    data: list[bytes]
    is_whole: bool


class SlotColumns(NamedTuple):
    """Slots, without their times."""

    first: Int64s
    last: Int64s
    messages: Int64s


class PendingSlots(NamedTuple):
    """Slots with units, by time: messages less cancels, and those of them that only wait for a later slot (``rolls``)."""

    time_ms: Int64s
    messages: Int64s
    rolls: Int64s


class TimerWheel:
    """Slots in memory, each ``precision_ms`` wide."""

    def __init__(self, path: Path, precision_ms: int, disk: Disk) -> None:
        self._path = path
        self.precision_ms = precision_ms
        self._disk = disk
        self._memory = disk.map_memory(WHEEL_BYTES)
        self._slots = np.frombuffer(self._memory, SLOT_TYPE)
        self._rolls = np.zeros(SLOTS_TOTAL, np.int32)
        self._taken = np.zeros(_BLOCKS, np.int64)
        """Slots with units, by block: a search skips the empty ones."""
        self._dirty: set[int] = set()
        self._is_written = False

    def slot(self, time_ms: int) -> Slot | None:
        """The slot of a time; None if it is empty."""
        tick = time_ms // self.precision_ms
        found, first, last, messages, _magic = SLOT.unpack_from(self._memory, tick % SLOTS_TOTAL * SLOT.size)
        return Slot(tick * self.precision_ms, first, last, messages) if found == tick else None

    def slots(self, times_ms: Int64s) -> SlotColumns:
        """The slots of times; positions are -1 without units."""
        ticks = times_ms // self.precision_ms
        found = self._slots[ticks % SLOTS_TOTAL]
        is_empty = found["time"] != ticks
        first, last, messages = (found[name].astype(np.int64) for name in ("first", "last", "count"))
        first[is_empty] = last[is_empty] = NO_POSITION
        messages[is_empty] = 0
        return SlotColumns(first, last, messages)

    def are_taken(self, times_ms: Int64s) -> Bools:
        """Whether the slots of times still hold units of other times, a whole turn of the wheel away."""
        ticks = times_ms // self.precision_ms
        found = self._slots["time"][ticks % SLOTS_TOTAL]
        return np.asarray((found != 0) & (found != ticks))

    def put(self, times_ms: Int64s, first: Int64s, last: Int64s, messages: Int64s, rolls: Int64s) -> None:
        """Set slots, each of them once; adds ``rolls`` to the messages that only wait for a later slot."""
        ticks = times_ms // self.precision_ms
        rows = ticks % SLOTS_TOTAL
        new = rows[self._slots["time"][rows] == 0]
        np.add.at(self._taken, new // _BLOCK_SLOTS, 1)
        self._slots["time"][rows] = ticks
        self._slots["first"][rows] = first
        self._slots["last"][rows] = last
        self._slots["count"][rows] = messages
        self._rolls[rows] += rolls.astype(np.int32)
        self._dirty.update((rows * SLOT.size // PAGE_BYTES).tolist())

    def clear(self, time_ms: int) -> None:
        """Empty the slot of a time."""
        row = time_ms // self.precision_ms % SLOTS_TOTAL
        if SLOT.unpack_from(self._memory, row * SLOT.size)[0]:
            self._taken[row // _BLOCK_SLOTS] -= 1
        SLOT.pack_into(self._memory, row * SLOT.size, 0, 0, 0, 0, 0)
        self._rolls[row] = 0
        self._dirty.add(row * SLOT.size // PAGE_BYTES)

    def next_time(self, from_ms: int) -> int | None:
        """Time of the first slot with units at or after a time; None without any."""
        start = max(1, from_ms // self.precision_ms)
        first_block = start % SLOTS_TOTAL // _BLOCK_SLOTS
        blocks = np.flatnonzero(self._taken)
        # Once around the wheel; the block of the start comes twice, for its second and for its first part.
        cut = int(np.searchsorted(blocks, first_block))
        best: int | None = None
        for block in [*blocks[cut:].tolist(), *blocks[: cut + 1].tolist()]:
            times = self._slots["time"][block * _BLOCK_SLOTS : (block + 1) * _BLOCK_SLOTS]
            later = times[times >= start]
            if len(later) and (best is None or int(later.min()) < best):
                best = int(later.min())
                if block != first_block:
                    break
        return None if best is None else best * self.precision_ms

    def pending(self) -> PendingSlots:
        """All slots with units. May be called from any thread."""
        rows = self._rows()
        times = self._slots["time"][rows].astype(np.int64)
        order = np.argsort(times)
        rows = rows[order]
        messages = self._slots["count"][rows].astype(np.int64)
        return PendingSlots(times[order] * self.precision_ms, messages, self._rolls[rows].astype(np.int64))

    def _rows(self) -> Int64s:
        found = []
        for block in np.flatnonzero(self._taken).tolist():
            start = block * _BLOCK_SLOTS
            found.append(start + np.flatnonzero(self._slots["time"][start : start + _BLOCK_SLOTS]))
        return np.concatenate(found) if found else np.zeros(0, np.int64)

    # ---- the file ----

    def dirty(self) -> DirtyPages:
        """Copies of the pages changed since the last call; all with units until a `write` has succeeded."""
        if not self._is_written:
            self._dirty.update((self._rows() * SLOT.size // PAGE_BYTES).tolist())
        numbers = sorted(self._dirty)
        self._dirty.clear()
        pages = [bytes(self._memory[number * PAGE_BYTES : (number + 1) * PAGE_BYTES]) for number in numbers]
        return DirtyPages(numbers, pages, not self._is_written)

    def was_written(self) -> None:
        """Record that `write` succeeded."""
        self._is_written = True

    def not_written(self, pages: DirtyPages) -> None:
        """Record that `write` failed."""
        self._dirty.update(pages.numbers)

    def write(self, pages: DirtyPages) -> None:
        """Write and sync; on any thread, one at a time.

        Raises:
            OSError: It failed.
        """
        if not pages.is_whole:
            if pages.numbers:
                self._write(self._path, pages)
            return
        new = self._path.with_name(f"{self._path.name}.new")
        new.unlink(missing_ok=True)
        self._write(new, pages)
        replacing.replace(new, self._path)
        self._disk.sync_directory(self._path.parent)

    def _write(self, path: Path, pages: DirtyPages) -> None:
        descriptor = self._disk.open_sized(path, WHEEL_BYTES)
        try:
            for number, data in _runs(pages):
                self._disk.write_at(descriptor, data, number * PAGE_BYTES)
            self._disk.sync(descriptor)
        finally:
            self._disk.close(descriptor)


def _runs(pages: DirtyPages) -> Iterator[tuple[int, bytes]]:
    """Neighbouring pages joined, up to 1 MiB."""
    start = 0
    numbers = pages.numbers
    for index in range(1, len(numbers) + 1):
        ends = index == len(numbers) or numbers[index] != numbers[index - 1] + 1 or index - start == 256
        if ends:
            yield numbers[start], b"".join(pages.data[start:index])
            start = index
