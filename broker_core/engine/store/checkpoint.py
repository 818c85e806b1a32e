"""The checkpoint: store times up to which log, queues and index are on the disk.

    physicMsgTimestamp i64 | logicsMsgTimestamp i64 | indexMsgTimestamp i64 | (5.x: two more i64) | zeros up to 4096

Source: docs/spec/store.md §6.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

from broker_core.engine.store.disk import Disk

FILE_BYTES = 4096
_FIELDS = struct.Struct(">qqq")
_MARGIN_MS = 3_000


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Store times in milliseconds; 0 where unknown."""

    physic_ms: int = 0
    logics_ms: int = 0
    index_ms: int = 0
    rest: bytes = b""
    """Bytes after the fields, kept for newer brokers."""

    @property
    def min_timestamp_ms(self) -> int:
        """Messages stored at or before this time are in the log and in the queues."""
        return max(0, min(self.physic_ms, self.logics_ms) - _MARGIN_MS)

    def encode(self) -> bytes:
        return (_FIELDS.pack(self.physic_ms, self.logics_ms, self.index_ms) + self.rest).ljust(FILE_BYTES, b"\0")


def read_checkpoint(path: Path) -> Checkpoint:
    """The checkpoint of a store; all unknown if the file is missing or short."""
    data = path.read_bytes() if path.is_file() else b""
    if len(data) < _FIELDS.size:
        return Checkpoint()
    physic_ms, logics_ms, index_ms = _FIELDS.unpack_from(data)
    return Checkpoint(physic_ms, logics_ms, index_ms, rest=data[_FIELDS.size : FILE_BYTES])


def write_checkpoint(path: Path, checkpoint: Checkpoint, disk: Disk) -> None:
    """Replace the checkpoint. The data that it promises must be on the disk before."""
    disk.replace_file(path, checkpoint.encode())
