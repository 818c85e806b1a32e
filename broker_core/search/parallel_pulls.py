"""Parts of queues read side by side, a few pulls under way at once. Knows the order of things, not the network.

    each part       one pull after the other; the next is under way while the messages of the last are looked at
    a batch         some answers, as many as whoever takes them wants at a time and as come within a moment
    a lost broker   is left alone at once, and so is one that is too busy; its parts go on from where they stood when the others
                    are read: after a pause, and after a longer one, until it answers or there are no more pauses; where it
                    is by then is asked before each try

Whoever takes no more batches stops the pulls: nothing is pulled ahead but what is under way.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from broker_core.errors import CodecError, NetworkError, RemoteError
from broker_core.remoting.codes import BUSY_CODES
from broker_core.remoting.json_body import MessageQueue
from broker_core.search.gaps import Gaps

PULLS_AT_ONCE = 4
RETRY_PAUSES_S = (1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0)
"""Before a lost broker is tried again: a minute, as ending and starting a real one was seen to take 40 s on a busy machine."""
ANSWERS_MAX = 16
"""Of a batch. To look at few records by columns takes as long as to look at many: 20 µs a record of one answer, 3 of 16."""
_GATHER_S = 0.05
"""How long an answer waits for others of its batch at most."""
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
    why_lost: str = ""
    """Why its broker could not be read last."""


Pull = Callable[[QueuePart, int], Awaitable[tuple[list[bytes], int]]]
"""Pulls records of a part from an offset on, and gives the offset to go on at."""
Find = Callable[[], Awaitable[dict[str, str]]]
"""Tells the address of each broker, by its name, that is known now."""
Answers = list[tuple[str, list[bytes]]]
"""Names of brokers with the records of one pull each."""


class ParallelPulls:
    """Reads parts once. On one event loop.

    Args:
        pull: Asks a broker.
        parts: What to read.
        find: Asks where brokers are, before one that was lost is tried again; another may have taken its master's place.
        gaps: Told what could not be read.
        pauses_s: Before each further try of a broker that is lost, in seconds.
        at_once: Pulls under way at most.
    """

    def __init__(
        self,
        pull: Pull,
        parts: Sequence[QueuePart],
        find: Find,
        gaps: Gaps,
        *,
        pauses_s: Sequence[float] = RETRY_PAUSES_S,
        at_once: int = PULLS_AT_ONCE,
    ) -> None:
        self._pull = pull
        self._find = find
        self._gaps = gaps
        self._pauses_s = pauses_s
        self._at_once = at_once
        self._left = [_Place(part, part.first) for part in parts]
        self._lost: dict[str, str] = {}
        """Address → why it is left alone in this round."""
        self._running: dict[asyncio.Task[tuple[list[bytes], int]], _Place] = {}
        self._wanted = 1

    def taken(self, *, any_hits: bool) -> None:
        """Be told of what came last: batches grow as long as nothing is found in them, and what is found comes at once."""
        self._wanted = 1 if any_hits else min(2 * self._wanted, ANSWERS_MAX)

    async def batches(self) -> AsyncGenerator[Answers, None]:
        """Answers as they come, those of one queue in their order.

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
                    yield []
                tries += 1
                await self._find_again()
            for place in self._left:
                why = place.why_lost
                self._gaps.add(f"{place.part.name} could not be read from offset {place.offset:,} on: {why}")
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _find_again(self) -> None:
        """Learn where the brokers of what is left are now."""
        addresses = await self._find()
        for place in self._left:
            address = addresses.get(place.part.queue.broker_name, place.part.address)
            place.part = replace(place.part, address=address)

    async def _round(self) -> AsyncGenerator[Answers, None]:
        """Read everything but what is on brokers that are lost meanwhile; that is left."""
        waiting, self._left, self._lost = deque(self._left), [], {}
        failed: list[_Place] = []
        gathered: Answers = []
        now_s = asyncio.get_running_loop().time
        until_s = 0.0
        while waiting or self._running:
            while waiting and len(self._running) < self._at_once:
                place = waiting.popleft()
                if place.part.address in self._lost:
                    place.why_lost = self._lost[place.part.address]
                    self._left.append(place)
                else:
                    self._start(place)
            if not self._running:
                continue
            left_s = max(until_s - now_s(), 0) if gathered else None
            done, _under_way = await asyncio.wait(self._running, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            until_s = until_s if gathered else now_s() + _GATHER_S
            gathered += self._answers([task for task in self._running if task in done], failed)
            is_due = not self._running or now_s() >= until_s
            while gathered and (is_due or len(gathered) >= self._wanted):
                batch, gathered = gathered[: self._wanted], gathered[self._wanted :]
                yield batch
        # Those that failed come last in the next round: a part that cannot be read does not keep the others from it.
        self._left += failed

    def _answers(self, done: Iterable[asyncio.Task[tuple[list[bytes], int]]], failed: list[_Place]) -> Answers:
        """What pulls gave, whose parts go on; places whose broker is lost are added to ``failed``."""
        answers: Answers = []
        for task in done:
            place = self._running.pop(task)
            try:
                records, following = task.result()
            except (NetworkError, RemoteError, CodecError) as error:
                if isinstance(error, NetworkError) or error.context.get("code") in BUSY_CODES:
                    self._lost[place.part.address] = place.why_lost = error.message
                    failed.append(place)
                    continue
                self._gaps.add(f"{place.part.name} could not be read from offset {place.offset:,} on: {error.message}")
                continue
            self._go_on(place, following)
            answers.append((place.part.queue.broker_name, records))
        return answers

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
