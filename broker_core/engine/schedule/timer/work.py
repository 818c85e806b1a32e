"""The work of the timers, one bounded turn at a time; no event loop, no clock of its own.

    enqueue   messages of the wheel topic → timer store, those that are due already too
    dequeue   the next due slot: cancels are collected, then its messages delivered in the order in which they came

A slot is begun only when all messages that the wheel topic held by then are in the store, so that a cancel accepted in time
counts. A failed put is retried for ever, with growing pauses; a message that the store never takes is set aside.
"""

from __future__ import annotations

import logging
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from broker_core.engine.schedule.lateness import LatenessHour, LatenessWindow
from broker_core.engine.schedule.timer.layout import TimerUnit
from broker_core.engine.schedule.timer.messages import (
    NEVER_ENQUEUED,
    cancel_key,
    cancels,
    delivered,
    facts_of,
    properties_of,
    roll_times,
    rolled,
    timer_facts,
)
from broker_core.engine.schedule.timer.precision import PrecisionHistory
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.engine.schedule.timer.timer_store import Entry, TimerStore
from broker_core.engine.store.results import NEVER_STORED, PutResult, PutStatus
from broker_core.engine.tables.set_aside import STAYS, SetAside
from broker_core.errors import CodecError
from broker_core.protocol.message.model import MessageToStore
from broker_core.protocol.message.properties import REAL_TOPIC, UNIQUE_KEY, find_property_bytes, property_marker

UNITS_A_TURN = 256
"""Messages delivered by one turn, which takes 3 to 5 ms then."""
INTAKE_A_TURN = 1_024
"""Messages that one turn adds to the wheel, likewise."""
RETRY_MS = 500
RETRY_MAX_MS = 10_000
DAY_MS = 86_400_000

_REDO_UNITS = 1_000
_TOPIC = property_marker(REAL_TOPIC)
_UNIQUE = property_marker(UNIQUE_KEY)

logger = logging.getLogger(__name__)


@dataclass(slots=True)
class TimerFigures:
    """Counters since the start.

    Attributes:
        delivered: Messages put into their real topics.
        cancelled: Messages that were not, because a cancel named them.
        rolled: Messages put into the wheel again.
        lost: Messages whose record is gone or damaged, and those that the store never takes.
        refusal: Why the last put failed; empty when it did not.
    """

    delivered: int = 0
    cancelled: int = 0
    rolled: int = 0
    lost: int = 0
    refusal: str = ""


class FarAhead:
    """Numbers of messages due later than the wheel reaches, by day (UTC, days since the epoch).

    The wheel keeps them in the slot at which they are rolled, not in that of their time.
    """

    def __init__(self) -> None:
        self.days: Counter[int] = Counter()

    def add(self, out_ms: int, messages: int) -> None:
        """Add to the count of a day; ``messages`` may be negative."""
        day = out_ms // DAY_MS
        self.days[day] += messages
        if not self.days[day]:
            del self.days[day]

    def load(self, store: TimerStore, source: StoreSource) -> None:
        """Count the messages of a store that was just opened; reads each of them."""
        for slot_ms in store.wheel.times_with_rolls():
            for _position, unit in store.units(slot_ms):
                record = source.record(unit.physical_offset, unit.record_bytes) if unit.is_roll else None
                facts = None if record is None else timer_facts(record)
                if facts is not None:
                    out_ms, _topic, is_delete = facts
                    self.add(out_ms, -1 if is_delete else 1)


@dataclass(slots=True)
class _Due:
    """A slot on its way out."""

    slot_ms: int
    units: Iterator[tuple[int, TimerUnit]]
    newest: int
    positions: array[int] = field(default_factory=lambda: array("q"))
    cancel_keys: set[bytes] = field(default_factory=set)
    is_gathered: bool = False


