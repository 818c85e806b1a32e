"""The commit log: all records of the store in sequence, in mapped files of one size.

    put:    reserve room on the disk, write the record, then move ``end``
    flush:  sync the files between ``flushed`` and ``end``, then move ``flushed``

One thread appends at a time (the store's lock); any thread reads before ``end``; one thread flushes at a time.
Returned records are slices of the mapping, which stays alive as long as they do.

Source: docs/spec/store.md §1.3, §1.4, §2.3, §8.2.
"""

from __future__ import annotations

import mmap
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

from broker_core.engine.store.disk import Disk
from broker_core.engine.store.log_places import LogPlaces
from broker_core.errors import CorruptStoreError
from broker_core.platform import replacing
from broker_core.protocol.message.model import MessageToStore
from broker_core.protocol.message.record import (
    CRC_MASK,
    FILLER,
    HEADS_AFTER_SIZE,
    LENGTH_I16,
    MAGIC_BLANK,
    MAGIC_POSITION,
    MAGIC_V1,
    MAGIC_V2,
    SIZE,
    SIZE_AND_MAGIC,
    SMALLEST_RECORD,
    TopicField,
)
from broker_core.protocol.message.sys_flag import HOST_V6_MASK

PAGE_BYTES = 4096
FILLER_BYTES = FILLER.size

_RESERVE_BYTES = 1024 * 1024
"""Room reserved and brought to memory at a time; a put that reaches its end waits 0.2 ms."""
_SYNCED_PIECE_BYTES = 16 * 1024
"""Page size of a log that is synced all the time. A sync writes whole pages: 1 KB for each message of 370 bytes, with larger
pages 3 to 7.
"""
_READ_MAPS_MAX = 256
"""Bound on the mappings kept for reading; others are made again."""

_pack_size = SIZE.pack_into
_Layout = tuple[int, Callable[..., None]]
"""Size of records, and the function that packs all of one but TOTALSIZE into a buffer at a position."""
_LAYOUTS_MAX = 1024
"""Bound on the layouts kept; one takes 700 bytes, and 3 µs to make."""
_LAYOUTS_MISSED_MAX = 16 * _LAYOUTS_MAX
"""After so many records of other lengths, the kept layouts are dropped."""
assert SIZE.size == MAGIC_POSITION == 4


class LogRoom(NamedTuple):
    """Room for records that is reserved on the disk.

    Attributes:
        buffer: The file, mapped.
        base: Physical offset of its first byte.
        position: Where the next record goes.
        end: Where records end at most.
    """

    buffer: mmap.mmap
    base: int
    position: int
    end: int


