"""Parts of queues read side by side, a few pulls under way at once. Knows the order of things, not the network.

    each part       one pull after the other; the next is under way while the messages of the last are looked at
    a lost broker   is left alone at once, and so is one that is too busy; its parts go on from where they stood when the others
                    are read: after a pause, and after a longer one, until it answers or there are no more pauses

Whoever takes no more batches stops the pulls: nothing is pulled ahead but what is under way.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass

from broker_core.errors import CodecError, NetworkError, RemoteError
from broker_core.remoting.codes import BUSY_CODES
from broker_core.remoting.json_body import MessageQueue
from broker_core.search.gaps import Gaps

PULLS_AT_ONCE = 4
RETRY_PAUSES_S = (1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0)
"""Before a lost broker is tried again: a minute, as ending and starting a real one was seen to take 40 s on a busy machine."""
_TICK_S = 0.5
"""During a pause an empty batch is given so often, so that the search can be cancelled."""


@dataclass(frozen=True, slots=True)
class QueuePart:
    """Messages of one queue from ``first`` up to, not with, ``end``."""

    queue: MessageQueue
    address: str
    """Of the broker."""
    first: int
    end: int

    @property
    def name(self) -> str:
        """As a person is told of it."""
        return f"queue {self.queue.queue_id} of {self.queue.topic} on {self.queue.broker_name}"


@dataclass(slots=True)
class _Place:
    """How far a part is read."""

    part: QueuePart
    offset: int


Pull = Callable[[QueuePart, int], Awaitable[tuple[list[bytes], int]]]
"""Pulls records of a part from an offset on, and gives the offset to go on at."""


class ParallelPulls:
    """Reads parts once. On one event loop.

    Args:
        pull: Asks a broker.
        parts: What to read.
        gaps: Told what could not be read.
        pauses_s: Before each further try of a broker that is lost, in seconds.
        at_once: Pulls under way at most.
    """

    def __init__(
        self,
        pull: Pull,
        parts: Sequence[QueuePart],
        gaps: Gaps,
        *,
        pauses_s: Sequence[float] = RETRY_PAUSES_S,
        at_once: int = PULLS_AT_ONCE,
    ) -> None:
        self._pull = pull
        self._gaps = gaps
        self._pauses_s = pauses_s
        self._at_once = at_once
        self._left = [_Place(part, part.first) for part in parts]
        self._lost: dict[str, str] = {}
        """Address → why it is left alone in this round."""
        self._running: dict[asyncio.Task[tuple[list[bytes], int]], _Place] = {}

    async def batches(self) -> AsyncGenerator[tuple[str, list[bytes]], None]:
        """Names of brokers with their records as they come, those of one queue in their order.

        An empty batch says that a lost broker is waited for.
        """
        try:
            tries = 0
            while self._left:
                async for batch in self._round():
                    tries = 0
                    yield batch
                if not self._left or tries >= len(self._pauses_s):
                    break
                for _tick in range(max(round(self._pauses_s[tries] / _TICK_S), 1)):
                    await asyncio.sleep(min(self._pauses_s[tries], _TICK_S))
                    yield "", []
                tries += 1
            for place in self._left:
                why = self._lost[place.part.address]
                self._gaps.add(f"{place.part.name} could not be read from offset {place.offset:,} on: {why}")
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _round(self) -> AsyncGenerator[tuple[str, list[bytes]], None]:
        """Read everything but what is on brokers that are lost meanwhile; that is left."""
        waiting, self._left, self._lost = deque(self._left), [], {}
        failed: list[_Place] = []
        while waiting or self._running:
            while waiting and len(self._running) < self._at_once:
                place = waiting.popleft()
                if place.part.address in self._lost:
                    self._left.append(place)
                else:
                    self._start(place)
            if not self._running:
                continue
            done, _under_way = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
            for task in [task for task in self._running if task in done]:
                place = self._running.pop(task)
                try:
                    records, following = task.result()
                except (NetworkError, RemoteError, CodecError) as error:
                    if isinstance(error, NetworkError) or error.context.get("code") in BUSY_CODES:
                        self._lost[place.part.address] = error.message
                        failed.append(place)
                        continue
                    reason = f"could not be read from offset {place.offset:,} on: {error.message}"
                    self._gaps.add(f"{place.part.name} {reason}")
                    continue
                self._go_on(place, following)
                yield place.part.queue.broker_name, records
        # Those that failed come last in the next round: a part that cannot be read does not keep the others from it.
        self._left += failed

    def _start(self, place: _Place) -> None:
        task = asyncio.ensure_future(self._pull(place.part, place.offset))
        self._running[task] = place

    def _go_on(self, place: _Place, following: int) -> None:
        part = place.part
        if following <= place.offset:
            reason = f"gives no message from offset {place.offset:,} on, though it ends at {part.end:,}"
            self._gaps.add(f"{part.name} {reason}")
            return
        place.offset = following
        if following < part.end:
            self._start(place)
