"""Pages of messages, pulled from brokers. A pull commits nothing, so no offset moves.

Source: docs/spec/remoting.md §2.2.3.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncGenerator, Iterable
from dataclasses import replace
from functools import partial

from broker_core.cluster.link import ClusterLink
from broker_core.cluster.puller import Puller
from broker_core.cluster.slices import QueueSlice
from broker_core.cluster.survey import offsets_of
from broker_core.errors import RecordError
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.record import decode_record
from broker_core.worker.attached.lost_brokers import LostParts, together, too_slow
from broker_core.worker.message_views import BATCH_MESSAGES, MessageHead, head_of, page_of
from broker_core.worker.questions.stored_messages import MessagePage

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


async def browse_newest(link: ClusterLink, topic: str, queues: list[MessageQueue], count: int, lost: LostParts) -> MessagePage:
    """The newest messages of several queues, newest store time first; a notice names the brokers whose part is missing.

    Raises:
        NetworkError: No broker answers; so `RemoteError` and `CodecError`, when it answers otherwise.
    """
    newest = _Newest(link, queues, count)
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
    page = page_of(topic, heads, min_offset=-1, max_offset=-1, next_offset=-1, missing=0)
    return replace(page, notice=lost.notice())


class _Newest:
    def __init__(self, link: ClusterLink, queues: list[MessageQueue], count: int) -> None:
        step = max(1, min(BATCH_MESSAGES, count // len(queues) + 1))
        self.tails: dict[str, list[_Tail]] = {}
        self.heap: list[tuple[int, int, int, MessageHead, _Tail]] = []
        for number, queue in enumerate(queues):
            self.tails.setdefault(queue.broker_name, []).append(_Tail(link, queue, step, number))

    async def begin(self, broker: str) -> None:
        tails = self.tails[broker]
        for start in range(0, len(tails), QUEUES_AT_ONCE):
            await together(self.push(tail, broker) for tail in tails[start : start + QUEUES_AT_ONCE])

    async def push(self, tail: _Tail, _broker: str) -> None:
        head = await tail.next()
        if head is not None:
            heapq.heappush(self.heap, (-head.store_ms, -head.queue_offset, tail.number, head, tail))

    def pop(self) -> tuple[_Tail, MessageHead]:
        """The newest message read so far, and the queue to read next."""
        _time, _offset, _number, head, tail = heapq.heappop(self.heap)
        return tail, head


class _Tail:
    """Messages of one queue, the newest first, pulled a few at a time."""

    def __init__(self, link: ClusterLink, queue: MessageQueue, step: int, number: int) -> None:
        self.number = number
        """Its place among the queues; queues of one broker are adjacent."""
        self._link = link
        self._queue = queue
        self._step = step
        self._part: QueueSlice | None = None
        """The part not yet read."""
        self._waiting: list[MessageHead] = []

    @property
    def broker(self) -> str:
        return self._queue.broker_name

    async def next(self) -> MessageHead | None:
        """The next older message; None at the beginning of the queue."""
        if self._part is None:
            self._part = await whole_queue(self._link, self._queue)
        while not self._waiting and self._part.messages > 0:
            newest = replace(self._part, first=max(self._part.first, self._part.end - self._step))
            read = _read(self._link, newest, newest.first, newest.messages)
            self._waiting = [head async for heads, _following in read for head in heads]
            self._part = replace(self._part, end=newest.first)
        return self._waiting.pop() if self._waiting else None


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
