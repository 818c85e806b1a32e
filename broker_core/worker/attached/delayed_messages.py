"""Pending messages of a delay level of a cluster, pulled from the schedule queues of its brokers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace

from broker_core.cluster.link import ClusterLink
from broker_core.cluster.puller import Puller
from broker_core.engine.schedule.delay_console import DelayedHead, DelayedPage, delayed_head
from broker_core.errors import NetworkError, RecordError, UsageError
from broker_core.protocol.admin.offsets import QueueOffsets
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import SCHEDULE_TOPIC
from broker_core.worker.attached.broker_figures import BrokerFigures
from broker_core.worker.attached.browsing import whole_queue
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.attached.lost_brokers import LostParts
from broker_core.worker.delay_views import delayed_messages
from broker_core.worker.message_views import BATCH_MESSAGES
from broker_core.worker.questions.delays import DelayedMessages, ListDelayed

PAGE_MAX = 1_000
_OFFSET_BITS = 48
"""Offsets of broker number b are shown as ``b * 2**48 + offset``; with one broker they are its own."""


async def list_delayed(link: ClusterLink, figures: ClusterFigures, query: ListDelayed) -> DelayedMessages:
    """One page, broker after broker, each in the order of its queue; a notice names the lost brokers.

    Raises:
        UsageError: The page is empty or too large, or no broker has such a level.
        NetworkError: No broker that has the level answers; so `RemoteError` and `CodecError`, when it answers otherwise.
    """
    if not 1 <= query.count <= PAGE_MAX:
        raise UsageError(f"a page has 1 to {PAGE_MAX:,} waiting messages, not {query.count:,}")
    lost = LostParts(figures)
    having = [name for name in link.numbers.names if _has_level(figures.of(name), query.level)]
    brokers = [name for name in having if not lost.is_lost(name)]
    if not having:
        raise UsageError(f"no broker has a delay level {query.level}")
    if not brokers:
        raise NetworkError(f"no broker that has delay level {query.level} answers. {lost.notice()}".rstrip())
    level = _Level(link, figures, query)
    await lost.each(brokers, level.look, within_ms=link.settings.page_ms)
    level.share_out(brokers)
    wanted = (lost.one(name, level.read, within_ms=link.settings.page_ms) for name in level.wanted)
    await asyncio.gather(*wanted)
    lost.check(level.is_read)
    page = delayed_messages(query.level, level.page(brokers))
    first, end = level.parts(brokers)
    return replace(page, notice=" ".join(filter(None, (page.notice, lost.notice()))), part_first=first, part_end=end)


class _Level:
    """A page of one level: first the extent of each broker's queue, then as many messages as the page has room for."""

    def __init__(self, link: ClusterLink, figures: ClusterFigures, query: ListDelayed) -> None:
        self._link = link
        self._figures = figures
        self._query = query
        self._spans: dict[str, tuple[int, int]] = {}
        """Broker → offset that its part begins at, and the end of its queue; brokers that answered."""
        self.wanted: dict[str, int] = {}
        """Broker → messages that the page has room for."""
        self._pages: dict[str, DelayedPage] = {}
        self._whole: set[str] = set()
        self._reached: list[str] = []

    @property
    def is_read(self) -> bool:
        """Whether any broker returned a part, or none was wanted."""
        return bool(self._pages) or not self.wanted

    async def look(self, broker: str) -> None:
        level = self._query.level
        queue = MessageQueue(SCHEDULE_TOPIC, broker, level - 1)
        part = await whole_queue(self._link, queue)
        held = QueueOffsets(max(part.first, 0), max(part.end, 0), 0)
        next_due = self._figures.of(broker).levels.next_offset(level, held)
        self._spans[broker] = max(self._query.start_offset - self._first(broker), next_due), held.max_offset

    def share_out(self, brokers: list[str]) -> None:
        left = self._query.count
        for broker in brokers:
            if left <= 0:
                break
            self._reached.append(broker)
            if broker in self._spans:
                begin, end = self._spans[broker]
                self.wanted[broker] = min(left, max(end - begin, 0))
                left -= self.wanted[broker]

    async def read(self, broker: str) -> None:
        """Read the part of a broker; what arrived before a timeout stays."""
        (begin, end), wanted = self._spans[broker], self.wanted[broker]
        if not wanted:
            self._pages[broker] = DelayedPage([], min(begin, end), end, 0)
        async for page in _read(self._link, self._figures, broker, self._query.level, (begin, end, wanted)):
            self._pages[broker] = page
        self._whole.add(broker)

    def page(self, brokers: list[str]) -> DelayedPage:
        """What was read; a broker whose part is missing is skipped by the next page."""
        heads: list[DelayedHead] = []
        next_offset = max_offset = unreadable = 0
        last = ""
        for broker in self._reached:
            first = self._first(broker)
            if broker in self._pages:
                page = self._pages[broker]
                heads += page.heads
                unreadable += page.unreadable
                next_offset, max_offset = first + page.next_offset, first + self._spans[broker][1]
            else:
                next_offset = max_offset = first + (1 << _OFFSET_BITS)
            last = broker
            if broker in self._pages and broker not in self._whole:
                break  # the next page goes on in the midst of it
        if last != brokers[-1]:
            # Later brokers have more, also when this one has none.
            max_offset = (self._link.numbers.number_of(brokers[-1]) + 1) << _OFFSET_BITS
        return DelayedPage(heads, next_offset, max_offset, unreadable)

    def parts(self, brokers: list[str]) -> tuple[list[int], list[int]]:
        """Bounds of what each broker has, as shown offsets, without brokers that have nothing; empty for a single broker."""
        if len(brokers) == 1:
            return [], []
        spans = [(self._first(name), *self._spans[name]) for name in brokers if name in self._spans]
        filled = [(first + begin, first + end) for first, begin, end in spans if begin < end]
        return [begin for begin, _end in filled], [end for _begin, end in filled]

    def _first(self, broker: str) -> int:
        return self._link.numbers.number_of(broker) << _OFFSET_BITS


def _has_level(of: BrokerFigures, level: int) -> bool:
    return of.levels.table is not None and 1 <= level <= of.levels.table.count


async def _read(
    link: ClusterLink, figures: ClusterFigures, broker: str, level: int, span: tuple[int, int, int]
) -> AsyncGenerator[DelayedPage, None]:
    """Messages of one broker, as they arrive; ``span`` is the first offset, the end of the queue, and the largest count.

    Each page includes all before it.
    """
    offset, end, count = span
    part = link.slice_of(MessageQueue(SCHEDULE_TOPIC, broker, level - 1), end=end)
    table, numbers = figures.of(broker).levels.table, link.numbers
    delay_ms = 0 if table is None else table.delay_ms(level)
    first = numbers.number_of(broker) << _OFFSET_BITS
    heads: list[DelayedHead] = []
    unreadable = 0
    async for pulled in Puller(link).through(part, offset, at_most=lambda: min(BATCH_MESSAGES, count - len(heads))):
        for record in pulled.records():
            try:
                message = decode_record(record)
                head = delayed_head(message, first + message.queue_offset, message.store_timestamp_ms + delay_ms)
            except RecordError:
                # Counted: a list with a hole is of more use than none.
                unreadable += 1
                continue
            place = numbers.shown_place(broker, head.physical_offset)
            heads.append(head._replace(physical_offset=place, queue_id=numbers.shown_queue(broker, head.queue_id)))
        yield DelayedPage(list(heads), pulled.following, end, unreadable)
