"""Blocks of units in memory that never moves: 32 units, or 2, 4, 8 … times as many.

Neighbours that are free become one block again (a buddy allocator), and pages that are free go back to the system. So the
memory follows what is in use, however the sizes change.
"""

from __future__ import annotations

import math
import mmap
from typing import Final

from broker_core.native.records import UNIT_BYTES
from broker_core.native.reserved import Reserved

SMALLEST_UNITS: Final = 32
SMALLEST_BYTES: Final = SMALLEST_UNITS * UNIT_BYTES
_TOP_LEVEL: Final = 25
"""The whole of it is one block of this level: 20 GiB, a thousand million units."""
_LEAST_LEVEL: Final = 17
"""80 MiB, for a process whose address space is limited."""
_PAGES_LEVEL: Final = (mmap.PAGESIZE // math.gcd(mmap.PAGESIZE, SMALLEST_BYTES)).bit_length() - 1
"""Blocks from this level on are whole pages."""


class Blocks:
    """Takes blocks from a reserved range. A block of level n has ``SMALLEST_UNITS << n`` units, and a place: its first byte."""

    def __init__(self) -> None:
        self.memory = Reserved(SMALLEST_BYTES << _TOP_LEVEL, SMALLEST_BYTES << _LEAST_LEVEL)
        self._levels = (self.memory.size // SMALLEST_BYTES).bit_length()
        self._free: list[set[int]] = [set() for _ in range(self._levels)]
        """By level: numbers of free blocks, counted in smallest blocks."""
        self._free[-1].add(0)

    def take(self, level: int) -> int:
        """A block's place; its content is arbitrary.

        Raises:
            MemoryError: There is none.
        """
        larger = next((found for found in range(level, self._levels) if self._free[found]), None)
        if larger is None:
            raise MemoryError(f"no block of {SMALLEST_BYTES << level:,} bytes for units is free")
        number = min(self._free[larger]) if larger >= _PAGES_LEVEL else next(iter(self._free[larger]))
        self.memory.use((number + (1 << level)) * SMALLEST_BYTES)
        self._free[larger].remove(number)
        while larger > level:
            larger -= 1
            self._free[larger].add(number + (1 << larger))
        return number * SMALLEST_BYTES

    def give_back(self, place: int, level: int) -> None:
        """End the use of a block."""
        number, merged = place // SMALLEST_BYTES, level
        while merged + 1 < self._levels and number ^ (1 << merged) in self._free[merged]:
            self._free[merged].remove(number ^ (1 << merged))
            number &= ~(1 << merged)
            merged += 1
        self._free[merged].add(number)
        if merged >= _PAGES_LEVEL:
            # What it was merged with on higher levels has no pages already.
            size = SMALLEST_BYTES << max(level, _PAGES_LEVEL)
            self.memory.give_back(place - place % size, place - place % size + size)

    def free_blocks(self) -> dict[int, int]:
        """Place → level of the free blocks, for tests."""
        return {number * SMALLEST_BYTES: level for level, found in enumerate(self._free) for number in found}


def level_of(units: int) -> int:
    """Level of the smallest block for so many units."""
    return max(0, (units - 1) // SMALLEST_UNITS).bit_length()
