"""The store: one directory of RocketMQ's files, for one owner.

    put       commit log record → consume queue unit (in memory) → arrival listeners
    behind    keys of the log → index files (`broker_core.store.index_service`)
              sync of the log → index → queue files → checkpoint (`broker_core.store.flush`, `broker_core.store.queue_writer`)
    now and then    what is too old is deleted (`broker_core.store.cleanup`)
    open      lock → recovery (`broker_core.store.recovery`) → abort file → threads
    close     threads → sync, queues, checkpoint → abort file away → lock

Locks, in the order in which they may be taken: the queue writer's (one writer of queue files), ``_lock`` (log's end, queues in
memory), the index's, then those inside `CommitLog`. Nothing is called back under a lock.

Does not deliver delayed ones or check transactions; knows no network.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from broker_core.config import StoreConfig
from broker_core.errors import OrbitError, StoreError, StoreReadOnlyError
from broker_core.message.model import MessageToStore
from broker_core.message.properties import PROPERTIES_BYTES_MAX
from broker_core.message.record import TopicField, decode_record, host_flags, topic_field
from broker_core.message.sys_flag import HOST_V6_MASK, TransactionType
from broker_core.store.batch_put import BatchDraft, draft_batch
from broker_core.store.checkpoint import read_checkpoint
from broker_core.store.cleanup import Cleaned, Cleaner
from broker_core.store.cold_read import ResidentPieces, bring_to_memory, is_ahead_in_memory, is_in_memory, read_ahead
from broker_core.store.commit_log import CommitLog, file_size_on_disk
from broker_core.store.consume_queue import UNIT, UNIT_BYTES, UNWRITTEN_UNITS_MAX, ConsumeQueue
from broker_core.store.cut_tail import keep_what_is_cut
from broker_core.store.disk import Disk
from broker_core.store.disk_use import DiskUse, clean_forcibly_percent
from broker_core.store.dispatch import LMQ_PREFIX, SCHEDULE_TOPIC, DelayLevels, TagsOfPuts, unit_tags_code
from broker_core.store.extra_put import ExtraPut, FilterBits, record_bytes_max
from broker_core.store.flush import FlushRun, FlushService, FlushTargets
from broker_core.store.index_service import FoundAtOpen, IndexQuery, IndexService
from broker_core.store.log_places import LogPlaces, log_directories
from broker_core.store.log_syncs import LogSyncs
from broker_core.store.ownership import StoreOwnership, check_directory, open_failed
from broker_core.store.paths import StorePaths, is_topic_name
from broker_core.store.picture import StoreInside, take_picture
from broker_core.store.queue_mending import QueueMender
from broker_core.store.queue_table import QueueKey, QueueTable
from broker_core.store.queue_writer import QueueWriter
from broker_core.store.reading import (
    BatchLimits,
    RecordFilter,
    TagsFilter,
    early_answer,
    machine_memory_bytes,
    offset_by_time,
    scan,
    store_time,
    store_time_at,
    units_to_scan,
)
from broker_core.store.recovery import Progress, Recovery
from broker_core.store.results import Arrival, GetResult, Place, PutResult, PutStatus, QueueUnit, Run, StoreStats
from broker_core.store.run_reader import RunReader
from broker_core.store.settings_check import check_settings
from broker_core.store.visibility import Visibility, visible
from broker_core.store.write_gate import Refusal, WriteGate

RECORD_OVERHEAD_MAX = 64 * 1024
"""What a record may have beside its body, at most (§2.8)."""

LATEST_MS = (1 << 63) - 1

_KEPT_TOPICS = (SCHEDULE_TOPIC, "RMQ_SYS_TRANS_OP_HALF_TOPIC", LMQ_PREFIX)

_REFUSED = PutResult(PutStatus.SERVICE_NOT_AVAILABLE)
_ILLEGAL = PutResult(PutStatus.MESSAGE_ILLEGAL)
_PUT_OK = PutStatus.PUT_OK
_NOT_IN_QUEUE = int(TransactionType.PREPARED)
"""Bit of the transaction types that do not enter the queue; as a number, for an operation with an enum takes 0.1 µs more."""

_NOT_HOST = ~HOST_V6_MASK

_pack_unit = UNIT.pack
_new_tuple = tuple.__new__
"""Makes a named tuple without a call into Python: 0.15 µs less a put."""

ArrivalListener = Callable[[Arrival], None]

_log = logging.getLogger(__name__)


def wall_clock_ms() -> int:
    """Milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


class _Queue:
    """A consume queue with what a put to it needs.

    Attributes:
        queue: The queue.
        topic: Its topic, in the form of records.
        is_schedule: Units hold when messages are due, which the store time decides, not the hash of their tags.
        tags: Finds the hash of a message's tags.
        listeners: Whom to tell of a message.
    """

    __slots__ = ("is_schedule", "listeners", "queue", "tags", "topic")

    def __init__(self, queue: ConsumeQueue, topic: TopicField, *, is_schedule: bool) -> None:
        self.queue = queue
        self.topic = topic
        self.is_schedule = is_schedule
        self.tags = TagsOfPuts()
        self.listeners: tuple[ArrivalListener, ...] = ()


