"""Room for messages of gRPC calls that are incomplete.

The first bytes of a message, and all of a small one, are part of what its connection may hold. A larger message waits until it
has room for all of it: one at a time for each connection, and as many as fit for all of them, so that slow peers with large
messages cannot fill the memory, and those that are begun become complete.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from typing import Final, Protocol

from broker_core.transport.frame_budget import FrameBudget

SMALL_BYTES_MAX: Final = 64 * 1024
"""A message up to this size is part of what its connection holds, if there is room."""


class Incomplete(Hashable, Protocol):
    """A call whose message is incomplete."""

    @property
    def connection(self) -> Hashable:
        """Where it came from."""

    def hold(self, size: int) -> bool:
        """Note that it takes more memory of its connection, or less; False where that has no more."""

    def hold_spare(self, size: int) -> bool:
        """Likewise; False also where that would take the room for first bytes of other calls."""

    def room_granted(self) -> None:
        """There is room for the message that waited."""

    def end_late(self) -> None:
        """The message takes too long to become complete."""


class MessageRoom:
    """What incomplete messages take.

    Args:
        bytes_max: Of the large messages of all connections.
        time: Seconds of a clock that only goes forward.
    """

    def __init__(self, bytes_max: int, time: Callable[[], float]) -> None:
        self._time = time
        self._whole = FrameBudget(bytes_max)
        self._held: dict[Incomplete, int] = {}
        """Bytes that are part of what connections hold."""
        self._small: set[Incomplete] = set()
        """Those that hold all of their message."""
        self._large: dict[Hashable, deque[tuple[Incomplete, int]]] = {}
        """Calls with large messages by connection; the first has room, or is the next to get it."""
        self._since: dict[Incomplete, float] = {}
        """When each message began, or got its room; one that waits for room is not in it."""

    def is_granted(self, call: Incomplete) -> bool:
        """Whether there is room for all of a call's message."""
        return call in self._small or call in self._whole

    def hold(self, call: Incomplete, size: int) -> bool:
        """Keep the first ``size`` bytes of a message; False where its connection holds too much."""
        if not call.hold(size - self._held.get(call, 0)):
            return False
        if call not in self._held:
            self._since[call] = self._time()
        self._held[call] = size
        return True

    def reserve(self, call: Incomplete, size: int) -> bool:
        """Take room for a whole message; False when there is none yet: `Incomplete.room_granted` is called when there is."""
        if size <= SMALL_BYTES_MAX and call.hold_spare(size - self._held.get(call, 0)):
            self._held[call] = size
            self._small.add(call)
            return True
        waiting = self._large.setdefault(call.connection, deque())
        waiting.append((call, size))
        if len(waiting) == 1 and self._reserve_whole(call, size):
            return True
        self._since.pop(call, None)
        return False

    def _reserve_whole(self, call: Incomplete, size: int) -> bool:
        def granted() -> None:
            self._give(call)
            call.room_granted()

        if self._whole.reserve(call, size, granted):
            self._give(call)
            return True
        return False

    def _give(self, call: Incomplete) -> None:
        self._forget_held(call)
        self._since[call] = self._time()

    def _forget_held(self, call: Incomplete) -> None:
        call.hold(-self._held.pop(call, 0))

    def release(self, call: Incomplete) -> None:
        """Give all room of a call free: its message is complete, or nobody wants it."""
        self._forget_held(call)
        self._small.discard(call)
        self._since.pop(call, None)
        waiting = self._large.get(call.connection)
        if waiting is None:
            return
        was_first = waiting[0][0] is call
        left = self._large[call.connection] = deque(item for item in waiting if item[0] is not call)
        if not left:
            del self._large[call.connection]
        self._whole.release(call)
        if was_first and left and self._reserve_whole(*left[0]):
            left[0][0].room_granted()

    def late(self, seconds: float) -> list[Incomplete]:
        """Calls whose message could have become complete for longer than this."""
        before = self._time() - seconds
        return [call for call, since in self._since.items() if since < before]
