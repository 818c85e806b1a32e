"""Property strings of many records at once, parsed with numpy.

One pass over the bytes finds all items (``name 0x01 value``, separated by ``0x02``); names and values are then looked up
or cut out for all records together. The last value of a record's repeated name counts; items without a name or a value are
ignored.

Source: docs/spec/store.md §2.6.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from spark_reports.datasource.arrays import Bytes, Int64s
from spark_reports.datasource.texts import cut, text_array

_NAME_END = 1
_ITEM_END = 2
_WORD_BYTES = 8


class PropertyColumns:
    """Items of the property strings of a run of records.

    Args:
        data: The strings, concatenated, uint8.
        offsets: n + 1 positions in ``data``: the start of each record's string, and the end of the last.
    """

    def __init__(self, data: Bytes, offsets: Int64s) -> None:
        self._data = data
        self._records = len(offsets) - 1
        ends = data == _ITEM_END
        starts = np.zeros(len(data) + 1, dtype=bool)
        starts[1:] = ends
        starts[offsets[:-1]] = True
        starts[-1] = False  # no item starts after the last byte, even after a separator or an empty string
        self._starts: Int64s = np.flatnonzero(starts)
        # Each item ends at the next one's start, or at the separator before that.
        following = np.append(self._starts, len(data))[1:]
        self._stops: Int64s = following - ends[following - 1]
        items = np.diff(np.searchsorted(self._starts, offsets))
        self._owners: Int64s = np.repeat(np.arange(self._records), items)

    @cached_property
    def _words(self) -> npt.NDArray[np.uint64]:
        padded = np.concatenate((self._data, np.zeros(_WORD_BYTES, dtype=np.uint8)))
        # Without meaning they are copied in a third of the time.
        words: npt.NDArray[np.uint64] = _at_every_byte(padded)[self._starts].view("<u8")
        return words

    def find(self, name: str, *, first: bool = False) -> tuple[Int64s, Int64s, Int64s]:
        """Positions of a property's values.

        Of a repeated property the last value counts; with ``first`` the first one is returned.

        Returns:
            Three arrays, ascending: record index, start and end of the value in the data. Only records that have it.
        """
        needle = name.encode() + bytes((_NAME_END,))
        head = needle[:_WORD_BYTES]
        mask = np.uint64((1 << 8 * len(head)) - 1)
        wanted = np.uint64(int.from_bytes(head, "little"))
        hits = np.flatnonzero((self._words & mask) == wanted)
        hits = hits[self._stops[hits] - self._starts[hits] > len(needle)]
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
        """Values of one property as a string column, null if a record has none; ``first`` as in `find`."""
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
    """Indexes of the last of each record's repeated names."""
    codes = names.dictionary_encode().indices.to_numpy().astype(np.int64)
    identity = owners * (int(codes.max(initial=0)) + 1) + codes
    _, from_behind = np.unique(identity[::-1], return_index=True)
    kept: Int64s = np.sort(len(owners) - 1 - from_behind)
    return kept


def parts_of(values: pa.Array) -> tuple[Any, Int64s]:
    """Data and offsets of a freshly made binary column, as numpy arrays."""
    _, offsets, data = values.buffers()
    positions = np.frombuffer(offsets, dtype=np.int32)[: len(values) + 1].astype(np.int64)
    content = np.frombuffer(data, dtype=np.uint8) if data is not None else np.empty(0, dtype=np.uint8)
    return content[: positions[-1]], positions


def _at_every_byte(data: Bytes) -> npt.NDArray[np.void]:
    """A view of the words that start at every position of a buffer, with a stride of one byte."""
    word = np.dtype((np.void, _WORD_BYTES))
    return np.ndarray((max(0, len(data) - _WORD_BYTES + 1),), dtype=word, buffer=data, strides=(1,))
