"""Items and slots of index files. Reads bytes only, without the engine or a lock.

`broker_core.engine.store.index_file` shows the layout. A file does not store its number of slots; `slot_count` finds it.

Source: docs/spec/store.md §5.1.
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Iterator
from mmap import mmap
from typing import NamedTuple

from broker_core.engine.store.index_file import HEADER_BYTES, ITEM_BYTES, SLOT_BYTES, IndexHeader

DEFAULT_SLOTS = 5_000_000
DEFAULT_ITEMS = 20_000_000
_ITEM, _NUMBER = struct.Struct(">iqii"), struct.Struct(">i")
assert (_ITEM.size, _NUMBER.size) == (ITEM_BYTES, SLOT_BYTES)
_OFFSET_POSITION = 4
"""Of the physical offset in an item."""


class IndexItem(NamedTuple):
    """An item as stored."""

    key_hash: int
    physical_offset: int
    seconds: int
    previous: int


class IndexItems:
    """All items of a file, item 0 included."""

    def __init__(self, data: bytes | mmap, slots: int) -> None:
        self._data = data
        self._start = HEADER_BYTES + slots * SLOT_BYTES

    def __len__(self) -> int:
        return (len(self._data) - self._start) // ITEM_BYTES

    def __getitem__(self, number: int) -> IndexItem:
        return IndexItem._make(_ITEM.unpack_from(self._data, self._start + number * ITEM_BYTES))

    def between(self, first: int, end: int) -> Iterator[tuple[int, int, int, int]]:
        """Items from ``first`` on, before ``end``."""
        return _ITEM.iter_unpack(self._data[self._start + first * ITEM_BYTES : self._start + end * ITEM_BYTES])


def slot_at(data: bytes | mmap, number: int) -> int:
    """The newest item of a slot."""
    return int(_NUMBER.unpack_from(data, HEADER_BYTES + number * SLOT_BYTES)[0])


def slot_count(data: bytes | mmap) -> int:
    """Number of slots for which header, items and slots agree; 0 without one, or for a file without items.

    The first item must have the header's first offset, the last its last one, and the slot of the last item must name it. The
    default geometry is tried first. Of several others, the one with the fewest slots that do not name their newest item is
    taken, because in a small file that begins at offset 0, zeros before the items look like a first item.
    """
    if len(data) < HEADER_BYTES:
        return 0
    header = IndexHeader.decode(data[:HEADER_BYTES])
    likely = []
    for slots in _possible_slots(data, header):
        items = IndexItems(data, slots)
        if header.next_item > len(items):
            continue
        newest = items[header.next_item - 1]
        is_last = newest.physical_offset == header.end_offset
        if is_last and slot_at(data, newest.key_hash % slots) == header.next_item - 1:
            if slots == DEFAULT_SLOTS:
                return slots
            likely.append(slots)
    return likely[0] if len(likely) == 1 else min(likely, key=lambda slots: _wrong_slots(data, slots, header), default=0)


def _wrong_slots(data: bytes | mmap, slots: int, header: IndexHeader) -> int:
    """Number of slots that do not name the newest of their items."""
    newest = array("i", bytes(SLOT_BYTES * slots))
    for number, item in enumerate(IndexItems(data, slots).between(1, header.next_item), 1):
        newest[item[0] % slots] = number
    stored = _NUMBER.iter_unpack(data[HEADER_BYTES : HEADER_BYTES + slots * SLOT_BYTES])
    return sum(one != number for one, (number,) in zip(newest, stored, strict=True))


def _possible_slots(data: bytes | mmap, header: IndexHeader) -> Iterator[int]:
    words = (len(data) - HEADER_BYTES) // SLOT_BYTES
    if header.next_item <= 1 or words <= ITEM_BYTES // SLOT_BYTES:
        return
    if len(data) == HEADER_BYTES + DEFAULT_SLOTS * SLOT_BYTES + DEFAULT_ITEMS * ITEM_BYTES:
        yield DEFAULT_SLOTS
    # Slots and items are whole numbers: slot counts step by five, because an item is as long as five slots.
    wanted, first = header.begin_offset.to_bytes(8, "big", signed=True), HEADER_BYTES + ITEM_BYTES + _OFFSET_POSITION
    at = first
    while (at := data.find(wanted, at)) >= 0:
        slots, to_next = (at - first) // SLOT_BYTES, (first + words * SLOT_BYTES - at) % ITEM_BYTES
        if slots >= words - 2 * 5:
            return
        if slots > 0 and not to_next:
            yield slots
        at += to_next or ITEM_BYTES
