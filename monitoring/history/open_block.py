"""`OpenBlock`: the samples of the current minute, before they become rows. Not thread-safe; its owner locks.

Samples are packed with every entry of the journal, because unpacked ones of 4,000 queues take 6 MiB a minute. They are packed
by slabs of `SLAB_SUBJECTS` subjects, so that a query unpacks the slab of its subject only, and rows are made slab by slab.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import msgpack
import numpy as np
from numpy.typing import NDArray

from monitoring.history.tiers import RAW_SLOTS, decode, encode
from monitoring.series import Floats

SLAB_SUBJECTS = 64


@dataclass(frozen=True, slots=True)
class SubjectRows:
    """Values of subjects of one kind, from the begin of the block to its newest sample."""

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
        self._packed_until = begin
        self._sampled: NDArray[np.bool_] = np.zeros(self.end - begin, bool)
        self._kinds: dict[str, _Kind] = {}

    @property
    def sampled(self) -> NDArray[np.bool_]:
        """Whether there is a sample: bool [slots] up to the newest."""
        return self._sampled[: self.last - self.begin + 1]

    def add(self, slot: int, kind: str, figures: Sequence[str], subjects: Sequence[int], values: Floats) -> None:
        """Add one kind's values [subjects, figures] of a slot that is not packed. The array is kept, not copied."""
        self._sampled[slot - self.begin] = True
        self.last = max(self.last, slot)
        if kind not in self._kinds:
            self._kinds[kind] = _Kind(self._packed_until - self.begin)
        self._kinds[kind].add(slot - self._packed_until, figures, subjects, values)

    def rows(self) -> Iterator[SubjectRows]:
        """All samples, in parts of one kind and at most `SLAB_SUBJECTS` subjects."""
        for kind, part in self._kinds.items():
            yield from part.rows(kind, self.last - self._packed_until + 1)

    def subject(self, kind: str, subject: int, figure: str) -> Floats | None:
        """One figure's values from ``begin`` on; None if the block has none."""
        part = self._kinds.get(kind)
        return None if part is None else part.one(subject, figure, self.last - self._packed_until + 1)

    # ---- the journal ----

    def pack(self) -> tuple[int, bytes]:
        """Pack the samples since the last time; returns their first slot and them as bytes for `replay`."""
        first, count = self._packed_until, self.last - self._packed_until + 1
        parts = [[kind, *slab] for kind, part in self._kinds.items() for slab in part.pack(count)]
        sampled = np.packbits(self.sampled[first - self.begin :]).tobytes()
        packed: bytes = msgpack.packb([count, sampled, parts])
        self._packed_until = self.last + 1
        return first, packed

    def replay(self, first: int, data: bytes) -> None:
        """Add the samples of a `pack`; raises `ValueError` if the bytes are invalid."""
        count, sampled, parts = msgpack.unpackb(data)
        known = np.unpackbits(np.frombuffer(sampled, np.uint8))[:count].astype(bool)
        for kind, figures, raw_ids, raw in parts:
            ids = np.frombuffer(raw_ids, "<i8").tolist()
            flat = decode(raw, len(ids) * len(figures)) if ids else np.zeros((count, 0))
            values = flat.reshape(count, len(ids), len(figures))
            for index in np.flatnonzero(known).tolist():
                self.add(first + index, kind, figures, ids, values[index])
        self.pack()


@dataclass(frozen=True, slots=True)
class _Sample:
    slot: int
    """Since the samples that are packed."""
    columns: NDArray[np.int64]
    places: NDArray[np.int64]
    """Of the figures."""
    values: Floats


@dataclass(frozen=True, slots=True)
class _Packed:
    slots: int
    subjects: int
    figures: int
    slabs: list[bytes]

    def slab(self, number: int) -> Floats:
        """[slots, subjects, figures]; later samples may have more of both."""
        subjects = min(self.subjects - number * SLAB_SUBJECTS, SLAB_SUBJECTS)
        if subjects <= 0:
            return np.zeros((self.slots, 0, self.figures))
        return decode(self.slabs[number], subjects * self.figures).reshape(self.slots, subjects, self.figures)


