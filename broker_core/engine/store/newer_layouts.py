"""Parts of 5.x stores that this store knows by name only, and which of them forbid writing.

    timerwheel, timerlog     arbitrary delays; left alone, because the messages are in the log and in a queue of their own
    compaction               copies of compacted topics; left alone, the log has the messages
    batchconsumequeue        queues of inner batches, whose numbering our queues cannot continue: read-only
    RocksDB                  queues or settings in a database: read-only, without its content

Source: docs/spec/store.md §1.1, §4.7, §14.
"""

from __future__ import annotations

from pathlib import Path

from broker_core.engine.store.paths import StorePaths
from broker_core.errors import ForeignStoreError

ENTRIES = ("timerwheel", "timerlog", "compaction", "batchconsumequeue", "epochFileCheckpoint", "brokerIdentity")
"""Names in a store's directory that no 4.9 store has."""

ROCKSDB_FILE = "CURRENT"
"""Every RocksDB database has a file of this name."""


def check_layout(root: Path) -> None:
    """Refuse to write to a store with parts that would become inconsistent.

    Raises:
        ForeignStoreError: The store keeps queues or settings in a form that this store cannot continue.
    """
    paths = StorePaths(root)
    batch_queues = root / "batchconsumequeue"
    if batch_queues.is_dir() and any(path.is_file() for path in batch_queues.rglob("*")):
        raise ForeignStoreError(
            f"{batch_queues} holds batch queues of RocketMQ 5, which only RocketMQ can go on writing. Open the store read-only "
            "to look at its messages, or choose another directory",
            path=str(batch_queues),
        )
    for directory in rocksdb_directories(root):
        what = "its consume queues" if directory == paths.consume_queue else "settings"
        raise ForeignStoreError(
            f"this store keeps {what} in a RocksDB database ({directory}), which only RocketMQ can go on writing. Open it "
            "read-only to look at its messages, or choose another directory",
            path=str(directory),
        )


def rocksdb_directories(root: Path) -> list[Path]:
    """Directories of a store's RocksDB databases."""
    paths = StorePaths(root)
    inside = sorted(path for path in paths.config.iterdir() if path.is_dir()) if paths.config.is_dir() else []
    return [path for path in (paths.consume_queue, *inside) if (path / ROCKSDB_FILE).is_file()]
