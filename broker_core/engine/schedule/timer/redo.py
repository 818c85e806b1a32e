"""Messages that need not enter the wheel again, when the timer log has lost units and the wheel topic is read again.

Done are messages whose slot was before the read time, and those with a later copy in the wheel topic (rolled).
"""

from __future__ import annotations

from broker_core.engine.schedule.timer.messages import properties_of, roll_times
from broker_core.engine.schedule.timer.source import StoreSource
from broker_core.engine.schedule.timer.timer_store import TimerStore
from broker_core.protocol.message.properties import REAL_TOPIC, UNIQUE_KEY, find_property_bytes, property_marker

_TOPIC = property_marker(REAL_TOPIC)
_UNIQUE = property_marker(UNIQUE_KEY)
_UNITS = 1_000


class Redo:
    """Detects done messages; reads nothing if the timer log was whole."""

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
        while units := self._source.queue_units(queue_offset, _UNITS):
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
