"""Hits of a search as columns: arrays for a million of them, not objects. Pure: no widget, no I/O.

A hit takes about 90 bytes and the bytes of its keys. Bodies and further fields are not stored; they are read for visible rows.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from broker_core.worker.questions.searches import SearchHits
from gui.models.messages import MessageRow
from gui.models.stored_order import Int64s, StoredOrder

_ROOM_MIN = 1_024
_INT64_MAX = (1 << 63) - 1
_SORT_BYTES_MAX = 256 * 1024 * 1024
"""Larger texts are sorted as Python strings instead of an array of equal widths: slower, with the same result."""


class NumberColumn:
    """Whole numbers, append-only."""

    def __init__(self) -> None:
        self._room = np.empty(_ROOM_MIN, dtype=np.int64)
        self._count = 0

    def extend(self, numbers: Iterable[int]) -> None:
        added = np.fromiter(numbers, dtype=np.int64)
        end = self._count + len(added)
        if end > len(self._room):
            self._room = np.concatenate((self._room[: self._count], np.empty(max(end, self._count), dtype=np.int64)))
        self._room[self._count : end] = added
        self._count = end

    def __getitem__(self, row: int) -> int:
        found: int = self._room.item(row)
        return found

    @property
    def values(self) -> Int64s:
        """All of them; read-only."""
        return self._room[: self._count]


class TextColumn:
    """Texts, append-only, as concatenated UTF-8 bytes."""

    def __init__(self) -> None:
        self._bytes = bytearray()
        self._ends = array("q", [0])

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, row: int) -> str:
        return self._bytes[self._ends[row] : self._ends[row + 1]].decode("utf-8", "surrogatepass")

    def extend(self, texts: Iterable[str]) -> None:
        for text in texts:
            self._bytes += text.encode("utf-8", "surrogatepass")
            self._ends.append(len(self._bytes))

    def snapshot(self) -> Callable[[], list[bytes]]:
        """A function that returns the current texts as bytes; for another thread."""
        data, ends = bytes(self._bytes), np.array(self._ends, dtype=np.int64)
        return lambda: [data[start:end] for start, end in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def _text_order(texts: list[bytes]) -> Int64s:
    """UTF-8 sorts as code points do."""
    count, width = len(texts), max(map(len, texts), default=0)
    # An array of equal widths cannot tell "a" from "a\0".
    if count * width > _SORT_BYTES_MAX or any(b"\0" in text for text in texts):
        return np.array(sorted(range(count), key=texts.__getitem__), dtype=np.int64)
    return np.argsort(np.array(texts, dtype=f"S{max(width, 1)}"), kind="stable").astype(np.int64)


class NameColumn:
    """Texts with many repetitions: topics, tags."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._codes: dict[str, int] = {}
        self._rows = NumberColumn()

    def __getitem__(self, row: int) -> str:
        return self.names[self._rows[row]]

    def extend(self, texts: Iterable[str]) -> None:
        self._rows.extend([self._code(text) for text in texts])

    def _code(self, text: str) -> int:
        code = self._codes.get(text)
        if code is None:
            code = self._codes[text] = len(self.names)
            self.names.append(text)
        return code

    def ranks(self) -> Int64s:
        """For each row the rank of its text."""
        places = np.empty(len(self.names), dtype=np.int64)
        places[sorted(range(len(self.names)), key=self.names.__getitem__)] = np.arange(len(self.names))
        return places[self._rows.values]


class HitColumns:
    """All hits of one search, in the order of arrival."""

    def __init__(self) -> None:
        self.numbers = {
            name: NumberColumn()
            for name in ("queue_id", "queue_offset", "physical_offset", "store_ms", "born_ms", "body_bytes")
        }
        self.topic, self.tag = NameColumn(), NameColumn()
        self.keys, self.unique_key = TextColumn(), TextColumn()
        self._is_ascending = True
        """Whether the log places rise so far, as those of a scan do; then a place is found by bisection."""
        self._stored = StoredOrder()

    def __len__(self) -> int:
        return len(self.unique_key)

    @property
    def places(self) -> Int64s:
        return self.numbers["physical_offset"].values

    @property
    def stored_order(self) -> Int64s | None:
        """Numbers of the hits in store order (`StoredOrder`); None: as they arrived."""
        self._stored.take_in(self.numbers["store_ms"].values, self.places)
        return self._stored.numbers

    def append(self, hits: SearchHits) -> None:
        last = int(self.places[-1]) if len(self) else -1
        for name, column in self.numbers.items():
            column.extend(getattr(hits, name))
        added = np.array([last, *hits.physical_offset])
        self._is_ascending = self._is_ascending and bool(np.all(added[1:] > added[:-1]))
        self.topic.extend(hits.topic)
        self.tag.extend(hits.tag)
        self.keys.extend(hits.keys)
        self.unique_key.extend(hits.unique_key)

    def row(self, number: int, body_start: str) -> MessageRow:
        numbers = {name: column[number] for name, column in self.numbers.items()}
        return MessageRow(
            topic=self.topic[number],
            tag=self.tag[number],
            keys=self.keys[number],
            unique_key=self.unique_key[number],
            body_start=body_start,
            **numbers,
        )

    def row_of(self, place: int) -> int:
        """Number of the hit at a place in the log, -1 where there is none."""
        places = self.places
        if self._is_ascending:
            row = int(np.searchsorted(places, place))
            return row if row < len(places) and places[row] == place else -1
        found = np.flatnonzero(places == place)
        return int(found[0]) if len(found) else -1

    def order(self, column: str) -> Callable[[], Int64s]:
        """A function that sorts the numbers of all current hits by a column, equal ones in store order; for another thread.

        ``column`` is the name of a number, ``topic``, ``tag``, ``keys`` or ``unique_key``.
        """
        stored = self.stored_order
        if column in ("keys", "unique_key"):
            texts: TextColumn = getattr(self, column)
            taken = texts.snapshot()
            return lambda: _of_stored(stored, taken(), _text_order)
        if column in self.numbers:
            values = self.numbers[column].values.copy()
        else:
            names: NameColumn = getattr(self, column)
            values = names.ranks()
        if stored is None:
            return lambda: np.argsort(values, kind="stable").astype(np.int64)
        return lambda: stored[np.argsort(values[stored], kind="stable")]


def field_order(texts: TextColumn, stored: Int64s | None) -> Callable[[], Int64s]:
    """A function that sorts the values of a field, for another thread: as numbers where all are numbers or missing.

    ``stored`` has the hits in store order, for equal values; None: as they arrived.
    """
    taken = texts.snapshot()
    return lambda: _of_stored(stored, taken(), _value_order)


def _of_stored(stored: Int64s | None, texts: list[bytes], order: Callable[[list[bytes]], Int64s]) -> Int64s:
    """Sort texts, equal ones in store order."""
    return order(texts) if stored is None else stored[order([texts[number] for number in stored.tolist()])]


def _value_order(values: list[bytes]) -> Int64s:
    try:
        return _number_order(values)
    except ValueError:
        return _text_order(values)


def _number_order(values: list[bytes]) -> Int64s:
    """Missing values sort last. Whole numbers stay whole, because identifiers have more digits than a float.

    Raises:
        ValueError: A value is not a number.
    """
    try:
        numbers: npt.NDArray[Any] = np.array([int(value) if value else _INT64_MAX for value in values], dtype=np.int64)
    except (ValueError, OverflowError):
        numbers = np.array([float(value) if value else np.inf for value in values])
    return np.argsort(numbers, kind="stable").astype(np.int64)
