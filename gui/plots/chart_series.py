"""Values of a `TimeChart`: lines, marks and forecasts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gui.theme.tokens import State

Floats = NDArray[np.float64]


def lone_points(y: Floats) -> NDArray[np.bool_]:
    """Values that a line with gaps (NaN) cannot show, because both neighbours are unknown."""
    known = np.concatenate(([False], np.isfinite(y), [False]))
    lone: NDArray[np.bool_] = known[1:-1] & ~known[:-2] & ~known[2:]
    return lone


@dataclass(frozen=True, slots=True)
class ChartSeries:
    """A line of a chart: its name and its look."""

    key: str
    title: str
    """English; shown through `tr`."""
    state: State | None = None
    """Colour by meaning; None: the next series colour."""
    fill: bool = False


@dataclass(frozen=True, slots=True)
class ChartMark:
    """An event, drawn as a dashed line with a flag."""

    at_s: float
    text: str


@dataclass(frozen=True, slots=True)
class ChartForecast:
    """The future of a line: float64 [n] each, x in seconds since the epoch, from now on."""

    x: Floats
    y: Floats
    low: Floats
    high: Floats
