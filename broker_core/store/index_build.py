"""Filling index files, many keys at a time: from a piece of the commit log to hashes to items.

A hash of one key in plain Python takes longer than the put of its message, so this works on whole arrays, behind the puts.
Measured with 128-byte bodies, a unique key of 54 characters and a key of 14: 3.1 µs a message for everything, where the two
hashes alone took 7.0 µs one by one.

The module needs numpy, which takes 0.2 s to load; import it when there is something to do.

Source: store specification §5.2 to §5.4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from broker_core.message.properties import ITEM_SEPARATOR, KEY_SEPARATOR, KEYS, UNIQUE_KEY, find_property_bytes, property_marker
from broker_core.message.sys_flag import TRANSACTION_MASK, TransactionType
from broker_core.store.index_file import (
    HEADER_BYTES,
    ITEM_BYTES,
    ROOM_BYTES,
    SLOT_BYTES,
    TIME_DIFFERENCE_MAX_S,
    IndexFile,
    IndexHeader,
)
from broker_core.store.layout import scan_records

Int64s = npt.NDArray[np.int64]
Hashes = npt.NDArray[np.uint32]

_ITEM = np.dtype([("key_hash", ">i4"), ("physical_offset", ">i8"), ("seconds", ">i4"), ("previous", ">i4")])
assert _ITEM.itemsize == ITEM_BYTES

_UNIQUE_KEY = property_marker(UNIQUE_KEY)
_KEYS = property_marker(KEYS)
_SPACE = KEY_SEPARATOR.encode()
_ITEM_END = ITEM_SEPARATOR.encode()
_ITEMS_AT_A_TIME = 1 << 20


@dataclass(frozen=True, slots=True)
class KeyBatch:
    """Keys of consecutive records: what becomes of each one item. ``end`` is where the records end in the log."""

    key_hash: Int64s
    physical_offset: Int64s
    store_ms: Int64s
    end: int

    def __len__(self) -> int:
        return len(self.key_hash)


def read_keys(data: bytes, offset: int) -> KeyBatch:
    """Keys of the whole records in a piece of one commit log file.

    Args:
        data: The piece; starts with a record, may end within one.
        offset: Physical offset of its first byte.
    """
    heads = scan_records(data, offset, 0, len(data))
    kept = np.flatnonzero((heads.sys_flag & TRANSACTION_MASK) != TransactionType.ROLLBACK)
    columns = (
        kept, heads.topic_position[kept], (heads.topic_position + heads.topic_bytes)[kept],
        heads.properties_position[kept], (heads.position + heads.size)[kept],
    )  # fmt: skip
    names: list[bytes] = []
    records: list[int] = []
    for index, topic, topic_end, start, end in zip(*(column.tolist() for column in columns), strict=True):
        unique = _property(data, start, end, _UNIQUE_KEY)
        keys = _property(data, start, end, _KEYS)
        if unique:
            names.append(data[topic:topic_end] + b"#" + unique)
            records.append(index)
        if keys:
            for key in keys.split(_SPACE) if _SPACE in keys else (keys,):
                if key:
                    names.append(data[topic:topic_end] + b"#" + key)
                    records.append(index)
    rows = np.array(records, dtype=np.int64)
    return KeyBatch(key_hashes(names), heads.physical_offset[rows], heads.store_ms[rows], offset + heads.end)


def _property(data: bytes, start: int, end: int, marker: bytes) -> bytes | None:
    """Value of a property in a part of ``data``. The plain case in place: a copy of the whole text takes twice the time."""
    found = data.rfind(marker, start, end)
    if found < 0:
        return None
    value = found + len(marker)
    stop = data.find(_ITEM_END, value, end)
    if (found == start or data[found - 1] == _ITEM_END[0]) and stop != value < end:
        return data[value : end if stop < 0 else stop]
    return find_property_bytes(data[start:end], marker)


def key_hashes(names: list[bytes]) -> Int64s:
    """Hash of each UTF-8 text: the absolute value of Java's, 0 where that overflows."""
    text = b"".join(names)
    if text.isascii():
        units: npt.NDArray[Any] = np.frombuffer(text, dtype=np.uint8)
        lengths = np.fromiter(map(len, names), dtype=np.int64, count=len(names))
    else:
        wide = [name.decode("utf-8", "replace").encode("utf-16-le", "surrogatepass") for name in names]
        units = np.frombuffer(b"".join(wide), dtype="<u2")
        lengths = np.fromiter((len(name) // 2 for name in wide), dtype=np.int64, count=len(wide))
    if not names:
        return np.empty(0, dtype=np.int64)
    return _absolute(_polynomials(units, lengths))


def _polynomials(units: npt.NDArray[Any], lengths: Int64s) -> Hashes:
    """Sum of unit × 31^(units behind it) over each text, modulo 2^32. Texts of one length are worked on as one matrix."""
    starts = np.cumsum(lengths) - lengths
    result: Hashes = np.empty(len(lengths), dtype=np.uint32)
    for length in np.unique(lengths).tolist():
        rows = np.flatnonzero(lengths == length)
        texts = np.lib.stride_tricks.sliding_window_view(units, length)[starts[rows]]
        powers = np.full(length, 31, dtype=np.uint32)
        powers[0] = 1
        np.multiply.accumulate(powers, out=powers, dtype=np.uint32)
        result[rows] = texts.astype(np.uint32) @ powers[::-1]
    return result


def _absolute(hashes: Hashes) -> Int64s:
    signed: Int64s = np.abs(hashes.view(np.int32).astype(np.int64))
    signed[signed == 1 << 31] = 0
    return signed


def add_keys(file: IndexFile, batch: KeyBatch, start: int) -> int:
    """Add keys from number ``start`` of a batch on, as many as there is room for; returns how many.

    Raises:
        OSError: There is no room on the disk; nothing has changed.
    """
    header = file.header
    count = min(len(batch) - start, file.geometry.items - header.next_item)
    part = slice(start, start + count)
    slots = batch.key_hash[part] % file.geometry.slots
    file.take_room((np.unique((slots * SLOT_BYTES + HEADER_BYTES) // ROOM_BYTES) * ROOM_BYTES).tolist())
    file.take_item_room(header.next_item, count)
    table = _slot_table(file)
    numbers = np.arange(header.next_item, header.next_item + count)
    previous = _previous_items(slots, numbers, table)
    items = np.empty(count, dtype=_ITEM)
    items["key_hash"] = batch.key_hash[part]
    items["physical_offset"] = batch.physical_offset[part]
    items["seconds"] = _seconds(header, batch.store_ms[part])
    items["previous"] = previous
    position = file.item_position(header.next_item)
    file.buffer[position : position + count * ITEM_BYTES] = items.tobytes()
    table[slots] = numbers  # of equal slots, the last one stays
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


def _slot_table(file: IndexFile) -> npt.NDArray[Any]:
    return np.frombuffer(file.buffer, dtype=">i4", count=file.geometry.slots, offset=HEADER_BYTES)


def _previous_items(slots: Int64s, numbers: Int64s, table: npt.NDArray[Any]) -> Int64s:
    """What each new item leads back to: an earlier one of the batch in the same slot, else what the slot holds."""
    order = np.argsort(slots, kind="stable")
    in_order = slots[order]
    follows = np.concatenate(([False], in_order[1:] == in_order[:-1]))
    held = table[in_order].astype(np.int64)
    held[(held < 0) | (held >= numbers[0])] = 0
    found = np.where(follows, np.roll(numbers[order], 1), held)
    previous: Int64s = np.empty_like(found)
    previous[order] = found
    return previous


def _seconds(header: IndexHeader, store_ms: Int64s) -> Int64s:
    """Time differences; the first item's counts from what the header held before, which is the end of the file before."""
    begin_ms = int(store_ms[0]) if header.next_item == 1 else header.begin_ms
    base = np.full(len(store_ms), begin_ms)
    base[0] = header.begin_ms
    seconds: Int64s = np.clip((store_ms - base) // 1000, 0, TIME_DIFFERENCE_MAX_S)
    seconds[base <= 0] = 0
    return seconds


def restore(file: IndexFile, header: IndexHeader) -> None:
    """Make a file end where ``header`` says: slots are built anew from the items, which a crash cannot have mixed up.

    Raises:
        OSError: There is no room on the disk.
    """
    end = HEADER_BYTES + file.geometry.slots * SLOT_BYTES
    file.take_room([*range(0, end, ROOM_BYTES), end - 1])
    table = _slot_table(file)
    table[:] = 0
    for first in range(1, header.next_item, _ITEMS_AT_A_TIME):
        count = min(_ITEMS_AT_A_TIME, header.next_item - first)
        items = np.frombuffer(file.buffer, dtype=_ITEM, count=count, offset=file.item_position(first))
        slots = items["key_hash"].astype(np.int64) % file.geometry.slots
        table[slots] = np.arange(first, first + count)
    used = int(np.count_nonzero(table))
    file.set_header(IndexHeader(header.begin_ms, header.end_ms, header.begin_offset, header.end_offset, used, header.next_item))
