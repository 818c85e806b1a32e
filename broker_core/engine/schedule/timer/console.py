"""Pending timers for a person, and actions on them. On the broker's loop, in bounded steps; `describe` runs on any thread.

    deliver   a copy goes into the real topic, then a cancel into the wheel: a crash in between delivers twice
    cancel    a cancel, as a client would send it
    move      a copy with another time goes into the wheel, then a cancel for the old one

The journal records each action before it is carried out.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import NamedTuple

from broker_core.engine.schedule.lateness import LatenessCounts
from broker_core.engine.schedule.timer.layout import TimerUnit
from broker_core.engine.schedule.timer.messages import (
    ASKING,
    DELETE_KEY,
    DELIVER_MS,
    OUT_MS,
    TimerSummary,
    cancel_key,
    cancels,
    delivered,
    properties_of,
    rolled,
    summary,
)
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.engine.schedule.timer.work import DAY_MS, TimerWork
from broker_core.engine.store.results import NEVER_STORED, PutResult, PutStatus
from broker_core.engine.tables.action_journal import ActionJournal
from broker_core.engine.tables.set_aside import why_never
from broker_core.errors import CodecError, StoreError, UsageError
from broker_core.protocol.message.model import HostAddress, MessageToStore
from broker_core.protocol.message.properties import (
    REAL_QUEUE_ID,
    REAL_TOPIC,
    TAGS,
    UNIQUE_KEY,
    decode_properties,
    encode_fitting,
    encode_properties,
    find_property_bytes,
    property_marker,
)
from broker_core.protocol.message.tags import java_string_hash
from broker_core.protocol.names import WHEEL_TIMER_TOPIC

MINUTES, HOURS = 60, 48
DAYS_MAX = 3_660
PAGE_MAX = 1_000
ACTIONS_MAX = 1_000
UNITS_LOOKED_AT_MAX = 20_000
"""Units of one slot, or of one page, read in one step: 20 ms."""
CANCEL_TAG = "_RECALL_TAG_"
ACTIONS = ("deliver", "cancel", "move")


class TimerPlace(NamedTuple):
    """Names a pending timer: its slot and the position of its unit in the timer log."""

    slot_ms: int
    position: int


class PendingTimer(NamedTuple):
    """A pending timer: its place, and the unit that points to its message."""

    place: TimerPlace
    unit: TimerUnit
    is_cancelled: bool


class TimerPage(NamedTuple):
    """Pending timers by time, within a second the last sent first; ``next`` is None at the end."""

    timers: list[PendingTimer]
    next: TimerPlace | None


class TimerOutlook(NamedTuple):
    """Numbers of messages by due time.

    Attributes:
        minutes: Of the next 60 minutes, from now on.
        hours: Of the next 48 hours, from now on.
        first_day: Day (UTC, since the epoch) of the first of ``days``.
        days: All of them, by day.
    """

    taken_ms: int
    minutes: list[int]
    hours: list[int]
    first_day: int
    days: list[int]


class TimersNow(NamedTuple):
    """Current figures; times in ms, -1 for none; counts since the start; lateness of the last minute, NaN for none."""

    pending: int
    next_due_ms: int
    overdue_ms: int
    delivered: int
    cancelled: int
    rolled: int
    lost: int
    late_p50_ms: float
    late_p99_ms: float
    not_yet_in_wheel: int


class TimerActions(NamedTuple):
    """The number of messages that an action changed, and the places that it could not change."""

    done: int
    gone: list[TimerPlace]


class TimerConsole:
    """Reads the timers of one broker, and acts on them; moves none further ahead than ``delay_max_ms``."""

    def __init__(
        self,
        work: TimerWork,
        source: StoreSource,
        *,
        put: Callable[[MessageToStore], PutResult],
        journal: ActionJournal,
        clock: Callable[[], int],
        delay_max_ms: int,
        store_host: HostAddress,
    ) -> None:
        self._work = work
        self._source = source
        self._put = put
        self._journal = journal
        self._clock = clock
        self._delay_max_ms = delay_max_ms
        self._store_host = store_host

    @property
    def precision_ms(self) -> int:
        """Width of a slot."""
        return self._work.store.precision_ms

    # ---- figures ----

    def figures(self) -> TimersNow:
        """Current figures; cheap."""
        now_ms, store, done = self._clock(), self._work.store, self._work.figures
        due_ms = store.next_due_ms
        late = self._work.lateness.figures(now_ms // 1_000)
        return TimersNow(
            store.waiting,
            -1 if due_ms is None else due_ms,
            0 if due_ms is None else max(0, now_ms - due_ms),
            done.delivered,
            done.cancelled,
            done.rolled,
            done.lost,
            late.p50_ms,
            late.p99_ms,
            max(0, self._source.queue_bounds()[1] - store.queue_offset),
        )

    def lateness(self) -> LatenessCounts:
        """Lateness of the deliveries of the last hour."""
        return self._work.late_hour.counts(self._clock() // 1_000)

    def outlook(self) -> TimerOutlook:
        """Messages by minute, hour and day ahead. Overdue ones count as of now."""
        now_ms = self._clock()
        slots_ms, messages = self._work.store.wheel.pending()
        sums = [0, *accumulate(messages)]
        precision_ms = self.precision_ms  # a slot is due at its end
        far = {day: count for day, count in self._work.far.days.items() if count > 0}
        first_day = now_ms // DAY_MS
        last_day = max([first_day, *far, *((slot_ms + precision_ms) // DAY_MS for slot_ms in slots_ms[-1:])])
        count = min(last_day - first_day + 1, DAYS_MAX)
        days = _spans(slots_ms, sums, first_day * DAY_MS - precision_ms, DAY_MS, count)
        days[-1] += sums[-1] - sum(days)
        for day, more in far.items():
            days[min(max(0, day - first_day), count - 1)] += more
        minutes = _spans(slots_ms, sums, now_ms - precision_ms, 60_000, MINUTES)
        hours = _spans(slots_ms, sums, now_ms - precision_ms, 3_600_000, HOURS)
        return TimerOutlook(now_ms, minutes, hours, first_day, days)

    # ---- the pending ones ----

    def page(self, start: TimerPlace | None, count: int, *, topic: str = "") -> TimerPage:
        """Pending timers from a place on.

        Args:
            start: From a page's ``next``; None for the first. Position -1 begins with the slot of that time.
            count: At most 1,000.
            topic: Only those for this topic; empty for all.

        Raises:
            UsageError: The count is out of range.
        """
        if not 1 <= count <= PAGE_MAX:
            raise UsageError(f"a page has 1 to {PAGE_MAX} timers, not {count}")
        store = self._work.store
        wanted = java_string_hash(topic) if topic else None
        slot_ms = store.wheel.next_time(store.read_ms if start is None else start.slot_ms)
        below = start.position if start is not None and start.slot_ms == slot_ms and start.position >= 0 else None
        found: list[PendingTimer] = []
        looked = 0
        while slot_ms is not None:
            keys = self._cancel_keys(slot_ms)
            for position, unit in store.units(slot_ms):
                if below is not None and position > below:
                    continue
                if len(found) == count or looked == UNITS_LOOKED_AT_MAX:
                    return TimerPage(found, TimerPlace(slot_ms, position))
                looked += 1
                if not unit.is_delete and (wanted is None or unit.topic_hash == wanted):
                    found.append(PendingTimer(TimerPlace(slot_ms, position), unit, self._is_cancelled(unit, keys)))
            below = None
            slot_ms = store.wheel.next_time(slot_ms + store.precision_ms)
        return TimerPage(found, None)

    def describe(self, timers: Sequence[PendingTimer]) -> list[TimerSummary | None]:
        """Summaries of the messages; None for an unreadable one. On any thread."""
        found: list[TimerSummary | None] = []
        for timer in timers:
            record = self._source.record(timer.unit.physical_offset, timer.unit.record_bytes)
            try:
                found.append(None if record is None else summary(record, precision_ms=self.precision_ms))
            except CodecError:
                found.append(None)
        return found

    def _cancel_keys(self, slot_ms: int) -> set[bytes]:
        keys = set()
        for number, (_position, unit) in enumerate(self._work.store.units(slot_ms)):
            if number == UNITS_LOOKED_AT_MAX:
                break
            record = self._source.record(unit.physical_offset, unit.record_bytes) if unit.is_delete else None
            key = None if record is None else cancel_key(record)
            if key is not None:
                keys.add(key)
        return keys

    def _is_cancelled(self, unit: TimerUnit, keys: set[bytes]) -> bool:
        if not keys:
            return False
        record = self._source.record(unit.physical_offset, unit.record_bytes)
        return record is not None and cancels(keys, properties_of(record))

    # ---- actions ----

    async def act(self, action: str, places: Sequence[TimerPlace], *, due_ms: int = -1) -> TimerActions:
        """Deliver, cancel or move some timers.

        Args:
            action: One of `ACTIONS`.
            places: At most 1,000; those that are no longer pending, due within a second, or without a unique key are skipped.
            due_ms: New time, for a move.

        Raises:
            UsageError: There is no such action, there are too many places, or the time is out of range.
            StoreError: The journal or the store cannot be written; earlier changes of the call stay.
        """
        if action not in ACTIONS:
            raise UsageError(f"there is no action “{action}” for timers; there are {', '.join(ACTIONS)}")
        if len(places) > ACTIONS_MAX:
            raise UsageError(f"one action takes at most {ACTIONS_MAX} timers, not {len(places)}")
        if action == "move":
            self._check_time(due_ms)
        details = {"slotMs": [place.slot_ms for place in places], "positions": [place.position for place in places]}
        more = {"dueMs": due_ms} if action == "move" else {}
        await self._journal.record(f"timer.{action}", f"{len(places)} timers", **details, **more)
        gone = []
        for place in places:
            try:
                if not self._act_on(action, place, due_ms):
                    gone.append(place)
            except StoreError as error:
                await self._journal.record(f"timer.{action}.failed", f"at {place.slot_ms}", why=str(error))
                raise
        return TimerActions(len(places) - len(gone), gone)

    def _check_time(self, due_ms: int) -> None:
        ahead_ms = due_ms - self._clock()
        if not 0 < ahead_ms <= self._delay_max_ms:
            raise UsageError(
                f"a timer can be moved to a time from now on and at most {self._delay_max_ms // 1_000:,} s ahead "
                f"(timerMaxDelaySec), not {ahead_ms / 1_000:,.0f} s"
            )

    def _act_on(self, action: str, place: TimerPlace, due_ms: int) -> bool:
        now_ms = self._clock()
        unit = self._unit(place)
        record = None if unit is None else self._source.record(unit.physical_offset, unit.record_bytes)
        if unit is None or record is None or place.slot_ms + self.precision_ms <= now_ms + 1_000:
            return False
        properties = properties_of(record)
        keys = self._cancel_keys(place.slot_ms)
        if find_property_bytes(properties, _UNIQUE) is None or (keys and cancels(keys, properties)):
            return False
        if action == "deliver":
            self._store(delivered(record, enqueue_ms=unit.write_ms, now_ms=now_ms))
        elif action == "move":
            out_ms = (due_ms - 1) // self.precision_ms * self.precision_ms
            if out_ms == _out_ms(properties) or cancels(self._cancel_keys(out_ms), properties):
                return False
            self._store(_moved(rolled(record, enqueue_ms=unit.write_ms, now_ms=now_ms, out_ms=out_ms), due_ms))
        self._store(self._cancel(properties, now_ms))
        return True

    def _unit(self, place: TimerPlace) -> TimerUnit | None:
        """The unit at a place, if it is still pending there."""
        slot = self._work.store.wheel.slot(place.slot_ms)
        if slot is None or not slot.first <= place.position <= slot.last:
            return None
        unit = self._work.store.log.unit(place.position)
        return unit if unit is not None and unit.slot_ms == place.slot_ms and not unit.is_delete else None

    def _cancel(self, properties: bytes, now_ms: int) -> MessageToStore:
        found = decode_properties(properties)
        topic = found[REAL_TOPIC]
        stored = {
            TAGS: CANCEL_TAG,
            DELETE_KEY: f"{topic}+{found[UNIQUE_KEY]}",
            UNIQUE_KEY: found[UNIQUE_KEY],
            DELIVER_MS: str(int(found[OUT_MS]) + 1),
            OUT_MS: found[OUT_MS],
            REAL_TOPIC: topic,
            REAL_QUEUE_ID: "0",
        }
        host = self._store_host
        return MessageToStore(WHEEL_TIMER_TOPIC, 0, 0, 0, now_ms, host, host, 0, 0, b"0", encode_properties(stored))

    def _store(self, message: MessageToStore) -> None:
        result = self._put(message)
        if result.status is not PutStatus.PUT_OK:
            why = why_never(result.status) if result.status in NEVER_STORED else result.status.value
            raise StoreError(f"the message is not stored: {why}")


_UNIQUE = property_marker(UNIQUE_KEY)


def _out_ms(properties: bytes) -> int:
    return int(find_property_bytes(properties, property_marker(OUT_MS)) or b"-1")


def _moved(message: MessageToStore, due_ms: int) -> MessageToStore:
    kept = {name: value for name, value in decode_properties(message.properties).items() if name not in ASKING}
    asked = kept | {DELIVER_MS: str(due_ms)}
    encoded = encode_fitting(asked)
    message.properties = encode_properties(asked) if encoded is None else encoded
    return message


def _spans(slots_ms: list[int], sums: list[int], from_ms: int, width_ms: int, count: int) -> list[int]:
    """Messages of the slots in each of so many spans from a time on; the first has the earlier ones too.

    Args:
        slots_ms: Times of slots, ascending.
        sums: Messages before each of these, and all of them.
        from_ms: Begin of the first span.
        width_ms: Of a span.
        count: Of the spans.
    """
    ends = [sums[bisect_left(slots_ms, from_ms + number * width_ms)] for number in range(1, count + 1)]
    return [end - before for before, end in pairwise([0, *ends])]
