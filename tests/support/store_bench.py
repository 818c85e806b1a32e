"""A store directory for tests: opening, crashing, a disk that fails on demand."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from broker_core.config import StoreConfig
from broker_core.engine.store.disk import Disk
from broker_core.engine.store.index_service import Progress
from broker_core.engine.store.message_store import MessageStore
from broker_core.platform.kernel_sync import KernelSync
from broker_core.protocol.message.model import HostAddress, MessageToStore
from tests.support.clock import ManualClock

HOST = HostAddress.parse("127.0.0.1:10911")
LOG_FILE_BYTES = 1 << 14
QUEUE_FILE_BYTES = 200
INDEX_SLOTS = 50
INDEX_ITEMS = 101
"""So that the three keys of a message may lie in two files."""


class FaultyDisk(Disk):
    """A disk that fails on demand, and is never full by itself."""

    def __init__(self) -> None:
        self.sync_error = 0
        self.allocate_error = 0
        self.write_error = 0
        self.syncs = 0
        self.looks = 0
        """Questions for its use."""
        self.used_percent = 10
        self.before_sync: Callable[[], None] = lambda: None

    def sync(self, descriptor: int) -> None:
        self.before_sync()
        self.syncs += 1
        _fail(self.sync_error)
        super().sync(descriptor)

    def kernel_sync(self) -> KernelSync:
        raise OSError(errno.ENOSYS, "its faults are in `sync`")

    def allocate(self, descriptor: int, position: int, size: int) -> None:
        _fail(self.allocate_error)
        super().allocate(descriptor, position, size)

    def write_at(self, descriptor: int, data: bytes | bytearray | memoryview, position: int) -> None:
        _fail(self.write_error)
        super().write_at(descriptor, data, position)

    def usage(self, path: Path) -> tuple[int, int]:  # noqa: ARG002  as the real one
        self.looks += 1
        return self.used_percent * 1_000_000, 100_000_000


def _fail(number: int) -> None:
    if number:
        raise OSError(number, os.strerror(number))


NO_SPACE = errno.ENOSPC
BROKEN = errno.EIO


def message(body: bytes = b"body", *, topic: str = "Orders", queue_id: int = 0, **changes: Any) -> MessageToStore:
    """A message with the given changes."""
    values: dict[str, Any] = {
        "topic": topic,
        "queue_id": queue_id,
        "flag": 0,
        "sys_flag": 0,
        "born_timestamp_ms": 1_700_000_000_000,
        "born_host": HOST,
        "store_host": HOST,
        "reconsume_times": 0,
        "prepared_transaction_offset": 0,
        "body": body,
        "properties": b"TAGS\x01TagA",
    }
    return MessageToStore(**(values | changes))


class StoreBench:
    """Opens stores in one directory; closes what a test leaves open."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.clock = ManualClock()
        self.disk = FaultyDisk()
        self.opened: list[MessageStore] = []

    def config(self, **changes: Any) -> StoreConfig:
        """Small files; background work only when a test asks for it."""
        values: dict[str, Any] = {
            "root": self.root,
            "commit_log_file_bytes": LOG_FILE_BYTES,
            "consume_queue_file_bytes": QUEUE_FILE_BYTES,
            "max_hash_slots": INDEX_SLOTS,
            "max_index_items": INDEX_ITEMS,
            "flush_commit_log_interval_ms": 3_600_000,
            "flush_consume_queue_interval_ms": 3_600_000,
        }
        return StoreConfig(**(values | changes))

    def open(self, *, read_only: bool = False, progress: Progress | None = None, **changes: Any) -> MessageStore:
        """Open it; settings under their attribute names."""
        store = MessageStore.open(
            self.config(**changes), clock=self.clock, disk=self.disk, read_only=read_only, progress=progress
        )
        self.opened.append(store)
        return store

    def crash(self, store: MessageStore) -> None:
        """End without any of the work of a close, as far as the files can tell."""
        store._parts.flush_service.close()
        store._parts.index.close()
        store._parts.commit_log.close()
        assert store._parts.ownership is not None
        store._parts.ownership.release()
        store._is_open = False
