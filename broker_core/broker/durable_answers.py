"""Answers that wait until their message is on disk (SYNC_FLUSH).

What comes in one turn of the loop waits together: the store is asked once for the last of it, its flush thread reports once,
and the answers are sent on the loop. A group commit of a hundred puts costs one wake-up of each thread, not a hundred.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Protocol

Answer = Callable[[bool], None]


class DurableStore(Protocol):
    """The part of the store that this needs."""

    def when_durable(self, physical_end: int, done: Callable[[bool], None]) -> None: ...


class DurableAnswers:
    """Calls back on the loop when bytes of the commit log are on disk.

    Args:
        store: Reports durability from its flush thread.
        loop: Where callbacks run.
    """

    def __init__(self, store: DurableStore, loop: asyncio.AbstractEventLoop) -> None:
        self._store = store
        self._loop = loop
        self._turn: list[Answer] = []
        self._turn_end = 0
        self._ready: deque[tuple[list[Answer], bool]] = deque()
        self._scheduled = False

    def wait(self, physical_end: int, answer: Answer) -> None:
        """Have ``answer`` called on the loop: True when all below ``physical_end`` is on disk, False when that failed.

        Called on the loop, too.
        """
        if not self._turn:
            self._loop.call_soon(self._ask)
        self._turn.append(answer)
        self._turn_end = max(self._turn_end, physical_end)

    async def wait_for(self, physical_end: int) -> bool:
        """Wait until everything below ``physical_end`` is on disk; False when that failed."""
        future: asyncio.Future[bool] = self._loop.create_future()
        self.wait(physical_end, lambda durable: None if future.done() else future.set_result(durable))
        return await future

    def _ask(self) -> None:
        answers, self._turn = self._turn, []
        self._store.when_durable(self._turn_end, lambda durable: self._report(answers, durable=durable))

    def _report(self, answers: list[Answer], *, durable: bool) -> None:
        # Runs on the flush thread. Append first, then look: `_deliver` clears the mark before it empties the queue, so that
        # answers are either taken by the run that is under way or start one of their own.
        self._ready.append((answers, durable))
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._scheduled = False
        while self._ready:
            answers, durable = self._ready.popleft()
            for answer in answers:
                answer(durable)
