"""The timer wheel: one slot per tick of the precision, kept in memory, its changed pages written behind.

It is only an index into the timer log: it is made anew from the log at every start, so a damaged file, one of another
precision or one from before a crash does no harm. The file is kept for brokers that trust it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from broker_core.schedule.timer.layout import SLOT, SLOT_TYPE, SLOTS_TOTAL, WHEEL_BYTES, Slot
from broker_core.store.disk import Disk

PAGE_BYTES = 4096
_SEARCH_SLOTS = 8_192

Int64s = npt.NDArray[np.int64]


class DirtyPages(NamedTuple):
    """Pages to be written: their numbers, ascending, and their bytes."""

    numbers: list[int]
    data: list[bytes]


class PendingSlots(NamedTuple):
    """Slots with units, by time.

    Attributes:
        time_ms: Start of the slot.
        messages: Messages less cancels.
        rolls: Those of them that are only on the way to a later slot.
    """

    time_ms: Int64s
    messages: Int64s
    rolls: Int64s


class TimerWheel:
    """Slots in memory.

    Args:
        path: ``timerwheel`` of a store.
        precision_ms: Width of a slot.
        disk: The operating system.
    """

    def __init__(self, path: Path, precision_ms: int, disk: Disk) -> None:
        self._path = path
        self.precision_ms = precision_ms
        self._disk = disk
        self._memory = disk.map_memory(WHEEL_BYTES)
        self._slots = np.frombuffer(self._memory, SLOT_TYPE)
        self._rolls = np.zeros(SLOTS_TOTAL, np.int32)
        self._dirty: set[int] = set()
        self._is_new = True

    def slot(self, time_ms: int) -> Slot | None:
        """The slot of a time; None while nothing is in it."""
        tick = time_ms // self.precision_ms
        found, first, last, messages, _magic = SLOT.unpack_from(self._memory, tick % SLOTS_TOTAL * SLOT.size)
        return Slot(tick * self.precision_ms, first, last, messages) if found == tick else None

    def is_taken(self, time_ms: int) -> bool:
        """Whether the slot of a time still holds units of another time, a whole turn of the wheel away."""
        tick = time_ms // self.precision_ms
        found: int = SLOT.unpack_from(self._memory, tick % SLOTS_TOTAL * SLOT.size)[0]
        return found not in (0, tick)

    def put(self, slot: Slot, *, rolls: int = 0) -> None:
        """Set a slot; ``rolls`` more of its messages are only on the way to a later one."""
        tick = slot.time_ms // self.precision_ms
        row = tick % SLOTS_TOTAL
        SLOT.pack_into(self._memory, row * SLOT.size, tick, slot.first, slot.last, slot.messages, 0)
        self._rolls[row] += rolls
        self._dirty.add(row * SLOT.size // PAGE_BYTES)

    def clear(self, time_ms: int) -> None:
        """Empty the slot of a time."""
        row = time_ms // self.precision_ms % SLOTS_TOTAL
        SLOT.pack_into(self._memory, row * SLOT.size, 0, 0, 0, 0, 0)
        self._rolls[row] = 0
        self._dirty.add(row * SLOT.size // PAGE_BYTES)

    def next_time(self, from_ms: int) -> int | None:
        """Time of the first slot with units at or after a time; None without any."""
        start = from_ms // self.precision_ms
        times = self._slots["time"]
        done = 0
        while done < SLOTS_TOTAL:
            index = (start + done) % SLOTS_TOTAL
            part = times[index : min(index + _SEARCH_SLOTS, SLOTS_TOTAL, index + SLOTS_TOTAL - done)]
            hits = np.flatnonzero(part >= max(start, 1))
            if len(hits):
                return int(part[hits[0]]) * self.precision_ms
            done += len(part)
        return None

    def pending(self) -> PendingSlots:
        """All slots with units. May be called from any thread."""
        times = self._slots["time"].astype(np.int64)
        rows = np.flatnonzero(times)
        rows = rows[np.argsort(times[rows])]
        messages = self._slots["count"][rows].astype(np.int64)
        return PendingSlots(times[rows] * self.precision_ms, messages, self._rolls[rows].astype(np.int64))

    # ---- the file ----

    def fill(self, times_ms: Int64s, first: Int64s, last: Int64s, messages: Int64s, rolls: Int64s) -> None:
        """Set many slots of an empty wheel; one row a slot."""
        ticks = times_ms // self.precision_ms
        rows = ticks % SLOTS_TOTAL
        self._slots["time"][rows] = ticks
        self._slots["first"][rows] = first
        self._slots["last"][rows] = last
        self._slots["count"][rows] = messages
        self._rolls[rows] = rolls

    def dirty(self) -> DirtyPages:
        """Pages changed since the last call, copied; the first time all that differ from the file."""
        if self._is_new:
            self._is_new = False
            self._dirty.update(self._different())
        numbers = sorted(self._dirty)
        self._dirty.clear()
        return DirtyPages(numbers, [bytes(self._memory[n * PAGE_BYTES : (n + 1) * PAGE_BYTES]) for n in numbers])

    def not_written(self, pages: DirtyPages) -> None:
        """Take note that `write` failed."""
        self._dirty.update(pages.numbers)

    def write(self, pages: DirtyPages) -> None:
        """Write and sync; on whatever thread, one at a time.

        Raises:
            OSError: It failed.
        """
        if not pages.numbers and self._path.exists():
            return
        if self._path.exists() and self._path.stat().st_size != WHEEL_BYTES:
            self._path.unlink()
        is_new = not self._path.exists()
        descriptor = self._disk.open_sized(self._path, WHEEL_BYTES)
        try:
            for number, data in _runs(pages):
                self._disk.write_at(descriptor, data, number * PAGE_BYTES)
            self._disk.sync(descriptor)
        finally:
            self._disk.close(descriptor)
        if is_new:
            self._disk.sync_directory(self._path.parent)

    def _different(self) -> list[int]:
        """Pages whose bytes are not those of the file."""
        mine = np.frombuffer(self._memory, np.uint64)
        data = b""
        if self._path.is_file() and self._path.stat().st_size == WHEEL_BYTES:
            data = self._disk.read_at(self._path, WHEEL_BYTES, 0)
        there = np.frombuffer(data, np.uint64) if len(data) == WHEEL_BYTES else np.uint64(0)
        rows = np.flatnonzero(mine != there)
        return [int(number) for number in np.unique(rows * 8 // PAGE_BYTES)]


def _runs(pages: DirtyPages) -> Iterator[tuple[int, bytes]]:
    """Neighbouring pages joined, up to 1 MiB."""
    start = 0
    numbers = pages.numbers
    for index in range(1, len(numbers) + 1):
        ends = index == len(numbers) or numbers[index] != numbers[index - 1] + 1 or index - start == 256
        if ends:
            yield numbers[start], b"".join(pages.data[start:index])
            start = index
