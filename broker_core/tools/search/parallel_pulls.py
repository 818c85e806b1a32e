"""Parallel pulls of parts of queues: their order and retries, without the network.

    each part       one pull after the other; the next is running while the caller handles the last one's messages
    each broker     has a few parts read concurrently, so that a slow one delays no other
    a batch         some answers: as many as the caller wants at a time, of those that arrive within a moment
    a lost broker   is skipped at once, and so is one that is too busy; its parts continue where they were when the others
                    are read: after a pause, and after a longer one, until it answers or there are no more pauses; its
                    address is requested before each retry

A caller that takes no more batches stops the pulls: only the running ones are ahead of it.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from broker_core.cluster.request_pacing import may_answer_later
from broker_core.cluster.slices import QueueSlice
from broker_core.errors import CodecError, NetworkError, RemoteError
from broker_core.tools.search.gaps import Gaps

PULLS_AT_ONCE = 4
"""Of one broker."""
PULLS_MAX = 16
"""Of all brokers: an answer has some 256 KiB."""
RETRY_PAUSES_S = (1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0)
"""Before retries of a lost broker: a minute, because the restart of a real one took up to 40 s on a busy machine."""
ANSWERS_MAX = 16
"""Of a batch. A filter by columns takes as long for few records as for many: 20 µs a record of one answer, 3 of 16."""
_GATHER_S = 0.05
"""How long an answer waits for others of its batch at most."""
_TICK_S = 0.5
"""Without answers an empty batch is yielded at this interval, so that the caller can report that, or stop."""


@dataclass(slots=True)
class _Progress:
    """Progress of a part."""

    part: QueueSlice
    offset: int
    why_lost: str = ""
    """Why its broker could not be read last."""


Pull = Callable[[QueueSlice, int], Awaitable[tuple[list[bytes], int]]]
"""Pulls records of a part from an offset on; returns them and the next offset."""
Find = Callable[[], Awaitable[dict[str, str]]]
"""Returns broker name → its address now, of each known broker."""
Answers = list[tuple[str, list[bytes]]]
"""Names of brokers with the records of one pull each."""


class ParallelPulls:
    """Reads parts once. On one event loop.

    Args:
        pull: Sends a pull to a broker.
        find: Finds the addresses of brokers before a retry of a lost one, because another may be master by now.
        gaps: Gets what could not be read.
        pauses_s: Before each retry of a lost broker, in seconds.
        at_once: Running pulls of one broker at most.
        cancelled: Set to end the batches, whatever pulls are pending.
    """

    def __init__(
        self,
        pull: Pull,
        parts: Sequence[QueueSlice],
        find: Find,
        gaps: Gaps,
        *,
        pauses_s: Sequence[float] = RETRY_PAUSES_S,
        at_once: int = PULLS_AT_ONCE,
        cancelled: asyncio.Event | None = None,
    ) -> None:
        self._pull = pull
        self._find = find
        self._gaps = gaps
        self._pauses_s = pauses_s
        self._at_once = at_once
        self._cancelled = asyncio.Event() if cancelled is None else cancelled
        self._left = [_Progress(part, part.first) for part in parts]
        self._lost: dict[str, str] = {}
        """Address → why it is skipped in this round."""
        self._running: dict[asyncio.Task[tuple[list[bytes], int]], _Progress] = {}
        self._wanted = 1

    def taken(self, *, any_hits: bool) -> None:
        """Report the result of the last batch: batches grow while they have no hits, and hits are yielded at once."""
        self._wanted = 1 if any_hits else min(2 * self._wanted, ANSWERS_MAX)

    async def batches(self) -> AsyncGenerator[Answers, None]:
        """Answers as they arrive, those of one queue in their order; an empty batch: a lost or slow broker is awaited."""
        ending = asyncio.ensure_future(self._cancelled.wait())
        try:
            tries = 0
            while self._left:
                async for batch in self._round(ending):
                    tries = 0 if batch else tries
                    yield batch
                if ending.done():
                    return
                if not self._left or tries >= len(self._pauses_s):
                    break
                for _tick in range(max(round(self._pauses_s[tries] / _TICK_S), 1)):
                    await asyncio.wait((ending,), timeout=min(self._pauses_s[tries], _TICK_S))
                    yield []
                tries += 1
                await self._find_again(ending)
            for place in self._left:
                why = place.why_lost
                self._gaps.add(f"{place.part.name} could not be read from offset {place.offset:,} on: {why}")
        finally:
            ending.cancel()
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    async def _find_again(self, ending: asyncio.Task[Any]) -> None:
        """Update the addresses of the remaining parts."""
        finding = asyncio.ensure_future(self._find())
        await asyncio.wait((finding, ending), return_when=asyncio.FIRST_COMPLETED)
        if not finding.done():
            finding.cancel()
            return
        addresses = finding.result()
        for place in self._left:
            address = addresses.get(place.part.broker, place.part.address)
            place.part = replace(place.part, address=address)

    async def _round(self, ending: asyncio.Task[Any]) -> AsyncGenerator[Answers, None]:
        """Read all parts except those of brokers lost meanwhile, which are left."""
        waiting = _by_address(self._left)
        self._left, self._lost = [], {}
        failed: list[_Progress] = []
        gathered: Answers = []
        now_s = asyncio.get_running_loop().time
        until_s = 0.0
        while any(waiting.values()) or self._running:
            self._begin(waiting)
            if not self._running:
                continue
            left_s = max(until_s - now_s(), 0) if gathered else _TICK_S
            waited: tuple[asyncio.Task[Any], ...] = (*self._running, ending)
            done, _under_way = await asyncio.wait(waited, timeout=left_s, return_when=asyncio.FIRST_COMPLETED)
            if ending in done:
                return
            if not done and not gathered:
                yield []
                continue
            until_s = until_s if gathered else now_s() + _GATHER_S
            gathered += self._answers([task for task in self._running if task in done], failed)
            is_due = not self._running or now_s() >= until_s
            while gathered and (is_due or len(gathered) >= self._wanted):
                batch, gathered = gathered[: self._wanted], gathered[self._wanted :]
                yield batch
        # Failed parts come last in the next round, so that an unreadable part does not block the others.
        self._left += failed

    def _answers(self, done: Iterable[asyncio.Task[tuple[list[bytes], int]]], failed: list[_Progress]) -> Answers:
        """Answers of finished pulls, whose parts continue; parts of lost brokers are added to ``failed``."""
        answers: Answers = []
        for task in done:
            place = self._running.pop(task)
            try:
                records, following = task.result()
            except (NetworkError, RemoteError, CodecError) as error:
                if not isinstance(error, CodecError) and may_answer_later(error):
                    self._lost[place.part.address] = place.why_lost = error.message
                    failed.append(place)
                    continue
                self._gaps.add(f"{place.part.name} could not be read from offset {place.offset:,} on: {error.message}")
                continue
            self._go_on(place, following)
            answers.append((place.part.broker, records))
        return answers

    def _begin(self, waiting: Mapping[str, deque[_Progress]]) -> None:
        """Start as many parts as may be read concurrently; those of lost brokers are left."""
        busy = Counter(place.part.address for place in self._running.values())
        for address, places in waiting.items():
            while places and address in self._lost:
                place = places.popleft()
                place.why_lost = self._lost[address]
                self._left.append(place)
            while places and busy[address] < self._at_once and len(self._running) < PULLS_MAX:
                busy[address] += 1
                self._start(places.popleft())

    def _start(self, place: _Progress) -> None:
        task = asyncio.ensure_future(self._pull(place.part, place.offset))
        self._running[task] = place

    def _go_on(self, place: _Progress, following: int) -> None:
        part = place.part
        if following <= place.offset:
            reason = f"gives no message from offset {place.offset:,} on, though it ends at {part.end:,}"
            self._gaps.add(f"{part.name} {reason}")
            return
        place.offset = following
        if following < part.end:
            self._start(place)


def _by_address(places: Iterable[_Progress]) -> dict[str, deque[_Progress]]:
    found: dict[str, deque[_Progress]] = {}
    for place in places:
        found.setdefault(place.part.address, deque()).append(place)
    return found
