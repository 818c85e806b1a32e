"""Pace, pauses, faults and the end of a copy, for all its queues."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from broker_core.errors import CodecError, NetworkError, OrbitError, RemoteError, UsageError
from broker_core.tools.replay.send_batch import BATCH_MESSAGES_MAX

RETRY_PAUSES_S = (0.5, 1.0, 2.0, 5.0, 10.0)
"""Waits before retries; the last one repeats."""
STOP_GRACE_S = 0.5
"""How long a stopped copy waits for pending answers; the next run looks for messages that may have arrived."""
FAULTS = (NetworkError, RemoteError, CodecError, UsageError)
"""Errors that may end when the cluster is up again."""

T = TypeVar("T")


class CopyStoppedError(OrbitError):
    """The copy ends; the message says why."""


@dataclass(frozen=True, slots=True)
class CopySurroundings:
    """A copy's clock, waits and output.

    Attributes:
        monotonic_s: A clock that only rises.
        wait: Waits for some seconds, or until a change is signalled.
        tell: Prints a line for the user.
    """

    monotonic_s: Callable[[], float]
    wait: Callable[[float], Awaitable[None]]
    tell: Callable[[str], None]


class CopyControl:
    """Keeps the pace, and waits out faults until they end, the copy is stopped, or the wait is too long.

    Args:
        rate: Messages a second at most; None: no limit.
        wait_max_s: How long one fault may last.
    """

    def __init__(self, outside: CopySurroundings, *, rate: float | None, wait_max_s: float) -> None:
        self.stopped_because = ""
        self.is_over_for_good = False
        """Whether it was stopped by something that a resumed copy would meet again."""
        self._outside = outside
        self._rate = rate
        self._wait_max_s = wait_max_s
        self._is_paused = False
        self._next_s = 0.0
        self._faults: dict[str, str] = {}
        self._stopping = asyncio.Event()

    @property
    def is_paused(self) -> bool:
        return self._is_paused

    @property
    def now_s(self) -> float:
        return self._outside.monotonic_s()

    @property
    def messages_at_once(self) -> int:
        """Most messages of one request: a tenth of a second's at a low rate."""
        return BATCH_MESSAGES_MAX if self._rate is None else max(1, min(BATCH_MESSAGES_MAX, int(self._rate / 10)))

    @property
    def faults(self) -> list[str]:
        return list(self._faults.values())

    def pause(self) -> None:
        """Send nothing more until `resume`; running requests are finished."""
        self._is_paused = True

    def resume(self) -> None:
        self._is_paused = False

    def stop(self, reason: str, *, for_good: bool = False) -> None:
        """End soon, whether brokers answer or not."""
        self.stopped_because = self.stopped_because or reason
        self._stopping.set()
        self.is_over_for_good = self.is_over_for_good or for_good

    def check(self) -> None:
        """Raise `CopyStoppedError` if the copy is to end."""
        if self.stopped_because:
            raise CopyStoppedError(self.stopped_because)

    async def turn(self, count: int) -> None:
        """Wait until ``count`` messages may be sent; raises `CopyStoppedError`."""
        clock, due_s = self._outside.monotonic_s, 0.0
        if self._rate is not None:
            # A pause is not caught up, because that would be a burst.
            due_s = max(self._next_s, clock())
            self._next_s = due_s + count / self._rate
        while True:
            self.check()
            if self._is_paused:
                await self._outside.wait(3600.0)
            elif (left_s := due_s - clock()) > 0:
                await self._outside.wait(left_s)
            else:
                return

    async def answered(self, asking: Awaitable[T]) -> T:
        """The answer to one request; raises `CopyStoppedError` if none arrives within `STOP_GRACE_S` of a stop."""
        task, stopping = asyncio.ensure_future(asking), asyncio.ensure_future(self._stopping.wait())
        try:
            await asyncio.wait((task, stopping), return_when=asyncio.FIRST_COMPLETED)
            if not task.done():
                await asyncio.wait((task,), timeout=STOP_GRACE_S)
            if not task.done():
                raise CopyStoppedError(self.stopped_because)
            return task.result()
        finally:
            task.cancel()
            stopping.cancel()

    async def through(self, what: str, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer to a request that is repeated until it succeeds; ``what`` names it for the user.

        Raises `CopyStoppedError` when the copy is to end, or has waited too long.
        """
        began_s = self._outside.monotonic_s()
        attempt = 0
        while True:
            self.check()
            try:
                answer = await self.answered(ask())
            except FAULTS as error:
                await self.wait_out(what, error, attempt, began_s)
                attempt += 1
            else:
                self.is_over(what)
                return answer

    async def wait_out(self, what: str, error: OrbitError, attempt: int, began_s: float) -> None:
        """Report a failure and wait a while; raises as `through`."""
        if what not in self._faults:
            self._outside.tell(f"waiting: {what}: {error.message}; it is tried again until it works")
        self._faults[what] = f"{what}: {error.message}"
        if self._outside.monotonic_s() - began_s >= self._wait_max_s:
            self.stop(f"{what} failed for {self._wait_max_s:,.0f} s: {error.message}")
        pause_s = RETRY_PAUSES_S[min(attempt, len(RETRY_PAUSES_S) - 1)]
        until_s = self._outside.monotonic_s() + pause_s
        while (left_s := until_s - self._outside.monotonic_s()) > 0:
            self.check()
            await self._outside.wait(left_s)
        await self.turn(0)

    def is_over(self, what: str) -> None:
        """Report the end of a fault, if there was one."""
        if self._faults.pop(what, None) is not None:
            self._outside.tell(f"going on: {what} works again")
