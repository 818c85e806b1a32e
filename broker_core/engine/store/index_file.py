"""One index file: a hash table from ``topic#key`` to offsets in the commit log.

    beginTimestamp i64 | endTimestamp i64 | beginPhyOffset i64 | endPhyOffset i64              0  8 16 24
    hashSlotCount i32 | indexCount i32                                                         32 36
    slots i32 × maxHashSlotNum       newest item of each chain, 0 = empty                      40
    items 20 × maxIndexNum           the first, number 0, is never used
        key hash i32 | physical offset i64 | seconds since beginTimestamp i32 | previous item i32

The file is mapped and sparse. Room is reserved before a page is written to, so that a full disk is an error and not a signal.
`broker_core.engine.store.index_build` adds items, many at a time.

Two keys may have one hash, so the caller must check the record.

Source: docs/spec/store.md §5.1, §5.3, §5.5.
"""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from broker_core.engine.store.disk import Disk
from broker_core.native.items import HEADER_BYTES as HEADER_BYTES  # noqa: PLC0414  readers of files enter here
from broker_core.native.items import ITEM_BYTES as ITEM_BYTES  # noqa: PLC0414  likewise
from broker_core.native.items import ROOM_BYTES as ROOM_BYTES  # noqa: PLC0414  likewise
from broker_core.native.items import SLOT_BYTES as SLOT_BYTES  # noqa: PLC0414  likewise
from broker_core.platform import page_cache, replacing

HEADER = struct.Struct(">qqqqii")
assert HEADER.size == HEADER_BYTES
SLOT = struct.Struct(">i")
assert SLOT.size == SLOT_BYTES
ITEM = struct.Struct(">iqii")
assert ITEM.size == ITEM_BYTES

_GUESSES_MAX = 1_000_000
_DEFAULT_UNITS_PER_SLOT = 21
"""Four bytes for the slot and 80 for four items, in units of four: the proportion of the default sizes."""


@dataclass(frozen=True, slots=True)
class IndexHeader:
    """First 40 bytes of a file. Times are in milliseconds; ``next_item`` starts at 1."""

    begin_ms: int = 0
    end_ms: int = 0
    begin_offset: int = 0
    end_offset: int = 0
    used_slots: int = 0
    next_item: int = 1

    def encode(self) -> bytes:
        return HEADER.pack(self.begin_ms, self.end_ms, self.begin_offset, self.end_offset, self.used_slots, self.next_item)

    @classmethod
    def decode(cls, data: bytes | memoryview) -> IndexHeader:
        """Header at the start of ``data``; a next item below 1 reads as 1."""
        begin_ms, end_ms, begin_offset, end_offset, used_slots, next_item = HEADER.unpack_from(data)
        return cls(begin_ms, end_ms, begin_offset, end_offset, used_slots, max(next_item, 1))

    def followed(self) -> IndexHeader:
        """First header of the next file, which RocketMQ begins where this one ended."""
        return IndexHeader(self.end_ms, self.end_ms, self.end_offset, self.end_offset)


class IndexItem(NamedTuple):
    key_hash: int
    physical_offset: int
    seconds: int
    previous: int


class Geometry(NamedTuple):
    """Numbers of slots and items (with the unused first) of a file."""

    slots: int
    items: int

    @property
    def file_bytes(self) -> int:
        return HEADER_BYTES + self.slots * SLOT_BYTES + self.items * ITEM_BYTES


def index_files(directory: Path) -> list[Path]:
    """Index files of a directory, oldest first; names that are no numbers are ignored."""
    if not directory.is_dir():
        return []
    return sorted(path for path in directory.iterdir() if path.name.isdecimal() and path.is_file())


