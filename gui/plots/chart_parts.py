"""Parts of a chart beside its lines: a note where it has none, names of marks, forecasts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QWidget

from gui.plots.chart_lines import PaintedLine
from gui.plots.chart_series import ChartForecast, ChartMark
from gui.plots.light_plot import LightPlot
from gui.theme.style import set_role
from gui.widgets.basic import PlainLabel
from gui.widgets.said import on_language
from gui.words.text import tr

LINE = 18
"""Height of a line of names, px."""
GAP = 14
"""Px between two names of a line; the ground of a name takes four at each end of it."""


@dataclass(frozen=True, slots=True)
class NamedMark:
    """A mark, its name (empty where all places are taken), its line from the top and its side."""

    mark: ChartMark
    name: str
    line: int
    is_left: bool


def mark_names(
    marks: Sequence[ChartMark],
    *,
    end_s: float,
    seconds_per_px: float,
    lines: int,
    width_of: Callable[[str], float],
    free_until_s: float = math.inf,
) -> list[NamedMark]:
    """Places for the names of marks, in the lane above the lines of a chart.

    Args:
        marks: In the order of their times.
        end_s: Right end of the chart; a name beyond it stands left of its mark.
        seconds_per_px: Of the chart.
        lines: Of the lane.
        width_of: Width of a name in px.
        free_until_s: Where something else begins in the lane.
    """
    taken: list[list[tuple[float, float]]] = [[(free_until_s, math.inf)] for _ in range(lines)]
    found = []
    for mark in marks:
        width_s = (width_of(mark.text) + GAP) * seconds_per_px
        is_left = mark.at_s + width_s > min(end_s, free_until_s)
        begin, end = (mark.at_s - width_s, mark.at_s) if is_left else (mark.at_s, mark.at_s + width_s)
        line = next((each for each, spans in enumerate(taken) if all(end <= a or b <= begin for a, b in spans)), None)
        if line is None or not mark.text:
            found.append(NamedMark(mark, "", 0, is_left))
            continue
        taken[line].append((begin, end))
        found.append(NamedMark(mark, mark.text, line, is_left))
    return found


FILL_ALPHA = 30
"""Of bands, and of the areas under lines."""


class ForecastLines:
    """A dashed line in its band; made at the first forecast, because most charts have none."""

    def __init__(self, plot: LightPlot) -> None:
        self._line = plot.plot([], [])
        self._edges = (plot.plot([], [], pen=None), plot.plot([], [], pen=None))
        self._fill = pg.FillBetweenItem(*self._edges)
        plot.addItem(self._fill, ignoreBounds=True)

    def set_colour(self, name: str) -> None:
        colour = QColor(name)
        self._line.setPen(pg.mkPen(colour, width=1.3, style=Qt.PenStyle.DashLine))
        colour.setAlpha(FILL_ALPHA)
        self._fill.setBrush(pg.mkBrush(colour))

    @property
    def items(self) -> tuple[Any, ...]:
        """What is in the scene."""
        return (self._line, *self._edges, self._fill)

    def painted(self) -> list[PaintedLine]:
        """The same for a picture."""
        (x, y), (_x, low), (_x, high) = (item.getData() for item in (self._line, *self._edges))
        if x is None or not len(x):
            return []
        nothing = pg.mkPen(None)
        return [PaintedLine(x, high, nothing, self._fill.brush(), low), PaintedLine(x, y, self._line.opts["pen"])]

    def show(self, forecast: ChartForecast | None) -> None:
        nothing = np.empty(0)
        x, y, low, high = (nothing,) * 4 if forecast is None else (forecast.x, forecast.y, forecast.low, forecast.high)
        self._line.setData(x, y)
        self._edges[0].setData(x, low)
        self._edges[1].setData(x, high)


UNKNOWN_WIDTH_MIN = 150
"""Least px without a line for a note beside the lines; below, it lies over them."""
OVER_SHARE_MAX = 1 / 3
"""Share of the height of a chart for a note over its lines; a higher note is cut to one line."""
SPACE = 6
"""Px between a note and the ends of its part."""


class ChartNote(PlainLabel):
    """Lies over a chart, in the middle of the part without lines, and lets the mouse through."""

    def __init__(self, chart: QWidget) -> None:
        super().__init__(chart)
        self._fault = ""
        self._place = (QRect(), 0)
        self.lane = 0
        """Height in px over the lines; 0 beside them."""
        self.setWordWrap(True)
        self.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        on_language(self, self._write_again)

    def tell(self, *, is_empty: bool, fault: str) -> None:
        """Show why nothing is drawn (``is_empty``), or what was not read (``fault``); hidden without either."""
        self.setVisible(is_empty or bool(fault))
        if fault != self._fault:
            self._fault = fault
            self._write()

    def place(self, inside: QRect, lines_from: int) -> None:
        """Move to the middle before the lines; if that is too narrow, over them at the top.

        Args:
            inside: Of the axes, in px of the chart.
            lines_from: Place of the first known value, in px from the left end of that.
        """
        self._place = (inside, lines_from)
        is_before = lines_from >= UNKNOWN_WIDTH_MIN
        width = lines_from if is_before else inside.width()
        room = QRect(inside.left(), inside.top(), width, inside.height()).adjusted(SPACE, SPACE // 2, -SPACE, 0)
        side = Qt.AlignmentFlag.AlignVCenter if is_before else Qt.AlignmentFlag.AlignTop
        flags = Qt.AlignmentFlag.AlignHCenter | side | Qt.TextFlag.TextWordWrap
        text, metrics = self._words(), self.fontMetrics()
        words = metrics.boundingRect(room, flags, text)
        if not is_before and words.height() > inside.height() * OVER_SHARE_MAX:
            text = metrics.elidedText(text, Qt.TextElideMode.ElideRight, room.width())
            words = metrics.boundingRect(room, flags, text)
        self.setText(text)
        self.setGeometry(words.adjusted(-SPACE, -SPACE // 2, SPACE, SPACE // 2).intersected(inside))
        self.lane = 0 if is_before else self.height()

    def _write_again(self) -> None:
        self._write()
        self.place(*self._place)

    def _write(self) -> None:
        set_role(self, "chart-fault" if self._fault else "caption")
        self.setText(self._words())

    def _words(self) -> str:
        return self._fault or tr("No value is known in this time range.")
