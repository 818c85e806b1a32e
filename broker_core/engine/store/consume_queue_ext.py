"""Extension of a consume queue: tags code, store time and filter bits of messages whose unit has no room for them.

    size i16 (of the whole unit) | tags code i64 | store timestamp i64 | bitmap length i16, in bytes | bitmap

Instead of the tags code, the consume queue's unit then holds the address of the extension's unit: its offset with the sign
bit set. A unit never crosses a file's end: if it does not fit with 4 bytes to spare, the size -1 ends the file.

As in queues, new units are kept in memory until `write`. Recovery adds no units; it stores plain tags codes, which readers
accept too. Units are only looked up by address, so a lost one means an unknown tag, not a lost message.

Source: docs/spec/store.md §4.6.
"""

from __future__ import annotations

import struct
import threading
from pathlib import Path
from typing import NamedTuple

from broker_core.engine.store.disk import Disk
from broker_core.engine.store.file_row import FileRow
from broker_core.engine.store.paths import offset_files

HEAD = struct.Struct(">hqqh")
HEAD_BYTES = 20
assert HEAD.size == HEAD_BYTES

FILE_END = struct.pack(">h", -1)
FILE_END_ROOM_BYTES = 4
UNIT_BYTES_MAX = 32767
ADDRESS_MAX = -2147483649
"""Largest address; every hash is greater."""
_ADDRESS_BASE = -(1 << 63)
_OFFSET_MAX = ADDRESS_MAX - _ADDRESS_BASE

_KEPT_BYTES = 8 * 1024
"""Written bytes kept in memory for the consumers that keep up; also the bytes read from a file at a time."""


class ExtUnit(NamedTuple):
    """One unit. An empty ``bitmap`` means that its filters are unknown."""

    tags_code: int
    store_ms: int
    bitmap: bytes


class PendingExt(NamedTuple):
    """Bytes that `ConsumeQueueExtension.write` writes."""

    start: int
    data: bytes


def is_address(tags_code: int) -> bool:
    """Whether a unit's third field is an address in the extension."""
    return tags_code <= ADDRESS_MAX


def address_of(offset: int) -> int:
    return offset + _ADDRESS_BASE


def offset_of(address: int) -> int:
    """Offset in the extension that an address names."""
    return address - _ADDRESS_BASE


def decode_unit(data: bytes | bytearray | memoryview, position: int = 0) -> ExtUnit | None:
    """The unit at a position of any bytes; None without one."""
    if position + HEAD_BYTES > len(data):
        return None
    size, tags_code, store_ms, bitmap_bytes = HEAD.unpack_from(data, position)
    if size != HEAD_BYTES + bitmap_bytes or bitmap_bytes < 0 or position + size > len(data):
        return None
    return ExtUnit(tags_code, store_ms, bytes(data[position + HEAD_BYTES : position + size]))