class IndexFile:
    """A mapped index file, named by its creation time; without ``descriptor`` it is in memory only."""

    def __init__(self, path: Path, geometry: Geometry, buffer: mmap.mmap, descriptor: int | None, disk: Disk) -> None:
        self.path = path
        self.geometry = geometry
        self.buffer = buffer
        self.header = IndexHeader.decode(buffer[:HEADER_BYTES])
        self.is_dirty = False
        """Whether bytes were changed since the last sync."""
        self.is_damaged = False
        """Whether a query found an impossible chain of items, so that the file must be built again."""
        self._descriptor = descriptor
        self._disk = disk
        self._items_position = HEADER_BYTES + geometry.slots * SLOT_BYTES
        self.roomy = bytearray(geometry.file_bytes // ROOM_BYTES + 1)
        """Which blocks have reserved room."""

    @classmethod
    def create(cls, path: Path, geometry: Geometry, header: IndexHeader, disk: Disk, *, read_only: bool) -> IndexFile:
        """A new file without items; if read-only, in memory only.

        Raises:
            OSError: There is no room on the disk.
        """
        descriptor = None if read_only else disk.open_sized(path, geometry.file_bytes)
        try:
            if descriptor is not None:
                # Before the first read: even reading a hole may need room (see file_map).
                disk.allocate(descriptor, 0, min(ROOM_BYTES, geometry.file_bytes))
            buffer = disk.map_memory(geometry.file_bytes) if descriptor is None else disk.map(descriptor, geometry.file_bytes)
            page_cache.expect_random(buffer)  # what is read ahead of a hole is megabytes of zeros
            made = cls(path, geometry, buffer, descriptor, disk)
        except OSError:
            if descriptor is not None:
                disk.close(descriptor)
                path.unlink(missing_ok=True)
            raise
        made.set_header(header)
        return made

    @classmethod
    def open(cls, path: Path, configured: Geometry, disk: Disk, *, read_only: bool) -> IndexFile | None:
        """The file as on the disk; None if it is no sound index file. If read-only, changes stay in memory.

        A file does not store its numbers of slots and items. If the configured ones do not fit, they are found by trying.
        """
        size = path.stat().st_size
        if size < Geometry(1, 2).file_bytes or size % SLOT_BYTES or not any(disk.read_at(path, HEADER_BYTES, 0)):
            return None
        descriptor = None if read_only else disk.open_sized(path, size)
        buffer = disk.map_private(path) if descriptor is None else disk.map(descriptor, size)
        for geometry in _geometries(size, configured):
            if _fits(buffer, geometry):
                return cls(path, geometry, buffer, descriptor, disk)
        if descriptor is not None:
            disk.close(descriptor)
        return None

    # ---- reading -------------------------------------------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        """Whether the next item belongs into a new file."""
        return self.header.next_item >= self.geometry.items

    def item(self, number: int) -> IndexItem:
        return IndexItem._make(ITEM.unpack_from(self.buffer, self.item_position(number)))

    def item_position(self, number: int) -> int:
        return self._items_position + number * ITEM_BYTES

    def offsets(self, key_hash: int, from_ms: int, to_ms: int) -> Iterator[int]:
        """Physical offsets of a hash, newest first, whose time may lie in the range.

        An item's time is cut to seconds; the first item's counts from the file before, and none lies before the file's begin.
        Only items that are surely out of range are left out.
        """
        header = self.header
        slot = key_hash % self.geometry.slots
        number = self._newest_item(slot)
        while 0 < number < header.next_item:
            item = self.item(number)
            if item.key_hash % self.geometry.slots != slot or item.previous >= number or item.previous < 0:
                self.is_damaged = True  # a chain stays in its slot, and only leads back
                return
            if item.key_hash == key_hash:
                stored_ms = header.begin_ms + item.seconds * 1000
                is_later = stored_ms > to_ms and item.seconds > 0 and number > 1
                if not is_later and stored_ms + 1000 > from_ms:
                    yield item.physical_offset
            number = item.previous
        self.is_damaged |= not 0 <= number < header.next_item

    def _newest_item(self, slot: int) -> int:
        """Newest item of a slot, read from the file: the slot may lie in a hole, for which a mapping may need room."""
        position = HEADER_BYTES + slot * SLOT_BYTES
        if self._descriptor is None:
            return int(SLOT.unpack_from(self.buffer, position)[0])
        return int(SLOT.unpack(self._disk.read_descriptor(self._descriptor, SLOT_BYTES, position))[0])

    # ---- writing -------------------------------------------------------------------------------------------------------

    def set_header(self, header: IndexHeader) -> None:
        """Replace the header, in memory and in the file."""
        self.buffer[:HEADER_BYTES] = header.encode()
        self.header = header
        self.is_dirty = True

    def take_room(self, positions: list[int]) -> None:
        """Reserve the blocks at these positions of the file.

        Raises:
            OSError: There is no room on the disk.
        """
        for block in {position // ROOM_BYTES for position in positions}:
            if not self.roomy[block] and self._descriptor is not None:
                start = block * ROOM_BYTES
                self._disk.allocate(self._descriptor, start, min(ROOM_BYTES, self.geometry.file_bytes - start))
            self.roomy[block] = 1

    def take_item_room(self, first: int, count: int) -> None:
        """Reserve ``count`` items from number ``first`` on.

        Raises:
            OSError: There is no room on the disk.
        """
        start, end = self.item_position(first), self.item_position(first + count) - 1
        self.take_room([*range(start, end, ROOM_BYTES), end])

    def first_item_at(self, physical_offset: int) -> int:
        """Number of the first item at or after a physical offset; the next item's without one."""
        numbers = range(1, self.header.next_item)
        return 1 + bisect_left(numbers, physical_offset, key=lambda number: self.item(number).physical_offset)

    def header_up_to(self, next_item: int, end_ms: int) -> IndexHeader:
        """Header of this file cut before an item; its slots are not counted."""
        return replace(self.header, next_item=next_item, end_ms=end_ms, end_offset=self.item(next_item - 1).physical_offset)

    # ---- the end -------------------------------------------------------------------------------------------------------

    def sync(self) -> None:
        """Sync the file.

        Raises:
            OSError: The sync failed.
        """
        self.is_dirty = False
        if self._descriptor is not None:
            self._disk.sync(self._descriptor)

    def close(self) -> None:
        """Close the file; its mapping ends with its last user."""
        if self._descriptor is not None:
            self._disk.close(self._descriptor)
            self._descriptor = None

    def delete(self) -> None:
        """Close and remove the file; where it is in use and stays, it is removed after the next start."""
        if self._descriptor is not None:
            self.close()
            replacing.remove(self.path)


def _geometries(size: int, configured: Geometry) -> Iterator[Geometry]:
    """Possible geometries of a file of ``size`` bytes, likely ones first."""
    if configured.file_bytes == size:
        yield configured
    units = (size - HEADER_BYTES) // SLOT_BYTES
    if units % _DEFAULT_UNITS_PER_SLOT == 0:
        slots = units // _DEFAULT_UNITS_PER_SLOT
        yield Geometry(slots, (units - slots) * SLOT_BYTES // ITEM_BYTES)
    items_max = (units - 1) * SLOT_BYTES // ITEM_BYTES
    for items in range(items_max, max(1, items_max - _GUESSES_MAX), -1):
        yield Geometry(units - items * (ITEM_BYTES // SLOT_BYTES), items)


def _fits(buffer: mmap.mmap, geometry: Geometry) -> bool:
    """Whether the header, the first and the last item and the last item's slot agree."""
    header = IndexHeader.decode(buffer[:HEADER_BYTES])
    last = header.next_item - 1
    if last >= geometry.items or header.used_slots > min(last, geometry.slots):
        return False
    if not last:
        return True
    items = HEADER_BYTES + geometry.slots * SLOT_BYTES
    _, begin_offset, _, before_first = ITEM.unpack_from(buffer, items + ITEM_BYTES)
    key_hash, end_offset, _, previous = ITEM.unpack_from(buffer, items + last * ITEM_BYTES)
    if begin_offset != header.begin_offset or end_offset != header.end_offset or before_first or key_hash < 0:
        return False
    if not 0 <= previous < last or begin_offset > end_offset:
        return False
    (newest,) = SLOT.unpack_from(buffer, HEADER_BYTES + key_hash % geometry.slots * SLOT_BYTES)
    return bool(newest == last)
