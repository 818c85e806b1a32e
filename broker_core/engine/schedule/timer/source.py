"""The message store for the timers."""

from __future__ import annotations

import numpy as np

from broker_core.engine.schedule.timer.timer_store import QueueUnits
from broker_core.engine.store.message_store import MessageStore
from broker_core.engine.store.record_columns import UNIT_TYPE
from broker_core.protocol.names import WHEEL_TIMER_TOPIC


class StoreSource:
    """The wheel topic and the commit log of an open message store.

    Attributes:
        log_end: Physical offset after the last record at the start. No unit of the timer log can name a later one.
    """

    def __init__(self, store: MessageStore, log_end: int) -> None:
        self._store = store
        self.log_end = log_end

    @property
    def log_min(self) -> int:
        """Physical offset of the first byte that is kept."""
        return self._store.commit_log_min_offset

    def queue_bounds(self) -> tuple[int, int]:
        """Min and max offset of the wheel topic's queue."""
        return self._store.min_offset(WHEEL_TIMER_TOPIC, 0), self._store.max_offset(WHEEL_TIMER_TOPIC, 0)

    def queue_units(self, offset: int, count: int) -> list[tuple[int, int]]:
        """Physical offset and size of messages of the wheel topic."""
        units = self._store.queue_units(WHEEL_TIMER_TOPIC, 0, offset, count)
        return [(unit.physical_offset, unit.record_bytes) for unit in units]

    def queue_columns(self, offset: int, count: int) -> QueueUnits:
        """The same as columns."""
        units = np.frombuffer(self._store.unit_bytes(WHEEL_TIMER_TOPIC, 0, offset, count), UNIT_TYPE)
        if (units["record_bytes"] <= 0).any():
            # A hole: `queue_units` repairs it.
            found = np.array(self.queue_units(offset, count), np.int64).reshape(-1, 2)
            return QueueUnits(found[:, 0], found[:, 1])
        return QueueUnits(units["physical_offset"].astype(np.int64), units["record_bytes"].astype(np.int64))

    def bytes_at(self, physical_offset: int, size: int) -> memoryview | None:
        """Bytes of the commit log, None if they are missing or span two files."""
        return self._store.bytes_at(physical_offset, size)

    def record(self, physical_offset: int, record_bytes: int) -> memoryview | None:
        """A whole record, None if it is missing."""
        record = self._store.record_at(physical_offset)
        return record if record is not None and len(record) == record_bytes else None
