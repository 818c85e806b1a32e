"""Room for messages of gRPC calls that are incomplete.

The first bytes of a message are kept for its connection. A message that is larger than its call's first window waits until
there is room for all of it, shared by all connections, so that slow peers with large messages cannot fill the memory, and
those that are begun become complete.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable
from typing import Final, Protocol

from broker_core.transport.frame_budget import FrameBudget

FIRST_BYTES_MAX: Final = 1 << 20
"""First bytes of the incomplete messages of one connection."""


class Incomplete(Hashable, Protocol):
    """A call whose message is incomplete."""

    @property
    def connection(self) -> Hashable:
        """Where it came from."""

    def room_granted(self) -> None:
        """There is room for the message that waited."""

    def end_late(self) -> None:
        """The message takes too long to become complete."""


class MessageRoom:
    """What incomplete messages take.

    Args:
        bytes_max: Of the messages of all connections that have room for all of them.
        time: Seconds of a clock that only goes forward.
    """

    def __init__(self, bytes_max: int, time: Callable[[], float]) -> None:
        self._time = time
        self._whole = FrameBudget(bytes_max)
        self._first: dict[Incomplete, int] = {}
        self._first_sums: Counter[Hashable] = Counter()
        """First bytes by connection."""
        self._since: dict[Incomplete, float] = {}
        """When each message began, or got its room; one that waits for room is not in it."""

    def is_granted(self, call: Incomplete) -> bool:
        """Whether there is room for all of a call's message."""
        return call in self._whole

    def hold(self, call: Incomplete, size: int) -> bool:
        """Keep the first ``size`` bytes of a message; False where its connection has too many such bytes."""
        more = size - self._first.get(call, 0)
        if self._first_sums[call.connection] + more > FIRST_BYTES_MAX:
            return False
        if call not in self._first:
            self._since[call] = self._time()
        self._first[call] = size
        self._first_sums[call.connection] += more
        return True

    def reserve(self, call: Incomplete, size: int) -> bool:
        """Take room for a whole message; False when there is none yet: `Incomplete.room_granted` is called when there is."""

        def granted() -> None:
            self._give(call)
            call.room_granted()

        if self._whole.reserve(call, size, granted):
            self._give(call)
            return True
        self._since.pop(call, None)
        return False

    def _give(self, call: Incomplete) -> None:
        self._forget_first(call)
        self._since[call] = self._time()

    def _forget_first(self, call: Incomplete) -> None:
        self._first_sums[call.connection] -= self._first.pop(call, 0)
        if not self._first_sums[call.connection]:
            del self._first_sums[call.connection]

    def release(self, call: Incomplete) -> None:
        """Give all room of a call free: its message is complete, or nobody wants it."""
        if call in self._first or call in self._whole:
            self._forget_first(call)
            self._since.pop(call, None)
            self._whole.release(call)

    def late(self, seconds: float) -> list[Incomplete]:
        """Calls whose message could have become complete for longer than this."""
        before = self._time() - seconds
        return [call for call, since in self._since.items() if since < before]
