"""Offsets, times and figures of a store and its queues.

A part of `broker_core.engine.store.message_store.MessageStore`.
"""

from __future__ import annotations

from broker_core.engine.store.consume_queue import UNIT_BYTES
from broker_core.engine.store.flush import FlushRun
from broker_core.engine.store.picture import StoreInside, take_picture
from broker_core.engine.store.reading import offset_by_time, store_time
from broker_core.engine.store.results import StoreStats
from broker_core.engine.store.store_parts import StoreParts
from broker_core.errors import StoreError


class QueueFigures:
    """Figures of one store. Methods may be called from any thread."""

    def __init__(self, parts: StoreParts) -> None:
        self._parts = parts
        self._commit_log = parts.commit_log
        self._queues = parts.queues
        self._lock = parts.lock

    def queues(self) -> list[tuple[str, int]]:
        """Topic and queue id of every queue that has, or had, messages."""
        return [key for key, queue in list(self._queues.by_key.items()) if queue.max_offset]

    def min_offset(self, topic: str, queue_id: int) -> int:
        """First offset kept of a queue; 0 for an unknown queue."""
        queue = self._queues.by_key.get((topic, queue_id))
        return queue.min_offset if queue else 0

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Visible offset of a queue's next message; 0 for an unknown queue."""
        end = None if self._parts.visibility is None else self._parts.visibility.end(topic, queue_id)
        stored = self.stored_max_offset(topic, queue_id)
        return stored if end is None else min(stored, end)

    def standing(self, topic: str, queue_id: int) -> tuple[int, int, int]:
        """`min_offset` and `max_offset` of a queue, and the store time of its last message from memory, -1 if unknown."""
        queue = self._queues.by_key.get((topic, queue_id))
        if queue is None:
            return 0, 0, -1
        end = None if self._parts.visibility is None else self._parts.visibility.end(topic, queue_id)
        high = queue.max_offset
        return queue.min_offset, high if end is None else min(high, end), queue.last_store_ms

    def stored_max_offset(self, topic: str, queue_id: int) -> int:
        """Offset of a queue's next message, hidden ones included; 0 for an unknown queue."""
        queue = self._queues.by_key.get((topic, queue_id))
        return queue.max_offset if queue else 0

    # ---- times ---------------------------------------------------------------------------------------------------------

    def offset_by_time(self, topic: str, queue_id: int, timestamp_ms: int, *, upper: bool = False) -> int:
        """First offset stored at or after a time, or with ``upper`` the last at or before it; 0 for an unknown queue."""
        queue = self._queues.by_key.get((topic, queue_id))
        if queue is None:
            return 0
        with self._lock:
            return offset_by_time(self._commit_log, queue, timestamp_ms, upper=upper)

    def store_time(self, topic: str, queue_id: int, offset: int) -> int:
        """Store time of one message; -1 without one."""
        queue = self._queues.by_key.get((topic, queue_id))
        if queue is None:
            return -1
        with self._lock:
            return store_time(self._commit_log, queue, offset)

    def time_span(self, topic: str, queue_id: int) -> tuple[int, int]:
        """Store times of the first and the last message of a queue; -1 without one."""
        queue = self._queues.by_key.get((topic, queue_id))
        if queue is None:
            return -1, -1
        with self._lock:
            first = store_time(self._commit_log, queue, queue.min_offset)
            return first, store_time(self._commit_log, queue, queue.max_offset - 1)

    # ---- the log -------------------------------------------------------------------------------------------------------

    def next_file_offset(self, physical_offset: int) -> int:
        """Begin of the log file after the one of an offset."""
        file_bytes = self._commit_log.file_bytes
        return physical_offset - physical_offset % file_bytes + file_bytes

    def first_physical_offset(self, topic: str, queue_id: int) -> int | None:
        """Physical offset of a queue's oldest message; None for an empty queue."""
        with self._lock:
            queue = self._queues.by_key.get((topic, queue_id))
            unit = None if queue is None else queue.unit(queue.min_offset)
        return None if unit is None else unit.physical_offset

    # ---- the whole store -----------------------------------------------------------------------------------------------

    def stats(self) -> StoreStats:
        """Figures of the store and its disk.

        Raises:
            StoreError: The system does not report the disk's use.
        """
        try:
            used, total = self._parts.disk.usage(self._parts.paths.root)
        except OSError as error:
            raise StoreError(f"the disk of {self._parts.paths.root} cannot be asked for its use: {error.strerror}") from error
        log_bytes = self._commit_log.end - self._commit_log.min_offset
        queue_bytes = sum((queue.max_offset - queue.min_offset) * UNIT_BYTES for queue in self._queues)
        return StoreStats(
            commit_log_min_offset=self._commit_log.min_offset,
            commit_log_max_offset=self._commit_log.end,
            flushed_offset=self._commit_log.flushed,
            queue_count=len(self._queues.by_key),
            store_bytes=log_bytes + queue_bytes,
            disk_used_bytes=used,
            disk_total_bytes=total,
            refusal=self._parts.gate.text,
        )

    def flush_runs(self) -> list[FlushRun]:
        """The newest syncs of the log, oldest first."""
        return list(self._parts.flush_service.runs)

    def inside(self) -> StoreInside:
        """Files, positions, queues, index, cleaning and syncs, for display; to be called on a thread.

        Raises:
            StoreError: A file cannot be read.
        """
        try:
            return take_picture(self._parts)
        except OSError as error:
            raise StoreError(f"{error.filename} cannot be looked at: {error.strerror}; try again") from error
