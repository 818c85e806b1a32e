"""Puts of one message or a batch into the log and its queue, and calls of the arrival listeners.

A part of `broker_core.engine.store.message_store.MessageStore`. Stores with queue extensions or multi-dispatch have a put of
their own (`broker_core.engine.store.extra_put`), so that the plain one pays nothing for them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import NamedTuple, Protocol

from broker_core.engine.store.batch_put import draft_batch
from broker_core.engine.store.consume_queue import UNIT, UNWRITTEN_UNITS_MAX, ConsumeQueue
from broker_core.engine.store.dispatch import TagsOfPuts, unit_tags_code
from broker_core.engine.store.extra_put import ExtraPut, FilterBits, record_bytes_max
from broker_core.engine.store.log_syncs import LogSyncs
from broker_core.engine.store.paths import is_topic_name
from broker_core.engine.store.plain_puts import PlainPuts, PlainQueue
from broker_core.engine.store.queue_table import QueueKey
from broker_core.engine.store.results import Arrival, PutResult, PutStatus
from broker_core.engine.store.store_parts import StoreParts
from broker_core.engine.store.write_gate import WriteRefusal
from broker_core.native.library import Library
from broker_core.native.queue_rows import OPEN_AS
from broker_core.protocol.message.model import MessageToStore
from broker_core.protocol.message.properties import PROPERTIES_BYTES_MAX
from broker_core.protocol.message.record import TopicField, host_flags, topic_field
from broker_core.protocol.message.sys_flag import HOST_V6_MASK, TransactionType
from broker_core.protocol.names import SCHEDULE_TOPIC

RECORD_OVERHEAD_MAX = 64 * 1024
"""Bound on the bytes of a record beside its body (docs/spec/store.md §2.8)."""

_REFUSED = PutResult(PutStatus.SERVICE_NOT_AVAILABLE)
_ILLEGAL = PutResult(PutStatus.MESSAGE_ILLEGAL)
_PUT_OK = PutStatus.PUT_OK
_NOT_IN_QUEUE = int(TransactionType.PREPARED)
"""Bit of the transaction types outside of the queue; a number, because an operation with an enum takes 0.1 µs more."""

_NOT_HOST = ~HOST_V6_MASK

_new_tuple = tuple.__new__
"""Makes a named tuple without a call into Python: 0.15 µs less a put."""

_TOLD_UNITS = 512
"""Read at a time, to tell of what machine code stored."""

ArrivalListener = Callable[[Arrival], None]


class Waiting(Protocol):
    """Those who wait for messages."""

    def __len__(self) -> int: ...

    def waits_for(self, topic: str, queue_id: int) -> bool:
        """Whether one of them waits for messages of a queue."""


class _Listener(NamedTuple):
    """A listener, the topics that it listens to (None: all), and those whom it tells (None: it wants every message)."""

    tell: ArrivalListener
    topics: frozenset[str] | None
    waiting: tuple[Waiting, ...] | None


_log = logging.getLogger(__name__)


class _Queue:
    """A consume queue with the cached state of its puts.

    Attributes:
        topic: In the form of records.
        is_schedule: Units hold due times, which depend on the store time, instead of tags hashes.
    """

    __slots__ = ("is_schedule", "listeners", "queue", "tags", "topic")

    def __init__(self, queue: ConsumeQueue, topic: TopicField, *, is_schedule: bool) -> None:
        self.queue = queue
        self.topic = topic
        self.is_schedule = is_schedule
        self.tags = TagsOfPuts()
        self.listeners: tuple[ArrivalListener, ...] = ()


class MessagePuts:
    """Puts of one store. Methods may be called from any thread."""

    def __init__(self, parts: StoreParts) -> None:
        self._parts = parts
        self._commit_log = parts.commit_log
        self._queues = parts.queues
        self._writer = parts.writer
        self._gate = parts.gate
        self._lock = parts.lock
        self._clock = parts.clock
        self._delay_levels = parts.delay_levels
        self._put_queues: dict[QueueKey, _Queue] = {}
        self._listeners: tuple[_Listener, ...] = ()
        self._waiting: tuple[Waiting, ...] = ()
        self._plain: PlainPuts | None = None
        self._body_bytes_unchecked = parts.commit_log.file_bytes - RECORD_OVERHEAD_MAX
        """Size of a body up to which its message surely fits."""
        self._extra_put = ExtraPut(parts)
        self._puts_have_extras = parts.config.consume_queue_ext or parts.config.multi_dispatch
        self._log_syncs: LogSyncs | None = None

    def forget(self, key: QueueKey) -> None:
        """Drop the cached state of a queue that is removed; under the store's lock."""
        if self._plain is not None:
            self._plain.keep_counts()
        self._put_queues.pop(key, None)

    def close(self) -> None:
        if self._log_syncs is not None:
            self._log_syncs.close()

    def put(self, message: MessageToStore) -> PutResult:
        """Store one message. ``maxMessageSize`` limits producers only, so a copy of a stored message is always accepted.

        The message is then in the log and its queue, but durable only when `when_durable` reports it. After a status other than
        ``PUT_OK`` nothing was stored; for `PutStatus.SERVICE_NOT_AVAILABLE`, `write_refusal` has the reason.
        """
        target = self._put_queues.get((message.topic, message.queue_id)) or self._put_queue(message)
        if target is None:
            return _ILLEGAL
        properties = message.properties
        if len(properties) > PROPERTIES_BYTES_MAX:
            return PutResult(PutStatus.PROPERTIES_SIZE_EXCEEDED)
        if len(message.body) > self._body_bytes_unchecked and not self._commit_log.fits(
            record_bytes_max(message, target.topic)
        ):
            return _ILLEGAL
        if self._puts_have_extras:
            return self._finish_extra(target.queue, partial(self._extra_put.put, message, target.queue, target.topic))
        tags = target.tags
        sys_flag = host_flags(message) if message.born_host.is_v6 or message.store_host.is_v6 else message.sys_flag & _NOT_HOST
        code = tags.last_code if properties.endswith(tags.end) else tags.code(properties)
        is_hidden = sys_flag & _NOT_IN_QUEUE
        with self._lock:
            if self._gate.is_shut:
                return _REFUSED
            now_ms = self._clock()
            queue = target.queue if target.queue.row else self._queue_again(target)
            queue_offset = 0 if is_hidden else queue.next_offset(1)
            try:
                physical_offset, size = self._commit_log.append(message, target.topic, sys_flag, queue_offset, now_ms)
            except OSError as error:
                return self._no_space(error)
            self._writer.last_store_ms = now_ms
            if not is_hidden:
                if target.is_schedule:
                    code = unit_tags_code(message.topic, properties, now_ms, self._delay_levels)
                queue.append(physical_offset, size, code, now_ms)
        place = (message.topic, message.queue_id, queue_offset, code, now_ms, physical_offset, size)
        arrivals = () if is_hidden else (_new_tuple(Arrival, place),)
        self._stored(queue, arrivals, target.listeners)
        return _new_tuple(PutResult, (_PUT_OK, physical_offset, size, queue_offset, now_ms, 1, (physical_offset,)))

    def put_batch(self, message: MessageToStore) -> PutResult:
        """Store a batch: all of its messages, contiguous in one file, or none.

        ``body`` is the framed batch; ``properties`` are added to those of each member.
        """
        target = self._put_queues.get((message.topic, message.queue_id)) or self._put_queue(message)
        extras = self._puts_have_extras
        if target is None:
            return _ILLEGAL
        draft = draft_batch(message, target.topic, self._parts.config.max_message_bytes)
        if draft is None:
            return _ILLEGAL
        if draft.properties_bytes_max > PROPERTIES_BYTES_MAX:
            return PutResult(PutStatus.PROPERTIES_SIZE_EXCEEDED)
        if not self._commit_log.fits(draft.total_bytes):
            return _ILLEGAL
        if extras:
            return self._finish_extra(target.queue, partial(self._extra_put.put_batch, draft, target.queue))
        with self._lock:
            if self._gate.is_shut:
                return _REFUSED
            now_ms = self._clock()
            queue = target.queue if target.queue.row else self._queue_again(target)
            queue_offset = queue.next_offset(draft.count)
            try:
                start = self._commit_log.make_room(draft.total_bytes)
            except OSError as error:
                return self._no_space(error)
            block, units, offsets = draft.lay_out(physical_offset=start, queue_offset=queue_offset, now_ms=now_ms)
            self._commit_log.append_block(block)
            self._writer.last_store_ms = queue.last_store_ms = now_ms
            queue.extend(units)
        members = enumerate(UNIT.iter_unpack(units), queue_offset)
        place = message.topic, message.queue_id
        arrivals = [Arrival(*place, number, code, now_ms, offset, size) for number, (offset, size, code) in members]
        self._stored(queue, arrivals, target.listeners)
        return PutResult(PutStatus.PUT_OK, start, len(block), queue_offset, now_ms, draft.count, offsets)

    def _put_queue(self, message: MessageToStore) -> _Queue | None:
        """Cached state of a queue at its first put; None if its name or number is invalid."""
        topic = message.topic
        if not is_topic_name(topic) or not 0 <= message.queue_id < 1 << 31:
            return None
        with self._lock:
            queue = self._queues.get_or_add(topic, message.queue_id)
            found = _Queue(queue, topic_field(topic.encode()), is_schedule=topic == SCHEDULE_TOPIC)
            found.listeners = self._listeners_of(topic)
            self._put_queues[topic, message.queue_id] = found
            return found

    def _queue_again(self, target: _Queue) -> ConsumeQueue:
        """The queue of a put that began before its topic was removed, made anew; under the store's lock."""
        key = target.queue.topic, target.queue.queue_id
        target.queue = self._queues.get_or_add(*key)
        self._put_queues[key] = target
        return target.queue

    def _finish_extra(self, queue: ConsumeQueue, put: Callable[[], tuple[PutResult, list[Arrival]]]) -> PutResult:
        try:
            result, arrivals = put()
        except OSError as error:
            with self._lock:
                return self._no_space(error)
        if result.status is PutStatus.PUT_OK:
            self._stored(queue, arrivals)
        return result

    def _stored(
        self, queue: ConsumeQueue, arrivals: Iterable[Arrival], listeners: tuple[ArrivalListener, ...] | None = None
    ) -> None:
        """Note that a put was stored, and tell listeners of what entered queues; by default those of its topics."""
        if self._gate.has_reasons:
            self._gate.withdraw(WriteRefusal.LOG_SPACE)
        for arrival in arrivals:
            for listener in self._listeners_of(arrival.topic) if listeners is None else listeners:
                listener(arrival)
        if queue.unwritten_units > UNWRITTEN_UNITS_MAX:
            self._parts.write_ahead()

    def set_filter_bits(self, bits: FilterBits) -> None:
        """Set the function for the filter bits in queue extensions (``enableConsumeQueueExt``).

        It maps topic, encoded properties and tags code to the bitmap, empty if unknown. It runs in the thread of the put and
        under the store's lock: it must be quick and not call the store.
        """
        self._extra_put.filter_bits = bits

    def _no_space(self, error: OSError) -> PutResult:
        text = (
            f"the commit log in {self._parts.paths.commit_log} cannot grow: {error.strerror}. Free some room on the disk; "
            "messages are taken again as soon as there is some"
        )
        if not self._gate.holds(WriteRefusal.LOG_SPACE):
            _log.warning("%s", text)
        self._gate.refuse(WriteRefusal.LOG_SPACE, text)
        return _REFUSED

    # ---- arrivals and durability ---------------------------------------------------------------------------------------

    def add_arrival_listener(
        self,
        listener: ArrivalListener,
        topics: Collection[str] | None = None,
        *,
        waiting: tuple[Waiting, ...] | None = None,
    ) -> None:
        """Call ``listener`` for each message that enters a queue, in the thread of the put and before it returns.

        With ``topics`` only for messages of these, so that puts to others do not pay for the call. ``waiting`` are those whom
        the listener tells: of many messages at a time it hears as long as one of them waits.
        """
        with self._lock:
            entry = _Listener(listener, None if topics is None else frozenset(topics), waiting)
            self._listeners = (*self._listeners, entry)
            self._waiting += waiting or ()
            for (topic, _), queue in self._put_queues.items():
                queue.listeners = self._listeners_of(topic)

    def _listeners_of(self, topic: str) -> tuple[ArrivalListener, ...]:
        return tuple(entry.tell for entry in self._listeners if entry.topics is None or topic in entry.topics)

    # ---- machine code --------------------------------------------------------------------------------------------------

    def plain_puts(self, library: Library | None) -> PlainPuts:
        """Puts of plain sends by machine code; None runs their kernel in Python, which is for tests."""
        if self._plain is None:
            self._plain = PlainPuts(self._parts, self._body_bytes_unchecked, library)
        return self._plain

    def plain_queue(self, topic: str, queue_id: int) -> PlainQueue | None:
        """The queue of a topic that machine code may put to; None where a put has more to do, or there was none yet."""
        found = self._put_queues.get((topic, queue_id))
        if found is None or self._puts_have_extras:
            return None
        if any(entry.waiting is None and (entry.topics is None or topic in entry.topics) for entry in self._listeners):
            return None
        row = found.queue.row
        serial = self._queues.rows.table[row + OPEN_AS]
        return PlainQueue(row, serial, found.topic) if serial else None

    def tell_arrivals(self, plain: PlainPuts) -> None:
        """Tell of the messages that machine code stored, where somebody waits."""
        if any(map(len, self._waiting)):
            for queue, first in plain.touched():
                for entry in self._listeners:
                    if entry.waiting is not None:
                        self._tell(entry.tell, entry.waiting, queue, first)

    def _tell(self, tell: ArrivalListener, waiting: tuple[Waiting, ...], queue: ConsumeQueue, first: int) -> None:
        topic, queue_id = queue.topic, queue.queue_id
        while first < queue.max_offset:
            with self._lock:
                units, store_ms = queue.units(first, _TOLD_UNITS), queue.last_store_ms
            if not units:
                return
            for offset, size, code in UNIT.iter_unpack(units):
                if not any(one.waits_for(topic, queue_id) for one in waiting):
                    return
                tell(Arrival(topic, queue_id, first, code, store_ms, offset, size))
                first += 1

    def when_durable(self, physical_end: int, done: Callable[[bool], None]) -> None:
        """Have the log synced up to an offset, together with other waiters.

        Args:
            physical_end: Offset after the record, ``physical_offset + wrote_bytes`` of its put.
            done: Called once: with True when the bytes are durable, with False when the sync failed or took longer than
                ``syncFlushTimeout``. Runs in a thread of the store or the one that uses `log_syncs`, or in this one if
                the bytes are durable already.
        """
        self._parts.flush_service.when_durable(physical_end, done)

    def log_syncs(self) -> LogSyncs | None:
        """Syncs for an event loop, created once and closed with the store; None if the system has none."""
        if self._log_syncs is None and not self._parts.read_only:
            try:
                self._log_syncs = LogSyncs(self._commit_log, self._parts.flush_service, self._parts.disk.kernel_sync())
            except OSError as error:
                _log.info("the commit log is synced by a thread, as the kernel does not take syncs: %s", error.strerror)
        return self._log_syncs
