"""Answers that wait until their message is on disk (SYNC_FLUSH).

Answers of one turn wait together: the store is asked once for the last of them. Where the kernel takes syncs, they begin while
the rest of a turn of the loop is served, and the kernel wakes the loop at their end. Otherwise the store's flush thread syncs
and reports once for all.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable

from broker_core.engine.store.log_syncs import LogSyncs
from broker_core.engine.store.message_store import MessageStore

Answer = Callable[[bool], None]

_GROUP = 64
"""So many answers do not wait for the end of their turn: a sync takes the time of some thirty puts, and costs that of three."""


class DurableAnswers:
    """Calls back on the loop when bytes of the commit log are on disk.

    Args:
        store: Reports durability from its flush thread.
        loop: Where callbacks run; made on its thread.
        syncs: The store's syncs for an event loop, to be used by one only; needs `close`.
    """

    def __init__(self, store: MessageStore, loop: asyncio.AbstractEventLoop, syncs: LogSyncs | None = None) -> None:
        self._loop = loop
        self._thread = threading.get_ident()
        self._syncs = syncs
        self._when_durable = store.when_durable if syncs is None else syncs.when_durable
        self._turn: list[Answer] = []
        self._turn_size = 0
        self._turn_end = 0
        self._asks = False
        self._ready: deque[tuple[list[Answer], bool]] = deque()
        self._scheduled = False
        if syncs is not None:
            loop.add_reader(syncs.descriptor, self._look, syncs)

    def close(self) -> None:
        """Leave all syncs to the store's thread from now on."""
        syncs, self._syncs = self._syncs, None
        if syncs is not None:
            self._loop.remove_reader(syncs.descriptor)
            syncs.close()

    def wait(self, physical_end: int, answer: Answer, size: int = 1) -> None:
        """Call ``answer`` on the loop: True when all below ``physical_end`` is on disk, False when that failed. On the loop.

        ``size`` is the number of requests that it answers.
        """
        if not self._asks:
            self._asks = True
            self._loop.call_soon(self._end_turn)
        self._turn.append(answer)
        self._turn_size += size
        self._turn_end = max(self._turn_end, physical_end)
        if self._turn_size >= _GROUP and self._syncs is not None:
            self._ask()
            self._syncs.look()

    async def wait_for(self, physical_end: int) -> bool:
        """Wait until everything below ``physical_end`` is on disk; False when that failed."""
        future: asyncio.Future[bool] = self._loop.create_future()
        self.wait(physical_end, lambda durable: None if future.done() else future.set_result(durable))
        return await future

    def _end_turn(self) -> None:
        self._asks = False
        if self._turn:
            self._ask()

    def _ask(self) -> None:
        answers, self._turn, self._turn_size = self._turn, [], 0
        self._when_durable(self._turn_end, lambda durable: self._report(answers, durable=durable))

    def _look(self, syncs: LogSyncs) -> None:
        self._scheduled = True  # what is reported now is delivered below, a turn earlier
        try:
            syncs.look()
        finally:
            self._deliver()

    def _report(self, answers: list[Answer], *, durable: bool) -> None:
        # May run on another thread. Append first, then look: `_deliver` clears the mark before it empties the queue, so that
        # either the present run takes the answers or they start a run of their own.
        self._ready.append((answers, durable))
        if not self._scheduled:
            self._scheduled = True
            if threading.get_ident() == self._thread:
                self._loop.call_soon(self._deliver)
            else:
                self._loop.call_soon_threadsafe(self._deliver)

    def _deliver(self) -> None:
        self._scheduled = False
        while self._ready:
            answers, durable = self._ready.popleft()
            for answer in answers:
                answer(durable)