class TimerWork:
    """Enqueues and delivers; ``delivered_to`` is called with topic and bytes of each delivery."""

    def __init__(
        self,
        store: TimerStore,
        source: StoreSource,
        history: PrecisionHistory,
        *,
        put: Callable[[MessageToStore], PutResult],
        delivered_to: Callable[[str, int], None] = lambda _topic, _bytes: None,
        set_aside: SetAside | None = None,
    ) -> None:
        self.store = store
        self.figures = TimerFigures()
        self.lateness = LatenessWindow()
        self.late_hour = LatenessHour()
        self.far = FarAhead()
        self._source = source
        self._history = history
        self._put = put
        self._tell = delivered_to
        self._set_aside = set_aside or SetAside()
        self._redo = _Redo(store, source)
        self._due: _Due | None = None
        self._goal = 0
        self._retry_ms = 0
        self._retry_at_ms = 0
        self.far.load(store, source)

    @property
    def is_in_slot(self) -> bool:
        """Whether a slot is being delivered."""
        return self._due is not None

    # ---- one turn ----

    def turn(self, now_ms: int) -> int | None:
        """Work for a few milliseconds at most.

        Returns:
            Ms until the next call: 0 when there is more to do; None: when a message arrives.
        """
        if 0 < self._retry_at_ms - now_ms <= RETRY_MAX_MS:
            return self._retry_at_ms - now_ms
        self._retry_at_ms = 0
        self._enqueue(now_ms)
        if not self._retry_at_ms and not self.store.is_redoing and self._is_ready(now_ms):
            self._dequeue(now_ms)
        if self._retry_at_ms:
            return self._retry_at_ms - now_ms
        if self.store.queue_offset < self._source.queue_bounds()[1]:
            return 0
        next_ms = self.store.next_due_ms
        self.store.pass_time(now_ms)
        return None if next_ms is None else max(0, next_ms - now_ms)

    def _is_ready(self, now_ms: int) -> bool:
        """Whether a slot is being delivered, or is due and all earlier messages are in the wheel."""
        if self._due is not None:
            return True
        next_ms, slot_ms = self.store.next_due_ms, self.store.next_slot_ms
        if next_ms is None or slot_ms is None or next_ms > now_ms:
            self._goal = 0
            return False
        self._goal = self._goal or self._source.queue_bounds()[1]
        if self.store.queue_offset < self._goal:
            return False
        slot = self.store.wheel.slot(slot_ms)
        if slot is None:
            return False
        self._goal = 0
        self._due = _Due(slot_ms, self.store.units(slot_ms), slot.last)
        return True

    # ---- into the wheel ----

    def _enqueue(self, now_ms: int) -> None:
        low, high = self._source.queue_bounds()
        store = self.store
        if store.queue_offset < low:
            logger.warning(
                "messages %d to %d of the wheel topic are deleted; they are not delivered", store.queue_offset, low - 1
            )
            self.figures.lost += low - store.queue_offset
            store.queue_offset = low
        units = self._source.queue_units(store.queue_offset, INTAKE_A_TURN)
        if units:
            self._put_in(self._entries(units), store.queue_offset + len(units), now_ms)
        elif store.queue_offset < high:
            logger.warning("message %d of the wheel topic is not in its queue; it is passed over", store.queue_offset)
            self.figures.lost += 1
            store.queue_offset += 1

    def _entries(self, units: Sequence[tuple[int, int]]) -> list[Entry]:
        """The messages from the store's queue offset on that enter the wheel: timer messages that are not done."""
        entries: list[Entry] = []
        records = zip(units, self._source.records(units), strict=True)
        for offset, ((physical, size), record) in enumerate(records, self.store.queue_offset):
            facts = None if record is None else timer_facts(record)
            if facts is None:
                logger.warning("message %d of the wheel topic is gone or no timer message; it is passed over", offset)
                self.figures.lost += 1
                continue
            out_ms, topic_hash, is_delete = facts
            slot_ms = self._history.slot_ms(out_ms, offset)
            if offset >= self.store.redo_until or not self._redo.is_done(offset, slot_ms, physical, size):
                entries.append((offset, out_ms, slot_ms, topic_hash, is_delete, physical, size))
        return entries

    def _put_in(self, entries: Sequence[Entry], end: int, now_ms: int) -> None:
        """Put messages into the wheel, all before a queue offset; those without room are tried again."""
        added = self.store.add(entries, now_ms)
        rolls_from = self.store.rolls_from(now_ms)
        for _offset, out_ms, slot_ms, _topic, is_delete, _physical, _size in entries[:added]:
            if slot_ms >= rolls_from:
                self.far.add(out_ms, -1 if is_delete else 1)
        if added == len(entries):
            self.store.queue_offset = end
        else:
            self.store.queue_offset = entries[added][0]
            self._pause(now_ms, "the timer wheel has no room, or waits for the disk")

    # ---- out of the wheel ----

    def _dequeue(self, now_ms: int) -> None:
        due = self._due
        assert due is not None
        if not due.is_gathered:
            self._gather(due)
            return
        for _ in range(min(UNITS_A_TURN, len(due.positions))):
            unit = self.store.log.unit(due.positions[-1])
            if unit is not None:
                if not self._hand_out(due, unit, now_ms):
                    return
                self.store.left(due.slot_ms, due.positions[-1], unit)
            due.positions.pop()
        if not due.positions:
            self._finish(due)

    def _gather(self, due: _Due) -> None:
        """Read a part of the chain; cancels at once."""
        for count, (position, unit) in enumerate(due.units, 1):
            due.positions.append(position)
            if unit.is_delete and not unit.is_roll:
                record = self._source.record(unit.physical_offset, unit.record_bytes)
                key = None if record is None else cancel_key(record)
                if key is not None:
                    due.cancel_keys.add(key)
            if count == UNITS_A_TURN:
                return
        due.is_gathered = True

    def _finish(self, due: _Due) -> None:
        """Finish a slot, unless units were added meanwhile: late messages, or a clock that was set back."""
        slot = self.store.wheel.slot(due.slot_ms)
        newest = due.newest if slot is None else slot.last
        if newest == due.newest:
            self.store.slot_done(due.slot_ms)
            self._due = None
            return
        added = ((position, unit) for position, unit in self.store.units(due.slot_ms) if position > due.newest)
        self._due = _Due(due.slot_ms, added, newest, cancel_keys=due.cancel_keys)

    def _hand_out(self, due: _Due, unit: TimerUnit, now_ms: int) -> bool:
        """Process one unit; returns False when it must be retried."""
        if unit.is_delete and not unit.is_roll:
            return True
        record = self._source.record(unit.physical_offset, unit.record_bytes)
        properties = b"" if record is None else properties_of(record)
        facts = facts_of(properties)
        if record is None or facts is None:
            logger.warning("the timer message at %d is deleted or damaged; it cannot be delivered", unit.physical_offset)
            self.figures.lost += 1
            return True
        if unit.is_roll:
            return self._roll(record, unit, facts[0], now_ms)
        if due.cancel_keys and cancels(due.cancel_keys, properties):
            self.figures.cancelled += 1
            return True
        return self._deliver(record, unit, now_ms)

    def _roll(self, record: memoryview, unit: TimerUnit, out_ms: int, now_ms: int) -> bool:
        queue_offset = int.from_bytes(record[20:28])
        slot_ms = self._history.slot_ms(out_ms, queue_offset)
        try:
            message = rolled(record, enqueue_ms=unit.write_ms, now_ms=now_ms, out_ms=slot_ms)
        except CodecError as error:
            return self._given_up(unit.physical_offset, error.message)
        if self._store(message, unit.physical_offset, now_ms):
            self.figures.rolled += 1
            self.far.add(out_ms, 1 if unit.is_delete else -1)
            return True
        return False

    def _deliver(self, record: memoryview, unit: TimerUnit, now_ms: int) -> bool:
        try:
            message = delivered(record, enqueue_ms=NEVER_ENQUEUED if unit.was_late else unit.write_ms, now_ms=now_ms)
        except CodecError as error:
            return self._given_up(unit.physical_offset, error.message)
        if not self._store(message, unit.physical_offset, now_ms):
            return False
        self.figures.delivered += 1
        late_ms = max(0, now_ms - unit.slot_ms - self.store.precision_ms)
        self.lateness.add(late_ms, now_ms // 1_000)
        self.late_hour.add(late_ms, now_ms // 1_000)
        return True

    def _store(self, message: MessageToStore, where: int, now_ms: int) -> bool:
        result = self._put(message)
        if result.status is PutStatus.PUT_OK:
            self.figures.refusal = ""
            self._retry_ms = 0
            self._tell(message.topic, result.wrote_bytes)
            return True
        if result.status in NEVER_STORED:
            self._set_aside.note(where, message.topic, result.status, STAYS)
            self.figures.lost += 1
            return True
        self._pause(now_ms, result.status.value)
        return False

    def _given_up(self, where: int, why: str) -> bool:
        logger.error("a timer message cannot be delivered and is passed over (%d): %s", where, why)
        self.figures.lost += 1
        return True

    def _pause(self, now_ms: int, why: str) -> None:
        if not self.figures.refusal:
            logger.warning("timers wait, and are tried again: %s", why)
        self.figures.refusal = why
        self._retry_ms = min(RETRY_MAX_MS, self._retry_ms * 2 or RETRY_MS)
        self._retry_at_ms = now_ms + self._retry_ms


class _Redo:
    """Detects done messages when the wheel topic is read again, because the timer log lost units; else reads nothing.

    Done are messages whose slot was before the read time, and those with a later copy in the wheel topic (rolled).
    """

    def __init__(self, store: TimerStore, source: StoreSource) -> None:
        self._source = source
        self._until = store.redo_until
        self._read_ms = store.redo_read_ms
        self._rolled: set[int] = set()
        """Hashes of topic, unique key and number of rolls."""
        if self._until:
            self._read(store.queue_offset)

    def is_done(self, queue_offset: int, slot_ms: int, physical_offset: int, record_bytes: int) -> bool:
        """Whether a message of the wheel topic was done before the timer log lost it."""
        if queue_offset >= self._until:
            return False
        if slot_ms < self._read_ms:
            return True
        properties = self._properties(physical_offset, record_bytes)
        return _identity(properties, roll_times(properties) + 1) in self._rolled

    def _read(self, queue_offset: int) -> None:
        while units := self._source.queue_units(queue_offset, _REDO_UNITS):
            for physical, size in units:
                properties = self._properties(physical, size)
                times = roll_times(properties)
                if times:
                    self._rolled.add(_identity(properties, times))
            queue_offset += len(units)

    def _properties(self, physical_offset: int, record_bytes: int) -> bytes:
        record = self._source.record(physical_offset, record_bytes)
        return b"" if record is None else properties_of(record)


def _identity(properties: bytes, times: int) -> int:
    return hash((find_property_bytes(properties, _TOPIC), find_property_bytes(properties, _UNIQUE), times))
