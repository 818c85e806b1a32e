"""How fast one reader takes messages: what was taken is paid for in time before the next is asked for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

from broker_core.cluster.model import ReadLimits


class Pace:
    """Keeps a reader within its share. On one event loop.

    Nothing is saved up: a reader that rested goes on at the same rate. What is under way when the allowance is used up still
    comes, so one answer of each pull in flight may be taken ahead.

    Args:
        limits: The share.
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
        self._paid_at = 0.0

    async def wait(self) -> None:
        """Wait until what was taken so far is paid for."""
        while (left := self._paid_at - self._monotonic()) > 0:
            await self._sleep(left)

    def took(self, messages: int, byte_count: int) -> None:
        """Count what was taken."""
        seconds = max(
            messages / self._limits.messages_per_second if self._limits.messages_per_second else 0.0,
            byte_count / self._limits.bytes_per_second if self._limits.bytes_per_second else 0.0,
        )
        self._paid_at = max(self._paid_at, self._monotonic()) + seconds
