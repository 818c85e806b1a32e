"""Which part of a queue is shown, and the bounds of queues. Pure: no widget, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from broker_core.api import QUEUES_OF_BROKER
from broker_core.worker.questions.stored_messages import TopicPage
from gui.models.messages import ALL_QUEUES
from gui.models.topics import queue_places
from gui.words.text import count_text, tr
from monitoring.state import ClusterState

PAGE_MESSAGES = 200


@dataclass(frozen=True, slots=True)
class QueueWindow:
    """The shown part of a queue: offsets ``start`` to ``start + count``, within ``min_offset`` … ``max_offset``."""

    min_offset: int
    max_offset: int
    start: int
    count: int = PAGE_MESSAGES

    @property
    def end(self) -> int:
        return min(self.start + self.count, self.max_offset)

    @property
    def has_older(self) -> bool:
        return self.start > self.min_offset

    @property
    def has_newer(self) -> bool:
        return self.end < self.max_offset

    def at(self, offset: int) -> QueueWindow:
        """The window that begins at ``offset``, moved into the queue."""
        last = max(self.min_offset, self.max_offset - 1)
        return QueueWindow(self.min_offset, self.max_offset, min(max(offset, self.min_offset), last), self.count)

    def older(self) -> QueueWindow:
        return self.at(self.start - self.count)

    def newer(self) -> QueueWindow:
        return self.at(min(self.start + self.count, max(self.max_offset - self.count, self.min_offset)))

    def oldest(self) -> QueueWindow:
        return self.at(self.min_offset)

    def newest(self) -> QueueWindow:
        return self.at(self.max_offset - self.count)

    def grown(self, min_offset: int, max_offset: int) -> QueueWindow:
        """The same place after the queue has changed."""
        return QueueWindow(min_offset, max_offset, max(self.start, min_offset), self.count)


@dataclass(frozen=True, slots=True)
class TopicSpan:
    """The part of each queue of a topic that a page of all queues covers: queue → first offset, and end (exclusive)."""

    first: Mapping[int, int]
    end: Mapping[int, int]
    from_ms: int
    """Store time of its oldest message; `to_ms` is that of its newest; -1 without one."""
    to_ms: int
    has_older: bool
    has_newer: bool


def topic_span(state: ClusterState | None, page: TopicPage) -> TopicSpan:
    """The span of a page; by the queues of ``state`` it is known what lies beside it."""
    topic, times = page.page.topic, page.page.store_ms
    first, end = dict(zip(page.queue, page.first, strict=True)), dict(zip(page.queue, page.end, strict=True))
    bounds = {queue: queue_bounds(state, topic, queue) for queue in page.queue} if state is not None else {}
    known = {queue: both for queue, both in bounds.items() if both is not None}
    return TopicSpan(
        first,
        end,
        from_ms=min(times, default=-1),
        to_ms=max(times, default=-1),
        has_older=any(first[queue] > low for queue, (low, _high) in known.items()),
        has_newer=any(end[queue] < high for queue, (_low, high) in known.items()),
    )


def queue_ids(state: ClusterState, topic: str) -> list[int]:
    """Queues of a topic that hold or held messages."""
    return [state.catalog.queue_id[row] for row in queue_places(state, topic)]


def write_queues(state: ClusterState | None, topic: str) -> list[int]:
    """Writable queues of a topic as shown numbers; none where the topic is not known.

    With several brokers all queues are returned, because it is not known which are read-only.
    """
    if state is None or topic not in state.catalog.topics:
        return []
    if len(state.catalog.brokers) > 1:
        return sorted(queue_ids(state, topic))
    return list(range(state.catalog.topic_write_queues[state.catalog.topics.index(topic)]))


def own_queue(state: ClusterState | None, shown: int, broker_name: str) -> tuple[str, int]:
    """Name of the broker of a queue, and id of the queue there.

    With one broker the name is ``broker_name``; with several, that of a broker that is not known is empty.
    """
    brokers = state.catalog.brokers if state is not None else []
    if len(brokers) < 2 or shown < 0:
        return broker_name, shown
    number, queue_id = divmod(shown, QUEUES_OF_BROKER)
    return (brokers[number], queue_id) if number < len(brokers) else ("", shown)


def queue_text(state: ClusterState | None, shown: int) -> str:
    """A queue as users read it: its number, with several brokers after the name of its broker."""
    broker, queue_id = own_queue(state, shown, "")
    return f"{broker} {queue_id}" if broker else str(queue_id)


def place_text(topic: str, queue: str, offset: int) -> str:
    """Place of a message in words; ``queue`` as `queue_text` writes it."""
    return tr("{topic}, queue {queue}, offset {offset}", topic=topic, queue=queue, offset=count_text(offset))


def shown_queue(state: ClusterState | None, broker_name: str, queue_id: int) -> int:
    """Shown number of a broker's queue; the inverse of `own_queue`."""
    brokers = state.catalog.brokers if state is not None else []
    is_one_of_several = len(brokers) > 1 and broker_name in brokers
    return brokers.index(broker_name) * QUEUES_OF_BROKER + queue_id if is_one_of_several else queue_id


def queue_bounds(state: ClusterState, topic: str, queue_id: int) -> tuple[int, int] | None:
    """Smallest offset and end of a queue; None when not known."""
    for row in queue_places(state, topic):
        if state.catalog.queue_id[row] == queue_id:
            low, high = int(state.queue_min_offset[row]), int(state.queue_max_offset[row])
            return (low, high) if low >= 0 and high >= 0 else None
    return None


def end_of_topic(state: ClusterState, topic: str, queue_id: int) -> int:
    """Sum of the ends of a topic's queues, or the end of one; its growth counts new messages. -1 when not known."""
    ids = state.catalog.queue_id
    rows = [row for row in queue_places(state, topic) if queue_id in (ALL_QUEUES, ids[row])]
    return int(np.maximum(state.queue_max_offset[rows], 0).sum()) if rows else -1
