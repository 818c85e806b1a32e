"""Records numbered by the group that they belong to: by the values of some columns together.

Each column gives every record a number, and each number has a value. The numbers of several columns make one as the digits of
a clock do; where that leaves more places than there are records, those that no record has are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from broker_core.store.layout import Int64s
from spark_reports.datasource.columns import RecordColumns, times_of
from spark_reports.datasource.schema import ALL_ARROW, HOST, MINUTE
from spark_reports.datasource.texts import Numbered

MINUTE_MS = 60_000
_PLACES_MIN = 1 << 12
"""So many places may always be left empty."""


@dataclass(frozen=True)
class Groups:
    """The groups of some records.

    Args:
        places: For each record where its group is.
        room: Places; there may be some that no record has.
        columns: Of each column the number at every place, and the values by number.
    """

    places: Int64s
    room: int
    columns: tuple[Numbered, ...]

    @cached_property
    def _counts(self) -> Int64s:
        return np.bincount(self.places, minlength=self.room)

    @cached_property
    def _in_use(self) -> Int64s:
        return np.flatnonzero(self._counts)

    @property
    def counts(self) -> Int64s:
        """Records of each group."""
        return self.used(self._counts)

    @property
    def keys(self) -> list[pa.Array]:
        """Values of each column, one a group."""
        return [Numbered(self.used(column.numbers), column.values).rows() for column in self.columns]

    def used(self, by_place: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """What stands at the places that some record has."""
        found: npt.NDArray[Any] = by_place[self._in_use]
        return found


def grouped_by(records: RecordColumns, keys: Sequence[str]) -> Groups:
    """The groups of some records by the values of some columns."""
    first, *others = (_numbered(records, key) for key in keys)
    places, room = first.numbers, len(first.values)
    members = [np.arange(room)]
    most = max(_PLACES_MIN, len(records))
    for column in others:
        count = len(column.values)
        places = places * np.int64(count) + column.numbers
        if room * count <= most:
            taken = np.arange(room * count)
        else:
            coded = pa.array(places).dictionary_encode()
            places, taken = coded.indices.to_numpy(), coded.dictionary.to_numpy()
        before, own = np.divmod(taken, count)
        members = [*(one[before] for one in members), own]
        room = len(taken)
    values = [column.values for column in (first, *others)]
    return Groups(places, room, tuple(Numbered(*one) for one in zip(members, values, strict=True)))


def _numbered(records: RecordColumns, key: str) -> Numbered:
    make = _NUMBERED.get(key)
    if make is not None:
        return make(records)
    coded = records.named(ALL_ARROW.field(key)).dictionary_encode(null_encoding="encode")
    return Numbered(coded.indices.to_numpy(), coded.dictionary)


def _of_minutes(records: RecordColumns) -> Numbered:
    numbers, minutes = _of_whole_numbers(records.head("store_ms") // MINUTE_MS)
    return Numbered(numbers, times_of(minutes * MINUTE_MS))


def _of_queues(records: RecordColumns) -> Numbered:
    numbers, queues = _of_whole_numbers(records.head("queue_id"))
    return Numbered(numbers, pa.array(queues))


def _of_whole_numbers(column: npt.NDArray[Any]) -> tuple[Int64s, npt.NDArray[Any]]:
    """Numbers of whole numbers, and these by their numbers."""
    low, high = int(column.min()), int(column.max())
    if high - low < _PLACES_MIN:
        return column - np.int64(low), np.arange(low, high + 1, dtype=column.dtype)
    coded = pa.array(column).dictionary_encode()
    return coded.indices.to_numpy(), coded.dictionary.to_numpy()


_NUMBERED: dict[str, Callable[[RecordColumns], Numbered]] = {
    MINUTE: _of_minutes,
    HOST: lambda records: records.hosts,
    "store": lambda records: Numbered(np.zeros(len(records), dtype=np.int64), pa.array([records.store])),
    "topic": lambda records: records.topics,
    "queue_id": _of_queues,
    "tag": lambda records: records.tags,
}
"""Columns that are numbered without being made."""
