"""Pages of messages, pulled from brokers. A pull commits nothing, so no offset moves.

Source: docs/spec/remoting.md §2.2.3.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncGenerator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from broker_core.cluster.link import ClusterLink
from broker_core.cluster.puller import Puller
from broker_core.cluster.slices import QueueSlice
from broker_core.cluster.survey import offsets_of
from broker_core.cluster.time_bounds import first_stored_from
from broker_core.errors import RecordError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.record import decode_record
from broker_core.worker.attached.lost_brokers import LostParts, together, too_slow
from broker_core.worker.message_views import BATCH_MESSAGES, MessageHead, head_of, page_of, topic_page_of
from broker_core.worker.questions.stored_messages import MessagePage, TopicPage

QUEUES_AT_ONCE = 16


async def browse_one(link: ClusterLink, queue: MessageQueue, start_offset: int, count: int) -> MessagePage:
    """Messages of one queue from an offset on; fewer, with a notice, when its broker is slow. Raises as `Puller`."""
    late, heads, page_ms = "", list[MessageHead](), link.settings.page_ms
    offset = low = high = begin = -1
    try:
        async with asyncio.timeout(page_ms / 1000):
            part = await whole_queue(link, queue)
            low, high = part.first, part.end
            offset = begin = min(max(start_offset, low), high)
            async for found, following in _read(link, part, begin, count):
                heads, offset = heads + found, following
    except TimeoutError as error:
        if not heads:
            raise too_slow(queue.broker_name, page_ms) from error
        late = f"{too_slow(queue.broker_name, page_ms).message}; this page ends before offset {offset:,}"
    missing = max(offset - begin - len(heads), 0)
    page = page_of(queue.topic, heads, min_offset=low, max_offset=high, next_offset=offset, missing=missing)
    return replace(page, notice=late)


@dataclass(frozen=True, slots=True)
class Edge:
    """Where to read the queues of a topic from: an offset for each by its shown number, or a time; and into which direction."""

    offsets: Mapping[int, int] = field(default_factory=dict)
    at_ms: int = -1
    newer: bool = False


async def browse_newest(link: ClusterLink, topic: str, queues: list[MessageQueue], count: int, lost: LostParts) -> MessagePage:
    """The newest messages of several queues; see `browse_from`."""
    return (await browse_from(link, topic, queues, count, lost=lost, edge=Edge())).page


async def browse_from(
    link: ClusterLink, topic: str, queues: list[MessageQueue], count: int, *, lost: LostParts, edge: Edge
) -> TopicPage:
    """Messages of several queues before or after an edge, newest store time first.

    A notice names the brokers whose part is missing.

    Raises:
        NetworkError: No broker answers; so `RemoteError` and `CodecError`, when it answers otherwise.
    """
    newest = _Merged(link, queues, count, edge)
    page_ms = link.settings.page_ms
    brokers = sorted(newest.tails)
    await lost.each(brokers, newest.begin, within_ms=page_ms)
    heads: list[MessageHead] = []
    left_ms = dict.fromkeys(brokers, page_ms / max(len(brokers), 1))
    """Broker → ms left for it. The next message is known only when all were asked, so one broker waits for the other."""
    now_s = asyncio.get_running_loop().time
    while newest.heap and len(heads) < count:
        tail, head = newest.pop()
        heads.append(head)
        if not lost.is_lost(tail.broker):
            began_s = now_s()
            await lost.one(tail.broker, partial(newest.push, tail), within_ms=left_ms[tail.broker])
            left_ms[tail.broker] -= (now_s() - began_s) * 1000
    heads = heads[::-1] if edge.newer else heads
    page = page_of(topic, heads, min_offset=-1, max_offset=-1, next_offset=-1, missing=0)
    return topic_page_of(replace(page, notice=lost.notice()), newest.edges(), newer=edge.newer)


class _Merged:
    def __init__(self, link: ClusterLink, queues: list[MessageQueue], count: int, edge: Edge) -> None:
        self._link = link
        self._sign = 1 if edge.newer else -1
        step = max(1, min(BATCH_MESSAGES, count // len(queues) + 1))
        self.tails: dict[str, list[_Tail]] = {}
        self.heap: list[tuple[int, int, int, MessageHead, _Tail]] = []
        for number, queue in enumerate(queues):
            self.tails.setdefault(queue.broker_name, []).append(_Tail(link, queue, step, number, edge))

    async def begin(self, broker: str) -> None:
        tails = self.tails[broker]
        for start in range(0, len(tails), QUEUES_AT_ONCE):
            await together(self.push(tail, broker) for tail in tails[start : start + QUEUES_AT_ONCE])

    async def push(self, tail: _Tail, _broker: str) -> None:
        head = await tail.next()
        if head is not None:
            heapq.heappush(self.heap, (self._sign * head.store_ms, self._sign * head.queue_offset, tail.number, head, tail))

    def edges(self) -> dict[int, int]:
        """Shown number of each queue that was read → where it was read from."""
        tails = [tail for of_broker in self.tails.values() for tail in of_broker]
        return {tail.shown: tail.edge for tail in sorted(tails, key=lambda one: one.number) if tail.edge >= 0}

    def pop(self) -> tuple[_Tail, MessageHead]:
        """The message that comes next of those read so far, and the queue to read next."""
        _time, _offset, _number, head, tail = heapq.heappop(self.heap)
        return tail, head


class _Tail:
    """Messages of one queue from an edge on, away from it, pulled a few at a time."""

    def __init__(self, link: ClusterLink, queue: MessageQueue, step: int, number: int, edge: Edge) -> None:
        self.number = number
        """Its place among the queues; queues of one broker are adjacent."""
        self._link = link
        self._queue = queue
        self._step = step
        self._from = edge
        self.edge = -1
        """Offset that it is read from; -1 before it is known."""
        self._part: QueueSlice | None = None
        """The part not yet read."""
        self._waiting: list[MessageHead] = []

    @property
    def broker(self) -> str:
        return self._queue.broker_name

    @property
    def shown(self) -> int:
        """Its shown number."""
        return self._link.numbers.shown_queue(self._queue.broker_name, self._queue.queue_id)

    async def next(self) -> MessageHead | None:
        """The next message away from the edge; None at that end of the queue."""
        newer = self._from.newer
        if self._part is None:
            self._part = await self._begin()
        while not self._waiting and self._part.messages > 0:
            part = self._part
            if newer:
                taken, left = replace(part, end=min(part.end, part.first + self._step)), part.first + self._step
                self._part = replace(part, first=min(left, part.end))
            else:
                taken = replace(part, first=max(part.first, part.end - self._step))
                self._part = replace(part, end=taken.first)
            read = _read(self._link, taken, taken.first, taken.messages)
            found = [head async for heads, _following in read for head in heads]
            self._waiting = found[::-1] if newer else found
        return self._waiting.pop() if self._waiting else None

    async def _begin(self) -> QueueSlice:
        """The part of the queue on the wanted side of the edge."""
        part, wanted = await whole_queue(self._link, self._queue), self._from
        offset = wanted.offsets.get(self.shown, part.first if wanted.newer else part.end)
        if wanted.at_ms >= 0:
            offset = await first_stored_from(Puller(self._link), part, wanted.at_ms)
        self.edge = min(max(offset, part.first), part.end)
        return replace(part, first=self.edge) if wanted.newer else replace(part, end=self.edge)


async def _read(
    link: ClusterLink, part: QueueSlice, offset: int, count: int
) -> AsyncGenerator[tuple[list[MessageHead], int], None]:
    """Up to ``count`` messages of a slice from an offset on, as they arrive, each time with the next offset."""
    taken: list[MessageHead] = []
    async for pulled in Puller(link).through(part, offset, at_most=lambda: min(BATCH_MESSAGES, count - len(taken))):
        heads = _heads(link, part.queue, pulled.records())[: count - len(taken)]
        taken.extend(heads)
        yield heads, pulled.following


def _heads(link: ClusterLink, queue: MessageQueue, records: Iterable[bytes]) -> list[MessageHead]:
    numbers, found = link.numbers, []
    for record in records:
        try:
            head = head_of(decode_record(record))
        except RecordError:
            # Counted as missing: a list with a hole is of more use than none.
            continue
        found.append(
            replace(
                head,
                queue_id=numbers.shown_queue(queue.broker_name, head.queue_id),
                physical_offset=numbers.shown_place(queue.broker_name, head.physical_offset),
            )
        )
    return found


async def record_of(link: ClusterLink, broker: str, physical_offset: int) -> bytes:
    """The record at a place of a broker. Raises `RemoteError` where none starts, or `NetworkError`."""
    command = RemotingCommand(RequestCode.VIEW_MESSAGE_BY_ID, {"offset": str(physical_offset)})
    return bytes((await link.ask(broker, command)).body)


async def whole_queue(link: ClusterLink, queue: MessageQueue) -> QueueSlice:
    """The present extent of a queue. Raises `UsageError` for an unknown broker, else as `Puller`."""
    part = link.slice_of(queue)
    held = await offsets_of(Puller(link), part)
    return replace(part, first=held.min_offset, end=held.max_offset)
