"""Repairs units of a queue that lead to no record, from the log: holes and flipped bytes in any file of the queue.

Opening a store reads only the ends of its queues; a later read finds earlier damage. The record must then lie in the log
between those of the nearest good units, so only this part is searched.

A message whose record is damaged too cannot be found; its offset is kept, so that it is not searched again.

Source: docs/spec/store.md §4, §10.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from broker_core.engine.store.consume_queue import UNIT, ConsumeQueue
from broker_core.engine.store.dispatch import further_queues, unit_tags_code
from broker_core.engine.store.reading import record_of_unit
from broker_core.engine.store.record_search import records_between
from broker_core.engine.store.store_parts import StoreParts
from broker_core.protocol.message.sys_flag import enters_queue
from broker_core.protocol.names import LMQ_PREFIX

_log = logging.getLogger(__name__)


class QueueMender:
    """Mends the queues of one store; may be called from any thread."""

    def __init__(self, parts: StoreParts) -> None:
        self._commit_log = parts.commit_log
        self._writer = parts.writer
        self._levels = parts.delay_levels
        self._lock = parts.lock
        self._lost: set[tuple[str, int, int]] = set()

    def mend(self, queue: ConsumeQueue, offset: int) -> bool:
        """Replace the damaged units at and around a queue offset; False if no record was found.

        Raises:
            OSError: The units could not be written.
        """
        if (queue.topic, queue.queue_id, offset) in self._lost:
            return False
        with self._writer.write_lock, self._lock:
            if self._is_good(queue, offset):
                return True  # with a damaged place beside it
            first, start = self._good_before(queue, offset)
            last, end = self._good_behind(queue, offset)
            units = dict(self._units_in_log(queue, start, end, range(first, last)))
            for number, unit in units.items():
                queue.mend(number, unit)
            lost = [number for number in range(first, last) if number not in units]
            self._lost.update((queue.topic, queue.queue_id, number) for number in lost)
        _log.warning(
            "queue %s/%d was damaged from offset %d to %d: %d messages were found in the log again, %d are lost",
            queue.topic, queue.queue_id, first, last - 1, len(units), len(lost),
        )  # fmt: skip
        return bool(units)

    def _is_good(self, queue: ConsumeQueue, offset: int) -> bool:
        unit = queue.unit(offset)
        return unit is not None and record_of_unit(self._commit_log, unit.physical_offset, unit.record_bytes) is not None

    def _good_before(self, queue: ConsumeQueue, offset: int) -> tuple[int, int]:
        """First damaged offset of the place, and the earliest begin of its record in the log."""
        while offset > queue.min_offset and not self._is_good(queue, offset - 1):
            offset -= 1
        before = queue.unit(offset - 1) if offset > queue.min_offset else None
        return offset, before.physical_offset + before.record_bytes if before else self._commit_log.min_offset

    def _good_behind(self, queue: ConsumeQueue, offset: int) -> tuple[int, int]:
        """First good offset after the place, and the begin of its record."""
        while offset < queue.max_offset and not self._is_good(queue, offset):
            offset += 1
        behind = queue.unit(offset) if offset < queue.max_offset else None
        return offset, behind.physical_offset if behind else self._commit_log.end

    def _units_in_log(self, queue: ConsumeQueue, start: int, end: int, offsets: range) -> Iterator[tuple[int, bytes]]:
        is_light = queue.topic.startswith(LMQ_PREFIX)
        for head, _, encoded_topic, properties in records_between(self._commit_log, start, end):
            if not enters_queue(head.sys_flag) or not (is_light or head.queue_id == queue.queue_id):
                continue
            topic = encoded_topic.decode("utf-8", "replace")
            code = unit_tags_code(topic, properties, head.store_timestamp_ms, self._levels)
            unit = UNIT.pack(head.physical_offset, head.size, code)
            places = [(topic, head.queue_id, head.queue_offset), *further_queues(head.queue_id, properties)]
            for other, queue_id, number in places:
                if (other, queue_id) == (queue.topic, queue.queue_id) and number in offsets:
                    yield number, unit
