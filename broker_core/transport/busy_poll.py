"""Busy polling: a loop that has nothing to do looks for the next read for a moment instead of sleeping, where that pays.

A processor without work sleeps. On many virtual machines it takes 20 to 50 µs to wake, which is longer than most requests
take. Where clients wait for their answers, they go on as late as the broker wakes. Whether polling pays depends on the
machine, on what else runs and on the clients; so it is tried, and used as long as it pays.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Final, NamedTuple

POLL_SECONDS: Final = 60e-6
"""Time without a read after which the loop sleeps."""
ROUND_READS: Final = 64
"""Reads of one measurement."""
ROUND_SECONDS_MAX: Final = ROUND_READS * 250e-6
"""Clients whose reads come further apart are not waited for."""
GAP_SECONDS_MAX: Final = 1e-3
"""A longer gap between two reads counts as this one, because a single gap with another cause would decide a trial."""
PAUSE_SECONDS: Final = 5e-3
"""After a longer gap between two reads the measurement starts again."""
FASTER: Final = 1.1
"""Polling pays only if the rate of bytes grows by this factor."""
DEARER: Final = 1.5
"""Polling does not pay if the processor time of a byte grows by more than this factor."""
POLLED_ROUNDS: Final = 64
"""Rounds that polling is used for before it is tried again."""
SLEPT_ROUNDS: Final = 2
"""Rounds without polling after a trial that found no gain. Each further such trial doubles their number."""
SLEPT_ROUNDS_MAX: Final = 128
"""Bound on it."""


def _soon(call: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_soon(call)


class Round(NamedTuple):
    """What a measurement found: bytes that arrived in a second, and seconds of processor time for each."""

    rate: float
    cost: float


class BusyPoll:
    """Decides for one loop whether it polls. For the loop's thread.

    A round without polling is compared with one with it. A round with few reads a second ends a trial, and polling.

    Args:
        clock: Seconds.
        processor: Seconds of processor time of the loop's thread.
        soon: Plans a call for the next turn of the loop, which does not sleep before it then.
    """

    __slots__ = (
        "_bytes", "_clock", "_is_planned", "_is_polling", "_last", "_processor", "_processor_began", "_reads", "_rest",
        "_rounds_left", "_slept", "_soon", "_took", "_until",
    )  # fmt: skip

    def __init__(
        self,
        clock: Callable[[], float] = time.perf_counter,
        processor: Callable[[], float] = time.thread_time,
        soon: Callable[[Callable[[], None]], object] = _soon,
    ) -> None:
        self._clock = clock
        self._processor = processor
        self._soon = soon
        self._is_polling = False
        self._is_planned = False
        """A turn without work is planned."""
        self._until = 0.0
        self._slept: Round | None = None
        """The round without polling that the next one is compared with."""
        self._rounds_left = 0
        self._rest = SLEPT_ROUNDS
        """Rounds without polling after the next trial that finds no gain."""
        self._reads = self._bytes = 0
        self._took = self._last = self._processor_began = 0.0

    def served(self, size: int) -> None:
        """Note that so many bytes were read and served; to be called at the end of each read."""
        now = self._clock()
        gap, self._last = now - self._last, now
        if gap > PAUSE_SECONDS:
            self._stop_trial()
            self._begin_round()
            return
        self._took += min(gap, GAP_SECONDS_MAX)
        self._reads += 1
        self._bytes += size
        if self._reads >= ROUND_READS:
            self._end_round()
        if self._is_polling:
            self._until = now + POLL_SECONDS
            if not self._is_planned:
                self._is_planned = True
                self._soon(self._look)

    def _look(self) -> None:
        if self._clock() < self._until:
            self._soon(self._look)
        else:
            self._is_planned = False

    def _end_round(self) -> None:
        if self._took > ROUND_SECONDS_MAX or not self._bytes:
            self._stop_trial()
        elif self._rounds_left:
            self._rounds_left -= 1
            self._is_polling = self._is_polling and self._rounds_left > 0
        else:
            self._try(Round(self._bytes / self._took, (self._processor() - self._processor_began) / self._bytes))
        self._begin_round()

    def _begin_round(self) -> None:
        self._reads = self._bytes = 0
        self._took, self._processor_began = 0.0, self._processor()

    def _stop_trial(self) -> None:
        self._is_polling, self._slept, self._rounds_left, self._rest = False, None, 0, SLEPT_ROUNDS

    def _try(self, found: Round) -> None:
        """Go on with a trial: after a round without polling one with it, and then the decision."""
        if self._slept is None:
            self._slept, self._is_polling = found, True
            return
        slept, self._slept = self._slept, None
        self._is_polling = found.rate >= FASTER * slept.rate and found.cost <= DEARER * slept.cost
        self._rounds_left = POLLED_ROUNDS if self._is_polling else self._rest
        self._rest = SLEPT_ROUNDS if self._is_polling else min(2 * self._rest, SLEPT_ROUNDS_MAX)
