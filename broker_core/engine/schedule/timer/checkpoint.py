"""`config/timercheck`: the progress of the timer files.

    read time i64 | log flush position i64 | queue offset i64 | the master's queue offset i64
    state version i64 | timestamp i64 | counter i64 | zeros up to 2048
    Orbit: time of a slot i64 | position i64 | physical offset i64 | zeros up to 4096

Source: docs/spec/store.md §14.1.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from broker_core.engine.store.config_file import ConfigRule, Loaded, load_kept
from broker_core.engine.store.disk import Disk
from broker_core.errors import CodecError
from broker_core.kept_file import EMPTY, KeptFile

CHECKPOINT_FILE = "timercheck"
CHECKPOINT_RULE = ConfigRule("every timer message that is kept is delivered again")

CHECKPOINT = struct.Struct(">7q")
PROGRESS = struct.Struct(">3q")
CHECKPOINT_FILE_BYTES = 4096
PROGRESS_POSITION = 2048
"""Place of Orbit's progress of a slot, far behind the fields of RocketMQ, which keeps the bytes there."""
READ_MS_MAX = 253_402_300_799_999
"""The last millisecond of the year 9999."""


class SlotProgress(NamedTuple):
    """How far the messages of one slot are delivered. It stays true when the slot is done.

    Attributes:
        slot_ms: Time of the slot; 0 when no slot was begun.
        position: Units of the slot up to this position of the timer log are done. Cancels are not: they count for
            the rest of the slot.
        physical_offset: Of the unit at that position. A different one there means that the timer log was rebuilt.
    """

    slot_ms: int = 0
    position: int = 0
    physical_offset: int = 0


NO_PROGRESS = SlotProgress()


@dataclass(frozen=True, slots=True)
class TimerCheckpoint:
    """Progress of the timer files. A broker without a master keeps both queue offsets equal.

    Attributes:
        read_ms: Slots before this time are done.
        flush_position: The timer log is on disk up to here.
        queue_offset: Messages of the wheel topic before this one are in the timer log, or done.
        progress: Of the current or last slot.
    """

    read_ms: int = 0
    flush_position: int = 0
    queue_offset: int = 0
    master_queue_offset: int = 0
    state_version: int = 0
    timestamp_ms: int = 0
    counter: int = 0
    progress: SlotProgress = NO_PROGRESS

    def encode(self) -> bytes:
        own = self.pack().ljust(PROGRESS_POSITION, b"\0") + PROGRESS.pack(*self.progress)
        return own.ljust(CHECKPOINT_FILE_BYTES, b"\0")

    def pack(self) -> bytes:
        """The fields alone, as sent to slaves."""
        return CHECKPOINT.pack(
            self.read_ms, self.flush_position, self.queue_offset, self.master_queue_offset, self.state_version,
            self.timestamp_ms, self.counter,
        )  # fmt: skip


def decode_checkpoint(data: bytes) -> TimerCheckpoint:
    """Checkpoint of a file's bytes. Raises `CodecError` where they are damaged."""
    if not any(data):
        raise CodecError(EMPTY)
    if len(data) != CHECKPOINT_FILE_BYTES:
        raise CodecError(f"it has {len(data):,} bytes; a checkpoint has {CHECKPOINT_FILE_BYTES:,}")
    found = TimerCheckpoint(*CHECKPOINT.unpack_from(data))
    if not 0 <= found.read_ms <= READ_MS_MAX or min(found.flush_position, found.queue_offset) < 0:
        raise CodecError(
            f"it has the read time {found.read_ms}, the position {found.flush_position} and the offset {found.queue_offset}"
        )
    return replace(found, progress=SlotProgress(*PROGRESS.unpack_from(data, PROGRESS_POSITION)))


def checkpoint_file(path: Path, disk: Disk) -> KeptFile[TimerCheckpoint]:
    """The file, to read and to write."""
    return KeptFile(path, decode_checkpoint, replace=disk.replace_file, is_text=False)


def load_checkpoint(
    path: Path, disk: Disk, *, holds_timers: Callable[[], bool], ended_cleanly: bool = True
) -> Loaded[TimerCheckpoint]:
    """The checkpoint of a store. A missing one is reported after a clean end: a crash may come before the first is written.

    Raises:
        CorruptStoreError: Neither the file nor its backup can be used, and ``holds_timers``.
        StoreError: The operating system refuses.
    """
    loaded = load_kept(checkpoint_file(path, disk), lambda _found: None, CHECKPOINT_RULE, holds_messages=holds_timers)
    if loaded.value is None and not loaded.report and ended_cleanly and holds_timers():
        return loaded._replace(report=f"config/{path.name} is missing: {CHECKPOINT_RULE.effect}")
    return loaded