class ConsumeQueueExtension:
    """The extension of one queue. `unit` may be called from any thread; the rest as in `ConsumeQueue`.

    Args:
        directory: Directory of its files; may not exist yet.
        file_bytes: Size of a file, unless files exist.
        disk: Access to the operating system.
        is_written: New messages get units; else existing ones are only read.
        read_only: Never write to the directory.
    """

    __slots__ = (
        "_cached",
        "_cached_start",
        "_disk",
        "_files",
        "_lock",
        "_tail",
        "_tail_start",
        "_written",
        "end",
        "file_bytes",
        "is_written",
    )

    def __init__(self, directory: Path, file_bytes: int, disk: Disk, *, is_written: bool, read_only: bool) -> None:
        files = offset_files(directory)
        sizes = [size for size in (path.stat().st_size for path, _ in files) if size]
        self.file_bytes = sizes[0] if sizes else file_bytes
        self.is_written = is_written and not read_only
        self.end = 0
        """Offset after the last unit; known once `settle` was called."""
        self._files = FileRow(directory, self.file_bytes, disk, read_only=read_only)
        self._disk = disk
        self._lock = threading.Lock()
        self._tail = bytearray()
        self._tail_start = 0
        self._written = 0
        self._cached = b""
        self._cached_start = 0

    # ---- writing -------------------------------------------------------------------------------------------------------

    def add(self, tags_code: int, store_ms: int, bitmap: bytes = b"") -> int:
        """Add a unit; returns its address, or the tags code if the unit is too large."""
        size = HEAD_BYTES + len(bitmap)
        if size > UNIT_BYTES_MAX or size + FILE_END_ROOM_BYTES > self.file_bytes or self.end + size > _OFFSET_MAX:
            return tags_code
        with self._lock:
            rest = self.file_bytes - self.end % self.file_bytes
            if size + FILE_END_ROOM_BYTES > rest:
                self._tail += FILE_END.ljust(rest, b"\0")
                self.end += rest
            address = address_of(self.end)
            self._tail += HEAD.pack(size, tags_code, store_ms, len(bitmap)) + bitmap
            self.end += size
        return address

    def pending(self) -> PendingExt:
        """Copy of the unwritten bytes."""
        return PendingExt(self._written, bytes(self._tail[self._written - self._tail_start :]))

    def write(self, pending: PendingExt) -> None:
        """Write units to the files.

        Raises:
            OSError: The disk is full or broken; `written` must not be called then.
        """
        self._files.write(pending.data, pending.start)

    def written(self, pending: PendingExt) -> None:
        """Note that `write` succeeded."""
        with self._lock:
            self._written = pending.start + len(pending.data)
            surplus = self._written - self._tail_start - _KEPT_BYTES
            if surplus > 0:
                del self._tail[:surplus]
                self._tail_start += surplus

    def sync(self) -> None:
        """Sync the written files.

        Raises:
            OSError: The sync failed.
        """
        if self._files.sync():
            self._disk.sync_directory(self._files.directory.parents[2])

    # ---- reading -------------------------------------------------------------------------------------------------------

    def unit(self, address: int) -> ExtUnit | None:
        """The unit at an address; None without one."""
        offset = offset_of(address)
        with self._lock:
            if offset >= self._tail_start:
                return decode_unit(self._tail, offset - self._tail_start)
            found = None
            if offset >= self._cached_start:
                found = decode_unit(self._cached, offset - self._cached_start)
            if found is None:
                self._cached, self._cached_start = self._read(offset), offset
                found = decode_unit(self._cached)
            return found

    def _read(self, offset: int) -> bytes:
        position = offset % self.file_bytes
        return self._files.read(offset, min(max(_KEPT_BYTES, UNIT_BYTES_MAX), self.file_bytes - position))

    # ---- recovery and deletion -----------------------------------------------------------------------------------------

    def settle(self, last_address: int | None) -> None:
        """Set the unit at an address as the last one; unless read-only, everything after it is removed."""
        with self._lock:
            self._tail, self._tail_start, self._written = bytearray(), 0, 0
            self._cached, self._cached_start = b"", 0
            self.end = 0 if last_address is None else self._behind(offset_of(last_address))
            self._tail_start = self._written = self.end
        self._files.clear_from(self.end)

    def _behind(self, offset: int) -> int:
        """Offset after the unit at an offset; the next file's if that unit is damaged."""
        unit = decode_unit(self._read(offset))
        if unit is None:
            return offset - offset % self.file_bytes + self.file_bytes
        return offset + HEAD_BYTES + len(unit.bitmap)

    def remove_before(self, address: int) -> None:
        """Delete the files that lie wholly before an address, never the last one.

        Raises:
            OSError: A file cannot be deleted.
        """
        self._files.remove_before(min(offset_of(address), self._written))

    def remove(self) -> None:
        """Delete files and directory, and the topic's directory if it is empty then."""
        self.settle(None)
        self._files.remove_directory()