class MessageStore:
    """An open store. Made by `open`; methods may be called from any thread unless they say otherwise."""

    def __init__(
        self, config: StoreConfig, paths: StorePaths, disk: Disk, clock: Callable[[], int], ownership: StoreOwnership | None
    ) -> None:
        self.config = config
        self.read_only = ownership is None
        self._paths = paths
        self._disk = disk
        self._clock = clock
        self._ownership = ownership
        self._lock = threading.Lock()
        self._gate = WriteGate()
        if self.read_only:
            self._gate.refuse(Refusal.READ_ONLY, f"the store {paths.root} was opened read-only")
        self.delay_levels = DelayLevels(config.message_delay_level)
        self._limits = BatchLimits(config, machine_memory_bytes())
        places = LogPlaces.of(config, paths.commit_log, self._is_full)
        self._disk_use = DiskUse(disk, self._gate, places.directories, paths.consume_queue)
        file_bytes = file_size_on_disk(places, config.commit_log_file_bytes)
        is_synced_often = config.flush_disk_type == "SYNC_FLUSH"
        self._commit_log = CommitLog(places, file_bytes, disk, read_only=self.read_only, is_synced_often=is_synced_often)
        self._queues = QueueTable(
            paths,
            config.consume_queue_file_bytes_rounded,
            disk,
            read_only=self.read_only,
            extension_file_bytes=config.consume_queue_ext_file_bytes if config.consume_queue_ext else None,
        )
        self._put_queues: dict[QueueKey, _Queue] = {}
        self._body_bytes_unchecked = min(config.max_message_bytes, file_bytes - RECORD_OVERHEAD_MAX)
        self._listeners: tuple[tuple[ArrivalListener, frozenset[str] | None], ...] = ()
        self._checkpoint = read_checkpoint(paths.checkpoint)
        self._index = IndexService(paths.index, self._commit_log, config, clock, disk, read_only=self.read_only)
        self._writer = QueueWriter(
            paths,
            self._commit_log,
            self._queues,
            self._index,
            checkpoint=self._checkpoint,
            gate=self._gate,
            disk=disk,
            memory_lock=self._lock,
        )
        self._extra_put = ExtraPut(
            config,
            self._commit_log,
            self._queues,
            self._writer,
            self._gate,
            levels=self.delay_levels,
            memory_lock=self._lock,
            clock=clock,
        )
        self._runs = RunReader(self._commit_log, ResidentPieces(self._commit_log))
        self._mender = QueueMender(self._commit_log, self._writer, self.delay_levels, self._lock)
        self._puts_have_extras = config.consume_queue_ext or config.multi_dispatch
        self._dirty = self._writer.dirty
        self._cleaner = Cleaner(
            config, self._commit_log, self._queues, self._index, self._writer, memory_lock=self._lock, clock=clock
        )
        targets = FlushTargets(
            self._writer.write_queues,
            self._writer.write_index,
            self._writer.write_checkpoint,
            self._tend_disk,
            self._sync_failed,
        )
        self._flush_service = FlushService(self._commit_log, config, targets)
        self._log_syncs: LogSyncs | None = None
        self._is_open = False
        self.visibility: Visibility | None = None
        """Decides what `get_messages`, `max_offset` and `query` show; None shows all."""

    # ---- opening and closing -------------------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        config: StoreConfig,
        *,
        clock: Callable[[], int] = wall_clock_ms,
        read_only: bool = False,
        progress: Progress | None = None,
        disk: Disk | None = None,
    ) -> MessageStore:
        """Open, and recover if need be; a missing directory is made.

        Args:
            config: Where the store is and how it is served. File sizes are those of new stores; an existing one keeps its own.
            clock: Store time, in milliseconds.
            read_only: Change nothing in the directory and take no lock; puts are refused.
            progress: Told of a long recovery: what, bytes done, bytes in all.
            disk: For tests.

        Raises:
            ForeignStoreError: The directory belongs to something else.
            StorePermissionError: It cannot be read or written.
            StoreLockedError: Another process has it open; names its process id.
            CorruptStoreError: Its files do not fit together.
            StoreFullError: There is no room to open it.
            StoreError: Another fault of the operating system.
            UsageError: A setting cannot be used.
        """
        check_settings(config)
        paths = StorePaths(config.root)
        check_directory(config.root, read_only=read_only, logs=log_directories(config, paths.commit_log))
        ownership = None
        try:
            if not read_only:
                config.root.mkdir(parents=True, exist_ok=True)
                ownership = StoreOwnership(paths)
            store = cls(config, paths, disk or Disk(), clock, ownership)
            store._start(progress or _no_progress)
        except OSError as error:
            _release(ownership)
            raise open_failed(config.root, error) from error
        except OrbitError:
            _release(ownership)
            raise
        return store

    def _start(self, progress: Progress) -> None:
        clean = not self._paths.abort.exists()
        self._queues.load()
        recovery = Recovery(
            self._commit_log,
            self._queues,
            self._checkpoint,
            self.delay_levels,
            check_crc=self.config.check_crc_on_recover,
            force_record_crc=self.config.force_record_crc,
            multi_dispatch=self.config.multi_dispatch,
            before_cut=self._keep_what_is_cut,
            progress=progress,
        )
        recovery.run(clean=clean)
        self._writer.last_store_ms = recovery.last_store_ms
        self._index.open(FoundAtOpen(clean, self._checkpoint, recovery.index_note), progress)
        self._is_open = True
        if self.read_only:
            return
        self._writer.dirty.update(queue for queue in self._queues if queue.unwritten_bytes)
        for directory in (*self._commit_log.directories, self._paths.consume_queue, self._paths.config):
            directory.mkdir(parents=True, exist_ok=True)
        self._paths.abort.touch()
        self._disk.sync_directory(self._paths.root)
        self._check_disk_use()
        if recovery.note_is_too_long:
            self._writer.write_checkpoint()  # or, after a crash, it would vouch for what is put in place of what was cut
        self._flush_service.start()

    def _keep_what_is_cut(self, end: int) -> None:
        if not self.read_only:
            keep_what_is_cut(self._commit_log, end, self._paths.cut, self._disk)

    def close(self) -> None:
        """Stop, with everything on the disk; after a failed sync, or if that fails now, the next start recovers.

        Raises:
            StoreError: The last writes failed. The store is closed all the same.
        """
        if not self._is_open:
            return
        self._is_open = False
        with self._lock:
            self._gate.refuse(Refusal.CLOSED, f"the store {self._paths.root} is closed")
        self._flush_service.close()
        if self._log_syncs is not None:
            self._log_syncs.close()
        try:
            if not self.read_only and not self._gate.holds(Refusal.SYNC_FAILED):
                self._finish()
        except OSError as error:
            raise StoreError(
                f"the store {self._paths.root} could not be closed in good order ({error}); the next start recovers it",
                path=str(self._paths.root),
            ) from error
        finally:
            self._index.close()
            self._commit_log.close()
            _release(self._ownership)

    def _finish(self) -> None:
        self._writer.write_checkpoint()
        if self._gate.holds(Refusal.QUEUE_SPACE) or self._gate.holds(Refusal.INDEX_SPACE):
            _log.warning("queues or index are not complete on the disk; the next start completes them from the log")
            return
        self._paths.abort.unlink(missing_ok=True)
        self._disk.sync_directory(self._paths.root)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    # ---- putting -------------------------------------------------------------------------------------------------------

    @property
    def write_refusal(self) -> str:
        """Why puts are refused, in words for the user; empty while they are taken."""
        return self._gate.text

    def put(self, message: MessageToStore) -> PutResult:  # noqa: C901  the hot path spares calls
        """Store one message.

        It is in the log and its queue when this returns, but durable only when `when_durable` says so. A status other than
        ``PUT_OK`` means that nothing was stored; for `PutStatus.SERVICE_NOT_AVAILABLE`, `write_refusal` says why.
        """
        # Calls are spared here: each takes 0.05 to 0.1 µs of the two or three that a put has.
        target = self._put_queues.get((message.topic, message.queue_id)) or self._put_queue(message)
        if target is None:
            return _ILLEGAL
        properties = message.properties
        if len(properties) > PROPERTIES_BYTES_MAX:
            return PutResult(PutStatus.PROPERTIES_SIZE_EXCEEDED)
        if len(message.body) > self._body_bytes_unchecked and not self._size_is_legal(message, target.topic):
            return _ILLEGAL
        if self._puts_have_extras:
            return self._put_with_extras(message, target)
        queue, tags = target.queue, target.tags
        sys_flag = host_flags(message) if message.born_host.is_v6 or message.store_host.is_v6 else message.sys_flag & _NOT_HOST
        code = tags.last_code if properties.endswith(tags.end) else tags.code(properties)
        is_hidden = sys_flag & _NOT_IN_QUEUE
        clock, lock = self._clock, self._lock  # a method that is no method of the class is found faster in two steps
        lock.acquire()  # “with” takes 0.1 µs more
        try:
            if self._gate.is_shut:
                return _REFUSED
            now_ms = clock()
            queue_offset = 0 if is_hidden else queue.max_offset
            try:
                physical_offset, size = self._commit_log.append(message, target.topic, sys_flag, queue_offset, now_ms)
            except OSError as error:
                return self._no_space(error)
            self._writer.last_store_ms = now_ms
            if not is_hidden:
                if target.is_schedule:
                    code = unit_tags_code(message.topic, properties, now_ms, self.delay_levels)
                queue.tail += _pack_unit(physical_offset, size, code)
                queue.max_offset = queue_offset + 1
                queue.last_store_ms = now_ms
                self._dirty.add(queue)
        finally:
            lock.release()
        if self._gate.has_reasons:
            self._gate.withdraw(Refusal.LOG_SPACE)
        if not is_hidden:
            place = (message.topic, message.queue_id, queue_offset, code, now_ms, physical_offset, size)
            arrival = _new_tuple(Arrival, place)
            for listener in target.listeners:
                listener(arrival)
            if queue_offset - queue.written_offset >= UNWRITTEN_UNITS_MAX:
                self._write_ahead()
        return _new_tuple(PutResult, (_PUT_OK, physical_offset, size, queue_offset, now_ms, 1, (physical_offset,)))

    def put_batch(self, message: MessageToStore) -> PutResult:
        """Store a batch: all of its messages, contiguous in one file, or none.

        Args:
            message: ``body`` is the framed batch; ``properties`` are added to those of each member.
        """
        target = self._put_queues.get((message.topic, message.queue_id)) or self._put_queue(message)
        extras = self._puts_have_extras
        if target is None:
            return _ILLEGAL
        draft = draft_batch(message, target.topic, self.config.max_message_bytes, one_by_one=extras)
        if draft is None:
            return _ILLEGAL
        if draft.properties_bytes_max > PROPERTIES_BYTES_MAX:
            return PutResult(PutStatus.PROPERTIES_SIZE_EXCEEDED)
        if not self._commit_log.fits(draft.total_bytes):
            return _ILLEGAL
        if isinstance(draft, BatchDraft) and extras:
            return self._finish_extra(target.queue, partial(self._extra_put.put_batch, draft, target.queue))
        queue = target.queue
        with self._lock:
            if self._gate.is_shut:
                return _REFUSED
            now_ms = self._clock()
            queue_offset = queue.max_offset
            try:
                start = self._commit_log.make_room(draft.total_bytes)
            except OSError as error:
                return self._no_space(error)
            block, units, offsets = draft.lay_out(physical_offset=start, queue_offset=queue_offset, now_ms=now_ms)
            self._commit_log.append_block(block)
            self._writer.last_store_ms = queue.last_store_ms = now_ms
            unwritten = queue.extend(units)
            self._dirty.add(queue)
        if self._gate.has_reasons:
            self._gate.withdraw(Refusal.LOG_SPACE)
        for listener in target.listeners:
            for number, (offset, size, code) in enumerate(UNIT.iter_unpack(units), queue_offset):
                listener(Arrival(message.topic, message.queue_id, number, code, now_ms, offset, size))
        if unwritten > UNWRITTEN_UNITS_MAX:
            self._write_ahead()
        return PutResult(PutStatus.PUT_OK, start, len(block), queue_offset, now_ms, draft.count, offsets)

    def _put_queue(self, message: MessageToStore) -> _Queue | None:
        """Queue of a first put to it; None if its name or number cannot be."""
        topic = message.topic
        if not is_topic_name(topic) or not 0 <= message.queue_id < 1 << 31:
            return None
        with self._lock:
            queue = self._queues.get_or_add(topic, message.queue_id)
            found = _Queue(queue, topic_field(topic.encode()), is_schedule=topic == SCHEDULE_TOPIC)
            found.listeners = self._listeners_of(topic)
            self._put_queues[topic, message.queue_id] = found
            return found

    def _put_with_extras(self, message: MessageToStore, target: _Queue) -> PutResult:
        # Apart from `put`, as a closure there would make each use of its variables slower.
        return self._finish_extra(target.queue, lambda: self._extra_put.put(message, target.queue, target.topic))

    def _finish_extra(self, queue: ConsumeQueue, put: Callable[[], tuple[PutResult, list[Arrival]]]) -> PutResult:
        try:
            result, arrivals = put()
        except OSError as error:
            with self._lock:
                return self._no_space(error)
        if result.status is PutStatus.PUT_OK and self._gate.has_reasons:
            self._gate.withdraw(Refusal.LOG_SPACE)
        for arrival in arrivals:
            for listener in self._listeners_of(arrival.topic):
                listener(arrival)
        if queue.max_offset - queue.written_offset > UNWRITTEN_UNITS_MAX:
            self._write_ahead()
        return result

    def set_filter_bits(self, bits: FilterBits) -> None:
        """Say which filters take a message, for the bits in queue extensions (``enableConsumeQueueExt``).

        Args:
            bits: From topic, encoded properties and tags code to the bitmap, empty where nothing is known. Called in the thread
                of the put and under the store's lock: it must be quick and not call the store.
        """
        self._extra_put.filter_bits = bits

    def _size_is_legal(self, message: MessageToStore, topic: TopicField) -> bool:
        fits = self._commit_log.fits(record_bytes_max(message, topic))
        return fits and len(message.body) <= self.config.max_message_bytes

    def _no_space(self, error: OSError) -> PutResult:
        text = (
            f"the commit log in {self._paths.commit_log} cannot grow: {error.strerror}. Free some room on the disk; "
            "messages are taken again as soon as there is some"
        )
        if not self._gate.holds(Refusal.LOG_SPACE):
            _log.warning("%s", text)
        self._gate.refuse(Refusal.LOG_SPACE, text)
        return _REFUSED

    def add_arrival_listener(self, listener: ArrivalListener, topics: Collection[str] | None = None) -> None:
        """Call ``listener`` for each message that enters a queue, in the thread of the put and before it returns.

        Args:
            listener: Whom to call.
            topics: Only for messages of these, so that puts to others do not pay for the call; None for all.
        """
        with self._lock:
            self._listeners = (*self._listeners, (listener, None if topics is None else frozenset(topics)))
            for (topic, _), queue in self._put_queues.items():
                queue.listeners = self._listeners_of(topic)

    def _listeners_of(self, topic: str) -> tuple[ArrivalListener, ...]:
        return tuple(listener for listener, topics in self._listeners if topics is None or topic in topics)

    def when_durable(self, physical_end: int, done: Callable[[bool], None]) -> None:
        """Have the log synced up to an offset, together with whoever else waits.

        Args:
            physical_end: Offset behind the record, ``physical_offset + wrote_bytes`` of its put.
            done: Called once: with True when the bytes are durable, with False when the sync failed or took longer than
                ``syncFlushTimeout``. Runs in a thread of the store or the one that uses `log_syncs`, or in this one if there
                is nothing to wait for.
        """
        self._flush_service.when_durable(physical_end, done)

    def log_syncs(self) -> LogSyncs | None:
        """Syncs for an event loop, which takes part in them; made once. None where the system has none: `when_durable` does.

        Closed with the store, at the latest.
        """
        if self._log_syncs is None and not self.read_only:
            try:
                self._log_syncs = LogSyncs(self._commit_log, self._flush_service, self._disk.kernel_sync())
            except OSError as error:
                _log.info("the commit log is synced by a thread, as the kernel does not take syncs: %s", error.strerror)
        return self._log_syncs

    # ---- reading -------------------------------------------------------------------------------------------------------

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

        What `visibility` hides is passed over; `get_stored_messages` shows it.

        Args:
            topic: Name as stored.
            queue_id: Number.
            offset: Queue offset.
            max_count: Records at most; the transfer settings bound it further.
            accepts: Decides by tags code; None takes all.
            matches: Decides by the record, after ``accepts``; None takes all.
            max_bytes: Bytes at most, beside the transfer settings; one record is always given.
        """
        result = self.get_stored_messages(
            topic, queue_id, offset, max_count, accepts=accepts, matches=matches, max_bytes=max_bytes
        )
        return result if self.visibility is None else visible(self.visibility, topic, queue_id, offset, result)

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
        """As `get_messages`, with all that is stored."""
        with self._lock:
            queue = self._queues.by_key.get((topic, queue_id))
            early = early_answer(queue, offset)
            if early is not None:
                return early
            assert queue is not None
            is_plain = accepts is None and matches is None
            units = queue.units(offset, max_count if is_plain else units_to_scan(max_count))
        bytes_limit = self.config.max_transfer_bytes_in_memory if max_bytes is None else max_bytes
        limits = self._limits.of_get(max_count, bytes_limit)
        damaged: list[int] = []
        found = scan(self._commit_log, queue, offset, units, limits, accepts=accepts, matches=matches, damaged=damaged)
        if is_plain and len(found.records) < found.next_offset - offset:
            # Only where messages are gone does a get without a filter need more units than it may give messages.
            with self._lock:
                units = queue.units(offset, units_to_scan(max_count))
            damaged = []
            found = scan(self._commit_log, queue, offset, units, limits, accepts=accepts, matches=matches, damaged=damaged)
        if damaged and self._mend(queue, damaged):
            return self.get_stored_messages(
                topic, queue_id, offset, max_count, accepts=accepts, matches=matches, max_bytes=max_bytes
            )
        return found

    def read_run(self, topic: str, queue_id: int, offset: int, max_count: int) -> Run | None:
        """The same bytes as `get_messages` without a filter, in the quick way.

        None where that cannot be: nothing is there, records are not in memory, damaged or hidden. `get_messages` tells then.
        """
        visibility = self.visibility
        if visibility is not None and visibility.end(topic, queue_id) is not None:
            return None
        with self._lock:
            queue = self._queues.by_key.get((topic, queue_id))
            if queue is None or not queue.min_offset <= offset < queue.max_offset:
                return None
            units = self._runs.units(queue, offset, max_count)
        if units is None:
            return None
        return self._runs.read(queue, units, offset, self._limits.of_get(max_count, self.config.max_transfer_bytes_in_memory))

    def _mend(self, queue: ConsumeQueue, offsets: list[int]) -> bool:
        try:
            mended = [self._mender.mend(queue, offset) for offset in offsets]
        except OSError as error:
            _log.warning("damaged places of queue %s/%d cannot be mended: %s", queue.topic, queue.queue_id, error)
            return False
        return any(mended)

    def is_in_memory(self, places: Sequence[Place]) -> bool:
        """Whether the records at ``places`` (`GetResult.far_back`) can be touched without waiting for the disk."""
        return not places or is_in_memory(self._commit_log, places)

    def bring_to_memory(self, places: Sequence[Place]) -> None:
        """Read the records at ``places`` from the disk, so that touching them does not wait; for a thread that may wait.

        Raises:
            OSError: The disk is broken, or the file was deleted meanwhile.
        """
        bring_to_memory(self._commit_log, places)

    def is_ahead_in_memory(self, places: Sequence[Place]) -> bool:
        """Whether what follows the records at ``places`` is in memory already."""
        return is_ahead_in_memory(self._commit_log, places)

    def read_ahead(self, places: Sequence[Place]) -> None:
        """Have what follows the records at ``places`` brought to memory; for a thread that may wait a little.

        Raises:
            OSError: The file was deleted meanwhile.
        """
        read_ahead(self._commit_log, places)

    def record_at(self, physical_offset: int) -> memoryview | None:
        """The record that starts at an offset of the log, None where none does."""
        return self._commit_log.record(physical_offset)

    def bytes_at(self, physical_offset: int, size: int) -> memoryview | None:
        """Bytes of the log as they are, None where they are not, or not in one file."""
        return self._commit_log.slice(physical_offset, size)

    def queue_units(self, topic: str, queue_id: int, offset: int, max_count: int, *, raw: bool = False) -> list[QueueUnit]:
        """Units of a queue from ``offset`` on, without their records; fewer than asked for at the end of a file too.

        Tags codes are plain; with ``raw``, those that lie in a queue extension are given as stored, by their address there.
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
        """Bytes of units as they are stored, holes in damaged queues among them; else as `queue_units`."""
        with self._lock:
            queue = self._queues.by_key.get((topic, queue_id))
            return queue.units(offset, max_count) if queue and offset >= queue.min_offset else b""

    def _plain_code(self, queue: ConsumeQueue, unit: QueueUnit) -> int:
        code = queue.plain_code(unit.tags_code)
        if code is not None:
            return code
        # The extension has lost it; the record tells it as well.
        record = self._commit_log.slice(unit.physical_offset, unit.record_bytes)
        if record is None:
            return 0
        stored = decode_record(record)
        return unit_tags_code(stored.topic, stored.properties_bytes, stored.store_timestamp_ms, self.delay_levels)

    def time_span(self, topic: str, queue_id: int) -> tuple[int, int]:
        """Store times of the first and the last message of a queue; -1 where there is none."""
        queue = self._queues.by_key.get((topic, queue_id))
        if queue is None:
            return -1, -1
        with self._lock:
            first = store_time(self._commit_log, queue, queue.min_offset)
            return first, store_time(self._commit_log, queue, queue.max_offset - 1)

    @property
    def earliest_store_time(self) -> int:
        """Store time of the first record that is kept; -1 for an empty log."""
        return store_time_at(self._commit_log, self._commit_log.min_offset)

    def next_file_offset(self, physical_offset: int) -> int:
        """Where the log file behind the one of an offset begins."""
        file_bytes = self._commit_log.file_bytes
        return physical_offset - physical_offset % file_bytes + file_bytes

    def first_physical_offset(self, topic: str, queue_id: int) -> int | None:
        """Where the oldest message of a queue lies in the log; None for a queue that has none."""
        with self._lock:
            queue = self._queues.by_key.get((topic, queue_id))
            unit = None if queue is None else queue.unit(queue.min_offset)
        return None if unit is None else unit.physical_offset

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
        """Records of a topic that carry a key, the newest first, whole and raw; none where ``messageIndexEnable`` is off.

        Every message is found as soon as its put has returned.

        Args:
            topic: Name as stored.
            key: A unique key, or one word of KEYS.
            max_count: Records at most.
            from_ms: Earliest store time.
            to_ms: Latest store time.
            unique: Only look at unique keys.

        Raises:
            StoreError: The index can be neither read nor completed.
        """
        try:
            self._writer.write_index()
            found = self._index.query(IndexQuery(topic, key, from_ms, to_ms, unique), max_count)
        except OSError as error:
            raise StoreError(f"the index in {self._paths.index} cannot be completed: {error.strerror}") from error
        visibility = self.visibility
        return found if visibility is None else [record for record in found if not visibility.hides_record(record)]

    @property
    def index_last_update(self) -> tuple[int, int]:
        """Store time and physical offset of the message that was indexed last; zeros where there is none."""
        return self._index.last_update

    def min_offset(self, topic: str, queue_id: int) -> int:
        """First offset of a queue that is kept; 0 for an unknown queue."""
        queue = self._queues.by_key.get((topic, queue_id))
        return queue.min_offset if queue else 0

    def max_offset(self, topic: str, queue_id: int) -> int:
        """Offset that the next message of a queue gets, as far as readers may know; 0 for an unknown queue."""
        end = None if self.visibility is None else self.visibility.end(topic, queue_id)
        stored = self.stored_max_offset(topic, queue_id)
        return stored if end is None else min(stored, end)

    def stored_max_offset(self, topic: str, queue_id: int) -> int:
        """Offset that the next message of a queue gets, whatever readers may know; 0 for an unknown queue."""
        queue = self._queues.by_key.get((topic, queue_id))
        return queue.max_offset if queue else 0

    def offset_by_time(self, topic: str, queue_id: int, timestamp_ms: int, *, upper: bool = False) -> int:
        """First offset stored at or after a time, or with ``upper`` the last at or before it; 0 for an unknown queue."""
        queue = self._queues.by_key.get((topic, queue_id))
        if queue is None:
            return 0
        with self._lock:
            return offset_by_time(self._commit_log, queue, timestamp_ms, upper=upper)

    def store_time(self, topic: str, queue_id: int, offset: int) -> int:
        """Store time of one message, -1 where there is none."""
        queue = self._queues.by_key.get((topic, queue_id))
        if queue is None:
            return -1
        with self._lock:
            return store_time(self._commit_log, queue, offset)

    def queues(self) -> list[tuple[str, int]]:
        """Topic and queue id of every queue that has, or had, messages."""
        return [key for key, queue in list(self._queues.by_key.items()) if queue.max_offset]

    def last_store_time(self, topic: str, queue_id: int) -> int:
        """Store time of a queue's last message, -1 where not known. From memory."""
        queue = self._queues.by_key.get((topic, queue_id))
        return queue.last_store_ms if queue else -1

    @property
    def commit_log_min_offset(self) -> int:
        """Physical offset of the first byte that is kept."""
        return self._commit_log.min_offset

    @property
    def commit_log_max_offset(self) -> int:
        """Physical offset behind the last record."""
        return self._commit_log.end

    @property
    def flushed_offset(self) -> int:
        """Physical offset up to which the log is on the disk."""
        return self._commit_log.flushed

    def stats(self) -> StoreStats:
        """Figures of the store and its disk.

        Raises:
            StoreError: The disk cannot be asked.
        """
        try:
            used, total = self._disk.usage(self._paths.root)
        except OSError as error:
            raise StoreError(f"the disk of {self._paths.root} cannot be asked for its use: {error.strerror}") from error
        queue_bytes = sum((queue.max_offset - queue.min_offset) * UNIT_BYTES for queue in self._queues)
        return StoreStats(
            commit_log_min_offset=self._commit_log.min_offset,
            commit_log_max_offset=self._commit_log.end,
            flushed_offset=self._commit_log.flushed,
            queue_count=len(self._queues.by_key),
            store_bytes=self._commit_log.bytes_on_disk() + queue_bytes,
            disk_used_bytes=used,
            disk_total_bytes=total,
            refusal=self.write_refusal,
        )

    def flush_runs(self) -> list[FlushRun]:
        """The newest syncs of the log, oldest first."""
        return list(self._flush_service.runs)

    def inside(self) -> StoreInside:
        """Files, positions, queues, index, cleaning and syncs, for looking at; to be called on a thread.

        Raises:
            StoreError: A file cannot be looked at.
        """
        try:
            return take_picture(self._commit_log, self._queues, self._index, self._cleaner, self._flush_service)
        except OSError as error:
            raise StoreError(f"{error.filename} cannot be looked at: {error.strerror}; try again") from error

    def remove_topic(self, topic: str) -> None:
        """Delete a topic's queues; its records stay in the log, and a new topic of that name numbers from 0.

        Raises:
            StoreReadOnlyError: The store was opened read-only.
            StoreError: Files cannot be deleted, or the store could not be flushed.
        """
        self._remove_queues(lambda queue: queue.topic == topic)

    def remove_expired_queues(self) -> list[QueueKey]:
        """Delete the queues whose messages are all gone from the log, their numbering too; returns which.

        Source: store specification §12.7 (not those of the delay levels).

        Raises:
            StoreReadOnlyError: The store was opened read-only.
            StoreError: Files cannot be deleted, or the store could not be flushed.
        """
        return self._remove_queues(lambda queue: queue.topic != SCHEDULE_TOPIC and queue.min_offset == queue.max_offset > 0)

    def remove_unused_topics(self, known: Collection[str]) -> list[QueueKey]:
        """Delete the queues of topics that are not among the known ones; returns which.

        Source: store specification §12.7 (not those of delay levels, operations on half messages and light queues).

        Raises:
            StoreReadOnlyError: The store was opened read-only.
            StoreError: Files cannot be deleted, or the store could not be flushed.
        """
        return self._remove_queues(lambda queue: queue.topic not in known and not queue.topic.startswith(_KEPT_TOPICS))

    def _remove_queues(self, is_to_go: Callable[[ConsumeQueue], bool]) -> list[QueueKey]:
        if self.read_only:
            raise StoreReadOnlyError(self.write_refusal)
        removed: list[QueueKey] = []
        with self._writer.write_lock, self._lock:
            for key in [key for key, queue in self._queues.by_key.items() if is_to_go(queue)]:
                queue = self._queues.by_key.pop(key)
                self._put_queues.pop(key, None)
                self._writer.dirty.discard(queue)
                removed.append(key)
                try:
                    queue.remove()
                except OSError as error:
                    raise StoreError(
                        f"the files of queue {key[0]}/{key[1]} cannot be deleted: {error}", topic=key[0]
                    ) from error
        if removed:
            self.flush()  # or a crash would make recovery believe that the queues were lost
        return removed

    def reconfigure(self, config: StoreConfig) -> None:
        """Take over changed settings: sizes of messages and answers, cleaning. What is laid down in files stays as it is.

        Raises:
            UsageError: A setting cannot be used.
        """
        check_settings(config)
        self.config = config
        self._limits = BatchLimits(config, machine_memory_bytes())
        self._body_bytes_unchecked = min(config.max_message_bytes, self._commit_log.file_bytes - RECORD_OVERHEAD_MAX)
        self._cleaner.reconfigure(config)

    # ---- flushing ------------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Bring everything to the disk, the checkpoint last.

        Raises:
            StoreReadOnlyError: Opened read-only, or an earlier sync failed.
            StoreError: It failed now; the store takes no more puts.
        """
        if self.read_only or self._gate.holds(Refusal.SYNC_FAILED):
            raise StoreReadOnlyError(self.write_refusal)
        try:
            self._writer.write_checkpoint()
        except OSError as error:
            self._flush_service.fail(error)
            raise StoreError(self.write_refusal) from error

    def _write_ahead(self) -> None:
        """Write queues in the thread of a put, when the background does not keep up."""
        try:
            self._writer.write_queues()
        except OSError as error:
            self._flush_service.fail(error)

    def _sync_failed(self, error: OSError) -> None:
        text = (
            f"the store {self._paths.root} could not be written to the disk ({error.strerror}); it takes no more messages, so "
            "that none is acknowledged and then lost. Check the disk, then start again: everything acknowledged so far is kept"
        )
        with self._lock:
            self._gate.refuse(Refusal.SYNC_FAILED, text)
        _log.error("%s", text)

    def clean(self) -> Cleaned:
        """Delete everything that is older than ``fileReservedTime`` now, whatever the hour; more if the disk is full.

        Raises:
            StoreReadOnlyError: Opened read-only, or an earlier sync failed.
            StoreError: A file could not be deleted, or the store not be flushed.
        """
        if self.read_only or self._gate.holds(Refusal.SYNC_FAILED):
            raise StoreReadOnlyError(self.write_refusal)
        total = Cleaned()
        try:
            while (part := self._cleaner.run(used_percent=self._check_disk_use(), manual=True)).log_files:
                total += part
        except OSError as error:
            self._flush_service.fail(error)
            raise StoreError(self.write_refusal) from error
        return total

    def clean_queues(self) -> int:
        """Delete queue files whose messages the log no longer has; returns how many. Queues go on numbering where they are.

        Raises:
            StoreReadOnlyError: Opened read-only, or an earlier sync failed.
            StoreError: A file could not be deleted.
        """
        if self.read_only or self._gate.holds(Refusal.SYNC_FAILED):
            raise StoreReadOnlyError(self.write_refusal)
        return self._cleaner.clean_queues()

    def _tend_disk(self) -> None:
        """Look at the disk's use, delete what is due, and look again."""
        try:
            if self._cleaner.run(used_percent=self._check_disk_use()).log_files:
                self._check_disk_use()
        except StoreError as error:
            _log.warning("%s", error)

    def _is_full(self, directory: Path) -> bool:
        return self._disk_use.percent(directory) > clean_forcibly_percent(self.config)

    def _check_disk_use(self) -> int:
        """Refuse or take puts, by the disks' use; returns it in percent."""
        return self._disk_use.check(self.config)


def _no_progress(what: str, done: int, total: int) -> None:
    """Nobody watches."""


def _release(ownership: StoreOwnership | None) -> None:
    if ownership is not None:
        ownership.release()