class CommitLog:
    """Files of the commit log.

    Args:
        places: Directories of the files, created with the first record.
        file_bytes: Size of each file; existing files must have it (see `file_size_on_disk`).
        disk: Access to the operating system.
        read_only: Never write, not even to correct.
        is_synced_often: Each put waits for a sync.
    """

    def __init__(
        self, places: LogPlaces, file_bytes: int, disk: Disk, *, read_only: bool, is_synced_often: bool = False
    ) -> None:
        self._places = places
        self._disk = disk
        self._read_only = read_only
        self._piece_bytes = _SYNCED_PIECE_BYTES if is_synced_often else _RESERVE_BYTES
        self.file_bytes = file_bytes
        self.bases = [base for _, base in places.files()]
        self.end = self.bases[0] if self.bases else 0
        """Physical offset after the last record; the log's start until recovery has found it."""
        self.flushed = self.end
        self._buffer: mmap.mmap | None = None
        self._base = -1
        self._position = 0
        self._reserved = 0
        self._layouts: dict[tuple[int, int, int, int], _Layout] = {}
        """By lengths of body, properties and topic field, and host bits: one call packs a record, 0.3 µs less than joining."""
        self._layouts_missed = 0
        self._unmapped = 0
        """Physical offset before which pages were unmapped; two threads may set it, and at worst a page is unmapped twice."""
        self._maps: OrderedDict[int, memoryview] = OrderedDict()
        self._maps_lock = threading.Lock()
        self._descriptors: dict[int, int] = {}
        self._flush_lock = threading.Lock()
        self._synced_lock = threading.Lock()

    @property
    def directories(self) -> list[Path]:
        """Directories that may hold its files."""
        return self._places.directories

    # ---- appending -----------------------------------------------------------------------------------------------------

    def append(
        self, message: MessageToStore, topic: TopicField, sys_flag: int, queue_offset: int, now_ms: int
    ) -> tuple[int, int]:
        """Write one record; returns its physical offset and size.

        TOTALSIZE is written last: after a kill in the middle, recovery finds no record there, and never one without its
        properties (BODYCRC does not cover them).

        Args:
            message: The message.
            topic: Its topic in the form of records.
            sys_flag: With the host bits of its addresses.
            queue_offset: Offset in its queue.
            now_ms: Store timestamp.

        Raises:
            OSError: There is no room on the disk; nothing has changed.
        """
        topic_bytes = topic.field
        body, properties = message.body, message.properties
        if type(body) is memoryview:
            body = bytes(body)
        body_bytes, properties_bytes = len(body), len(properties)
        lengths = (body_bytes, properties_bytes, len(topic_bytes), sys_flag & HOST_V6_MASK)
        size, pack_record = self._layouts.get(lengths) or self._layout(*lengths)
        position = self._position
        if position + size > self._reserved:
            self.make_room(size)
            position = self._position
        buffer = self._buffer
        assert buffer is not None
        physical_offset = self._base + position
        pack_record(
            buffer, position + 4, topic.magic_code, crc32(body) & CRC_MASK, message.queue_id, message.flag, queue_offset,
            physical_offset, sys_flag, message.born_timestamp_ms, message.born_host.packed, now_ms, message.store_host.packed,
            message.reconsume_times, message.prepared_transaction_offset, body_bytes, body, topic_bytes, properties_bytes,
            properties,
        )  # fmt: skip
        _pack_size(buffer, position, size)
        self._position = position + size
        self.end = physical_offset + size
        return physical_offset, size

    def _layout(self, body_bytes: int, properties_bytes: int, topic_bytes: int, v6: int) -> _Layout:
        head = HEADS_AFTER_SIZE[v6 >> 4]
        size = SIZE.size + head.size + body_bytes + topic_bytes + LENGTH_I16.size + properties_bytes
        if len(self._layouts) >= _LAYOUTS_MAX:
            self._layouts_missed += 1
            if self._layouts_missed < _LAYOUTS_MISSED_MAX:
                return size, partial(_pack_joined, head)
            self._layouts.clear()
        self._layouts_missed = 0
        record = struct.Struct(f"{head.format}{body_bytes}s{topic_bytes}sh{properties_bytes}s")
        layout = self._layouts[body_bytes, properties_bytes, topic_bytes, v6] = size, record.pack_into
        return layout

    def append_block(self, block: bytes) -> None:
        """Write records that were laid out for the current end; the caller calls `make_room` for all of them first."""
        buffer, position = self._buffer, self._position
        assert buffer is not None
        end = position + len(block)
        # The first TOTALSIZE is written last, as in `append`; the others are only found through it.
        buffer[position + SIZE.size : end] = memoryview(block)[SIZE.size :]
        buffer[position : position + SIZE.size] = block[: SIZE.size]
        self._position = end
        self.end = self._base + end

    def room(self) -> LogRoom | None:
        """Where the next records go; None before the first one since the start."""
        if self._buffer is None:
            return None
        return LogRoom(self._buffer, self._base, self._position, self._reserved)

    def wrote(self, position: int) -> None:
        """Note that the room up to a position of the file was filled with whole records."""
        self._position = position
        self.end = self._base + position

    def fits(self, size: int) -> bool:
        """Whether a record, or a batch, of this size can be stored at all."""
        return size + FILLER_BYTES <= self.file_bytes

    def make_room(self, size: int) -> int:
        """Reserve the next ``size`` bytes, in a new file if need be; returns their physical offset.

        The reserved room always includes a filler after the record, because a record may only be written where a filler still
        fits.

        Raises:
            OSError: There is no room on the disk; what was written stays.
        """
        assert self.fits(size)
        if self._buffer is None or self._position + size + FILLER_BYTES > self.file_bytes:
            self._roll(size)
        needed = self._position + size + FILLER_BYTES
        if needed > self._reserved + FILLER_BYTES:
            self._reserve(needed)
        return self.end

    def _roll(self, size: int) -> None:
        if self._buffer is not None:
            self._start_file(self._base + self.file_bytes)
        elif self.bases and self.end < self.bases[-1] + self.file_bytes:
            self._start_file(self.bases[-1])
            if self._position + size + FILLER_BYTES > self.file_bytes:
                self._start_file(self._base + self.file_bytes)
        else:
            self._start_file(self.end)

    def _start_file(self, base: int) -> None:
        """Continue in the file at ``base``, which may exist; the file before gets its filler once this one is on the disk."""
        is_new = base not in self.bases
        try:
            path = self.path(base)
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = self._disk.open_sized(path, self.file_bytes)
        except OSError:
            if is_new:
                self._places.forget(base)  # another disk may have room
            raise
        try:
            position = max(self.end - base, 0)
            reserved = self._reserve_range(descriptor, position, position)
            if is_new:
                # A power cut may lose the last file, or its size, but no file before it.
                self._disk.sync(descriptor)
                self._disk.sync_directory(path.parent)
            buffer = self._disk.map(descriptor, self.file_bytes)
        except OSError:
            self._disk.close(descriptor)
            raise
        self._write_filler()
        if is_new:
            self.bases.append(base)
        with self._maps_lock:
            self._maps[base] = memoryview(buffer).toreadonly()
        self._descriptors[base] = descriptor
        self._buffer, self._base, self._position = buffer, base, position
        self._set_reserved(reserved)
        self.end = base + position

    def path(self, base: int) -> Path:
        """The file at a base offset, there or to be made."""
        return self._places.path(base, self.file_bytes)

    def _write_filler(self) -> None:
        if self._buffer is not None and self._position < self.file_bytes:
            rest = self.file_bytes - self._position
            FILLER.pack_into(self._buffer, self._position, rest, MAGIC_BLANK)

    def _reserve(self, needed: int) -> None:
        descriptor = self._descriptors[self._base]
        self._set_reserved(self._reserve_range(descriptor, self._position, needed))

    def _reserve_range(self, descriptor: int, start: int, needed: int) -> int:
        end = min(self.file_bytes, max(needed, start + _RESERVE_BYTES))
        first = start // PAGE_BYTES * PAGE_BYTES
        if end > first:
            self._disk.allocate(descriptor, first, end - first)
            untouched = first if first == start else first + PAGE_BYTES
            if end > untouched:
                self._disk.write_zeros(descriptor, untouched, end - untouched, self._piece_bytes)
        return end

    def _set_reserved(self, end: int) -> None:
        # Less by a filler's size, so that one comparison in `append` covers both bounds.
        self._reserved = end - FILLER_BYTES

    # ---- reading -------------------------------------------------------------------------------------------------------

    @property
    def min_offset(self) -> int:
        """Physical offset of the first byte that is kept; 0 for an empty log."""
        return self.bases[0] if self.bases else 0

    def slice(self, physical_offset: int, size: int) -> memoryview | None:
        """Bytes as stored; None if deleted, never written or across a file's end."""
        if physical_offset < 0 or size <= 0 or physical_offset + size > self.end:
            return None
        position = physical_offset % self.file_bytes
        if position + size > self.file_bytes:
            return None
        mapped = self.map_at(physical_offset - position)
        return None if mapped is None else mapped[position : position + size]

    def record(self, physical_offset: int) -> memoryview | None:
        """The record that starts at an offset; None without one."""
        head = self.slice(physical_offset, SMALLEST_RECORD)
        if head is None:
            return None
        size, magic = SIZE_AND_MAGIC.unpack_from(head)
        if magic not in (MAGIC_V1, MAGIC_V2) or size < SMALLEST_RECORD:
            return None
        return self.slice(physical_offset, size)

    def map_at(self, base: int) -> memoryview | None:
        """The file at a base offset; None without one."""
        with self._maps_lock:
            mapped = self._maps.get(base)
            if mapped is not None:
                self._maps.move_to_end(base)
                return mapped
            path = self.path(base) if base in self.bases else None
            if path is None or not path.exists() or not path.stat().st_size:
                return None
            mapped = self._disk.map_read_only(path)
            self._maps[base] = mapped
            if len(self._maps) > _READ_MAPS_MAX:
                self._drop_oldest_map()
            return mapped

    def _drop_oldest_map(self) -> None:
        for base in self._maps:
            if base not in self._descriptors:  # those are written through their maps
                del self._maps[base]  # not closed: slices that are still in use keep the mapping
                return

    # ---- deleting ------------------------------------------------------------------------------------------------------

    def modified_ms(self) -> list[int]:
        """Time of the last write to each file, oldest file first."""
        return [self.path(base).stat().st_mtime_ns // 1_000_000 for base in list(self.bases)]

    def first_bytes(self, base: int, size: int) -> bytes:
        """First bytes of a file, read and not mapped."""
        return self._disk.read_at(self.path(base), size, 0)

    def remove_oldest(self, count: int) -> int:
        """Delete up to ``count`` files from the start, never the last and none that is not flushed; returns the number.

        Slices of them stay valid. A file that the system does not delete while it is in use stays until a later call.

        Raises:
            OSError: A file could not be deleted.
        """
        removed = 0
        while removed < count and len(self.bases) > 1:
            base = self.bases[0]
            if base in self._descriptors or base + self.file_bytes > self.flushed:
                break
            with self._maps_lock:
                self._maps.pop(base, None)  # before: Windows deletes no file that is mapped
                if not replacing.remove(self.path(base)):
                    break
                self._places.forget(base)
                del self.bases[0]
            removed += 1
        return removed

    # ---- flushing ------------------------------------------------------------------------------------------------------

    def dirty_pages(self) -> int:
        """Pages begun or filled since the last flush, as RocketMQ counts them."""
        return self.end // PAGE_BYTES - self.flushed // PAGE_BYTES

    def flush(self) -> int:
        """Sync everything appended before the call; returns the new ``flushed``.

        Raises:
            OSError: A sync failed. The caller must never try again, because the kernel may have dropped the pages.
        """
        with self._flush_lock:
            end = self.end
            if end == self.flushed:
                return end
            for base, descriptor in sorted(self._descriptors.items()):
                if base < end:
                    self.unmap_written(base, end)
                    self._disk.sync(descriptor)
                if base + self.file_bytes <= end and base != self._base:
                    del self._descriptors[base]
                    self._disk.close(descriptor)
            self.synced(end)
            return end

    def unmap_written(self, base: int, end: int) -> None:
        """Unmap what was written to the file at a base offset before ``end`` since the last call; its last page stays.

        A sync makes each mapped page read-only again. That costs an interrupt of the other processors for each page, 7 µs, and
        a page fault at the next write. Pages that are not mapped cost neither.
        """
        with self._maps_lock:
            mapped = self._maps.get(base)
        first = max(self._unmapped, base) - base
        last = min(end - base, self.file_bytes) // PAGE_BYTES * PAGE_BYTES
        if mapped is not None and last > first:
            self._disk.unmap_pages(mapped[first:last])
            self._unmapped = base + last

    def unsynced_file(self) -> tuple[int, int] | None:
        """Base offset of the one file that holds all bytes not synced, and the log's end; None for more files or none."""
        end = self.end  # first: should the next file be begun now, its base is not before ``end``
        base = self._base
        return (base, end) if base <= self.flushed < end else None

    def open_again(self, base: int) -> int:
        """A further descriptor of the file being written, for a caller that syncs and closes it.

        The system reports a failed write once per open file description, so a sync beside `flush` needs its own.

        Raises:
            OSError: It cannot be opened.
        """
        return self._disk.open_sized(self.path(base), self.file_bytes)

    def synced(self, end: int) -> None:
        """Note that everything before ``end`` is on the disk."""
        with self._synced_lock:
            self.flushed = max(self.flushed, end)

    # ---- recovery and end ----------------------------------------------------------------------------------------------

    def set_end(self, end: int) -> None:
        """Set the end of the log; unless read-only, delete or zero everything after it.

        Otherwise an old record could seem to follow a new one of the right length.
        """
        self.end = self.flushed = end
        if self._read_only:
            return
        removed = [base for base in self.bases if base >= end and base != self.bases[0]]
        changed: set[Path] = set()
        for base in removed:
            self.bases.remove(base)
            with self._maps_lock:
                self._maps.pop(base, None)
            self.path(base).unlink()
            changed.add(self.path(base).parent)
            self._places.forget(base)
        for directory in changed:
            # Otherwise an old file could return under the name of a new one, after the records written from now on.
            self._disk.sync_directory(directory)
        last = self.bases[-1] if self.bases else None
        if last is not None and last <= end < last + self.file_bytes:
            self._disk.clear_behind(self.path(last), end - last)

    def close(self) -> None:
        """Close all files; the caller flushes before."""
        with self._flush_lock, self._maps_lock:
            for descriptor in self._descriptors.values():
                self._disk.close(descriptor)
            self._descriptors.clear()
            self._maps.clear()
            self._buffer = None


def _pack_joined(head: struct.Struct, buffer: mmap.mmap, position: int, *fields: Any) -> None:
    """Write a record without TOTALSIZE, whatever the lengths of its parts."""
    body, topic, properties_bytes, properties = fields[-4:]
    joined = b"".join((head.pack(*fields[:-4]), body, topic, LENGTH_I16.pack(properties_bytes), properties))
    buffer[position : position + len(joined)] = joined


def file_size_on_disk(places: LogPlaces, configured: int) -> int:
    """Size of a commit log's files; ``configured`` without files.

    A store keeps the size it was made with; the setting is for new stores. The last file may be shorter, because a crash can
    come between its creation and its resizing.

    Raises:
        CorruptStoreError: Files have different sizes, or do not follow each other.
    """
    files = places.files()
    sizes = [path.stat().st_size for path, _ in files]
    if not files or (len(files) == 1 and not sizes[0]):
        return configured
    size = sizes[0]
    if size < SMALLEST_RECORD + FILLER_BYTES:
        raise CorruptStoreError(
            f"{files[0][0]} has {size} bytes, too few for any record; it is no commit log file. Move it away or restore it",
            file=str(files[0][0]),
            position=0,
        )
    for (path, base), found in zip(files, sizes, strict=True):
        is_last = path == files[-1][0]
        if found != size and not (is_last and found < size):
            raise CorruptStoreError(
                f"{path} has {found:,} bytes and {files[0][0].name} has {size:,}; files of one store have one size. "
                "Move the file away or restore it from a copy",
                file=str(path),
                position=0,
            )
        if base % size:
            raise CorruptStoreError(
                f"{path} starts at {base:,}, which is no multiple of the file size {size:,}; it does not belong here",
                file=str(path),
                position=0,
            )
    return size
