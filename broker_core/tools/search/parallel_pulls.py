"""Parts of queues read side by side, a few pulls under way at once. Knows the order of things, not the network.

    each part       one pull after the other; the next is under way while the messages of the last are looked at
    each broker     has a few parts read at the same time, so that one that is slow holds up no other
    a batch         some answers, as many as whoever takes them wants at a time and as come within a moment
    a lost broker   is left alone at once, and so is one that is too busy; its parts go on from where they stood when the others
                    are read: after a pause, and after a longer one, until it answers or there are no more pauses; where it
                    is by then is asked before each try

Whoever takes no more batches stops the pulls: nothing is pulled ahead but what is under way.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from broker_core.cluster.asking import may_answer_later
from broker_core.cluster.slices import QueueSlice
from broker_core.errors import CodecError, NetworkError, RemoteError
from broker_core.tools.search.gaps import Gaps

PULLS_AT_ONCE = 4
"""Of one broker."""
PULLS_MAX = 16
"""Of all: an answer has some 256 KiB."""
RETRY_PAUSES_S = (1.0, 2.0, 4.0, 8.0, 15.0, 15.0, 15.0)
"""Before a lost broker is tried again: a minute, as ending and starting a real one was seen to take 40 s on a busy machine."""
ANSWERS_MAX = 16
"""Of a batch. To look at few records by columns takes as long as to look at many: 20 µs a record of one answer, 3 of 16."""
_GATHER_S = 0.05
"""How long an answer waits for others of its batch at most."""
_TICK_S = 0.5
"""While nothing comes an empty batch is given so often, so that whoever takes them can say so, or stop."""


@dataclass(slots=True)
class _Progress:
    """How far a part is read."""

    part: QueueSlice
    offset: int
    why_lost: str = ""
    """Why its broker could not be read last."""


Pull = Callable[[QueueSlice, int], Awaitable[tuple[list[bytes], int]]]
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
        at_once: Pulls of one broker under way at most.
        cancelled: Set when no more is wanted: the batches end then, whatever brokers are waited for.
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
        """Address → why it is left alone in this round."""
        self._running: dict[asyncio.Task[tuple[list[bytes], int]], _Progress] = {}
        self._wanted = 1

    def taken(self, *, any_hits: bool) -> None:
        """Be told of what came last: batches grow as long as nothing is found in them, and what is found comes at once."""
        self._wanted = 1 if any_hits else min(2 * self._wanted, ANSWERS_MAX)

    async def batches(self) -> AsyncGenerator[Answers, None]:
        """Answers as they come, those of one queue in their order.

        An empty batch says that a lost or slow broker is waited for.
        """
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
        """Learn where the brokers of what is left are now."""
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
        """Read everything but what is on brokers that are lost meanwhile; that is left."""
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
        # Those that failed come last in the next round: a part that cannot be read does not keep the others from it.
        self._left += failed

    def _answers(self, done: Iterable[asyncio.Task[tuple[list[bytes], int]]], failed: list[_Progress]) -> Answers:
        """What pulls gave, whose parts go on; places whose broker is lost are added to ``failed``."""
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
        """Begin with as many parts as may be read at the same time; those of brokers that are lost are left."""
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
