"""Room for large frames that arrive in pieces, in memory or on the disk, shared by all connections of a server.

A connection keeps a little of an incomplete frame without a reservation. For more it reserves room for the whole frame. While
no room is free the server reads nothing more from it, so that slow peers with large frames cannot fill memory and disk.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable


class FrameBudget:
    """Bytes that incomplete large frames may take together; one frame fits even when it is larger than ``bytes_max``."""

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._taken: dict[Hashable, int] = {}
        self._sum = 0
        self._waiting: deque[tuple[Hashable, int, Callable[[], None]]] = deque()

    @property
    def taken_bytes(self) -> int:
        return self._sum

    @property
    def is_short(self) -> bool:
        """Whether a frame waits for room."""
        return bool(self._waiting)

    def __contains__(self, owner: Hashable) -> bool:
        return owner in self._taken

    def reserve(self, owner: Hashable, size: int, granted: Callable[[], None]) -> bool:
        """Reserve room for a frame of ``owner``; False when there is none yet: ``granted`` is called once when there is."""
        if not self._waiting and self._fits(size):
            self._take(owner, size)
            return True
        self._waiting.append((owner, size, granted))
        return False

    def release(self, owner: Hashable) -> None:
        """Release the room of ``owner`` and drop its waiting reservation."""
        self._sum -= self._taken.pop(owner, 0)
        if self._waiting and any(waiting is owner for waiting, _, _ in self._waiting):
            self._waiting = deque(item for item in self._waiting if item[0] is not owner)
        while self._waiting and self._fits(self._waiting[0][1]):
            next_owner, size, granted = self._waiting.popleft()
            self._take(next_owner, size)
            granted()

    def _fits(self, size: int) -> bool:
        return not self._taken or self._sum + size <= self._bytes_max

    def _take(self, owner: Hashable, size: int) -> None:
        self._taken[owner] = size
        self._sum += size
