"""How brokers are asked by one that reads much of them: again while they do not answer, and not faster than allowed."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Protocol, TypeVar

from broker_core.cluster.slices import QueueSlice, ReadLimits
from broker_core.errors import NetworkError, RemoteError
from broker_core.protocol.codes import BUSY_CODES

_T = TypeVar("_T")

Question = Callable[[], Awaitable[_T]]
_PAUSE_SECONDS = 0.5


class Asking(Protocol):
    """Sends the questions of a puller."""

    async def ask(self, part: QueueSlice, question: Question[_T]) -> _T:
        """The answer of the broker that has a queue; raises as the question, when it is not asked again."""

    def took(self, part: QueueSlice, messages: int, byte_count: int) -> None:
        """Count what an answer brought."""


class AskOnce:
    """Asks at once, and once."""

    async def ask(self, _part: QueueSlice, question: Question[_T]) -> _T:
        """As `Asking.ask`."""
        return await question()

    def took(self, part: QueueSlice, messages: int, byte_count: int) -> None:
        """As `Asking.took`: nothing is counted."""


class AskAgain:
    """Asks again while a broker does not answer, and keeps to the limits for each broker. On one event loop.

    A broker that did not come back in time is not asked any more. Nothing is saved up: a reader that rested goes on at the same
    rate. Answers to requests in flight still come when the allowance is used up, so one answer of each may be taken ahead.

    Args:
        limits: What may be taken of each broker, and how long it is asked again.
        monotonic: Seconds.
        sleep: Waits for so many seconds.
    """

    def __init__(
        self,
        limits: ReadLimits,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._limits = limits
        self._monotonic = monotonic
        self._sleep = sleep
        self._lost: dict[str, NetworkError | RemoteError] = {}
        self._paid_at: dict[str, float] = {}

    async def ask(self, part: QueueSlice, question: Question[_T]) -> _T:
        """As `Asking.ask`.

        Raises:
            NetworkError: The broker does not answer, now or since an earlier question.
            RemoteError: It refuses.
        """
        while (left := self._paid_at.get(part.address, 0.0) - self._monotonic()) > 0:
            await self._sleep(left)
        if part.address in self._lost:
            raise self._lost[part.address]
        until = self._monotonic() + self._limits.retry_seconds
        while True:
            try:
                return await question()
            except (NetworkError, RemoteError) as error:
                if not may_answer_later(error):
                    raise
                if self._monotonic() + _PAUSE_SECONDS > until:
                    self._lost[part.address] = error
                    raise
            await self._sleep(_PAUSE_SECONDS)

    def took(self, part: QueueSlice, messages: int, byte_count: int) -> None:
        """As `Asking.took`: what was taken is paid for in time before the next question."""
        limits = self._limits
        seconds = max(
            messages / limits.messages_per_second if limits.messages_per_second else 0.0,
            byte_count / limits.bytes_per_second if limits.bytes_per_second else 0.0,
        )
        if seconds:
            self._paid_at[part.address] = max(self._paid_at.get(part.address, 0.0), self._monotonic()) + seconds


def may_answer_later(error: NetworkError | RemoteError) -> bool:
    """Whether a broker may answer the same question later: it was not reached, or is too busy."""
    return isinstance(error, NetworkError) or error.context.get("code") in BUSY_CODES
