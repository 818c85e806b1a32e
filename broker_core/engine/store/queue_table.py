"""All consume queues of a store, and the manifest of their ends.

A queue whose directory was lost leaves no trace in the others, so each checkpoint writes their ends to ``orbit.queues``. The
manifest is only used with exactly its checkpoint. It never adds to a queue; it only makes recovery build one from the log.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

from broker_core.engine.store.checkpoint import Checkpoint
from broker_core.engine.store.consume_queue import UNIT_BYTES, ConsumeQueue
from broker_core.engine.store.consume_queue_ext import ConsumeQueueExtension
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.paths import StorePaths, offset_files, queue_directories
from broker_core.engine.store.topic_folders import TopicFolders
from broker_core.native.queue_rows import QueueRows
from broker_core.outside import read_json

QueueKey = tuple[str, int]


class IndexNote(NamedTuple):
    """State of the index when a checkpoint was written.

    Attributes:
        names: Its files, oldest first.
        header: First bytes of the last file.
        log_end: It was complete up to this physical offset.
    """

    names: list[str]
    header: bytes
    log_end: int


class QueueManifest(NamedTuple):
    """State on the disk when a checkpoint was written.

    Attributes:
        log_end: Log and queues were complete up to this physical offset.
        ends: Max offset of each queue.
        index_note: The same of the index; None without an index.
    """

    log_end: int
    ends: dict[QueueKey, int]
    index_note: IndexNote | None = None


class QueueTable:
    """Queues by topic and queue id.

    ``file_bytes`` is the size of queue files in a new store. ``extension_file_bytes`` is the size of extension files, None if
    none are written; existing ones are read.
    """

    def __init__(
        self, paths: StorePaths, file_bytes: int, disk: Disk, *, read_only: bool, extension_file_bytes: int | None = None
    ) -> None:
        self._paths = paths
        self._disk = disk
        self._read_only = read_only
        self._extension_file_bytes = extension_file_bytes
        self._directories = queue_directories(paths.consume_queue)
        self._folders = TopicFolders(paths.owner, (directory.parent.name for _, _, directory in self._directories))
        self.file_bytes = self._size_on_disk() or file_bytes
        self._has_extensions = paths.consume_queue_ext.is_dir()
        self.rows = QueueRows()
        self.by_key: dict[QueueKey, ConsumeQueue] = {}
        self._by_row: dict[int, ConsumeQueue] = {}

    def load(self) -> None:
        """Load the queues that were on the disk at the start; once."""
        for topic, queue_id, _ in self._directories:
            self.get_or_add(topic, queue_id).load()
        self._directories = []

    def get_or_add(self, topic: str, queue_id: int) -> ConsumeQueue:
        """A queue; a new one has no files until it is written."""
        key = topic, queue_id
        queue = self.by_key.get(key)
        if queue is None:
            directory = self._paths.queue(self._folders.of(topic), queue_id)
            queue = ConsumeQueue(
                topic,
                queue_id,
                directory,
                self.file_bytes,
                self._disk,
                read_only=self._read_only,
                rows=self.rows,
                extension=self._extension(topic, queue_id),
            )
            self.by_key[key] = self._by_row[queue.row] = queue
        return queue

    def remove(self, key: QueueKey) -> None:
        """Remove a queue and its files; under the store's lock.

        Raises:
            OSError: The files cannot be deleted. The queue is removed nevertheless.
        """
        queue = self.by_key.pop(key)
        del self._by_row[queue.row]
        queue.remove()

    def at(self, row: int) -> ConsumeQueue | None:
        """The queue of a row; None when it was removed."""
        return self._by_row.get(row)

    def take_touched(self) -> list[ConsumeQueue]:
        """The queues that got units since the last call; under the store's lock."""
        return [self._by_row[row] for row in self.rows.take_touched()]

    def _extension(self, topic: str, queue_id: int) -> ConsumeQueueExtension | None:
        file_bytes = self._extension_file_bytes
        directory = self._paths.queue_extension(self._folders.of(topic), queue_id)
        if file_bytes is None and not (self._has_extensions and directory.is_dir()):
            return None
        return ConsumeQueueExtension(
            directory, file_bytes or 1, self._disk, is_written=file_bytes is not None, read_only=self._read_only
        )

    def __iter__(self) -> Iterator[ConsumeQueue]:
        return iter(list(self.by_key.values()))

    def _size_on_disk(self) -> int:
        """Size of the first whole queue file; a store keeps the size it was made with."""
        for _, _, directory in self._directories:
            for path, _ in offset_files(directory):
                size = path.stat().st_size
                if size and not size % UNIT_BYTES:
                    return size
        return 0

    # ---- manifest ------------------------------------------------------------------------------------------------------

    def write_manifest(self, checkpoint: Checkpoint, manifest: QueueManifest) -> None:
        rows = [[topic, queue_id, end] for (topic, queue_id), end in sorted(manifest.ends.items()) if end]
        note = {"checkpoint": _identity(checkpoint), "logEnd": manifest.log_end, "queues": rows}
        if manifest.index_note is not None:
            names, header, log_end = manifest.index_note
            note["index"] = {"files": names, "header": header.hex(), "logEnd": log_end}
        text = json.dumps(note, separators=(",", ":"))
        self._disk.replace_file(self._paths.queue_manifest, text.encode())

    def read_manifest(self, checkpoint: Checkpoint) -> QueueManifest | None:
        """The manifest of exactly this checkpoint; None without one."""
        return read_manifest(self._paths, checkpoint)


def read_manifest(paths: StorePaths, checkpoint: Checkpoint) -> QueueManifest | None:
    """The manifest of exactly this checkpoint; None without one."""
    try:
        note = read_json(paths.queue_manifest.read_bytes())
        if note["checkpoint"] != _identity(checkpoint):
            return None
        ends = {(str(topic), int(queue_id)): int(end) for topic, queue_id, end in note["queues"]}
        return QueueManifest(int(note["logEnd"]), ends, _index_note(note.get("index")))
    except (OSError, ValueError, OverflowError, KeyError, TypeError):
        # Only a hint: without it, recovery trusts the files, as RocketMQ does.
        return None


def _index_note(note: dict[str, Any] | None) -> IndexNote | None:
    if note is None:
        return None
    return IndexNote([str(name) for name in note["files"]], bytes.fromhex(note["header"]), int(note["logEnd"]))


def _identity(checkpoint: Checkpoint) -> list[int]:
    return [checkpoint.physic_ms, checkpoint.logics_ms]
