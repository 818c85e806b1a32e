"""The store: one directory of RocketMQ's files, for one owner.

    put           commit log record → consume queue unit (in memory) → arrival listeners
    background    keys of the log → index files (`broker_core.engine.store.index_service`)
                  sync of the log → index → queue files → checkpoint
                  (`broker_core.engine.store.flush`, `broker_core.engine.store.queue_writer`)
    cleaning      old files are deleted (`broker_core.engine.store.cleanup`)
    open          lock → recovery (`broker_core.engine.store.recovery`) → abort file → threads
    close         threads → sync, queues, checkpoint → abort file deleted → lock

Locks, in the order in which they may be taken: the queue writer's (one writer of queue files), ``_lock`` (log's end, queues in
memory), the index's, then those inside `CommitLog`. No callback runs under a lock.

Its parts, each a module: `store_parts` (shared state, background writes, cleaning), and `message_puts`, `message_reads` and
`queue_figures`, which use it and not each other. This module has open, close, settings, and the removal of queues.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

from broker_core.clock import wall_clock_ms
from broker_core.config import StoreConfig
from broker_core.engine.store import cold_read
from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.cut_tail import keep_what_is_cut
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.index_service import FoundAtOpen, Progress
from broker_core.engine.store.log_places import log_directories
from broker_core.engine.store.message_puts import MessagePuts
from broker_core.engine.store.message_reads import MessageReads
from broker_core.engine.store.ownership import StoreOwnership, check_directory, open_failed
from broker_core.engine.store.paths import StorePaths
from broker_core.engine.store.queue_figures import QueueFigures
from broker_core.engine.store.reading import store_time_at
from broker_core.engine.store.recovery import Recovery
from broker_core.engine.store.settings_check import check_settings
from broker_core.engine.store.store_parts import StoreParts
from broker_core.engine.store.visibility import Visibility
from broker_core.engine.store.write_gate import WriteRefusal
from broker_core.errors import OrbitError, StoreError, StoreReadOnlyError

_log = logging.getLogger(__name__)


class MessageStore:
    """An open store. Made by `open`; methods may be called from any thread unless they say otherwise.

    Most of its methods are bound from its parts, so that they cost no further call.

    Attributes:
        put, put_batch, set_filter_bits, add_arrival_listener, when_durable, log_syncs: See `MessagePuts`.
        plain_puts, plain_queue, tell_arrivals: See `MessagePuts`.
        get_messages, get_stored_messages, pull_reads, queue_units, unit_bytes, query: See `MessageReads`.
        is_in_memory, bring_to_memory, is_ahead_in_memory, read_ahead: See `broker_core.engine.store.cold_read`.
        record_at, bytes_at: `CommitLog.record`, `CommitLog.slice`.
        queues, min_offset, max_offset, stored_max_offset, standing, offset_by_time, store_time, time_span,
        next_file_offset, first_physical_offset, stats, flush_runs, inside: See `QueueFigures`.
        flush, clean, clean_queues: See `StoreParts`.
        delay_levels: Of the setting.
        read_only: Whether it refuses puts.
        ended_cleanly: Whether the last broker closed it: else the end of the log may be lost.
    """

    def __init__(
        self, config: StoreConfig, paths: StorePaths, disk: Disk, clock: Callable[[], int], ownership: StoreOwnership | None
    ) -> None:
        parts = self._parts = StoreParts(config, paths, disk, clock, ownership)
        self._bind_parts(parts)
        self._bind_log(parts.commit_log)
        self._bind_puts(MessagePuts(parts))
        self._bind_reads(MessageReads(parts))
        self._bind_figures(QueueFigures(parts))
        self._is_open = False

    def _bind_parts(self, parts: StoreParts) -> None:
        self.read_only = parts.read_only
        self.delay_levels = parts.delay_levels
        self.flush = parts.flush
        self.clean = parts.clean
        self.clean_queues = parts.clean_queues

    def _bind_log(self, log: CommitLog) -> None:
        self.is_in_memory = partial(cold_read.is_in_memory, log)
        self.bring_to_memory = partial(cold_read.bring_to_memory, log)
        self.is_ahead_in_memory = partial(cold_read.is_ahead_in_memory, log)
        self.read_ahead = partial(cold_read.read_ahead, log)
        self.record_at = log.record
        self.bytes_at = log.slice

    def _bind_puts(self, puts: MessagePuts) -> None:
        self._puts = puts
        self.put = puts.put
        self.put_batch = puts.put_batch
        self.set_filter_bits = puts.set_filter_bits
        self.add_arrival_listener = puts.add_arrival_listener
        self.when_durable = puts.when_durable
        self.log_syncs = puts.log_syncs
        self.plain_puts = puts.plain_puts
        self.plain_queue = puts.plain_queue
        self.tell_arrivals = puts.tell_arrivals

    def _bind_reads(self, reads: MessageReads) -> None:
        self._reads = reads
        self.get_messages = reads.get_messages
        self.get_stored_messages = reads.get_stored_messages
        self.pull_reads = reads.pull_reads
        self.queue_units = reads.queue_units
        self.unit_bytes = reads.unit_bytes
        self.query = reads.query

    def _bind_figures(self, figures: QueueFigures) -> None:
        self.queues = figures.queues
        self.min_offset = figures.min_offset
        self.max_offset = figures.max_offset
        self.stored_max_offset = figures.stored_max_offset
        self.standing = figures.standing
        self.offset_by_time = figures.offset_by_time
        self.store_time = figures.store_time
        self.time_span = figures.time_span
        self.next_file_offset = figures.next_file_offset
        self.first_physical_offset = figures.first_physical_offset
        self.stats = figures.stats
        self.flush_runs = figures.flush_runs
        self.inside = figures.inside

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
        """Open a store, and recover it if need be; a missing directory is created.

        Args:
            config: Directory and settings. File sizes are those of new stores; an existing one keeps its own.
            clock: Store time, in milliseconds.
            read_only: Change nothing in the directory and take no lock; puts are refused.
            progress: Called during a long recovery with its step, bytes done and bytes in all.
            disk: For tests.

        Raises:
            ForeignStoreError: The directory belongs to another program.
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
        clean = self.ended_cleanly = not self._parts.paths.abort.exists()
        self._parts.queues.load()
        recovery = Recovery(self._parts, before_cut=self._keep_what_is_cut, progress=progress)
        recovery.run(clean=clean)
        self._parts.writer.last_store_ms = recovery.last_store_ms
        self._parts.index.open(FoundAtOpen(clean, self._parts.checkpoint, recovery.index_note), progress)
        self._is_open = True
        if self.read_only:
            return
        for directory in (*self._parts.commit_log.directories, self._parts.paths.consume_queue, self._parts.paths.config):
            directory.mkdir(parents=True, exist_ok=True)
        self._parts.paths.abort.touch()
        self._parts.disk.sync_directory(self._parts.paths.root)
        self._parts.check_disk_use()
        if recovery.note_is_too_long:
            self._parts.writer.write_checkpoint()  # or, after a crash, it would vouch for what is put in place of what was cut
        self._parts.flush_service.start()

    def _keep_what_is_cut(self, end: int) -> None:
        if not self.read_only:
            keep_what_is_cut(self._parts.commit_log, end, self._parts.paths.cut, self._parts.disk)

    def close(self) -> None:
        """Stop, with everything on the disk. After a failed sync, now or before, the next start recovers.

        Raises:
            StoreError: The last writes failed. The store is closed nevertheless.
        """
        if not self._is_open:
            return
        self._is_open = False
        with self._parts.lock:
            self._parts.gate.refuse(WriteRefusal.CLOSED, f"the store {self._parts.paths.root} is closed")
        self._parts.flush_service.close()
        self._puts.close()
        try:
            if not self.read_only and not self._parts.gate.holds(WriteRefusal.SYNC_FAILED):
                self._finish()
        except OSError as error:
            raise StoreError(
                f"the store {self._parts.paths.root} could not be closed in good order ({error}); the next start recovers it",
                path=str(self._parts.paths.root),
            ) from error
        finally:
            self._parts.index.close()
            self._parts.commit_log.close()
            _release(self._parts.ownership)

    def _finish(self) -> None:
        self._parts.writer.write_checkpoint()
        if self._parts.gate.holds(WriteRefusal.QUEUE_SPACE) or self._parts.gate.holds(WriteRefusal.INDEX_SPACE):
            _log.warning("queues or index are not complete on the disk; the next start completes them from the log")
            return
        self._parts.paths.abort.unlink(missing_ok=True)
        self._parts.disk.sync_directory(self._parts.paths.root)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def reconfigure(self, config: StoreConfig) -> None:
        """Apply changed settings: sizes of messages and answers, cleaning. Settings of existing files stay.

        Raises:
            UsageError: A setting cannot be used.
        """
        check_settings(config)
        self._parts.take_settings(config)
        self._reads.take_settings(config)

    # ---- positions -----------------------------------------------------------------------------------------------------

    @property
    def config(self) -> StoreConfig:
        return self._parts.config

    @property
    def write_refusal(self) -> str:
        """Why puts are refused, in words for the user; empty while they are accepted."""
        return self._parts.gate.text

    @property
    def visibility(self) -> Visibility | None:
        """Decides what `get_messages`, `max_offset` and `query` show; None shows all."""
        return self._parts.visibility

    @visibility.setter
    def visibility(self, visibility: Visibility | None) -> None:
        self._parts.visibility = visibility

    @property
    def earliest_store_time(self) -> int:
        """Store time of the first record kept; -1 for an empty log."""
        return store_time_at(self._parts.commit_log, self._parts.commit_log.min_offset)

    @property
    def commit_log_min_offset(self) -> int:
        """Physical offset of the first byte kept."""
        return self._parts.commit_log.min_offset

    @property
    def commit_log_max_offset(self) -> int:
        """Physical offset after the last record."""
        return self._parts.commit_log.end

    @property
    def flushed_offset(self) -> int:
        """Physical offset up to which the log is on the disk."""
        return self._parts.commit_log.flushed

    @property
    def index_last_update(self) -> tuple[int, int]:
        """Store time and physical offset of the last indexed message; zeros without one."""
        return self._parts.index.last_update

    # ---- removed queues ------------------------------------------------------------------------------------------------

    def remove_topic(self, topic: str) -> None:
        """Delete a topic's queues; its records stay in the log, and a new topic of that name numbers from 0.

        Raises:
            StoreReadOnlyError: The store was opened read-only.
            StoreError: Files cannot be deleted, or the store could not be flushed.
        """
        if self.read_only:
            raise StoreReadOnlyError(self.write_refusal)
        with self._parts.writer.write_lock, self._parts.lock:
            keys = [key for key in self._parts.queues.by_key if key[0] == topic]
            for key in keys:
                self._puts.forget(key)
                try:
                    self._parts.queues.remove(key)
                except OSError as error:
                    raise StoreError(f"the files of queue {topic}/{key[1]} cannot be deleted: {error}", topic=topic) from error
        if keys:
            self.flush()  # or a crash would make recovery believe that the queues were lost


def _no_progress(what: str, done: int, total: int) -> None:
    """No caller watches the recovery."""


def _release(ownership: StoreOwnership | None) -> None:
    if ownership is not None:
        ownership.release()
