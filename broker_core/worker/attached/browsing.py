"""Pages of messages, pulled from brokers. A pull commits nothing, so nobody's offset moves (Source: spec remoting §2.2.3)."""

from __future__ import annotations

import heapq
from dataclasses import replace

from broker_core.errors import CodecError, RecordError
from broker_core.ipc.schema import MessagePage
from broker_core.message.record import decode_record
from broker_core.remoting.codes import RequestCode
from broker_core.remoting.frame import RemotingCommand
from broker_core.remoting.json_body import MessageQueue
from broker_core.search.cluster import split_records
from broker_core.worker.attached.answers import whole_number
from broker_core.worker.attached.link import ClusterLink
from broker_core.worker.attached.lost_parts import PART_ERRORS, LostParts
from broker_core.worker.message_views import BATCH_MESSAGES, MessageHead, head_of, page_of


async def browse_one(link: ClusterLink, queue: MessageQueue, start_offset: int, count: int) -> MessagePage:
    """Messages of one queue from an offset on.

    Raises:
        NetworkError: Its broker does not answer.
        RemoteError: It refuses.
        CodecError: Its answer cannot be read.
    """
    low = await bound_of(link, RequestCode.GET_MIN_OFFSET, queue)
    high = await bound_of(link, RequestCode.GET_MAX_OFFSET, queue)
    begin = min(max(start_offset, low), high)
    heads, offset = await _read(link, queue, begin, high, count)
    missing = max(offset - begin - len(heads), 0)
    return page_of(queue.topic, heads, min_offset=low, max_offset=high, next_offset=offset, missing=missing)


async def browse_newest(link: ClusterLink, topic: str, queues: list[MessageQueue], count: int, lost: LostParts) -> MessagePage:
    """The newest messages of several queues, newest store time first; what brokers that fail hold is missing, and that is said.

    Raises:
        NetworkError: No broker answers; so `RemoteError` and `CodecError`, when it answers otherwise.
    """
    step = max(1, min(BATCH_MESSAGES, count // len(queues) + 1))
    tails = [_Tail(link, queue, step) for queue in queues]
    heap: list[tuple[int, int, int, MessageHead]] = []

    async def push(number: int) -> None:
        broker = queues[number].broker_name
        if lost.is_lost(broker):
            return
        try:
            head = await tails[number].next()
        except PART_ERRORS as error:
            lost.failed(broker, error)
            return
        if head is not None:
            heapq.heappush(heap, (-head.store_ms, -head.queue_offset, number, head))

    for number in range(len(tails)):
        await push(number)
    lost.raise_unless(any(tail.was_read for tail in tails))
    heads: list[MessageHead] = []
    while heap and len(heads) < count:
        _time, _offset, number, head = heapq.heappop(heap)
        heads.append(head)
        await push(number)
    page = page_of(topic, heads, min_offset=-1, max_offset=-1, next_offset=-1, missing=0)
    return replace(page, notice=lost.notice())


class _Tail:
    """Messages of one queue, the newest first, pulled a few at a time."""

    def __init__(self, link: ClusterLink, queue: MessageQueue, step: int) -> None:
        self._link = link
        self._queue = queue
        self._step = step
        self._low = self._end = -1
        self._waiting: list[MessageHead] = []

    @property
    def was_read(self) -> bool:
        """Whether its broker told its bounds."""
        return self._end >= 0

    async def next(self) -> MessageHead | None:
        """The next older message; None at the beginning of the queue."""
        if self._end < 0:
            self._low = await bound_of(self._link, RequestCode.GET_MIN_OFFSET, self._queue)
            self._end = await bound_of(self._link, RequestCode.GET_MAX_OFFSET, self._queue)
        while not self._waiting and self._end > self._low:
            begin = max(self._low, self._end - self._step)
            self._waiting, _following = await _read(self._link, self._queue, begin, self._end, self._end - begin)
            self._end = begin
        return self._waiting.pop() if self._waiting else None


async def _read(link: ClusterLink, queue: MessageQueue, offset: int, end: int, count: int) -> tuple[list[MessageHead], int]:
    """Up to ``count`` messages from ``offset`` up to, not with, ``end``, and where to go on."""
    address = link.address_of(queue.broker_name)
    heads: list[MessageHead] = []
    while len(heads) < count and offset < end:
        wanted = min(BATCH_MESSAGES, count - len(heads), end - offset)
        body, following = await link.pull_records(address, queue, offset, wanted)
        if following <= offset:
            break
        heads += [head for head in _heads(link, queue, body) if head.queue_offset < end]
        offset = following
    return heads[:count], min(offset, end)


def _heads(link: ClusterLink, queue: MessageQueue, body: bytes) -> list[MessageHead]:
    numbers, found = link.numbers, []
    for record in split_records(body):
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


async def bound_of(link: ClusterLink, code: RequestCode, queue: MessageQueue) -> int:
    fields = {"topic": queue.topic, "queueId": str(queue.queue_id)}
    return whole_field(await link.ask(queue.broker_name, RemotingCommand(code, fields)), "offset")


def whole_field(answer: RemotingCommand, name: str) -> int:
    """A number among the fields of an answer.

    Raises:
        CodecError: There is none.
    """
    number = whole_number(answer.ext_fields.get(name))
    if number is None:
        raise CodecError(f"an answer has no number {name}: {answer.ext_fields}")
    return number
