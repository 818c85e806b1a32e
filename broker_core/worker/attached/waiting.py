"""Messages that wait in a delay level of a cluster, pulled from the schedule queues of its brokers."""

from __future__ import annotations

from dataclasses import replace

from broker_core.errors import RecordError, UsageError
from broker_core.ipc.schema import DelayedMessages, ListDelayed
from broker_core.message.record import decode_record
from broker_core.remoting.codes import RequestCode
from broker_core.remoting.json_body import MessageQueue
from broker_core.schedule.delay_console import DelayedHead, DelayedPage, delayed_head
from broker_core.search.cluster import split_records
from broker_core.store.dispatch import SCHEDULE_TOPIC
from broker_core.worker.attached.answers import QueueOffsets
from broker_core.worker.attached.broker_figures import BrokerFigures
from broker_core.worker.attached.browsing import bound_of
from broker_core.worker.attached.figures import ClusterFigures
from broker_core.worker.attached.link import ClusterLink
from broker_core.worker.attached.lost_parts import PART_ERRORS, LostParts
from broker_core.worker.delay_views import delayed_messages
from broker_core.worker.message_views import BATCH_MESSAGES

PAGE_MAX = 1_000
_OFFSET_BITS = 48
"""Offsets of broker number b are shown as ``b * 2**48 + offset``; with one broker they are its own."""


async def list_delayed(link: ClusterLink, figures: ClusterFigures, query: ListDelayed) -> DelayedMessages:
    """One page; the brokers come one after the other, each in the order of its queue. Of one that is lost it says so.

    Raises:
        UsageError: The page is empty or too large, or no broker has such a level.
        NetworkError: No broker answers; so `RemoteError` and `CodecError`, when it answers otherwise.
    """
    if not 1 <= query.count <= PAGE_MAX:
        raise UsageError(f"a page has 1 to {PAGE_MAX:,} waiting messages, not {query.count:,}")
    having = [name for name in link.numbers.names if _has_level(figures.of(name), query.level)]
    lost = LostParts(figures)
    brokers = [name for name in having if not lost.is_lost(name)]
    if not brokers:
        raise UsageError(f"no broker that answers now has a delay level {query.level}. {lost.notice()}".rstrip())
    heads: list[DelayedHead] = []
    next_offset = max_offset = unreadable = 0
    any_answered = False
    for name in brokers:
        first = link.numbers.number_of(name) << _OFFSET_BITS
        try:
            held = await _held(link, name, query.level)
            begin = max(query.start_offset - first, figures.of(name).levels.next_offset(query.level, held))
            page = await _read(link, figures, name, query, (begin, held.max_offset, query.count - len(heads)))
        except PART_ERRORS as error:
            lost.failed(name, error)
            # The next page goes on behind all that this one may hold.
            next_offset = max_offset = first + (1 << _OFFSET_BITS)
            continue
        any_answered = True
        heads += page.heads
        unreadable += page.unreadable
        next_offset, max_offset = first + page.next_offset, first + held.max_offset
        if len(heads) >= query.count:
            break
    lost.raise_unless(any_answered)
    if name != brokers[-1]:
        # There is more behind this broker, also when it has no more.
        max_offset = (link.numbers.number_of(brokers[-1]) + 1) << _OFFSET_BITS
    page_told = delayed_messages(query.level, DelayedPage(heads, next_offset, max_offset, unreadable))
    return replace(page_told, notice=" ".join(filter(None, (page_told.notice, lost.notice()))))


def _has_level(of: BrokerFigures, level: int) -> bool:
    return of.levels.table is not None and 1 <= level <= of.levels.table.count


async def _held(link: ClusterLink, broker: str, level: int) -> QueueOffsets:
    queue = MessageQueue(SCHEDULE_TOPIC, broker, level - 1)
    low = await bound_of(link, RequestCode.GET_MIN_OFFSET, queue)
    return QueueOffsets(max(low, 0), max(await bound_of(link, RequestCode.GET_MAX_OFFSET, queue), 0), 0)


async def _read(
    link: ClusterLink, figures: ClusterFigures, broker: str, query: ListDelayed, span: tuple[int, int, int]
) -> DelayedPage:
    """Messages of one broker; ``span`` is the offset to begin at, the end of the queue, and how many at most."""
    offset, end, count = span
    queue, address = MessageQueue(SCHEDULE_TOPIC, broker, query.level - 1), link.address_of(broker)
    table, numbers = figures.of(broker).levels.table, link.numbers
    delay_ms = 0 if table is None else table.delay_ms(query.level)
    first = numbers.number_of(broker) << _OFFSET_BITS
    heads: list[DelayedHead] = []
    unreadable = 0
    while offset < end and len(heads) < count:
        body, following = await link.pull_records(address, queue, offset, min(BATCH_MESSAGES, count - len(heads)))
        if following <= offset:
            break
        for record in split_records(body):
            try:
                message = decode_record(record)
                head = delayed_head(message, first + message.queue_offset, message.store_timestamp_ms + delay_ms)
            except RecordError:
                # Counted: a list with a hole is of more use than none.
                unreadable += 1
                continue
            place = numbers.shown_place(broker, head.physical_offset)
            heads.append(head._replace(physical_offset=place, queue_id=numbers.shown_queue(broker, head.queue_id)))
        offset = following
    return DelayedPage(heads, min(offset, end), end, unreadable)
