"""Delivers delayed messages when they are due.

    arrival or alarm → what is due, the earliest due time first over all levels → put to the real topic → alarm for the next

One alarm is set for the next message that is due in any level, so nothing is polled. A run delivers a bounded number of
messages and leaves the rest to the next turn of the loop. A level whose delivery fails retries the same message, with growing
pauses, and none of its later messages passes it. A message that the store never takes is set aside.

Runs on the thread of its timers; does no I/O of its own. Source: docs/spec/broker.md §3.3, §3.4.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from dataclasses import replace

from broker_core.engine.schedule.delayed_message import delivered
from broker_core.engine.schedule.lateness import LatenessHour
from broker_core.engine.schedule.level_queue import LevelQueue
from broker_core.engine.schedule.overrides import Override, Overrides
from broker_core.engine.schedule.timers import Alarm, CallTimers
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.results import NEVER_STORED, Arrival, PutResult, PutStatus
from broker_core.engine.tables.set_aside import STAYS, SetAside
from broker_core.errors import RecordError
from broker_core.protocol.names import SCHEDULE_TOPIC

DELIVERIES_PER_TURN = 64
"""About 2 ms of work; no request waits longer for its turn."""
RETRY_MS = 100
RETRY_MS_MAX = 1_000

_OVERRIDES = 0
"""Replaces a level number for messages that are due by an override."""

logger = logging.getLogger(__name__)


class DelayDelivery:
    """Delivers from the queues of all levels; ``count`` is called with topic and bytes of each delivery.

    Attributes:
        late_hour: Lateness of the deliveries of all levels.
        copy_end: Physical offset after the last delivered message.
        overrides_changed: Whether a delivery changed ``overrides``; the writer of the file resets it.
    """

    def __init__(
        self,
        store: MessageStore,
        levels: dict[int, LevelQueue],
        overrides: Overrides,
        *,
        clock: Callable[[], int],
        timers: CallTimers,
        count: Callable[[str, int], None] = lambda _topic, _size: None,
        set_aside: SetAside | None = None,
    ) -> None:
        self._store = store
        self._set_aside = set_aside or SetAside()
        self.levels = levels
        self._overrides = overrides
        self._clock = clock
        self._timers = timers
        self._count = count
        self.late_hour = LatenessHour()
        self.copy_end = 0
        self.overrides_changed = False
        self._overrides_retry_ms = 0.0
        self._alarm: Alarm | None = None
        self._alarm_ms = 0.0
        self._running = False

    def start(self) -> None:
        """Deliver overdue messages, and set the alarm for the next."""
        self._running = True
        self.wake()

    def stop(self) -> None:
        """Deliver nothing more."""
        self._running = False
        self._cancel()

    def wake(self) -> None:
        """Check all levels again soon: the clock was set, or an override was added."""
        if self._running:
            self._set_alarm(0.0)

    def arrived(self, arrival: Arrival) -> None:
        """React to a message that entered a queue; the listener of the store."""
        if arrival.topic != SCHEDULE_TOPIC or not self._running:
            return
        level = self.levels.get(arrival.queue_id + 1)
        if level is not None and level.offset == arrival.queue_offset:
            level.due_ms = arrival.tags_code
            self._set_alarm(max(arrival.tags_code - self._clock(), 0), only_earlier=True)

    # ---- one run ----

    def _run(self) -> None:
        self._alarm = None
        now_ms, timer_ms = self._clock(), self._timers.now_ms()
        ready = [entry for entry in self._looked_at(now_ms, timer_ms) if entry[0] <= now_ms]
        heapq.heapify(ready)
        for _ in range(DELIVERIES_PER_TURN):
            if not ready:
                break
            number = ready[0][1]
            due_ms = self._step(number, now_ms, timer_ms)
            if due_ms is not None and due_ms <= now_ms:
                heapq.heapreplace(ready, (due_ms, number))
            else:
                heapq.heappop(ready)
        self._arm()

    def _looked_at(self, now_ms: int, timer_ms: float) -> list[tuple[int, int]]:
        """Due time and number of each level that has a message and may deliver it."""
        found = [
            (level.due_ms, number)
            for number, level in self.levels.items()
            if level.look(now_ms) is not None and level.due_ms is not None and level.retry_at_ms <= timer_ms
        ]
        override = self._overrides.next_due()
        if override is not None and self._overrides_retry_ms <= timer_ms:
            found.append((override[0], _OVERRIDES))
        return found

    def _step(self, number: int, now_ms: int, timer_ms: float) -> int | None:
        """Deliver the next message of a level; returns the due time of the one after it, None when the level must wait."""
        if number == _OVERRIDES:
            return self._deliver_override(timer_ms)
        level = self.levels[number]
        self._deliver_head(level, timer_ms)
        if level.retry_at_ms > timer_ms:
            return None
        level.look(now_ms)
        return level.due_ms

    def _arm(self) -> None:
        now_ms, timer_ms = self._clock(), self._timers.now_ms()
        waits = [
            max(level.due_ms - now_ms, level.retry_at_ms - timer_ms)
            for level in self.levels.values()
            if level.due_ms is not None
        ]
        override = self._overrides.next_due()
        if override is not None:
            waits.append(max(override[0] - now_ms, self._overrides_retry_ms - timer_ms))
        if waits:
            self._set_alarm(max(min(waits), 0.0))

    def _set_alarm(self, delay_ms: float, *, only_earlier: bool = False) -> None:
        at_ms = self._timers.now_ms() + delay_ms
        if only_earlier and self._alarm is not None and self._alarm_ms <= at_ms:
            return
        self._cancel()
        if self._running:
            self._alarm_ms = at_ms
            self._alarm = self._timers.after(delay_ms, self._run)

    def _cancel(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    # ---- one message ----

    def _deliver_head(self, level: LevelQueue, timer_ms: float) -> None:
        unit = level.head
        if unit is None or level.due_ms is None:
            return
        override = self._overrides.get(unit.physical_offset)
        if override is not None and self._overrides.is_done(unit.physical_offset):
            self._overrides.passed(level.level, level.offset)
            level.advance()
            return
        result = self.put_copy(unit.physical_offset)
        if result is None:
            level.skipped += 1
            level.advance()
        elif result.status is PutStatus.PUT_OK:
            self._delivered(level, result, level.written_due_ms(unit))
            if override is not None:
                self._done(unit.physical_offset, override, result)
                self._overrides.passed(level.level, level.offset)
            level.advance()
        else:
            self._failed(level, result, timer_ms)

    def put_copy(self, physical_offset: int) -> PutResult | None:
        """Put the pending message at an offset of the log to its real topic; None when it is gone or was set aside."""
        record = self._store.record_at(physical_offset)
        if record is None:
            logger.warning("the delayed message at %d is gone from the log; it is passed over", physical_offset)
            return None
        try:
            copy = delivered(record)
        except RecordError as error:
            logger.error("%s; it is passed over", error)
            return None
        result = self._store.put(copy)
        if result.status in NEVER_STORED:
            self._set_aside.note(physical_offset, copy.topic, result.status, STAYS)
            return None
        if result.status is PutStatus.PUT_OK:
            self.copy_end = result.physical_offset + result.wrote_bytes
            self._count(copy.topic, result.wrote_bytes)
        return result

    def _delivered(self, level: LevelQueue, result: PutResult, due_ms: int) -> None:
        level.delivered += 1
        late_ms, now_s = max(result.store_timestamp_ms - due_ms, 0), int(self._timers.now_ms() / 1000)
        level.lateness.add(late_ms, now_s)
        self.late_hour.add(late_ms, now_s)

    def _failed(self, level: LevelQueue, result: PutResult, timer_ms: float) -> None:
        level.failures += 1
        if level.failures == 1:
            logger.warning(
                "message %d of delay level %d is not delivered (%s %s); it is tried again",
                level.offset, level.level, result.status.value, self._store.write_refusal,
            )  # fmt: skip
        level.retry_at_ms = timer_ms + _pause_ms(level.failures)

    def _deliver_override(self, timer_ms: float) -> int | None:
        found = self._overrides.next_due()
        if found is None:
            return None
        physical_offset = found[1]
        override = self._overrides.get(physical_offset)
        assert override is not None, "the heap of overrides names entries of their table"
        result = self.put_copy(physical_offset)
        if result is not None and result.status is not PutStatus.PUT_OK:
            self._overrides_retry_ms = timer_ms + RETRY_MS_MAX
            return None
        level = self.levels.get(override.level)
        if result is not None and level is not None:
            self._delivered(level, result, override.due_ms)
        self._done(physical_offset, override, result)
        following = self._overrides.next_due()
        return None if following is None else following[0]

    def _done(self, physical_offset: int, override: Override, result: PutResult | None) -> None:
        end = 0 if result is None else result.physical_offset + result.wrote_bytes
        self._overrides.set_done(physical_offset, replace(override, copy_end=end, was_due_ms=override.due_ms))
        self.overrides_changed = True


def _pause_ms(failures: int) -> int:
    return min(RETRY_MS << min(failures - 1, 10), RETRY_MS_MAX)
