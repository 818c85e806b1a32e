"""Writes queues, index and the checkpoint to the disk, after the log.

Order: log, index, queue files, checkpoint, manifest. Everything that the checkpoint vouches for is synced before it is
replaced.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from broker_core.engine.store.checkpoint import Checkpoint, write_checkpoint
from broker_core.engine.store.commit_log import CommitLog
from broker_core.engine.store.disk import Disk, is_no_space
from broker_core.engine.store.index_service import IndexService
from broker_core.engine.store.paths import StorePaths
from broker_core.engine.store.queue_table import IndexNote, QueueManifest, QueueTable
from broker_core.engine.store.write_gate import WriteGate, WriteRefusal

_log = logging.getLogger(__name__)


class QueueWriter:
    """Writes the queues that got units; one thread at a time.

    On a full disk the units stay in memory, the gate is shut, and the next round tries again. ``checkpoint`` is that of the
    opened store. ``memory_lock`` guards the queues' units in memory and is held for moments.
    """

    def __init__(
        self,
        paths: StorePaths,
        log: CommitLog,
        queues: QueueTable,
        index: IndexService,
        *,
        checkpoint: Checkpoint,
        gate: WriteGate,
        disk: Disk,
        memory_lock: threading.Lock,
    ) -> None:
        self._paths = paths
        self._commit_log = log
        self._queues = queues
        self._index = index
        self._checkpoint = checkpoint
        self._gate = gate
        self._disk = disk
        self._memory_lock = memory_lock
        self.write_lock = threading.Lock()
        """Held while files of queues change; taken before the memory lock."""
        self.last_store_ms = 0
        """Store time of the last message; set by a put under the memory lock."""

    def write_queues(self) -> None:
        """Write the new units of all queues.

        Raises:
            OSError: The disk is broken.
        """
        with self.write_lock:
            self._tolerate_full_disk(WriteRefusal.QUEUE_SPACE, self._write_touched)

    def write_index(self) -> None:
        """Add the keys of new messages to the index.

        Raises:
            OSError: The disk is broken.
        """
        self._tolerate_full_disk(WriteRefusal.INDEX_SPACE, self._index.catch_up)

    def write_checkpoint(self) -> None:
        """Sync everything, then replace checkpoint and manifest.

        Raises:
            OSError: The log could not be synced, or the disk is broken.
        """
        with self.write_lock:
            with self._memory_lock:
                last_store_ms = self.last_store_ms
                log_end = self._commit_log.end
            self._commit_log.flush()
            self.write_index()
            note = self._index.sync()
            self._tolerate_full_disk(WriteRefusal.QUEUE_SPACE, lambda: self._checkpoint_at(last_store_ms, log_end, note))

    def _tolerate_full_disk(self, kind: WriteRefusal, work: Callable[[], None]) -> None:
        try:
            work()
        except OSError as error:
            if not is_no_space(error):
                raise
            grown = f"consume queues in {self._paths.consume_queue}"
            if kind is WriteRefusal.INDEX_SPACE:
                grown = f"index files in {self._paths.index}"
            text = (
                f"the {grown} cannot grow: {error.strerror}. Free some room on the disk; "
                "messages are taken again within seconds"
            )
            if not self._gate.holds(kind):
                _log.warning("%s", text)
            self._gate.refuse(kind, text)
        else:
            if self._gate.holds(kind):
                self._gate.withdraw(kind)

    def _write_touched(self) -> None:
        with self._memory_lock:
            queues = self._queues.take_touched()
        done = 0
        try:
            for queue in queues:
                # Copied one by one: copies of thousands of queues at a time would be megabytes.
                with self._memory_lock:
                    pending = queue.pending()
                queue.write(pending)
                with self._memory_lock:
                    queue.written(pending)
                done += 1
        finally:
            if done < len(queues):
                with self._memory_lock:
                    for queue in queues[done:]:
                        self._queues.rows.touch(queue.row)

    def _checkpoint_at(self, last_store_ms: int, log_end: int, index: IndexNote | None) -> None:
        self._write_touched()
        for queue in self._queues:
            if queue.needs_sync:
                queue.sync()
        index_ms = self._index.full_end_ms or self._checkpoint.index_ms
        checkpoint = replace(self._checkpoint, physic_ms=last_store_ms, logics_ms=last_store_ms, index_ms=index_ms)
        with self._memory_lock:
            ends = {(queue.topic, queue.queue_id): queue.written_offset for queue in self._queues}
        write_checkpoint(self._paths.checkpoint, checkpoint, self._disk)
        self._queues.write_manifest(checkpoint, QueueManifest(log_end, ends, index))
        self._checkpoint = checkpoint
