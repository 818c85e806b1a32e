"""Pacing and retries of a reader's requests to brokers."""

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
    """Sends the requests of a puller."""

    async def ask(self, part: QueueSlice, question: Question[_T]) -> _T:
        """The answer of a queue's broker to ``question``; raises its last error."""

    def took(self, part: QueueSlice, messages: int, byte_count: int) -> None:
        """Count the messages and bytes of an answer."""


class AskOnce:
    """Sends each request at once, and once."""

    async def ask(self, _part: QueueSlice, question: Question[_T]) -> _T:
        return await question()

    def took(self, part: QueueSlice, messages: int, byte_count: int) -> None:
        """Count nothing."""


class AskAgain:
    """Repeats requests that a broker does not answer, and keeps to the limits of each broker. On one event loop.

    A broker that did not answer in time gets no further requests. Unused allowance is not saved: a reader that rested
    continues at the same rate. Answers to running requests may exceed the allowance, by one answer each.
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
        """As `Asking.ask`; a broker that did not answer in time gets no further requests."""
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
        """Count an answer, and delay the broker's next request accordingly."""
        limits = self._limits
        seconds = max(
            messages / limits.messages_per_second if limits.messages_per_second else 0.0,
            byte_count / limits.bytes_per_second if limits.bytes_per_second else 0.0,
        )
        if seconds:
            self._paid_at[part.address] = max(self._paid_at.get(part.address, 0.0), self._monotonic()) + seconds


def may_answer_later(error: NetworkError | RemoteError) -> bool:
    """Whether a repeated request may be answered: the broker was not reached, or is too busy."""
    return isinstance(error, NetworkError) or error.context.get("code") in BUSY_CODES
