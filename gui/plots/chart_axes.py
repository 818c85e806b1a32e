"""Axes of a `TimeChart`: values at round ticks with a grid, times at round places of the chosen zone."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyqtgraph as pg
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QFontMetricsF, QPainter, QPen

from gui.plots.value_scale import round_step, round_time_text, round_times
from gui.theme.fonts import text_font
from gui.theme.tokens import Size
from gui.words.text import TimeZoneChoice

TICKS_MAX = 6
AXIS_WIDTH = 52
"""Minimum, px; wider texts widen the axis, because a text that does not fit is not drawn."""
TEXT_SPACE = 8
"""Px between the text of a tick and the plot."""


class ValueAxis(pg.AxisItem):
    """Round ticks, at most `TICKS_MAX`, and the horizontal grid."""

    def __init__(self, tick_text: Callable[[float], str], *, binary: bool) -> None:
        super().__init__("left")
        self._tick_text = tick_text
        self._base = 1024 if binary else 10
        self.setTickFont(text_font(Size.CAPTION))
        self.setStyle(tickLength=0, tickTextOffset=TEXT_SPACE)
        self.setWidth(AXIS_WIDTH)

    def set_format(self, tick_text: Callable[[float], str], *, binary: bool) -> None:
        self._tick_text = tick_text
        self._base = 1024 if binary else 10
        self.setWidth(AXIS_WIDTH)
        self._fit()
        self.picture = None
        self.update()

    def linkedViewChanged(self, view: Any, newRange: Any = None) -> None:
        super().linkedViewChanged(view, newRange)
        self._fit()

    def _fit(self) -> None:
        """Widen the axis for its widest text; it is not narrowed again, because live figures would shift the plot."""
        metrics, (low, high) = QFontMetricsF(text_font(Size.CAPTION)), self.range
        texts = [self._tick_text(tick) for _step, ticks in self.tickValues(low, high, self.height()) for tick in ticks]
        widest = math.ceil(max(map(metrics.horizontalAdvance, texts), default=0)) + TEXT_SPACE + 2
        if widest > self.fixedWidth:
            self.setWidth(widest)

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        room = max(2, min(TICKS_MAX, int(size / 22)))
        step = round_step((maxVal - minVal) / (room - 1), self._base)
        ticks = _multiples(step, minVal, maxVal)
        # Counts are whole: ticks with the same text are too close.
        while len(ticks) > 2 and len({self._tick_text(tick) for tick in ticks}) < len(ticks):
            step = round_step(step * 1.01, self._base)
            ticks = _multiples(step, minVal, maxVal)
        if len({self._tick_text(tick) for tick in ticks}) < len(ticks):
            ticks = ticks[:1]
        return [(step, ticks)]

    def tickStrings(self, values: list[float], _scale: float, _spacing: float) -> list[str]:
        return [self._tick_text(value) for value in values]

    def generateDrawSpecs(self, painter: QPainter) -> Any:
        return _without_ticks(super().generateDrawSpecs(painter))


def _multiples(step: float, low: float, high: float) -> list[float]:
    first = math.ceil(low / step) * step
    return [first + i * step for i in range(int((high - first) / step + 1e-9) + 1)]


def _without_ticks(specs: Any) -> Any:
    """Drop the tick lines: even those of length 0 are drawn as dots."""
    return specs and (specs[0], [], specs[2])


class ValueGrid(pg.GraphicsObject):
    """Horizontal lines at the ticks of the value axis, behind the curves."""

    def __init__(self, axis: ValueAxis) -> None:
        super().__init__()
        self._axis = axis
        self._pen = QPen()
        self.setZValue(-10)

    def set_colour(self, colour: QColor) -> None:
        self._pen = pg.mkPen(colour)
        self.update()

    def boundingRect(self) -> QRectF:
        box = self.getViewBox()
        return QRectF() if box is None else QRectF(box.viewRect())

    def viewRangeChanged(self) -> None:
        self.prepareGeometryChange()

    def viewTransformChanged(self) -> None:
        self.prepareGeometryChange()

    def paint(self, painter: QPainter, *_option: object) -> None:
        box = self.getViewBox()
        if box is None:
            return
        view = box.viewRect()
        painter.setPen(self._pen)
        for value in self.values():
            painter.drawLine(QPointF(view.left(), value), QPointF(view.right(), value))

    def values(self) -> list[float]:
        """The values at which a line is drawn."""
        box = self.getViewBox()
        view = box.viewRect()
        return [value for _, ticks in self._axis.tickValues(view.top(), view.bottom(), box.height()) for value in ticks]


class TimeAxis(pg.AxisItem):
    """Round times of the chosen zone, as `gui.plots.value_scale` has them for axes painted by hand."""

    def __init__(self, times: TimeZoneChoice) -> None:
        super().__init__("bottom")
        self._times = times
        self.setTickFont(text_font(Size.CAPTION))
        self.setStyle(tickLength=0, tickTextOffset=4)
        self.setHeight(22)

    def relabel(self) -> None:
        self.picture = None
        self.update()

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:
        return [round_times(self._times, minVal, maxVal, size)]

    def tickStrings(self, values: list[float], _scale: float, spacing: float) -> list[str]:
        return [round_time_text(self._times, value, spacing) for value in values]

    def generateDrawSpecs(self, painter: QPainter) -> Any:
        return _without_ticks(super().generateDrawSpecs(painter))
