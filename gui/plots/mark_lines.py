"""`MarkLines`: the marks of a chart, lines with their names in a lane above the curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontMetricsF, QPen

from gui.plots.chart_parts import LINE, NamedMark, mark_names
from gui.plots.chart_series import ChartMark
from gui.plots.light_plot import LightPlot
from gui.theme.tokens import Tokens

GROUND_ALPHA = 200
MARKS_AGAIN = 1.25
"""Change of the time scale after which names of marks are placed again."""
LANE_LINES_MAX = 2
LANE_SHARE_MAX = 0.4
"""Maximum height of the lane, as a share of the chart."""


class MarkLines:
    """See the module.

    Attributes:
        lane: Height above the curves that is kept for names and buttons, px.
        items: The drawn lines, each with its name as ``label``.
    """

    def __init__(self, plot: LightPlot) -> None:
        self._plot = plot
        self.items: list[Any] = []
        self._shown: list[ChartMark] = []
        self._drawn_at = 0.0
        """Seconds a pixel at the last drawing."""
        self.lane = 0

    @property
    def seconds_per_px(self) -> float:
        # Of the box alone: with the width of the axis names would seem narrower.
        box = self._plot.getViewBox()
        left, right = box.viewRange()[0]
        return float((right - left) / max(1.0, box.width()))

    @property
    def are_outdated(self) -> bool:
        """Whether the time scale is another one than the marks were drawn for."""
        return bool(self._shown) and not self._drawn_at / MARKS_AGAIN <= self.seconds_per_px <= self._drawn_at * MARKS_AGAIN

    def take(self, marks: Sequence[ChartMark]) -> bool:
        """Replace the marks, in any order; returns whether they are others, which `draw` then shows."""
        marks = sorted(marks, key=lambda mark: mark.at_s)
        is_other = marks != self._shown
        self._shown = marks
        return is_other

    def draw(self, tokens: Tokens, font: QFont, above: int, corner: int) -> None:
        """Draw the marks; ``above`` and ``corner`` are those of `gui.plots.chart_link.TimePlot.keep_above`."""
        for item in self.items:
            self._plot.removeItem(item)
        box, per_px = self._plot.getViewBox(), self.seconds_per_px
        height, end_s = max(1.0, box.height()), box.viewRange()[0][1]
        self._drawn_at = per_px
        named = mark_names(
            self._shown,
            end_s=end_s,
            free_until_s=end_s - corner * per_px,
            seconds_per_px=per_px,
            lines=max(1, min(LANE_LINES_MAX, int(height * LANE_SHARE_MAX / LINE))),
            width_of=QFontMetricsF(font).horizontalAdvance,
        )
        lines = max((one.line + 1 for one in named if one.name), default=0)
        self.lane = max(lines * LINE + LINE // 3 if lines else 0, above)
        self.items = [self._item(one, tokens, height) for one in named]
        for item in self.items:
            self._plot.addItem(item, ignoreBounds=True)

    def _item(self, one: NamedMark, tokens: Tokens, height: float) -> Any:
        """A line up to its name, or to the lane: it crosses no name above."""
        above = one.line * LINE if one.name else self.lane
        length = max(1.0, height - above)
        label, span = _label_at(one, tokens, length), (0, length / height)
        return pg.InfiniteLine(one.mark.at_s, angle=90, pen=_pen(tokens), label=one.name, labelOpts=label, span=span)

    def colour(self, tokens: Tokens) -> None:
        """Change the colours; the places stay, because making the items again would take four times as long."""
        for item in self.items:
            item.setPen(_pen(tokens))
            item.label.setColor(tokens.checking)
            item.label.fill = pg.mkBrush(name_ground(tokens) if item.label.format else None)
            item.label.update()


def name_ground(tokens: Tokens) -> QColor:
    """Ground of a name in a chart, so that no line crosses it."""
    colour = QColor(tokens.panel)
    colour.setAlpha(GROUND_ALPHA)
    return colour


def _label_at(one: NamedMark, tokens: Tokens, length: float) -> dict[str, Any]:
    side = (1.0, 0.5) if one.is_left else (0.0, 0.5)
    ground = name_ground(tokens) if one.name else None  # a name that found no place hides nothing
    position = 1 - LINE / 2 / length
    return {"position": position, "color": tokens.checking, "anchors": [side, side], "fill": ground}


def _pen(tokens: Tokens) -> QPen:
    pen: QPen = pg.mkPen(tokens.checking, width=1, style=Qt.PenStyle.DotLine)
    return pen
