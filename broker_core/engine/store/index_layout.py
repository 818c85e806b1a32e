"""Index files as numpy columns. Reads bytes only, without the engine or a lock.

`broker_core.engine.store.index_file` shows the layout. A file does not store its number of slots; `slot_count` finds it.

Source: docs/spec/store.md §5.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from broker_core.engine.store.index_file import HEADER_BYTES, ITEM_BYTES, SLOT_BYTES, IndexHeader

ITEM_TYPE = np.dtype([("key_hash", ">i4"), ("physical_offset", ">i8"), ("seconds", ">i4"), ("previous", ">i4")])
assert ITEM_TYPE.itemsize == ITEM_BYTES
DEFAULT_SLOTS = 5_000_000
DEFAULT_ITEMS = 20_000_000


def slots_of(data: npt.NDArray[np.uint8], slots: int) -> npt.NDArray[Any]:
    """Slot table."""
    return data[HEADER_BYTES : HEADER_BYTES + slots * SLOT_BYTES].view(">i4")


def items_of(data: npt.NDArray[np.uint8], slots: int) -> npt.NDArray[Any]:
    """All items, item 0 included."""
    start = HEADER_BYTES + slots * SLOT_BYTES
    count = (len(data) - start) // ITEM_BYTES
    return data[start : start + count * ITEM_BYTES].view(ITEM_TYPE)


def slot_count(data: npt.NDArray[np.uint8]) -> int:
    """Number of slots for which header, items and slots agree; 0 without one, or for a file without items.

    The first item must have the header's first offset, the last its last one, and the slot of the last item must name it. The
    default geometry is tried first. Of several others, the one with the fewest slots that do not name their newest item is
    taken, because in a small file that begins at offset 0, zeros before the items look like a first item.
    """
    if len(data) < HEADER_BYTES:
        return 0
    header = IndexHeader.decode(data[:HEADER_BYTES].tobytes())
    likely = []
    for slots in _possible_slots(data, header):
        items = items_of(data, slots)
        if header.next_item > len(items):
            continue
        newest = items[header.next_item - 1]
        slot = int(newest["key_hash"]) % slots
        if newest["physical_offset"] == header.end_offset and slots_of(data, slots)[slot] == header.next_item - 1:
            if slots == DEFAULT_SLOTS:
                return slots
            likely.append(slots)
    return likely[0] if len(likely) == 1 else min(likely, key=lambda slots: _wrong_slots(data, slots, header), default=0)


def _wrong_slots(data: npt.NDArray[np.uint8], slots: int, header: IndexHeader) -> int:
    """Number of slots that do not name the newest of their items."""
    newest = np.zeros(slots, dtype=np.int64)
    numbers = np.arange(1, header.next_item)
    np.maximum.at(newest, items_of(data, slots)["key_hash"][numbers].astype(np.int64) % slots, numbers)
    return int((newest != slots_of(data, slots)).sum())


def _possible_slots(data: npt.NDArray[np.uint8], header: IndexHeader) -> Iterator[int]:
    words = (len(data) - HEADER_BYTES) // SLOT_BYTES
    if header.next_item <= 1 or words <= ITEM_BYTES // SLOT_BYTES:
        return
    if len(data) == HEADER_BYTES + DEFAULT_SLOTS * SLOT_BYTES + DEFAULT_ITEMS * ITEM_BYTES:
        yield DEFAULT_SLOTS
    # Slots and items are whole numbers: slot counts step by five, because an item is as long as five slots.
    whole = data[HEADER_BYTES : HEADER_BYTES + words * SLOT_BYTES].view(">u4")
    candidates = np.arange(words % 5, words - 2 * 5, 5, dtype=np.int64)
    wanted = np.array([header.begin_offset], dtype=">i8").view(">u4")
    first_item = candidates + 5
    hits = candidates[(whole[first_item + 1] == wanted[0]) & (whole[first_item + 2] == wanted[1])]
    yield from (int(slots) for slots in hits if slots > 0)
