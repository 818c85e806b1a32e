"""Alarms and a monotonic clock for the schedule; tests pass their own."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol


class Alarm(Protocol):
    """A call that is still pending."""

    def cancel(self) -> None: ...


class CallTimers(Protocol):
    """Alarms on the thread of the schedule."""

    def now_ms(self) -> float:
        """Monotonic milliseconds."""

    def after(self, delay_ms: float, call: Callable[[], None]) -> Alarm:
        """Call ``call`` after a delay; with 0, after everything else that is due."""


class LoopTimers:
    """Alarms of an event loop, on its thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop

    def now_ms(self) -> float:
        """The loop's own clock."""
        return self._loop.time() * 1000

    def after(self, delay_ms: float, call: Callable[[], None]) -> Alarm:
        """``call_soon`` or ``call_later``."""
        return self._loop.call_later(delay_ms / 1000, call) if delay_ms > 0 else self._loop.call_soon(call)
