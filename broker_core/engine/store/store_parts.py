"""The shared parts of a store, and its upkeep: background writes, cleaning, checks of the disk.

The parts of `broker_core.engine.store.message_store.MessageStore` share it; the locks are described there.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from pathlib import Path

from broker_core.config import StoreConfig
from broker_core.engine.store.checkpoint import read_checkpoint
from broker_core.engine.store.cleanup import Cleaned, Cleaner
from broker_core.engine.store.commit_log import CommitLog, file_size_on_disk
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.disk_use import DiskUse, clean_forcibly_percent
from broker_core.engine.store.flush import FlushService, FlushTargets
from broker_core.engine.store.index_service import IndexService
from broker_core.engine.store.log_places import LogPlaces
from broker_core.engine.store.ownership import StoreOwnership
from broker_core.engine.store.paths import StorePaths
from broker_core.engine.store.queue_table import QueueTable
from broker_core.engine.store.queue_writer import QueueWriter
from broker_core.engine.store.visibility import Visibility
from broker_core.engine.store.write_gate import WriteGate, WriteRefusal
from broker_core.errors import StoreError, StoreReadOnlyError
from broker_core.protocol.delay_levels import DelayLevels

_log = logging.getLogger(__name__)


class StoreParts:
    """The shared parts. Knows no messages.

    Attributes:
        config: Current settings.
        read_only: Nothing in the directory may be changed.
        ownership: None for a read-only store.
        lock: Over the log's end and the queues in memory.
        gate: Why puts are refused.
        checkpoint: As it was when the store was opened.
    """

    def __init__(
        self, config: StoreConfig, paths: StorePaths, disk: Disk, clock: Callable[[], int], ownership: StoreOwnership | None
    ) -> None:
        self.config = config
        self.read_only = ownership is None
        self.paths = paths
        self.disk = disk
        self.clock = clock
        self.ownership = ownership
        self.lock = threading.Lock()
        self.gate = WriteGate()
        if self.read_only:
            self.gate.refuse(WriteRefusal.READ_ONLY, f"the store {paths.root} was opened read-only")
        self.delay_levels = DelayLevels(config.message_delay_level)
        places = LogPlaces.of(config, paths.commit_log, self._is_full)
        self._disk_use = DiskUse(disk, self.gate, places.directories, paths.consume_queue)
        file_bytes = file_size_on_disk(places, config.commit_log_file_bytes)
        is_synced_often = config.flush_disk_type == "SYNC_FLUSH"
        self.commit_log = CommitLog(places, file_bytes, disk, read_only=self.read_only, is_synced_often=is_synced_often)
        self.queues = QueueTable(
            paths,
            config.consume_queue_file_bytes_rounded,
            disk,
            read_only=self.read_only,
            extension_file_bytes=config.consume_queue_ext_file_bytes if config.consume_queue_ext else None,
        )
        self.checkpoint = read_checkpoint(paths.checkpoint)
        self.index = IndexService(paths.index, self.commit_log, config, clock, disk, read_only=self.read_only)
        self.writer = QueueWriter(
            paths,
            self.commit_log,
            self.queues,
            self.index,
            checkpoint=self.checkpoint,
            gate=self.gate,
            disk=disk,
            memory_lock=self.lock,
        )
        self.cleaner = Cleaner(
            config, self.commit_log, self.queues, self.index, self.writer, memory_lock=self.lock, clock=clock
        )
        targets = FlushTargets(
            self.writer.write_queues,
            self.writer.write_index,
            self.writer.write_checkpoint,
            self._tend_disk,
            self._sync_failed,
        )
        self.flush_service = FlushService(self.commit_log, config, targets)
        self.visibility: Visibility | None = None
        """Decides what `get_messages`, `max_offset` and `query` show; None shows all."""

    def take_settings(self, config: StoreConfig) -> None:
        self.config = config
        self.cleaner.reconfigure(config)
        self.flush_service.reconfigure(config)

    # ---- flushing ------------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Write and sync everything, the checkpoint last.

        Raises:
            StoreReadOnlyError: Opened read-only, or an earlier sync failed.
            StoreError: It failed now; the store accepts no more puts.
        """
        if self.read_only or self.gate.holds(WriteRefusal.SYNC_FAILED):
            raise StoreReadOnlyError(self.gate.text)
        try:
            self.writer.write_checkpoint()
        except OSError as error:
            self.flush_service.fail(error)
            raise StoreError(self.gate.text) from error

    def write_ahead(self) -> None:
        """Write queues in the thread of a put, because the background lags."""
        try:
            self.writer.write_queues()
        except OSError as error:
            self.flush_service.fail(error)

    def _sync_failed(self, error: OSError) -> None:
        text = (
            f"the store {self.paths.root} could not be written to the disk ({error.strerror}); it takes no more messages, so "
            "that none is acknowledged and then lost. Check the disk, then start again: everything acknowledged so far is kept"
        )
        with self.lock:
            self.gate.refuse(WriteRefusal.SYNC_FAILED, text)
        _log.error("%s", text)

    # ---- cleaning ------------------------------------------------------------------------------------------------------

    def clean(self) -> Cleaned:
        """Delete everything that is older than ``fileReservedTime`` now, whatever the hour; more if the disk is full.

        Raises:
            StoreReadOnlyError: Opened read-only, or an earlier sync failed.
            StoreError: A file could not be deleted, or the store not be flushed.
        """
        if self.read_only or self.gate.holds(WriteRefusal.SYNC_FAILED):
            raise StoreReadOnlyError(self.gate.text)
        total = Cleaned()
        try:
            while (part := self.cleaner.run(used_percent=self.check_disk_use(), manual=True)).log_files:
                total += part
        except OSError as error:
            self.flush_service.fail(error)
            raise StoreError(self.gate.text) from error
        return total

    def clean_queues(self) -> int:
        """Delete queue files whose messages the log no longer has; returns their number. The queues keep their numbering.

        Raises:
            StoreReadOnlyError: Opened read-only, or an earlier sync failed.
            StoreError: A file could not be deleted.
        """
        if self.read_only or self.gate.holds(WriteRefusal.SYNC_FAILED):
            raise StoreReadOnlyError(self.gate.text)
        return self.cleaner.clean_queues()

    def _tend_disk(self) -> None:
        """Check the disk's use, delete what is due, and check again."""
        try:
            if self.cleaner.run(used_percent=self.check_disk_use()).log_files:
                self.check_disk_use()
        except StoreError as error:
            _log.warning("%s", error)

    def _is_full(self, directory: Path) -> bool:
        return self._disk_use.percent(directory) > clean_forcibly_percent(self.config)

    def check_disk_use(self) -> int:
        """Refuse or accept puts by the disks' use; returns it in percent."""
        return self._disk_use.check(self.config)
