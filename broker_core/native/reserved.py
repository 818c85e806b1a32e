"""Address space that is reserved at once and gets memory in steps, so that what lies in it never moves."""

from __future__ import annotations

import ctypes
from typing import Final

from broker_core.native.addresses import address
from broker_core.platform import memory

_STEP_BYTES: Final = 256 * 1024
"""Memory is asked for in steps; only the pages that are touched take room."""


class Reserved:
    """Private memory of this process, zeros at first. It stays mapped as long as a view of it is in use.

    Args:
        size: Bytes reserved, a multiple of `mmap.PAGESIZE`. Half of them, and so on, where the system refuses.
        least: Bytes with which it is content.

    Raises:
        OSError: The system refuses ``least`` too.
    """

    def __init__(self, size: int, least: int) -> None:
        self._mapping = memory.reserve(size, least)
        self.size = len(self._mapping)
        self.address = address(self._mapping)
        self._usable = 0
        # The mapping itself counts as read-only, because it begins without access.
        array: ctypes.Array[ctypes.c_ubyte] = (ctypes.c_ubyte * self.size).from_address(self.address)
        array.mapping = self._mapping  # type: ignore[attr-defined]  # kept as long as views of the array
        self.view = memoryview(array).cast("B")
        """All of it. Access behind what `use` was called for ends the process."""

    def use(self, end: int) -> None:
        """Make the bytes before ``end`` usable.

        Raises:
            MemoryError: That is more than is reserved, or than the system gives.
        """
        if end <= self._usable:
            return
        if end > self.size:
            raise MemoryError(f"{end:,} bytes of {self.size:,} reserved are needed")
        usable = min(self.size, -(-end // _STEP_BYTES) * _STEP_BYTES)
        if not memory.give_use(self.address + self._usable, usable - self._usable):
            raise MemoryError(f"the system gives no memory: {usable - self._usable:,} bytes are needed")
        self._usable = usable

    def give_back(self, start: int, end: int) -> None:
        """Let the system have the pages of a range, whole pages inside of what is usable; they are zeros afterwards."""
        memory.clear(self._mapping, start, end - start, self.address)
