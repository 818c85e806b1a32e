"""Disk use of the queues of topics, and the age of their oldest message. Reads a bounded part of each queue."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from broker_core.engine.store.consume_queue import UNIT
from broker_core.engine.store.message_store import MessageStore
from broker_core.errors import UsageError
from broker_core.worker.handlers import Run
from broker_core.worker.questions.administration import MeasureTopics, TopicMeasures
from broker_core.worker.questions.question import Handler

TOPICS_MAX = 100
QUEUES_REMEMBERED_MAX = 100_000
PLACES = 8
"""Places at which a queue is sampled that is too long to be read whole."""
UNITS_AT_PLACE = 32
WHOLE_MAX = PLACES * UNITS_AT_PLACE
"""Queues up to this length are read whole, so that their size is exact."""


class QueueMeasures:
    """Measures the queues of a store. Any thread may ask it.

    Reading the oldest message of a queue touches the cold part of the log and holds the store up, so its time is read once and
    kept as long as the message is the oldest.
    """

    def __init__(self, store: MessageStore) -> None:
        self._store = store
        self._oldest: dict[tuple[str, int], tuple[int, int]] = {}
        """Offset and store time of the oldest message of a queue."""

    def handlers(self, run: Run) -> list[Handler]:
        """The handler that measures on a thread."""

        async def measure(query: MeasureTopics) -> TopicMeasures:
            return await run(partial(self.measure, query.topics))

        return [MeasureTopics.answered_by(measure)]

    def measure(self, topics: Iterable[str]) -> TopicMeasures:
        """Measure the queues of topics that have, or had, messages. Raises `UsageError` for more than `TOPICS_MAX` topics."""
        wanted, store = set(topics), self._store
        if len(wanted) > TOPICS_MAX:
            raise UsageError(f"{TOPICS_MAX} topics can be measured at once, not {len(wanted):,}")
        answer = TopicMeasures([], [], [], [], [], [])
        for topic, queue_id in sorted(key for key in store.queues() if key[0] in wanted):
            low, high = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
            log_bytes, is_estimate = _log_bytes(store, topic, queue_id, low, high)
            answer.topic.append(topic)
            answer.queue_id.append(queue_id)
            answer.oldest_ms.append(self._oldest_ms(topic, queue_id, low) if low < high else -1)
            answer.log_bytes.append(log_bytes)
            answer.queue_bytes.append(max(0, high - low) * UNIT.size)
            answer.is_estimate.append(is_estimate)
        return answer

    def _oldest_ms(self, topic: str, queue_id: int, low: int) -> int:
        known = self._oldest.get((topic, queue_id))
        if known is not None and known[0] == low:
            return known[1]
        if len(self._oldest) >= QUEUES_REMEMBERED_MAX:
            self._oldest.clear()
        oldest_ms = self._store.store_time(topic, queue_id, low)
        self._oldest[topic, queue_id] = (low, oldest_ms)
        return oldest_ms


def _log_bytes(store: MessageStore, topic: str, queue_id: int, low: int, high: int) -> tuple[int, bool]:
    """Bytes of the records of a queue, and whether they were estimated from a part of them."""
    count = high - low
    if count <= 0:
        return 0, False
    if count <= WHOLE_MAX:
        sizes = _sizes(store, topic, queue_id, low, count)
        whole = len(sizes) == count
    else:
        places = [low + (count - UNITS_AT_PLACE) * number // (PLACES - 1) for number in range(PLACES)]
        sizes = [size for place in places for size in _sizes(store, topic, queue_id, place, UNITS_AT_PLACE)]
        whole = False
    if not sizes:
        return 0, True
    return (sum(sizes), False) if whole else (round(sum(sizes) / len(sizes) * count), True)


def _sizes(store: MessageStore, topic: str, queue_id: int, offset: int, count: int) -> list[int]:
    sizes: list[int] = []
    while len(sizes) < count:
        # A read ends at the end of a file.
        found = store.queue_units(topic, queue_id, offset + len(sizes), count - len(sizes))
        if not found:
            break
        sizes += [unit.record_bytes for unit in found]
    return sizes
