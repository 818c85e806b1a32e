"""Parts of 5.x stores that this store knows by name only: what they are, and which of them it must not write beside.

    timerwheel, timerlog     arbitrary delays; left alone, as the messages are in the log and in a queue of their own
    compaction               copies of compacted topics; left alone, the log has the messages
    batchconsumequeue        queues of inner batches, whose numbers our queues cannot go on with: only to be read
    RocksDB                  queues or settings in a database: only to be read, without what is in there

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
    """Refuse to write to a store with parts that would go out of step.

    Raises:
        ForeignStoreError: It keeps queues or settings in a way that this store cannot continue.
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
    """Where a store keeps RocksDB databases."""
    paths = StorePaths(root)
    inside = sorted(path for path in paths.config.iterdir() if path.is_dir()) if paths.config.is_dir() else []
    return [path for path in (paths.consume_queue, *inside) if (path / ROCKSDB_FILE).is_file()]
