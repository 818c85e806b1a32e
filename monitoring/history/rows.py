"""Rows of the history → points in time, for queries and for the coarser tiers. Reads only."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

import numpy as np

from monitoring.history.tiers import Tier, decode
from monitoring.series import Floats, Ints


@dataclass(frozen=True, slots=True)
class Points:
    """Values of one or several figures at rising times; a time without a sample may be missing or NaN."""

    times_ms: Ints
    """[n]"""
    low: Floats
    """[n, figures]; smallest value of the slot, as the next"""
    high: Floats
    last: Floats


class Runs:
    """Stretches of time with samples."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        rows = connection.execute("SELECT begin_ms, end_ms FROM runs ORDER BY begin_ms").fetchall()
        self._begins = np.array([row[0] for row in rows], np.int64)
        self._ends = np.array([row[1] for row in rows], np.int64)

    @property
    def begin_ms(self) -> int:
        """When the record begins; -1 when there is none."""
        return int(self._begins[0]) if len(self._begins) else -1

    def end_of(self, time_ms: int) -> int:
        """End of the run that a time lies in, or of the one before it; 0 when there is none."""
        index = int(np.searchsorted(self._begins, time_ms, side="right")) - 1
        return int(self._ends[index]) if index >= 0 else 0


def subject_number(connection: sqlite3.Connection, kind: str, name: str) -> int | None:
    """Number of a subject; None when nothing was recorded of it."""
    row = connection.execute("SELECT id FROM subjects WHERE kind=? AND name=?", (kind, name)).fetchone()
    return int(row[0]) if row else None


class RowReader:
    """Reads the rows of subjects.

    Args:
        connection: Any; the caller keeps a transaction around what belongs together.
        layouts: Figures by number of the layout.
        runs: As they are now.
    """

    def __init__(self, connection: sqlite3.Connection, layouts: dict[int, list[str]], runs: Runs) -> None:
        self._connection = connection
        self.layouts = layouts
        self.runs = runs

    def points(self, tier: Tier, subject: int, from_ms: int, to_ms: int, figures: list[str]) -> Points:
        """Points of a subject within ``[from_ms, to_ms)``. Figures that were not recorded then are NaN."""
        first, end = from_ms // tier.step_ms, -(-to_ms // tier.step_ms)
        rows = self._connection.execute(_ROWS, (tier.number, subject, tier.number, subject, first, first, end)).fetchall()
        times, values = [np.zeros(0, np.int64)], [np.zeros((0, 3, len(figures)))]
        for index, (start, held, layout, data) in enumerate(rows):
            following = rows[index + 1][0] if index + 1 < len(rows) else end
            have = self.layouts[layout]
            slots, found = self._hold(tier, start, data) if held else _whole(tier, start, data, len(have))
            part = slice(*np.searchsorted(slots, (first, following)))
            times.append(slots[part] * tier.step_ms)
            values.append(_chosen(found[part], have, figures))
        all_times, all_values = np.concatenate(times), np.concatenate(values)
        inside = (all_times >= from_ms) & (all_times < to_ms)
        picked = all_values[inside]
        return Points(all_times[inside], picked[:, 0], picked[:, 1], picked[:, 2])

    def _hold(self, tier: Tier, start: int, data: bytes) -> tuple[Ints, Floats]:
        """Slots of a row whose values hold to the end of the run, and its values [n, 3, figures]."""
        value = np.frombuffer(data, "<f8")
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


_ROWS = """
SELECT start, held, layout, data FROM points
WHERE tier=? AND subject=?
  AND start >= COALESCE((SELECT MAX(start) FROM points WHERE tier=? AND subject=? AND start<=?), ?) AND start<?
ORDER BY start
"""
