"""The timer wheel: one slot per tick of the precision, kept in memory, its changed pages written behind.

It is only an index into the timer log and is rebuilt from that at every start, so a damaged file, one of another precision or
one from before a crash does no harm. The file is kept for brokers that trust it, and replaced as a whole after a start.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from itertools import compress
from pathlib import Path
from typing import NamedTuple

from broker_core.engine.schedule.timer.layout import NO_POSITION, SLOT, SLOTS_TOTAL, WHEEL_BYTES, Slot
from broker_core.engine.store.disk import Disk
from broker_core.platform import replacing

PAGE_BYTES = 4096
_PAGE_SLOTS = PAGE_BYTES // SLOT.size
_TIME_AND_MESSAGES = struct.Struct(">q16xi4x")
assert _TIME_AND_MESSAGES.size == SLOT.size


class DirtyPages(NamedTuple):
    """Pages to write, ascending by number; ``is_whole``: all others are zero."""

    numbers: list[int]
    data: list[bytes]
    is_whole: bool


class PendingSlots(NamedTuple):
    """Slots with units, by time; ``messages``: less cancels and those that only wait for a later slot."""

    time_ms: list[int]
    messages: list[int]


class TimerWheel:
    """Slots in memory, each ``precision_ms`` wide."""

    def __init__(self, path: Path, precision_ms: int, disk: Disk) -> None:
        self._path = path
        self.precision_ms = precision_ms
        self._disk = disk
        self._memory = disk.map_memory(WHEEL_BYTES)
        self._taken = bytearray(SLOTS_TOTAL)
        """1 for each slot with units: a search skips the empty ones."""
        self._rolls: dict[int, int] = {}
        """Row of a slot → its messages that only wait for a later slot."""
        self._dirty: set[int] = set()
        self._is_written = False

    def slot(self, time_ms: int) -> Slot | None:
        """The slot of a time; None if it is empty."""
        tick = time_ms // self.precision_ms
        found, first, last, messages, _magic = SLOT.unpack_from(self._memory, tick % SLOTS_TOTAL * SLOT.size)
        return Slot(tick * self.precision_ms, first, last, messages) if found == tick else None

    def add(self, time_ms: int, first: int, last: int, messages: int, rolls: int) -> int | None:
        """Add units to the slot of a time.

        Args:
            time_ms: The time.
            first: Position of the first of the units.
            last: Position of the last one, behind all units of the slot.
            messages: Their messages less cancels.
            rolls: Those of them that only wait for a later slot.

        Returns:
            Position of the last unit before, `NO_POSITION` without any; None, and nothing is added, where the slot still holds
            units of another time, a whole turn of the wheel away.
        """
        tick = time_ms // self.precision_ms
        row = tick % SLOTS_TOTAL
        at = row * SLOT.size
        found, first_before, last_before, messages_before, _magic = SLOT.unpack_from(self._memory, at)
        if not found:
            last_before = NO_POSITION
            self._taken[row] = 1
        elif found == tick:
            first, messages = first_before, messages_before + messages
        else:
            return None
        SLOT.pack_into(self._memory, at, tick, first, last, messages, 0)
        if rolls:
            self._rolls[row] = self._rolls.get(row, 0) + rolls
        self._dirty.add(at // PAGE_BYTES)
        return int(last_before)

    def clear(self, time_ms: int) -> None:
        """Empty the slot of a time."""
        row = time_ms // self.precision_ms % SLOTS_TOTAL
        self._taken[row] = 0
        SLOT.pack_into(self._memory, row * SLOT.size, 0, 0, 0, 0, 0)
        self._rolls.pop(row, None)
        self._dirty.add(row * SLOT.size // PAGE_BYTES)

    def next_time(self, from_ms: int) -> int | None:
        """Time of the first slot with units at or after a time; None without any."""
        start = max(1, from_ms // self.precision_ms)
        begin = start % SLOTS_TOTAL
        beyond: list[int] = []
        # Once around the wheel. Those less than a turn ahead come by time.
        for first, end in ((begin, SLOTS_TOTAL), (0, begin)):
            row = self._taken.find(1, first, end)
            while row >= 0:
                tick = int(SLOT.unpack_from(self._memory, row * SLOT.size)[0])
                if start <= tick < start + SLOTS_TOTAL:
                    return tick * self.precision_ms
                if tick > start:
                    beyond.append(tick)
                row = self._taken.find(1, row + 1, end)
        return min(beyond) * self.precision_ms if beyond else None

    def times_with_rolls(self) -> list[int]:
        """Times of the slots whose messages, some of them, only wait for a later slot."""
        ticks = [SLOT.unpack_from(self._memory, row * SLOT.size)[0] for row in self._rolls]
        return [tick * self.precision_ms for tick in ticks]

    def pending(self) -> PendingSlots:
        """All slots with units. May be called from any thread."""
        found: dict[int, int] = {}
        for page in self._pages():
            rows = slice(page * _PAGE_SLOTS, (page + 1) * _PAGE_SLOTS)
            found.update(compress(_TIME_AND_MESSAGES.iter_unpack(self._page(page)), self._taken[rows]))
        for row, rolls in tuple(self._rolls.items()):
            tick, _messages = _TIME_AND_MESSAGES.unpack_from(self._memory, row * SLOT.size)
            if tick in found:
                found[tick] -= rolls
        found.pop(0, None)  # emptied meanwhile
        ticks = sorted(found)
        return PendingSlots([tick * self.precision_ms for tick in ticks], list(map(found.__getitem__, ticks)))

    def _pages(self) -> Iterator[int]:
        """Numbers of the pages with units."""
        row = self._taken.find(1)
        while row >= 0:
            page = row // _PAGE_SLOTS
            yield page
            row = self._taken.find(1, (page + 1) * _PAGE_SLOTS)

    def _page(self, number: int) -> bytes:
        return self._memory[number * PAGE_BYTES : (number + 1) * PAGE_BYTES]

    # ---- the file ----

    def dirty(self) -> DirtyPages:
        """Copies of the pages changed since the last call; all with units until a `write` has succeeded."""
        if not self._is_written:
            self._dirty.update(self._pages())
        numbers = sorted(self._dirty)
        self._dirty.clear()
        return DirtyPages(numbers, [self._page(number) for number in numbers], not self._is_written)

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