class _Kind:
    """Values of one kind, from slot ``begin`` of the block on. Subjects and figures are numbered as they appear."""

    def __init__(self, begin: int) -> None:
        self._figures: list[str] = []
        self._subjects: dict[int, int] = {}
        self._packed = [_Packed(begin, 0, 0, [])]
        self._samples: list[_Sample] = []
        self._seen: tuple[Sequence[int], Sequence[str]] = (), ()
        self._columns: NDArray[np.int64] = np.zeros(0, np.int64)
        self._places: NDArray[np.int64] = np.zeros(0, np.int64)

    def add(self, slot: int, figures: Sequence[str], subjects: Sequence[int], values: Floats) -> None:
        seen_subjects, seen_figures = self._seen
        if (subjects is not seen_subjects and list(subjects) != list(seen_subjects)) or list(figures) != list(seen_figures):
            self._meet(figures, subjects)
        self._samples.append(_Sample(slot, self._columns, self._places, values))

    def _meet(self, figures: Sequence[str], subjects: Sequence[int]) -> None:
        for subject in subjects:
            self._subjects.setdefault(subject, len(self._subjects))
        self._figures += [figure for figure in figures if figure not in self._figures]
        self._columns = np.array([self._subjects[subject] for subject in subjects], np.int64)
        self._places = np.array([self._figures.index(figure) for figure in figures], np.int64)
        self._seen = subjects, figures

    def pack(self, count: int) -> Iterator[tuple[list[str], bytes, bytes]]:
        """Pack ``count`` slots; yields figures, subjects and values of each slab."""
        values = self._unpacked(count)
        ids = np.fromiter(self._subjects, "<i8", len(self._subjects))
        slabs = [
            (ids[first : first + SLAB_SUBJECTS], values[:, first : first + SLAB_SUBJECTS].reshape(count, -1))
            for first in range(0, len(ids), SLAB_SUBJECTS)
        ]
        packed = [encode(matrix) for _ids, matrix in slabs]
        self._packed.append(_Packed(count, len(ids), len(self._figures), packed))
        self._samples.clear()
        for (slab_ids, _matrix), data in zip(slabs, packed, strict=True):
            yield list(self._figures), slab_ids.tobytes(), data

    def rows(self, kind: str, count: int) -> Iterator[SubjectRows]:
        unpacked, subjects = self._unpacked(count), list(self._subjects)
        for slab, first in enumerate(range(0, len(subjects), SLAB_SUBJECTS)):
            part = slice(first, first + SLAB_SUBJECTS)
            yield SubjectRows(kind, tuple(self._figures), subjects[part], self._slab(slab, unpacked[:, part]))

    def one(self, subject: int, figure: str, count: int) -> Floats | None:
        column = self._subjects.get(subject)
        if column is None or figure not in self._figures:
            return None
        slab, place = divmod(column, SLAB_SUBJECTS)
        unpacked = self._unpacked(count)[:, slab * SLAB_SUBJECTS : (slab + 1) * SLAB_SUBJECTS]
        return self._slab(slab, unpacked)[:, place, self._figures.index(figure)].copy()

    def _unpacked(self, count: int) -> Floats:
        """The samples that are not packed: [slots, subjects, figures]."""
        values = np.full((count, len(self._subjects), len(self._figures)), np.nan)
        for sample in self._samples:
            values[sample.slot, sample.columns[:, None], sample.places] = sample.values
        return values

    def _slab(self, slab: int, unpacked: Floats) -> Floats:
        """All samples of a slab: [slots, subjects, figures]."""
        values = np.full((sum(packed.slots for packed in self._packed), *unpacked.shape[1:]), np.nan)
        at = 0
        for packed in self._packed:
            known = packed.slab(slab)
            values[at : at + packed.slots, : known.shape[1], : known.shape[2]] = known
            at += packed.slots
        return np.concatenate([values, unpacked])
