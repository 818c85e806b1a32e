"""Reads of messages: by queue offset, by physical offset, by key.

A part of `broker_core.engine.store.message_store.MessageStore`. Reads mend damaged units of a queue
(`broker_core.engine.store.queue_mending`).
"""

from __future__ import annotations

import logging

from broker_core.config import StoreConfig
from broker_core.engine.store.cold_read import ResidentPieces
from broker_core.engine.store.consume_queue import UNIT, ConsumeQueue
from broker_core.engine.store.dispatch import unit_tags_code
from broker_core.engine.store.index_service import IndexQuery
from broker_core.engine.store.pull_reads import PullReads
from broker_core.engine.store.queue_mending import QueueMender
from broker_core.engine.store.reading import (
    BatchLimits,
    RecordFilter,
    TagsFilter,
    early_answer,
    machine_memory_bytes,
    scan,
    units_to_scan,
)
from broker_core.engine.store.results import GetResult
from broker_core.engine.store.store_parts import StoreParts
from broker_core.engine.store.visibility import visible
from broker_core.errors import StoreError
from broker_core.native.library import Library
from broker_core.native.pull_table import PullTable
from broker_core.protocol.message.record import decode_record
from broker_core.protocol.queue_unit import QueueUnit

LATEST_MS = (1 << 63) - 1

_log = logging.getLogger(__name__)


