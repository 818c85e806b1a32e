"""A store in memory that can be crashed: puts and reads as `broker_core.engine.transaction.engine.Store` needs them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from broker_core.engine.store.results import Arrival, GetResult, GetStatus, PutResult, PutStatus
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.message.model import MessageToStore, StoredMessage
from broker_core.protocol.message.record import decode_record, encode_record
from broker_core.protocol.queue_unit import QueueUnit


class CrashError(Exception):
    """The process ends here."""


class MemoryStore:
    """Records in lists.

    Attributes:
        puts_left: After so many further puts the process crashes; -1 never.
        crash_before: Whether the last put is lost in the crash.
        flushed: Offset up to which the log is on disk.
    """

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self._log: list[tuple[str, int, bytes]] = []
        self._places: dict[int, int] = {}
        self._queues: dict[tuple[str, int], list[int]] = defaultdict(list)
        self.listeners: list[Callable[[Arrival], None]] = []
        self.write_refusal = ""
        self.end = 0
        self.flushed = 0
        self.delay_levels = DelayLevels("1s")
        self.puts_left = -1
        self.crash_before = False

    def put(self, message: MessageToStore) -> PutResult:
        if self.puts_left == 0 and self.crash_before:
            raise CrashError
        queue = self._queues[message.topic, message.queue_id]
        now_ms, offset = self._clock(), self.end
        record = encode_record(message, queue_offset=len(queue), physical_offset=offset, store_timestamp_ms=now_ms)
        self._append(message.topic, message.queue_id, record)
        if self.puts_left == 0:
            raise CrashError
        self.puts_left -= self.puts_left > 0
        for listener in self.listeners:
            listener(Arrival(message.topic, message.queue_id, len(queue) - 1, 0, now_ms, offset, len(record)))
        return PutResult(PutStatus.PUT_OK, offset, len(record), len(queue) - 1, now_ms, 1, (offset,))

    def _append(self, topic: str, queue_id: int, record: bytes) -> None:
        self._places[self.end] = len(self._log)
        self._log.append((topic, queue_id, record))
        self._queues[topic, queue_id].append(self.end)
        self.end += len(record)

    def record_at(self, physical_offset: int) -> memoryview | None:
        place = self._places.get(physical_offset)
        return None if place is None else memoryview(self._log[place][2])

    def get_messages(self, topic: str, queue_id: int, offset: int, max_count: int) -> GetResult:
        places = self._queues[topic, queue_id]
        found = [self.record_at(place) for place in places[offset : offset + min(max_count, 32)]]
        records = [record for record in found if record is not None]
        status = GetStatus.FOUND if records else GetStatus.OFFSET_OVERFLOW_ONE
        return GetResult(status, records, offset + len(records), 0, len(places), 0, suggest_slave=False)

    def queue_units(self, topic: str, queue_id: int, offset: int, max_count: int) -> list[QueueUnit]:
        places = self._queues[topic, queue_id][offset : offset + max_count]
        return [QueueUnit(place, len(self._log[self._places[place]][2]), 0) for place in places]

    def query(self, topic: str, key: str, *, max_count: int, unique: bool = False) -> list[memoryview]:  # noqa: ARG002
        marker = b"UNIQ_KEY\x01" + key.encode() + b"\x02"
        found = [memoryview(record) for of, _id, record in self._log if of == topic and marker in record + b"\x02"]
        return found[-max_count:]

    def min_offset(self, _topic: str, _queue_id: int) -> int:
        return 0

    def max_offset(self, topic: str, queue_id: int) -> int:
        return len(self._queues[topic, queue_id])

    def flush(self) -> None:
        """Bring the log to the disk."""
        self.flushed = self.end

    def restarted(self, *, power_cut: bool) -> MemoryStore:
        """What a new process finds: everything after a kill, only what was flushed after a power cut."""
        store = MemoryStore(self._clock)
        for topic, queue_id, record in self._log:
            if power_cut and store.end + len(record) > self.flushed:
                break
            store._append(topic, queue_id, record)
        store.flushed = store.end
        return store

    def messages(self, topic: str, queue_id: int = 0) -> list[StoredMessage]:
        """Everything in a queue."""
        return [decode_record(self._log[self._places[place]][2]) for place in self._queues[topic, queue_id]]
