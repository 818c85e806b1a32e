"""Room for messages of gRPC calls that are incomplete.

A call has room for the first bytes of a message, as many as its first window has. A larger message waits until there is room
for all of it: a connection has a little room, or that for one message, and all connections together have more. So slow peers
with large messages cannot fill the memory, and messages that are begun become complete.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Final, Protocol

from broker_core.transport.frame_budget import FrameBudget

CONNECTION_BYTES_MAX: Final = 128 * 1024
"""Of the messages of one connection that have room at once; one fits even when it is larger."""


class Incomplete(Hashable, Protocol):
    """A call whose message is incomplete."""

    @property
    def connection(self) -> Hashable:
        """Where it came from."""

    def hold(self, size: int) -> bool:
        """Note that it takes more memory of its connection, or less; False where that has no more."""

    def room_granted(self) -> None:
        """There is room for the message that waited."""

    def end_late(self) -> None:
        """The message takes too long to become complete."""


@dataclass(slots=True)
class _Lane:
    """The larger messages of one connection."""

    taken: dict[Incomplete, int] = field(default_factory=dict)
    """Those that have room, or wait for other connections only."""
    waiting: deque[tuple[Incomplete, int]] = field(default_factory=deque)

    def fits(self, size: int) -> bool:
        return not self.taken or sum(self.taken.values()) + size <= CONNECTION_BYTES_MAX


class MessageRoom:
    """What incomplete messages take.

    Args:
        bytes_max: Of the messages of all connections that have room for all of them.
        time: Seconds of a clock that only goes forward.
    """

    def __init__(self, bytes_max: int, time: Callable[[], float]) -> None:
        self._time = time
        self._whole = FrameBudget(bytes_max)
        self._more: dict[Incomplete, int] = {}
        """Bytes beyond the first window, of peers that do not know it yet."""
        self._lanes: dict[Hashable, _Lane] = {}
        self._since: dict[Incomplete, float] = {}
        """When each message began, or got its room; one that waits for room is not in it."""

    def is_granted(self, call: Incomplete) -> bool:
        """Whether there is room for all of a call's message."""
        return call in self._whole

    def hold(self, call: Incomplete, more: int) -> bool:
        """Keep the first bytes of a message, ``more`` than its window has; False where its connection holds too much."""
        if not call.hold(more - self._more.get(call, 0)):
            return False
        if call not in self._more:
            self._since[call] = self._time()
        self._more[call] = more
        return True

    def reserve(self, call: Incomplete, size: int) -> bool:
        """Take room for a whole message; False when there is none yet: `Incomplete.room_granted` is called when there is."""
        lane = self._lanes.setdefault(call.connection, _Lane())
        if not lane.waiting and lane.fits(size) and self._take(lane, call, size):
            return True
        if call not in lane.taken:
            lane.waiting.append((call, size))
        self._since.pop(call, None)
        return False

    def _take(self, lane: _Lane, call: Incomplete, size: int) -> bool:
        def granted() -> None:
            self._give(call)
            call.room_granted()

        lane.taken[call] = size
        if self._whole.reserve(call, size, granted):
            self._give(call)
            return True
        return False

    def _give(self, call: Incomplete) -> None:
        self._forget_more(call)
        self._since[call] = self._time()

    def _forget_more(self, call: Incomplete) -> None:
        call.hold(-self._more.pop(call, 0))

    def release(self, call: Incomplete) -> None:
        """Give all room of a call free: its message is complete, or nobody wants it."""
        self._forget_more(call)
        self._since.pop(call, None)
        lane = self._lanes.get(call.connection)
        if lane is None:
            return
        if call not in lane.taken:
            lane.waiting = deque(item for item in lane.waiting if item[0] is not call)
        else:
            del lane.taken[call]
            self._whole.release(call)
            while lane.waiting and lane.fits(lane.waiting[0][1]):
                following, size = lane.waiting.popleft()
                if self._take(lane, following, size):
                    following.room_granted()
        if not lane.taken and not lane.waiting:
            self._lanes.pop(call.connection, None)

    def late(self, seconds: float) -> list[Incomplete]:
        """Calls whose message could have become complete for longer than this."""
        before = self._time() - seconds
        return [call for call, since in self._since.items() if since < before]