class MessageReads:
    """Reads of one store. Methods may be called from any thread."""

    def __init__(self, parts: StoreParts) -> None:
        self._parts = parts
        self._commit_log = parts.commit_log
        self._queues = parts.queues
        self._lock = parts.lock
        self._limits = BatchLimits(parts.config, machine_memory_bytes())
        self._resident = ResidentPieces(parts.commit_log)
        self._mender = QueueMender(parts)

    def take_settings(self, config: StoreConfig) -> None:
        self._limits = BatchLimits(config, machine_memory_bytes())

    def get_messages(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_count: int,
        *,
        accepts: TagsFilter | None = None,
        matches: RecordFilter | None = None,
        max_bytes: int | None = None,
    ) -> GetResult:
        """Records of a queue from ``offset`` on, raw, with the statuses and next offsets of RocketMQ.

        Messages that `visibility` hides are omitted; `get_stored_messages` returns them.

        Args:
            topic: Name as stored.
            queue_id: Number.
            offset: Queue offset.
            max_count: Records at most; the transfer settings bound it further.
            accepts: Decides by tags code; None accepts all.
            matches: Decides by the record, after ``accepts``; None accepts all.
            max_bytes: Bytes at most, beside the transfer settings; one record is always returned.
        """
        result = self.get_stored_messages(
            topic, queue_id, offset, max_count, accepts=accepts, matches=matches, max_bytes=max_bytes
        )
        return result if self._parts.visibility is None else visible(self._parts.visibility, topic, queue_id, offset, result)

    def get_stored_messages(
        self,
        topic: str,
        queue_id: int,
        offset: int,
        max_count: int,
        *,
        accepts: TagsFilter | None = None,
        matches: RecordFilter | None = None,
        max_bytes: int | None = None,
    ) -> GetResult:
        """As `get_messages`, with hidden messages."""
        with self._lock:
            queue = self._queues.by_key.get((topic, queue_id))
            early = early_answer(queue, offset)
            if early is not None:
                return early
            assert queue is not None
            is_plain = accepts is None and matches is None
            units = queue.units(offset, max_count if is_plain else units_to_scan(max_count))
        bytes_limit = self._parts.config.max_transfer_bytes_in_memory if max_bytes is None else max_bytes
        limits = self._limits.of_get(max_count, bytes_limit)
        damaged: list[int] = []
        found = scan(self._commit_log, queue, offset, units, limits, accepts=accepts, matches=matches, damaged=damaged)
        if is_plain and len(found.records) < found.next_offset - offset:
            # Only after lost messages does a get without a filter need more units than it may return messages.
            with self._lock:
                units = queue.units(offset, units_to_scan(max_count))
            damaged = []
            found = scan(self._commit_log, queue, offset, units, limits, accepts=accepts, matches=matches, damaged=damaged)
        if damaged and self._mend(queue, damaged):
            return self.get_stored_messages(
                topic, queue_id, offset, max_count, accepts=accepts, matches=matches, max_bytes=max_bytes
            )
        return found

    def pull_reads(self, library: Library | None) -> PullReads:
        """What the kernel of pulls reads of this store, with a table of its own; without machine code it runs in Python."""
        table = PullTable(library, self._queues.rows, self._resident.seen)
        return PullReads(self._parts, self._resident, lambda: self._limits, table)

    def _mend(self, queue: ConsumeQueue, offsets: list[int]) -> bool:
        try:
            mended = [self._mender.mend(queue, offset) for offset in offsets]
        except OSError as error:
            _log.warning("damaged places of queue %s/%d cannot be mended: %s", queue.topic, queue.queue_id, error)
            return False
        return any(mended)

    def queue_units(self, topic: str, queue_id: int, offset: int, max_count: int, *, raw: bool = False) -> list[QueueUnit]:
        """Units of a queue from ``offset`` on, without their records; fewer than requested at the end of a file too.

        Tags codes are plain; with ``raw``, those in a queue extension are returned as stored, as an address.
        """
        data = self.unit_bytes(topic, queue_id, offset, max_count)
        queue = self._queues.by_key.get((topic, queue_id))
        units = [QueueUnit._make(unit) for unit in UNIT.iter_unpack(data)]
        holes = [offset + number for number, unit in enumerate(units) if unit.record_bytes <= 0]
        if holes and queue is not None and self._mend(queue, holes):
            return self.queue_units(topic, queue_id, offset, max_count, raw=raw)
        if raw or queue is None or queue.extension is None:
            return units
        return [unit._replace(tags_code=self._plain_code(queue, unit)) for unit in units]

    def unit_bytes(self, topic: str, queue_id: int, offset: int, max_count: int) -> bytes:
        """Bytes of units as stored, with the holes of damaged queues; else as `queue_units`."""
        with self._lock:
            queue = self._queues.by_key.get((topic, queue_id))
            return queue.units(offset, max_count) if queue and offset >= queue.min_offset else b""

    def _plain_code(self, queue: ConsumeQueue, unit: QueueUnit) -> int:
        code = queue.plain_code(unit.tags_code)
        if code is not None:
            return code
        # The extension has lost it, but the record holds the tags too.
        record = self._commit_log.slice(unit.physical_offset, unit.record_bytes)
        if record is None:
            return 0
        stored = decode_record(record)
        return unit_tags_code(stored.topic, stored.properties_bytes, stored.store_timestamp_ms, self._parts.delay_levels)

    def query(
        self,
        topic: str,
        key: str,
        *,
        max_count: int,
        from_ms: int = 0,
        to_ms: int = LATEST_MS,
        unique: bool = False,
    ) -> list[memoryview]:
        """Records of a topic that carry a key, newest first, whole and raw; none if ``messageIndexEnable`` is off.

        Every message is found as soon as its put has returned.

        Args:
            topic: Name as stored.
            key: A unique key, or one word of KEYS.
            max_count: Records at most.
            from_ms: Earliest store time.
            to_ms: Latest store time.
            unique: Whether to search unique keys only.

        Raises:
            StoreError: The index can be neither read nor completed.
        """
        try:
            self._parts.writer.write_index()
            found = self._parts.index.query(IndexQuery(topic, key, from_ms, to_ms, unique), max_count)
        except OSError as error:
            raise StoreError(f"the index in {self._parts.paths.index} cannot be completed: {error.strerror}") from error
        visibility = self._parts.visibility
        return found if visibility is None else [record for record in found if not visibility.hides_record(record)]
