"""Puts of a store with queue extensions or multi-dispatch, which the plain put omits for speed.

    extension        tags code, store time and filter bits are stored in the queue's extension, its address in the queue
    multi-dispatch   a message that names further queues in INNER_MULTI_DISPATCH is added to those as well; its offsets in
                     them are added to its properties, under the lock, as INNER_MULTI_QUEUE_OFFSET

Batches get extensions but are not dispatched further, as in RocketMQ.

Source: docs/spec/store.md §4.6, §14.2.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from broker_core.engine.store.batch_put import BatchDraft
from broker_core.engine.store.consume_queue import UNIT, ConsumeQueue
from broker_core.engine.store.dispatch import unit_tags_code
from broker_core.engine.store.paths import is_topic_name
from broker_core.engine.store.queue_table import QueueKey
from broker_core.engine.store.results import Arrival, PutResult, PutStatus
from broker_core.engine.store.store_parts import StoreParts
from broker_core.protocol.message.model import MessageToStore
from broker_core.protocol.message.properties import (
    INNER_MULTI_DISPATCH,
    INNER_MULTI_QUEUE_OFFSET,
    PROPERTIES_BYTES_MAX,
    WAIT,
    append_properties,
    encode_properties,
    find_property,
    property_marker,
)
from broker_core.protocol.message.record import FIXED_BYTES_OF, TopicField, host_flags
from broker_core.protocol.message.sys_flag import enters_queue
from broker_core.protocol.names import LMQ_PREFIX, RETRY_PREFIX, SCHEDULE_TOPIC, SYSTEM_PREFIX

FilterBits = Callable[[str, bytes, int], bytes]
"""From topic, encoded properties and tags code to the bits of the filters that accept the message; empty if unknown."""

_NOT_DISPATCHED = (RETRY_PREFIX, SYSTEM_PREFIX, SCHEDULE_TOPIC)
_DROPPED = (property_marker(WAIT), property_marker(INNER_MULTI_QUEUE_OFFSET))


class ExtraPut:
    """Puts with extensions or multi-dispatch. Methods may be called from any thread."""

    def __init__(self, parts: StoreParts) -> None:
        self._config = parts.config
        self._commit_log = parts.commit_log
        self._queues = parts.queues
        self._writer = parts.writer
        self._gate = parts.gate
        self._levels = parts.delay_levels
        self._lock = parts.lock
        self._clock = parts.clock
        self.filter_bits: FilterBits = lambda _topic, _properties, _code: b""
        """Set by the owner of the filters; called under the store's lock, so it must be quick."""

    def put(self, message: MessageToStore, queue: ConsumeQueue, topic: TopicField) -> tuple[PutResult, list[Arrival]]:
        """Store one message after all other checks; returns the result and the arrivals in queues.

        Raises:
            OSError: There is no room on the disk; nothing has changed.
        """
        names = self._further_names(message)
        if names is None:
            return PutResult(PutStatus.MESSAGE_ILLEGAL), []
        sys_flag = host_flags(message)
        in_queue = enters_queue(sys_flag)
        with self._lock:
            if self._gate.is_shut:
                return PutResult(PutStatus.SERVICE_NOT_AVAILABLE), []
            queue = self._with_row(queue)
            if self._exceeds_light_queues(names):
                return PutResult(PutStatus.LMQ_CONSUME_QUEUE_NUM_EXCEEDED), []
            further = [self._queues.get_or_add(*key) for key in names] if in_queue else []
            if names:
                message = _with_offsets(message, further)
                if len(message.properties) > PROPERTIES_BYTES_MAX:
                    return PutResult(PutStatus.PROPERTIES_SIZE_EXCEEDED), []
                if not self._commit_log.fits(record_bytes_max(message, topic)):
                    return PutResult(PutStatus.MESSAGE_ILLEGAL), []
            now_ms = self._clock()
            for other in further:
                other.next_offset(1)
            queue_offset = queue.next_offset(1) if in_queue else 0
            physical, size = self._commit_log.append(message, topic, sys_flag, queue_offset, now_ms)
            self._writer.last_store_ms = now_ms
            arrivals: list[Arrival] = []
            if in_queue:
                code = unit_tags_code(message.topic, message.properties, now_ms, self._levels)
                first = Arrival(message.topic, message.queue_id, queue_offset, code, now_ms, physical, size)
                arrivals.append(first)
                self._append(queue, first, message.properties)
                arrivals += self._append_further(queue, further, first)
        return PutResult(PutStatus.PUT_OK, physical, size, queue_offset, now_ms, 1, (physical,)), arrivals

    def put_batch(self, draft: BatchDraft, queue: ConsumeQueue) -> tuple[PutResult, list[Arrival]]:
        """Store a batch after all other checks.

        Raises:
            OSError: There is no room on the disk; nothing has changed.
        """
        with self._lock:
            if self._gate.is_shut:
                return PutResult(PutStatus.SERVICE_NOT_AVAILABLE), []
            now_ms = self._clock()
            queue = self._with_row(queue)
            first = queue.next_offset(draft.count)
            start = self._commit_log.make_room(draft.total_bytes)
            block, units, offsets = draft.lay_out(physical_offset=start, queue_offset=first, now_ms=now_ms)
            self._commit_log.append_block(block)
            self._writer.last_store_ms = now_ms
            arrivals = [
                Arrival(queue.topic, queue.queue_id, number, code, now_ms, offset, size)
                for number, (offset, size, code) in enumerate(UNIT.iter_unpack(units), first)
            ]
            for arrival, properties in zip(arrivals, draft.member_properties, strict=True):
                self._append(queue, arrival, properties)
        result = PutResult(PutStatus.PUT_OK, start, len(block), first, now_ms, len(arrivals), offsets)
        return result, arrivals

    # ---- queues --------------------------------------------------------------------------------------------------------

    def _with_row(self, queue: ConsumeQueue) -> ConsumeQueue:
        """The queue, made anew if its topic was removed after the put began."""
        return queue if queue.row else self._queues.get_or_add(queue.topic, queue.queue_id)

    def _append(self, queue: ConsumeQueue, arrival: Arrival, properties: bytes) -> None:
        code, extension = arrival.tags_code, queue.extension
        if extension is not None and extension.is_written:
            bits = self.filter_bits(arrival.topic, properties, code)
            code = extension.add(code, arrival.store_timestamp_ms, bits)
        queue.append(arrival.physical_offset, arrival.record_bytes, code, arrival.store_timestamp_ms)

    def _append_further(self, queue: ConsumeQueue, further: list[ConsumeQueue], first: Arrival) -> list[Arrival]:
        arrivals: list[Arrival] = []
        for other in dict.fromkeys(further):
            if other is queue:
                continue  # its own queue, which it is in already
            arrivals.append(first._replace(topic=other.topic, queue_id=other.queue_id, queue_offset=other.max_offset))
            other.append(first.physical_offset, first.record_bytes, first.tags_code, first.store_timestamp_ms)
        return arrivals

    # ---- multi-dispatch ------------------------------------------------------------------------------------------------

    def _further_names(self, message: MessageToStore) -> list[QueueKey] | None:
        """Queues that a message names; None if a name is no topic name."""
        if not self._config.multi_dispatch or message.topic.startswith(_NOT_DISPATCHED):
            return []
        names = (find_property(message.properties, INNER_MULTI_DISPATCH) or "").split(",")
        if names == [""]:
            return []
        if not all(is_topic_name(name) for name in names):
            return None
        return [(name, 0 if name.startswith(LMQ_PREFIX) else message.queue_id) for name in names]

    def _exceeds_light_queues(self, names: list[QueueKey]) -> bool:
        known = self._queues.by_key
        new = {key for key in names if key[0].startswith(LMQ_PREFIX) and key not in known}
        if not new:
            return False
        there = sum(topic.startswith(LMQ_PREFIX) for topic, _ in known)
        return there + len(new) > self._config.lmq_queues_max


def record_bytes_max(message: MessageToStore, topic: TopicField) -> int:
    """Size of a message's record with the longest addresses."""
    return FIXED_BYTES_OF[-1] + len(message.body) + len(topic.field) + len(message.properties)


def _with_offsets(message: MessageToStore, further: list[ConsumeQueue]) -> MessageToStore:
    """The message with its offsets in further queues, and without WAIT, which RocketMQ drops too."""
    items = message.properties.split(b"\x02")
    kept = b"\x02".join(item for item in items if item and not item.startswith(_DROPPED))
    offsets = ",".join(str(queue.max_offset) for queue in further)
    more = encode_properties({INNER_MULTI_QUEUE_OFFSET: offsets}) if further else b""
    return dataclasses.replace(message, properties=append_properties(kept, more))
