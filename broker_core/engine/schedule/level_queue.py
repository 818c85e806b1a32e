"""One delay level: its queue, the next message, and when that is due. No timers; time is an argument.

Order within a level is the order of its queue: all its messages wait equally long, so later ones are due later.

Source: docs/spec/broker.md §3.3 (steps 1 to 3d).
"""

from __future__ import annotations

import logging
from bisect import bisect_right
from collections import deque

from broker_core.engine.schedule.lateness import LatenessWindow
from broker_core.engine.store.consume_queue_ext import ADDRESS_MAX
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.record import store_timestamp_ms
from broker_core.protocol.names import SCHEDULE_TOPIC
from broker_core.protocol.queue_unit import QueueUnit

UNITS_READ = 128
CLOCK_TOLERANCE_MS = 1_000
"""Setting a clock back by up to this does not make messages early; RocketMQ treats any time beyond the delay as now."""

logger = logging.getLogger(__name__)


class LevelQueue:
    """The queue of one level, numbered from 1.

    ``in_table``: ``messageDelayLevel`` has the level, so that no message waits longer than its delay.

    Attributes:
        offset: Next one to deliver.
        head: The next message, as found by `look`.
        due_ms: When that is due, as found by `look`; None when nothing is pending.
        retry_at_ms: No delivery before this moment of the timers' clock, after one that failed.
        failures: Failed deliveries of the next message in a row.
        delivered: Messages delivered since the start.
        skipped: Messages skipped since the start, because their records are gone or cannot be delivered.
        lateness: Of the last minute.
    """

    def __init__(self, store: MessageStore, level: int, delay_ms: int, offset: int, *, in_table: bool = True) -> None:
        self._in_table = in_table
        self._store = store
        self.level = level
        self.delay_ms = delay_ms
        self.offset = offset
        self.due_ms: int | None = None
        self.retry_at_ms = 0.0
        self.failures = 0
        self.delivered = 0
        self.skipped = 0
        self.lateness = LatenessWindow()
        self.head: QueueUnit | None = None
        self._units: deque[QueueUnit] = deque()
        # Before more messages arrive: progress beyond the end of the queue moves back to it, and must skip none of them.
        self._enter_queue()

    @property
    def queue_id(self) -> int:
        """Number of its queue in the schedule topic."""
        return self.level - 1

    @property
    def max_offset(self) -> int:
        """Offset of the next message stored in this level."""
        return self._store.max_offset(SCHEDULE_TOPIC, self.queue_id)

    def look(self, now_ms: int) -> QueueUnit | None:
        """The next message, None when none is pending; ``due_ms`` is right afterwards.

        An offset outside the queue moves to its nearest end; a hole in the queue's files is skipped.
        """
        self.head = unit = self._next_unit()
        self.due_ms = None if unit is None else self._due_ms(unit, now_ms)
        return unit

    def advance(self) -> None:
        """Move on to the next message."""
        self._units.popleft()
        self.offset += 1
        self.failures = 0
        self.retry_at_ms = 0.0

    def skip_due(self, before_ms: int) -> None:
        """Move to the first message that is due later than a time."""
        self._move_to(self.offset + self.count_due(before_ms))

    def count_due(self, before_ms: int) -> int:
        """How many of the messages from here on are due at a time."""

        def due_ms(offset: int) -> int:
            units = self._store.queue_units(SCHEDULE_TOPIC, self.queue_id, offset, 1)
            return self.written_due_ms(units[0]) if units else 0

        return bisect_right(range(self.offset, self.max_offset), before_ms, key=due_ms)

    def _next_unit(self) -> QueueUnit | None:
        high = self._enter_queue()
        while not self._units and self.offset < high:
            self._units.extend(self._store.queue_units(SCHEDULE_TOPIC, self.queue_id, self.offset, UNITS_READ))
            if not self._units:
                behind = max(
                    self._store.get_messages(SCHEDULE_TOPIC, self.queue_id, self.offset, 1).next_offset, self.offset + 1
                )
                logger.error(
                    "the queue of delay level %d cannot be read at %d; it goes on at %d", self.level, self.offset, behind
                )
                self.skipped += min(behind, high) - self.offset
                self._move_to(min(behind, high))
        return self._units[0] if self._units else None

    def _enter_queue(self) -> int:
        """Move the offset into the queue; returns the queue's end."""
        low, high = self._store.min_offset(SCHEDULE_TOPIC, self.queue_id), self.max_offset
        if not low <= self.offset <= high:
            wanted = min(max(self.offset, low), high)
            logger.warning(
                "delay level %d was delivered up to %d, its queue holds %d to %d; it goes on at %d",
                self.level, self.offset, low, high, wanted,
            )  # fmt: skip
            self._move_to(wanted)
        return high

    def _move_to(self, offset: int) -> None:
        self._units.clear()
        self.offset = offset
        self.failures = 0
        self.retry_at_ms = 0.0

    def _due_ms(self, unit: QueueUnit, now_ms: int) -> int:
        due_ms = self.written_due_ms(unit)
        # A clock was set back, or the level had another delay: waiting longer than the level's delay is never right.
        too_late = self._in_table and due_ms > now_ms + self.delay_ms + CLOCK_TOLERANCE_MS
        return now_ms if too_late else due_ms

    def written_due_ms(self, unit: QueueUnit) -> int:
        """When a message is due by its unit, or by its record if the unit names an extension instead."""
        if unit.tags_code > ADDRESS_MAX:
            return unit.tags_code
        record = self._store.record_at(unit.physical_offset)
        return 0 if record is None else store_timestamp_ms(record) + self.delay_ms
