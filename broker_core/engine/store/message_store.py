"""The store: one directory of RocketMQ's files, for one owner.

    put       commit log record → consume queue unit (in memory) → arrival listeners
    behind    keys of the log → index files (`broker_core.engine.store.index_service`)
              sync of the log → index → queue files → checkpoint
              (`broker_core.engine.store.flush`, `broker_core.engine.store.queue_writer`)
    now and then    what is too old is deleted (`broker_core.engine.store.cleanup`)
    open      lock → recovery (`broker_core.engine.store.recovery`) → abort file → threads
    close     threads → sync, queues, checkpoint → abort file away → lock

Locks, in the order in which they may be taken: the queue writer's (one writer of queue files), ``_lock`` (log's end, queues in
memory), the index's, then those inside `CommitLog`. Nothing is called back under a lock.

Layers, each a module, the upper ones independent of each other: `store_parts` (what there is, writing behind, cleaning),
`message_puts`, `message_reads`, `queue_figures`; here is what concerns all of them: open, close, settings, and what leaves.

Does not deliver delayed ones or check transactions; knows no network.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection
from types import TracebackType
from typing import Self

from broker_core.clock import wall_clock_ms
from broker_core.config import StoreConfig
from broker_core.engine.store.consume_queue import ConsumeQueue
from broker_core.engine.store.cut_tail import keep_what_is_cut
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.index_service import FoundAtOpen
from broker_core.engine.store.log_places import log_directories
from broker_core.engine.store.message_puts import MessagePuts
from broker_core.engine.store.message_reads import MessageReads
from broker_core.engine.store.ownership import StoreOwnership, check_directory, open_failed
from broker_core.engine.store.paths import StorePaths
from broker_core.engine.store.queue_figures import QueueFigures
from broker_core.engine.store.queue_table import QueueKey
from broker_core.engine.store.recovery import Progress, Recovery
from broker_core.engine.store.settings_check import check_settings
from broker_core.engine.store.write_gate import Refusal
from broker_core.errors import OrbitError, StoreError, StoreReadOnlyError
from broker_core.protocol.names import LMQ_PREFIX, OP_TOPIC, SCHEDULE_TOPIC

_KEPT_TOPICS = (SCHEDULE_TOPIC, OP_TOPIC, LMQ_PREFIX)

_log = logging.getLogger(__name__)


class MessageStore(MessagePuts, MessageReads, QueueFigures):
    """An open store. Made by `open`; methods may be called from any thread unless they say otherwise."""

    def __init__(
        self, config: StoreConfig, paths: StorePaths, disk: Disk, clock: Callable[[], int], ownership: StoreOwnership | None
    ) -> None:
        super().__init__(config, paths, disk, clock, ownership)
        self._is_open = False

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

    def reconfigure(self, config: StoreConfig) -> None:
        """Take over changed settings: sizes of messages and answers, cleaning. What is laid down in files stays as it is.

        Raises:
            UsageError: A setting cannot be used.
        """
        check_settings(config)
        self._take_settings(config)

    # ---- queues that go ------------------------------------------------------------------------------------------------

    def remove_topic(self, topic: str) -> None:
        """Delete a topic's queues; its records stay in the log, and a new topic of that name numbers from 0.

        Raises:
            StoreReadOnlyError: The store was opened read-only.
            StoreError: Files cannot be deleted, or the store could not be flushed.
        """
        self._remove_queues(lambda queue: queue.topic == topic)

    def remove_expired_queues(self) -> list[QueueKey]:
        """Delete the queues whose messages are all gone from the log, their numbering too; returns which.

        Source: docs/spec/store.md §12 item 7 (not those of the delay levels).

        Raises:
            StoreReadOnlyError: The store was opened read-only.
            StoreError: Files cannot be deleted, or the store could not be flushed.
        """
        return self._remove_queues(lambda queue: queue.topic != SCHEDULE_TOPIC and queue.min_offset == queue.max_offset > 0)

    def remove_unused_topics(self, known: Collection[str]) -> list[QueueKey]:
        """Delete the queues of topics that are not among the known ones; returns which.

        Source: docs/spec/store.md §12 item 7 (not those of delay levels, operations on half messages and light queues).

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


def _no_progress(what: str, done: int, total: int) -> None:
    """Nobody watches."""


def _release(ownership: StoreOwnership | None) -> None:
    if ownership is not None:
        ownership.release()
