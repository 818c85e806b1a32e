"""Where the names of a chart's marks stand, so that none covers another. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from gui.plots.chart_series import ChartMark

PLACES = (0.95, 0.83, 0.71)
"""Heights of names, as shares of the chart, the best first."""
GAP = 14
"""Px between two names at one height."""


def mark_names(
    marks: Sequence[ChartMark], seconds_per_px: float, width_of: Callable[[str], float]
) -> list[tuple[ChartMark, str, float]]:
    """Each mark with its name and the height of it; no name where all heights are taken by neighbours.

    Args:
        marks: In the order of their times.
        seconds_per_px: Of the chart.
        width_of: Width of a name in px.
    """
    free_from = dict.fromkeys(PLACES, -math.inf)
    found = []
    for mark in marks:
        place = next((place for place, free_s in free_from.items() if free_s <= mark.at_s), None)
        if place is None or not mark.text:
            found.append((mark, "", PLACES[0]))
            continue
        free_from[place] = mark.at_s + (width_of(mark.text) + GAP) * seconds_per_px
        found.append((mark, mark.text, place))
    return found
