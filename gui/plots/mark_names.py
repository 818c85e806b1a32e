"""Where the names of a chart's marks stand, so that none covers another. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gui.plots.chart_series import ChartMark

TOP, LOWEST = 0.95, 0.5
"""Heights between which names stand, as shares of the chart; in a low one the top is where a name is whole."""
LINE = 18
"""Px from one line of names to the next."""
GAP = 14
"""Px between two names of a line; the ground of a name takes four at each end of it."""


@dataclass(frozen=True, slots=True)
class NamedMark:
    """A mark, what is written at it (empty where all places are taken), at which height, and on which side."""

    mark: ChartMark
    name: str
    height: float
    is_left: bool


def mark_names(
    marks: Sequence[ChartMark], *, end_s: float, seconds_per_px: float, height: int, width_of: Callable[[str], float]
) -> list[NamedMark]:
    """Places for the names of marks.

    Args:
        marks: In the order of their times.
        end_s: Right end of the chart; a name that would go beyond it stands left of its mark.
        seconds_per_px: Of the chart.
        height: Of the chart, px.
        width_of: Width of a name in px.
    """
    top = min(TOP, 1 - LINE / 2 / max(1, height))
    lines = max(1, int((top - LOWEST) * height / LINE))
    taken: list[list[tuple[float, float]]] = [[] for _ in range(lines)]
    found = []
    for mark in marks:
        width_s = (width_of(mark.text) + GAP) * seconds_per_px
        is_left = mark.at_s + width_s > end_s
        begin, end = (mark.at_s - width_s, mark.at_s) if is_left else (mark.at_s, mark.at_s + width_s)
        line = next((each for each, spans in enumerate(taken) if all(end <= a or b <= begin for a, b in spans)), None)
        if line is None or not mark.text:
            found.append(NamedMark(mark, "", top, is_left))
            continue
        taken[line].append((begin, end))
        found.append(NamedMark(mark, mark.text, top - line * LINE / max(1, height), is_left))
    return found
