"""The message store for the timers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from broker_core.engine.store.consume_queue import UNIT
from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.message.record import SIZE, SMALLEST_RECORD
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
        data = self._store.unit_bytes(WHEEL_TIMER_TOPIC, 0, offset, count)
        units = [(physical, size) for physical, size, _code in UNIT.iter_unpack(data)]
        if all(size > 0 for _physical, size in units):
            return units
        repaired = self._store.queue_units(WHEEL_TIMER_TOPIC, 0, offset, count)
        return [(unit.physical_offset, unit.record_bytes) for unit in repaired]

    def records(self, units: Sequence[tuple[int, int]]) -> Iterator[memoryview | None]:
        """Whole records of units of the queue; None for a missing one."""
        start, (last, last_bytes) = units[0][0], units[-1]
        piece = self._store.bytes_at(start, last + last_bytes - start)
        for physical, size in units:
            at = physical - start
            if piece is None or not 0 <= at <= len(piece) - size:
                yield self.record(physical, size)
                continue
            stored = SIZE.unpack_from(piece, at)[0] if size >= SMALLEST_RECORD else 0
            yield piece[at : at + size] if stored == size else None

    def record(self, physical_offset: int, record_bytes: int) -> memoryview | None:
        """A whole record, None if it is missing."""
        record = self._store.record_at(physical_offset)
        return record if record is not None and len(record) == record_bytes else None
