"""Adds many keys at a time to index files; `index_keys` finds the keys (Source: docs/spec/store.md §5.3, §5.4)."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from broker_core.engine.store.index_file import (
    HEADER_BYTES,
    ITEM_BYTES,
    ROOM_BYTES,
    SLOT_BYTES,
    TIME_DIFFERENCE_MAX_S,
    IndexFile,
    IndexHeader,
)
from broker_core.engine.store.index_layout import ITEM_TYPE
from broker_core.engine.store.key_batch import KeyBatch
from broker_core.engine.store.layout import Int64s

_ITEMS_AT_A_TIME = 1 << 20

_PLACE_BITS = 32
_PLACES = (1 << _PLACE_BITS) - 1


def add_keys(file: IndexFile, batch: KeyBatch, start: int) -> int:
    """Add keys of a batch from number ``start`` on, as many as the file has room for; returns the number.

    Raises:
        OSError: There is no room on the disk; nothing has changed.
    """
    header = file.header
    count = min(len(batch) - start, file.geometry.items - header.next_item)
    part = slice(start, start + count)
    slots = batch.key_hash[part] % file.geometry.slots
    file.take_room(_blocks_without_room(file, slots))
    file.take_item_room(header.next_item, count)
    previous = _hang_in(slots, np.arange(header.next_item, header.next_item + count), _slot_table(file))
    items = np.empty(count, dtype=ITEM_TYPE)
    items["key_hash"] = batch.key_hash[part]
    items["physical_offset"] = batch.physical_offset[part]
    items["seconds"] = _seconds(header, batch.store_ms[part])
    items["previous"] = previous
    position = file.item_position(header.next_item)
    file.buffer[position : position + count * ITEM_BYTES] = items.tobytes()
    is_first = header.next_item == 1
    file.set_header(
        IndexHeader(
            begin_ms=int(batch.store_ms[start]) if is_first else header.begin_ms,
            end_ms=int(batch.store_ms[start + count - 1]),
            begin_offset=int(batch.physical_offset[start]) if is_first else header.begin_offset,
            end_offset=int(batch.physical_offset[start + count - 1]),
            used_slots=header.used_slots + int(np.count_nonzero(previous == 0)),
            next_item=header.next_item + count,
        )
    )
    return count


def _blocks_without_room(file: IndexFile, slots: Int64s) -> list[int]:
    """Positions of blocks that hold these slots and have no reserved room yet."""
    blocks = (slots * SLOT_BYTES + HEADER_BYTES) // ROOM_BYTES
    lacking = blocks[np.frombuffer(file.roomy, dtype=np.uint8)[blocks] == 0]
    return (np.unique(lacking) * ROOM_BYTES).tolist() if len(lacking) else []


def _slot_table(file: IndexFile) -> npt.NDArray[Any]:
    return np.frombuffer(file.buffer, dtype=">i4", count=file.geometry.slots, offset=HEADER_BYTES)


def _hang_in(slots: Int64s, numbers: Int64s, table: npt.NDArray[Any]) -> Int64s:
    """Link new items into their slots; returns for each the previous item: an earlier one of the batch, else the slot's."""
    previous: Int64s = table[slots].astype(np.int64)
    previous[(previous < 0) | (previous >= numbers[0])] = 0
    table[slots] = numbers  # of equal slots, the last one stays
    last = table[slots]
    is_followed = last != numbers
    if is_followed.any():
        is_followed[last[is_followed] - numbers[0]] = True
        shared = np.flatnonzero(is_followed)
        # Sorted as one number of slot and place: a stable sort takes twice as long.
        in_order = np.sort(slots[shared] << _PLACE_BITS | shared)
        order = in_order & _PLACES
        in_order >>= _PLACE_BITS
        follows = np.flatnonzero(in_order[1:] == in_order[:-1])
        previous[order[follows + 1]] = numbers[order[follows]]
    return previous


def _seconds(header: IndexHeader, store_ms: Int64s) -> Int64s:
    """Time differences; the first item's counts from the former header, which is the end of the file before."""
    begin_ms = int(store_ms[0]) if header.next_item == 1 else header.begin_ms
    base = np.full(len(store_ms), begin_ms)
    base[0] = header.begin_ms
    seconds: Int64s = np.clip((store_ms - base) // 1000, 0, TIME_DIFFERENCE_MAX_S)
    seconds[base <= 0] = 0
    return seconds


def restore(file: IndexFile, header: IndexHeader) -> None:
    """End a file at ``header``: the slots are built again from the items, which a crash cannot have mixed up.

    Raises:
        OSError: There is no room on the disk.
    """
    end = HEADER_BYTES + file.geometry.slots * SLOT_BYTES
    file.take_room([*range(0, end, ROOM_BYTES), end - 1])
    table = _slot_table(file)
    table[:] = 0
    for first in range(1, header.next_item, _ITEMS_AT_A_TIME):
        count = min(_ITEMS_AT_A_TIME, header.next_item - first)
        items = np.frombuffer(file.buffer, dtype=ITEM_TYPE, count=count, offset=file.item_position(first))
        slots = items["key_hash"].astype(np.int64) % file.geometry.slots
        table[slots] = np.arange(first, first + count)
    used = int(np.count_nonzero(table))
    file.set_header(IndexHeader(header.begin_ms, header.end_ms, header.begin_offset, header.end_offset, used, header.next_item))
