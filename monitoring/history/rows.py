"""Reads rows of the history as points in time, for queries and for the coarser tiers."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import numpy as np

from monitoring.history.database import retained_from_ms, rolled_until_ms
from monitoring.history.tiers import TIERS, Tier, decode
from monitoring.series import Floats, Ints

FOREVER = 1 << 62
"""Later than any time, in ms."""


@dataclass(frozen=True, slots=True)
class Points:
    """Values of one or several figures at rising times; a time without a sample may be missing or NaN."""

    times_ms: Ints
    """[n]"""
    low: Floats
    """[n, figures]; smallest value of the slot; likewise the next two."""
    high: Floats
    last: Floats


class Runs:
    """Time intervals with samples."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute("SELECT begin_ms, end_ms FROM runs ORDER BY begin_ms").fetchall()
        self._begins = np.array([row[0] for row in rows], np.int64)
        self._ends = np.array([row[1] for row in rows], np.int64)
        self._last_ends = np.maximum.accumulate(self._ends)

    @property
    def begin_ms(self) -> int:
        """Begin of the first run; -1 if there is none."""
        return int(self._begins[0]) if len(self._begins) else -1

    def end_of(self, time_ms: int) -> int:
        """End of the run at a time, or of the run before it; 0 if there is none.

        If two runs contain the time, the later one counts: it replaces one that was recorded while the clock was ahead.
        """
        index = int(np.searchsorted(self._begins, time_ms, side="right")) - 1
        if index < 0:
            return 0
        if self._ends[index] <= time_ms < self._last_ends[index]:
            index = int(np.flatnonzero(self._ends[:index] > time_ms)[-1])
        return int(self._ends[index])


def subject_number(connection: sqlite3.Connection, kind: str, name: str) -> int | None:
    """Number of a subject; None if nothing was recorded of it."""
    row = connection.execute("SELECT id FROM subjects WHERE kind=? AND name=?", (kind, name)).fetchone()
    return int(row[0]) if row else None


class RowReader:
    """Reads the rows of subjects. The caller keeps a transaction around reads that must be consistent."""

    def __init__(self, connection: sqlite3.Connection, layouts: dict[int, list[str]], runs: Runs) -> None:
        self._connection = connection
        self.layouts = layouts
        self.runs = runs
        self.damaged = 0
        """Rows that could not be unpacked; their values are missing."""

    def points(self, tier: Tier, subject: int, from_ms: int, to_ms: int, figures: list[str]) -> Points:
        """Points of a subject within ``[from_ms, to_ms)``. Figures that were not recorded then are NaN."""
        first, end = from_ms // tier.step_ms, -(-to_ms // tier.step_ms)
        rows = self._connection.execute(_ROWS, (tier.number, subject, tier.number, subject, first, first, end)).fetchall()
        times, values = [np.zeros(0, np.int64)], [np.zeros((0, 3, len(figures)))]
        for index, (start, held, layout, data) in enumerate(rows):
            following = rows[index + 1][0] if index + 1 < len(rows) else end
            have = self.layouts.get(layout, [])
            try:
                slots, found = self._hold(tier, start, data, len(have)) if held else _whole(tier, start, data, len(have))
            except ValueError:
                self.damaged += 1
                continue
            part = slice(*np.searchsorted(slots, (first, following)))
            times.append(slots[part] * tier.step_ms)
            values.append(_chosen(found[part], have, figures))
        all_times, all_values = np.concatenate(times), np.concatenate(values)
        inside = (all_times >= from_ms) & (all_times < to_ms)
        picked = all_values[inside]
        return Points(all_times[inside], picked[:, 0], picked[:, 1], picked[:, 2])

    def _hold(self, tier: Tier, start: int, data: bytes, figures: int) -> tuple[Ints, Floats]:
        """Slots of a row whose values hold to the end of the run, and its values [n, 3, figures]."""
        value = np.frombuffer(data, "<f8")
        if not figures or len(value) != figures:
            raise ValueError(f"a row of the history has {len(value)} numbers for {figures} figures")
        # A coarse slot may begin a little before the run does.
        run_end_ms = self.runs.end_of((start + 1) * tier.step_ms - 1)
        slots = np.arange(start, -(-run_end_ms // tier.step_ms), dtype=np.int64)
        return slots, np.broadcast_to(value, (len(slots), 3, len(value)))


def _whole(tier: Tier, start: int, data: bytes, figures: int) -> tuple[Ints, Floats]:
    """Slots of a row with a value for each, and its values [n, 3, figures]."""
    parts = 1 if tier.is_raw else 3
    values = decode(data, parts * figures).reshape(-1, parts, figures)
    slots = np.arange(start, start + len(values), dtype=np.int64)
    return slots, np.broadcast_to(values, (len(values), 3, figures))


def _chosen(values: Floats, have: list[str], want: list[str]) -> Floats:
    if have == want:
        return values
    made = np.full((len(values), 3, len(want)), np.nan)
    for place, figure in enumerate(want):
        if figure in have:
            made[:, :, place] = values[:, :, have.index(figure)]
    return made


def plan_tiers(connection: sqlite3.Connection, from_ms: int, to_ms: int, step_ms: int) -> list[tuple[Tier, int, int]]:
    """The tier to read for each part of ``[from_ms, to_ms)``.

    It is the coarsest that is fine enough for ``step_ms``; a finer one for newer parts that it does not reach, a coarser one
    for older parts. The caller keeps a transaction around consistent reads.
    """
    wanted = max((tier.number for tier in TIERS if tier.step_ms <= step_ms), default=0)
    kept = {tier.number: _extent(connection, tier) for tier in TIERS}
    parts: list[tuple[Tier, int, int]] = []
    at_ms = from_ms
    for number in [*range(len(TIERS) - 1, wanted, -1), *range(wanted, -1, -1)]:
        begin_ms, end_ms = kept[number]
        if number > wanted:
            # Only the part that no finer tier has.
            end_ms = min(end_ms, *(kept[finer][0] for finer in range(wanted, number)))
        begin_ms, end_ms = max(at_ms, begin_ms), min(to_ms, end_ms)
        if begin_ms < end_ms:
            parts.append((TIERS[number], begin_ms, end_ms))
            at_ms = end_ms
    return parts


def _extent(connection: sqlite3.Connection, tier: Tier) -> tuple[int, int]:
    end_ms = FOREVER if tier.is_raw else rolled_until_ms(connection, tier.number)
    return retained_from_ms(connection, tier.number), end_ms


_ROWS = """
SELECT start, held, layout, data FROM points
WHERE tier=? AND subject=?
  AND start >= COALESCE((SELECT MAX(start) FROM points WHERE tier=? AND subject=? AND start<=?), ?) AND start<?
ORDER BY start
"""
