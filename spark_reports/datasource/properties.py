"""Property strings of many records at once, taken apart with numpy.

One pass over the bytes finds all items (``name 0x01 value``, separated by ``0x02``); names and values are then looked up
or cut out for all records together. A record's repeated name counts with its last value; items without a name or a value
are passed over.

Source: store specification §2.6.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Int64s = npt.NDArray[np.int64]
Bytes = npt.NDArray[np.uint8]

_NAME_END = 1
_ITEM_END = 2
_WORD_BYTES = 8


class PropertyColumns:
    """Items of the property strings of a run of records.

    Args:
        data: The strings, one after the other, uint8.
        offsets: n + 1 positions in ``data``: where each record's string starts, and the end of the last.
    """

    def __init__(self, data: Bytes, offsets: Int64s) -> None:
        self._data = data
        self._records = len(offsets) - 1
        self._offsets = offsets
        starts = np.zeros(len(data) + 1, dtype=bool)
        stops = np.zeros(len(data) + 1, dtype=bool)
        ends = data == _ITEM_END
        starts[1:] = ends
        starts[offsets[:-1]] = True
        starts[-1] = False  # behind the last byte nothing starts, whether a separator or an empty string led there
        stops[:-1] = ends
        stops[offsets[1:]] = True
        self._starts: Int64s = np.flatnonzero(starts)
        stop_positions = np.flatnonzero(stops)
        # A stop at an item's own start is the end of the record before, unless the item is empty.
        behind = stop_positions[np.searchsorted(stop_positions, self._starts, side="right")]
        self._stops: Int64s = np.where(ends[self._starts], self._starts, behind)
        self._owners: Int64s = np.searchsorted(offsets, self._starts, side="right") - 1

    @cached_property
    def _words(self) -> npt.NDArray[np.uint64]:
        """First eight bytes of each item, whatever follows it."""
        padded = np.concatenate((self._data, np.zeros(_WORD_BYTES, dtype=np.uint8)))
        at = np.ndarray((len(self._data) + 1,), dtype=">u8", buffer=padded, strides=(1,))
        return at[self._starts].astype(np.uint64)

    def find(self, name: str, *, first: bool = False) -> tuple[Int64s, Int64s, Int64s]:
        """Where a property's value stands.

        Args:
            name: Of the property.
            first: Of a repeated one take the first value, not the last, which counts.

        Returns:
            Three arrays, ascending: record index, start and end of the value in the data. Only records that have it.
        """
        needle = name.encode() + bytes((_NAME_END,))
        head = needle[:_WORD_BYTES]
        shift = np.uint64((_WORD_BYTES - len(head)) * 8)
        wanted = np.uint64(int.from_bytes(head, "big"))
        hits = np.flatnonzero((self._words >> shift == wanted) & (self._stops - self._starts > len(needle)))
        for index in range(_WORD_BYTES, len(needle)):
            hits = hits[self._data[self._starts[hits] + index] == needle[index]]
        owners = self._owners[hits]
        chosen = np.ones(len(hits), dtype=bool)
        changes = owners[1:] != owners[:-1]
        if first:
            chosen[1:] = changes
        else:
            chosen[:-1] = changes
        hits = hits[chosen]
        return self._owners[hits], self._starts[hits] + len(needle), self._stops[hits]

    def column(self, name: str, *, first: bool = False) -> pa.Array:
        """Values of one property as a string column, null where a record has none; ``first`` as in `find`."""
        records, starts, stops = self.find(name, first=first)
        where = np.full(self._records, -1, dtype=np.int64)
        where[records] = np.arange(len(records))
        return text_array(cut(self._data, starts, stops)).take(pa.array(where, mask=where < 0))

    def maps(self) -> pa.MapArray:
        """All properties of each record as a map column."""
        name_ends = np.flatnonzero(self._data == _NAME_END)
        name_ends = np.append(name_ends, len(self._data))
        middle = name_ends[np.searchsorted(name_ends, self._starts)]
        valid = np.flatnonzero((middle > self._starts) & (middle + 1 < self._stops))
        names = text_array(cut(self._data, self._starts[valid], middle[valid]))
        values = text_array(cut(self._data, middle[valid] + 1, self._stops[valid]))
        owners = self._owners[valid]
        kept = _last_of_each(owners, names)
        if len(kept) < len(valid):
            names, values, owners = names.take(pa.array(kept)), values.take(pa.array(kept)), owners[kept]
        counts = np.bincount(owners, minlength=self._records)
        offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        return pa.MapArray.from_arrays(pa.array(offsets), names, values)


def _last_of_each(owners: Int64s, names: pa.Array) -> Int64s:
    """Indexes that remain when of a record's repeated names only the last stays."""
    codes = names.dictionary_encode().indices.to_numpy().astype(np.int64)
    identity = owners * (int(codes.max(initial=0)) + 1) + codes
    _, from_behind = np.unique(identity[::-1], return_index=True)
    kept: Int64s = np.sort(len(owners) - 1 - from_behind)
    return kept


def cut(data: Bytes, starts: Int64s, stops: Int64s) -> pa.Array:
    """Pieces of a buffer as a binary column, copied once.

    Args:
        data: Under 2 GiB, uint8.
        starts: Ascending; pieces do not overlap.
        stops: Where each piece ends.
    """
    count = len(starts)
    if not count:
        return pa.array([], type=pa.binary())
    # Pieces and the gaps between them make one column without copying; taking every second entry copies the pieces.
    offsets = np.empty(2 * count, dtype=np.int32)
    offsets[0::2] = starts
    offsets[1::2] = stops
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
    interleaved = pa.Array.from_buffers(pa.binary(), 2 * count - 1, buffers)
    return interleaved.take(pa.array(np.arange(0, 2 * count, 2)))


def text_array(values: pa.Array) -> pa.Array:
    """Binary column as text; bytes that are no UTF-8 become replacement characters, as Java reads them."""
    try:
        return values.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([None if item is None else item.decode(errors="replace") for item in values.to_pylist()], pa.string())


def parts_of(values: pa.Array) -> tuple[Any, Int64s]:
    """Data and offsets of a freshly made binary column, as numpy arrays."""
    _, offsets, data = values.buffers()
    positions = np.frombuffer(offsets, dtype=np.int32)[: len(values) + 1].astype(np.int64)
    content = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    return content[: positions[-1]], positions
