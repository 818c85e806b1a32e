"""Figures of the delay levels, and actions of a person on their messages.

Figures and actions belong to the loop's thread; pages of messages are read on any thread. An action is recorded first, then
checked against the messages still pending, carried out, and on disk when it is answered: a crash undoes none.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from broker_core.engine.schedule.delay_delivery import DelayDelivery
from broker_core.engine.schedule.delayed_message import delayed_again, real_place
from broker_core.engine.schedule.lateness import LatenessCounts
from broker_core.engine.schedule.level_queue import LevelQueue
from broker_core.engine.schedule.overrides import DONE, ENTRIES_MAX, Override, Overrides
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.results import NEVER_STORED, PutResult, PutStatus
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.set_aside import why_never
from broker_core.errors import RecordError, StoreError, UsageError
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.model import MessageToStore, StoredMessage
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import SCHEDULE_TOPIC
from broker_core.protocol.queue_unit import QueueUnit

PAGE_MESSAGES_MAX = 1_000
ACTION_MESSAGES_MAX = 1_000
ACTIONS = ("deliver", "cancel", "move")
UNITS_LOOKED_AT_MAX = 20_000
_UNITS_READ = 256


class LevelFigures(NamedTuple):
    """One delay level at one moment. Times in ms since the epoch, -1 none; lateness NaN when nothing was delivered.

    Attributes:
        pending: Pending messages, without cancelled or delivered ones.
        next_due_ms: When the next message is due, also when that is past.
        overdue_ms: How late the oldest due message is now; 0 when none is due, -1 where nobody delivers.
        delivered, skipped: Since the start.
        late_p50_ms, late_p99_ms: Of the last minute.
    """

    level: int
    delay_ms: int
    pending: int
    next_due_ms: int
    overdue_ms: int
    delivered: int
    skipped: int
    late_p50_ms: float
    late_p99_ms: float


class DelayedHead(NamedTuple):
    """One row of a list of pending messages; ``topic`` and ``queue_id`` are the target of the delivery."""

    queue_offset: int
    physical_offset: int
    due_ms: int
    store_ms: int
    topic: str
    queue_id: int
    tag: str
    keys: str
    unique_key: str
    body_bytes: int
    reconsume_times: int


@dataclass(frozen=True, slots=True)
class DelayedPage:
    """Waiting messages of a level in the order of its queue; ``next_offset`` goes on, and is ``max_offset`` at the end."""

    heads: list[DelayedHead]
    next_offset: int
    max_offset: int
    unreadable: int


@dataclass(frozen=True, slots=True)
class DelayedPlace:
    """A waiting message as a page named it; both must still fit."""

    queue_offset: int
    physical_offset: int


@dataclass(frozen=True, slots=True)
class DelayedActions:
    """The result of an action: messages changed, and queue offsets of those that were no longer pending."""

    done: int
    gone: list[int]


class DelayConsole:
    """Figures, pages and actions; ``save`` writes the overrides, and ``timer_ms`` is a monotonic clock."""

    def __init__(
        self,
        store: MessageStore,
        delivery: DelayDelivery,
        overrides: Overrides,
        save: Callable[[], Awaitable[None]],
        journal: ActionJournal,
        *,
        clock: Callable[[], int],
        timer_ms: Callable[[], float],
    ) -> None:
        self._store = store
        self._delivery = delivery
        self._overrides = overrides
        self._save = save
        self._journal = journal
        self._clock = clock
        self._timer_ms = timer_ms
        self.is_delivering = True
        """Whether somebody delivers: what waits in a store that is only read is not late."""

    # ---- looking ----

    def figures(self) -> list[LevelFigures]:
        """One row per level, in order; cheap enough for ten calls a second."""
        now_ms, now_s = self._clock(), int(self._timer_ms() / 1000)
        return [self._figures_of(level, now_ms, now_s) for level in self._delivery.levels.values()]

    def lateness(self) -> LatenessCounts:
        """Lateness of the deliveries of the last hour, of all levels together."""
        return self._delivery.late_hour.counts(int(self._timer_ms() / 1000))

    def _figures_of(self, level: LevelQueue, now_ms: int, now_s: int) -> LevelFigures:
        pending = max(level.max_offset - level.offset - self._overrides.done_count(level.level), 0)
        late = level.lateness.figures(now_s)
        due_ms = self._next_due_ms(level) if pending else -1
        return LevelFigures(
            level=level.level,
            delay_ms=level.delay_ms,
            pending=pending,
            next_due_ms=due_ms,
            overdue_ms=self._overdue_ms(due_ms, now_ms),
            delivered=level.delivered,
            skipped=level.skipped,
            late_p50_ms=late.p50_ms,
            late_p99_ms=late.p99_ms,
        )

    def _overdue_ms(self, due_ms: int, now_ms: int) -> int:
        if not self.is_delivering:
            return -1
        return max(now_ms - due_ms, 0) if due_ms >= 0 else 0

    def _next_due_ms(self, level: LevelQueue) -> int:
        moved = self._overrides.next_due()
        times = [] if level.due_ms is None else [level.due_ms]
        if moved is not None and level.level == self._overrides.level_of(moved[1]):
            times.append(moved[0])
        return min(times, default=-1)

    def page_reader(self, number: int, start_offset: int, count: int) -> Callable[[], DelayedPage]:
        """A function that reads a page of pending messages, to be called on any thread.

        Args:
            number: Delay level.
            start_offset: Queue offset of the first message; smaller ones begin at the first pending one.
            count: Messages at most.

        Raises:
            UsageError: There is no such level, or the page is too large.
        """
        level = self._level(number)
        if not 1 <= count <= PAGE_MESSAGES_MAX:
            raise UsageError(f"a page has 1 to {PAGE_MESSAGES_MAX} messages, not {count}")
        overrides = self._overrides.of_level(number)
        start = max(start_offset, level.offset)
        return lambda: _read_page(self._store, level, overrides, start, count)

    def _level(self, number: int) -> LevelQueue:
        level = self._delivery.levels.get(number)
        if level is None:
            raise UsageError(f"there is no delay level {number}; this broker has {', '.join(map(str, self._delivery.levels))}")
        return level

    # ---- acting ----

    async def act(self, action: str, number: int, places: Sequence[DelayedPlace], *, due_ms: int = -1) -> DelayedActions:
        """Deliver pending messages at once, cancel them, or move them to another time; one that is past is now.

        Cancelled ones stay in the log.

        Args:
            action: One of `ACTIONS`.
            number: Delay level.
            places: Of the messages; those that are no longer pending there are left alone.
            due_ms: New time, for a move.

        Raises:
            UsageError: No such action or level, too many messages, or a time later than the longest level from now.
            StoreError: The store refuses one, and the error says how many it took, or the decision cannot be written to the
                disk.
        """
        if action not in ACTIONS:
            raise UsageError(f"there is no action “{action}” for delayed messages; there are deliver, cancel and move")
        if action == "move" and due_ms <= self._clock():
            action = "deliver"
        details = {}
        if action == "move":
            self._level_for(due_ms - self._clock())
            details = {"due_ms": due_ms}
        level = await self._begin(f"delay.{action}", number, places, **details)
        gone: list[int] = []
        for count, place in enumerate(places):
            unit = self._waiting(level, place)
            status = None if unit is None else self._act_on(action, level, place, unit, due_ms)
            if status is None:
                gone.append(place.queue_offset)
            elif status is not PutStatus.PUT_OK:
                await self._finish()
                await self._journal.record(f"delay.{action}.failed", f"level {level.level}", asked=len(places))
                raise StoreError(self._refusal(status, count - len(gone), len(places)))
        await self._finish()
        return DelayedActions(len(places) - len(gone), gone)

    def _act_on(self, action: str, level: LevelQueue, place: DelayedPlace, unit: QueueUnit, due_ms: int) -> PutStatus | None:
        """Act on one message; returns what the store says to it, None if its record is gone."""
        if action == "move" and due_ms <= level.written_due_ms(unit):
            self._overrides.set_due(place.physical_offset, Override(level.level, place.queue_offset, due_ms))
            return PutStatus.PUT_OK
        if action == "move":
            return self._wait_anew(level, place, unit, due_ms)
        copy = self._delivery.put_copy(place.physical_offset) if action == "deliver" else None
        if copy is None:
            self._overrides.set_done(place.physical_offset, Override(level.level, place.queue_offset, DONE))
            return None if action == "deliver" else PutStatus.PUT_OK
        if copy.status is PutStatus.PUT_OK:
            level.delivered += 1
            self._pass_over(level, place, unit, copy)
        return copy.status

    async def _begin(self, action: str, number: int, places: Sequence[DelayedPlace], **details: int) -> LevelQueue:
        level = self._level(number)
        if not 1 <= len(places) <= ACTION_MESSAGES_MAX:
            raise UsageError(f"an action takes 1 to {ACTION_MESSAGES_MAX} messages, not {len(places)}")
        if len(self._overrides) + len(places) > ENTRIES_MAX:
            raise UsageError(
                f"{len(self._overrides):,} waiting messages were changed already; more than {ENTRIES_MAX:,} is too many"
            )
        offsets = [place.physical_offset for place in places]
        await self._journal.record(action, f"level {number}", physicalOffsets=offsets, **details)
        return level

    async def _finish(self) -> None:
        self._delivery.overrides_changed = True
        self._delivery.wake()
        await self._save()

    def _refusal(self, status: PutStatus, done: int, asked: int) -> str:
        why = why_never(status) if status in NEVER_STORED else self._store.write_refusal
        return f"{done} of {asked} messages are done; the store does not take the next one ({why})"

    def _waiting(self, level: LevelQueue, place: DelayedPlace) -> QueueUnit | None:
        """The unit of a message that is still pending where it was seen."""
        if place.queue_offset < level.offset or self._overrides.is_done(place.physical_offset):
            return None
        units = self._store.queue_units(SCHEDULE_TOPIC, level.queue_id, place.queue_offset, 1)
        return units[0] if units and units[0].physical_offset == place.physical_offset else None

    def _pass_over(self, level: LevelQueue, place: DelayedPlace, unit: QueueUnit, copy: PutResult) -> None:
        end, was_due_ms = copy.physical_offset + copy.wrote_bytes, level.written_due_ms(unit)
        override = Override(level.level, place.queue_offset, DONE, copy_end=end, was_due_ms=was_due_ms)
        self._overrides.set_done(place.physical_offset, override)

    def _level_for(self, wait_ms: int) -> int:
        """The shortest level that is long enough."""
        delays = self._store.delay_levels.delays_ms
        long_enough = [(delay_ms, number) for number, delay_ms in enumerate(delays, 1) if delay_ms >= wait_ms]
        if not long_enough:
            raise UsageError(
                f"a delayed message can be moved at most {max(delays) // 1000:,} s ahead, the longest delay level, "
                f"not {wait_ms // 1000:,} s"
            )
        return min(long_enough)[1]

    def _wait_anew(self, level: LevelQueue, place: DelayedPlace, unit: QueueUnit, due_ms: int) -> PutStatus:
        record = self._store.record_at(unit.physical_offset)
        if record is None:
            return PutStatus.MESSAGE_ILLEGAL
        number = self._level_for(max(due_ms - self._clock(), 0))
        message: MessageToStore = delayed_again(decode_record(record), number)
        result = self._store.put(message)
        if result.status is PutStatus.PUT_OK:
            self._delivery.copy_end = max(self._delivery.copy_end, result.physical_offset + result.wrote_bytes)
            self._overrides.set_due(result.physical_offset, Override(number, result.queue_offset, due_ms))
            self._pass_over(level, place, unit, result)
        return result.status


def _read_page(
    store: MessageStore, level: LevelQueue, overrides: Mapping[int, Override], start: int, count: int
) -> DelayedPage:
    heads: list[DelayedHead] = []
    offset, unreadable = max(start, store.min_offset(SCHEDULE_TOPIC, level.queue_id)), 0
    high = store.max_offset(SCHEDULE_TOPIC, level.queue_id)
    end = min(high, offset + UNITS_LOOKED_AT_MAX)
    while offset < end and len(heads) < count:
        units = store.queue_units(SCHEDULE_TOPIC, level.queue_id, offset, min(_UNITS_READ, count - len(heads), end - offset))
        if not units:
            unreadable += end - offset
            offset = end
            break
        for unit in units:
            override = overrides.get(unit.physical_offset)
            if override is None or override.due_ms != DONE:
                due_ms = level.written_due_ms(unit) if override is None else override.due_ms
                head = _head(store, unit, offset, due_ms)
                unreadable += head is None
                heads += [] if head is None else [head]
            offset += 1
    return DelayedPage(heads, min(offset, high), high, unreadable)


def _head(store: MessageStore, unit: QueueUnit, queue_offset: int, due_ms: int) -> DelayedHead | None:
    record = store.record_at(unit.physical_offset)
    if record is None:
        return None
    try:
        return delayed_head(decode_record(record), queue_offset, due_ms)
    except RecordError:
        # Counted as unreadable: a list with a hole is of more use than none.
        return None


def delayed_head(message: StoredMessage, queue_offset: int, due_ms: int) -> DelayedHead:
    """The list row of a message of the schedule topic.

    Raises:
        RecordError: It does not name its topic and queue.
    """
    topic, queue_id = real_place(message.properties_bytes, message.physical_offset)
    found = message.properties
    return DelayedHead(
        queue_offset=queue_offset,
        physical_offset=message.physical_offset,
        due_ms=due_ms,
        store_ms=message.store_timestamp_ms,
        topic=topic,
        queue_id=queue_id,
        tag=found.get(props.TAGS, ""),
        keys=found.get(props.KEYS, ""),
        unique_key=found.get(props.UNIQUE_KEY, ""),
        body_bytes=len(message.body),
        reconsume_times=message.reconsume_times,
    )
