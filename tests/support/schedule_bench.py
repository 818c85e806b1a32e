"""Delay levels over a real store, with a clock and alarms that a test moves."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from broker_core.config import StoreConfig
from broker_core.engine.schedule.delay_delivery import DelayDelivery
from broker_core.engine.schedule.level_queue import LevelQueue
from broker_core.engine.schedule.overrides import Overrides
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.results import PutResult, PutStatus
from broker_core.protocol.message.model import HostAddress, MessageToStore, StoredMessage
from broker_core.protocol.message.properties import encode_properties
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.names import SCHEDULE_TOPIC
from tests.support.clock import ManualClock

HOST = HostAddress.parse("127.0.0.1:10911")
LEVELS = "1s 5s 10s 1m"


@dataclass(order=True)
class ManualAlarm:
    """An alarm that a test lets ring."""

    at_ms: float
    number: int
    call: Callable[[], None] = field(compare=False)
    cancelled: bool = field(default=False, compare=False)

    def cancel(self) -> None:
        """Do not ring."""
        self.cancelled = True


class ManualTimers:
    """Alarms and a wall clock that go on together when a test says so."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._now_ms = 0.0
        self._alarms: list[ManualAlarm] = []
        self._numbers = itertools.count()
        self.rung = 0

    def now_ms(self) -> float:
        """Time that is never set."""
        return self._now_ms

    def after(self, delay_ms: float, call: Callable[[], None]) -> ManualAlarm:
        """Set an alarm."""
        alarm = ManualAlarm(self._now_ms + delay_ms, next(self._numbers), call)
        heapq.heappush(self._alarms, alarm)
        return alarm

    def next_in_ms(self) -> float | None:
        """Time to the first alarm."""
        waiting = [alarm.at_ms for alarm in self._alarms if not alarm.cancelled]
        return min(waiting) - self._now_ms if waiting else None

    def advance(self, milliseconds: float) -> None:
        """Let time pass; what is due rings at its own time."""
        end_ms = self._now_ms + milliseconds
        while self._alarms and self._alarms[0].at_ms <= end_ms:
            alarm = heapq.heappop(self._alarms)
            if not alarm.cancelled:
                self._pass(alarm.at_ms - self._now_ms)
                self.rung += 1
                alarm.call()
        self._pass(end_ms - self._now_ms)

    def _pass(self, milliseconds: float) -> None:
        self._now_ms += milliseconds
        self._clock.advance(round(milliseconds))


class FlakyStore(MessageStore):
    """A store whose puts a test can have refused."""

    refuse_topics: frozenset[str] = frozenset()
    refuse_with = PutStatus.SERVICE_NOT_AVAILABLE

    def __init__(self, *made_of: Any) -> None:
        super().__init__(*made_of)
        self._really_put, self.put = self.put, self._put_or_refuse

    def _put_or_refuse(self, message: MessageToStore) -> PutResult:
        if message.topic in self.refuse_topics:
            return PutResult(self.refuse_with)
        return self._really_put(message)


class ScheduleBench:
    """Delivery by hand."""

    def __init__(self, root: Path, *, levels: str = LEVELS, offsets: Mapping[int, int] | None = None) -> None:
        self.root = root
        self.clock = ManualClock()
        self.open(levels=levels, offsets=offsets)

    def open(self, *, levels: str = LEVELS, offsets: Mapping[int, int] | None = None) -> None:
        """Open the store, again after `close`; delivery stands at ``offsets``."""
        settings: dict[str, Any] = {"commit_log_file_bytes": 1 << 20, "consume_queue_file_bytes": 2_000}
        config = StoreConfig(root=self.root, disk_warning_percent=100, message_delay_level=levels, **settings)
        self.store = FlakyStore.open(config, clock=self.clock)
        assert isinstance(self.store, FlakyStore)
        self.timers = ManualTimers(self.clock)
        self.overrides = Overrides()
        delays = self.store.delay_levels
        queues = {
            number: LevelQueue(self.store, number, delays.delay_ms(number), (offsets or {}).get(number, 0))
            for number in range(1, delays.count + 1)
        }
        self.delivery = DelayDelivery(self.store, queues, self.overrides, clock=self.clock, timers=self.timers)
        self.store.add_arrival_listener(self.delivery.arrived)

    def close(self) -> None:
        """Stop delivery and close the store."""
        self.delivery.stop()
        self.store.close()

    def put(self, level: int, name: str, *, topic: str = "T", queue_id: int = 0, **more: str) -> PutResult:
        """Store a delayed message."""
        properties = {"TAGS": "a", "DELAY": str(level), "REAL_TOPIC": topic, "REAL_QID": str(queue_id)} | more
        properties = {key: value for key, value in properties.items() if value}
        encoded = encode_properties(properties)
        message = MessageToStore(SCHEDULE_TOPIC, level - 1, 7, 0, self.clock(), HOST, HOST, 2, 0, name.encode(), encoded)
        result = self.store.put(message)
        assert result.status is PutStatus.PUT_OK
        return result

    def messages(self, topic: str = "T", queue_id: int = 0) -> list[StoredMessage]:
        """What was delivered."""
        found: list[StoredMessage] = []
        offset = self.store.min_offset(topic, queue_id)
        while offset < self.store.max_offset(topic, queue_id):
            result = self.store.get_messages(topic, queue_id, offset, 32)
            found += [decode_record(record) for record in result.records]
            offset = result.next_offset
        return found

    def bodies(self, topic: str = "T", queue_id: int = 0) -> list[str]:
        """Bodies of what was delivered."""
        return [message.body.decode() for message in self.messages(topic, queue_id)]
