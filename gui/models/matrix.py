"""`Matrix`: one figure of many subjects over time, as rows of a regular grid. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from broker_core.worker.questions.history import HistoryLines
from monitoring.series import Floats


@dataclass(frozen=True, slots=True)
class Matrix:
    """float64 [rows, columns]; NaN where nothing was recorded."""

    from_ms: int
    step_ms: int
    values: Floats

    @property
    def is_empty(self) -> bool:
        """Whether it has no cell."""
        return not self.values.size

    @property
    def to_ms(self) -> int:
        return self.from_ms + self.step_ms * int(self.values.shape[1])

    @property
    def seconds(self) -> Floats:
        """Begin of each column, seconds since the epoch."""
        seconds: Floats = (self.from_ms + np.arange(self.values.shape[1]) * self.step_ms) / 1_000
        return seconds

    @property
    def top(self) -> float:
        known = self.values[~np.isnan(self.values)]
        return float(known.max()) if len(known) else 0.0


NO_MATRIX = Matrix(0, 1_000, np.zeros((0, 0)))


def matrix_of(lines: HistoryLines, from_ms: int, to_ms: int) -> Matrix:
    """Put lines on one grid; a cell is the newest value of its interval.

    Samples are not exactly one step apart, so an interval between two of them may have none: it has the value before. Where
    nothing was recorded for longer, lines have a NaN.
    """
    step_ms = max(1, lines.step_ms)
    # Intervals begin at multiples of the step, so that they stay fixed while the window moves.
    first_ms = from_ms // step_ms * step_ms
    columns = max(1, -(-(to_ms + 1 - first_ms) // step_ms))
    values = np.full((len(lines.times_ms), columns), np.nan)
    for row, (times, last) in enumerate(zip(lines.times_ms, lines.last, strict=True)):
        place = (np.frombuffer(times, "<i8") - first_ms) // step_ms
        inside = (place >= 0) & (place < columns)
        place, known = place[inside], np.frombuffer(last, "<f8")[inside]
        if len(place):
            shown = np.arange(place[0], place[-1] + 1)
            values[row, place[0] : place[-1] + 1] = known[np.searchsorted(place, shown, side="right") - 1]
    return Matrix(first_ms, step_ms, values)
