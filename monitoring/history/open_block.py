"""`OpenBlock`: the samples of the current minute, before they become rows. Not thread-safe; its owner locks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgpack
import numpy as np
from numpy.typing import NDArray

from monitoring.history.tiers import RAW_SLOTS, decode, encode
from monitoring.series import Floats


@dataclass(frozen=True, slots=True)
class SubjectRows:
    """One kind's part of a block."""

    kind: str
    figures: tuple[str, ...]
    subjects: list[int]
    values: Floats
    """[slots, subjects, figures]"""


class OpenBlock:
    """Samples from slot ``begin`` of tier 0 to the end of its minute."""

    def __init__(self, begin: int) -> None:
        self.begin = begin
        self.end = (begin // RAW_SLOTS + 1) * RAW_SLOTS
        """First slot of the next block, if the run continues."""
        self.last = begin - 1
        """Slot of the newest sample; the one before ``begin`` if there is none."""
        self._sampled: NDArray[np.bool_] = np.zeros(self.end - begin, bool)
        self._kinds: dict[str, _Kind] = {}

    @property
    def sampled(self) -> NDArray[np.bool_]:
        """Whether there is a sample: bool [slots] up to the newest."""
        return self._sampled[: self.last - self.begin + 1]

    def add(self, slot: int, kind: str, figures: Sequence[str], subjects: Sequence[int], values: Floats) -> None:
        """Add one kind's values [subjects, figures] of a slot."""
        self._sampled[slot - self.begin] = True
        self.last = max(self.last, slot)
        if kind not in self._kinds:
            self._kinds[kind] = _Kind(len(self._sampled), figures)
        self._kinds[kind].add(slot - self.begin, figures, subjects, values)

    def kinds(self, first: int | None = None) -> list[SubjectRows]:
        """The samples by kind, from slot ``first`` on. The arrays are views."""
        begin = 0 if first is None else first - self.begin
        end = self.last - self.begin + 1
        return [part.rows(kind, begin, end) for kind, part in self._kinds.items()]

    def subject(self, kind: str, subject: int, figure: str) -> Floats | None:
        """A copy of one figure's values from ``begin`` on; None if the block has none."""
        part = self._kinds.get(kind)
        return None if part is None else part.one(subject, figure, self.last - self.begin + 1)

    # ---- the journal ----

    def journal(self, first: int) -> bytes:
        """The samples from slot ``first`` to the newest, for `replay`."""
        parts = []
        for rows in self.kinds(first):
            slots, subjects, figures = rows.values.shape
            flat = rows.values.reshape(slots, subjects * figures)
            ids = np.array(rows.subjects, "<i8").tobytes()
            parts.append([rows.kind, list(rows.figures), ids, encode(flat)])
        sampled = np.packbits(self._sampled[first - self.begin :]).tobytes()
        packed: bytes = msgpack.packb([self.last - first + 1, sampled, parts])
        return packed

    def replay(self, first: int, data: bytes) -> None:
        """Add the samples of a `journal`; raises `ValueError` if the bytes are invalid."""
        count, sampled, parts = msgpack.unpackb(data)
        known = np.unpackbits(np.frombuffer(sampled, np.uint8))[:count].astype(bool)
        for kind, figures, raw_ids, raw in parts:
            ids = np.frombuffer(raw_ids, "<i8").tolist()
            flat = decode(raw, len(ids) * len(figures)) if ids else np.zeros((count, 0))
            values = flat.reshape(count, len(ids), len(figures))
            for index in np.flatnonzero(known).tolist():
                self.add(first + index, kind, figures, ids, values[index])


class _Kind:
    """Values of one kind, [slots, subjects, figures] with room for more subjects."""

    def __init__(self, slots: int, figures: Sequence[str]) -> None:
        self._figures = list(figures)
        self._columns: dict[int, int] = {}
        self._values = np.full((slots, 0, len(figures)), np.nan)
        self._seen: Sequence[int] = ()
        self._places: NDArray[np.int64] = np.zeros(0, np.int64)

    def add(self, index: int, figures: Sequence[str], subjects: Sequence[int], values: Floats) -> None:
        if subjects is not self._seen and list(subjects) != list(self._seen):
            self._meet(subjects)
        if list(figures) == self._figures:
            self._values[index, self._places] = values
            return
        new = [figure for figure in figures if figure not in self._figures]
        self._figures += new
        room = np.full((*self._values.shape[:2], len(new)), np.nan)
        self._values = np.concatenate([self._values, room], axis=2)
        order = [self._figures.index(figure) for figure in figures]
        self._values[index, self._places[:, None], np.array(order)[None, :]] = values

    def _meet(self, subjects: Sequence[int]) -> None:
        for subject in subjects:
            self._columns.setdefault(subject, len(self._columns))
        self._seen = subjects
        self._places = np.array([self._columns[subject] for subject in subjects], np.int64)
        slots, room, figures = self._values.shape
        if len(self._columns) > room:
            more = np.full((slots, len(self._columns) - room, figures), np.nan)
            self._values = np.concatenate([self._values, more], axis=1)

    def rows(self, kind: str, begin: int, end: int) -> SubjectRows:
        return SubjectRows(kind, tuple(self._figures), list(self._columns), self._values[begin:end])

    def one(self, subject: int, figure: str, count: int) -> Floats | None:
        column = self._columns.get(subject)
        if column is None or figure not in self._figures:
            return None
        return self._values[:count, column, self._figures.index(figure)].copy()
