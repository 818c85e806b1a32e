"""What a store is made of, and what keeps that in order: writing behind, cleaning, a look at the disk.

The lowest layer of `broker_core.engine.store.message_store.MessageStore`, whose locks are described there. The layers are one
object, not parts of one, because a call from one object to another takes 0.1 µs of the two or three that a put has.
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
from broker_core.engine.store.write_gate import Refusal, WriteGate
from broker_core.errors import StoreError, StoreReadOnlyError
from broker_core.protocol.delay_levels import DelayLevels

_log = logging.getLogger(__name__)


class StoreParts:
    """See the module. Knows neither messages nor who asks for them."""

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
        self.visibility: Visibility | None = None
        """Decides what `get_messages`, `max_offset` and `query` show; None shows all."""

    def _take_settings(self, config: StoreConfig) -> None:
        """Go on with other settings; each layer adds what it keeps of them."""
        self.config = config
        self._cleaner.reconfigure(config)

    @property
    def write_refusal(self) -> str:
        """Why puts are refused, in words for the user; empty while they are taken."""
        return self._gate.text

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

    # ---- cleaning ------------------------------------------------------------------------------------------------------

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
