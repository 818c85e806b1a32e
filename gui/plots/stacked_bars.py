"""`StackedBars`: counts in equal parts of the time ahead, in layers. Drawn by hand, without pyqtgraph."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from gui.plots.time_chart import round_step
from gui.text import count_text, short_count_text
from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State

AXIS_WIDTH = 40
LABEL_HEIGHT = 18
TOP_SPACE = 8
LABEL_DISTANCE_MIN = 58


@dataclass(frozen=True, slots=True)
class BarLayer:
    """One colour of the bars.

    Attributes:
        title: Shown in tips, in the language of the window.
        counts: One for each part.
        state: Gives the colour.
    """

    title: str
    counts: Sequence[float]
    state: State


class StackedBars(QWidget):
    """Bars from 0 up; a tip says what a bar stands for."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = theme
        self._layers: Sequence[BarLayer] = ()
        self._labels: Sequence[str] = ()
        self._top = 1.0
        self._step = 1.0
        self.setMinimumHeight(90)
        theme.changed.connect(self.update)

    def set_bars(self, labels: Sequence[str], layers: Sequence[BarLayer]) -> None:
        """Show counts; ``labels`` names each part."""
        self._labels, self._layers = labels, layers
        totals = [sum(layer.counts[i] for layer in layers) for i in range(len(labels))]
        step = round_step(max(totals, default=0.0) / 2)
        self._step = max(step, 1.0)
        self._top = max(self._step * math.ceil(max(totals, default=0.0) / self._step), self._step)
        filled = [f"{name}: {count_text(total)}" for name, total in zip(labels, totals, strict=True) if total >= 0.5]
        self.setAccessibleDescription(", ".join(filled[:20]))
        self.update()

    def text_of(self, part: int) -> str:
        """What the tip of a part says."""
        counts = [f"{layer.title}: {count_text(layer.counts[part])}" for layer in self._layers]
        return "\n".join([self._labels[part], *counts])

    def sizeHint(self) -> QSize:
        return QSize(320, 130)

    def _plot(self) -> QRectF:
        return QRectF(
            AXIS_WIDTH, TOP_SPACE, max(1, self.width() - AXIS_WIDTH), max(1, self.height() - LABEL_HEIGHT - TOP_SPACE)
        )

    def event(self, event: QEvent) -> bool:
        if isinstance(event, QHelpEvent) and self._labels:
            plot = self._plot()
            part = int((event.pos().x() - plot.left()) / plot.width() * len(self._labels))
            if 0 <= part < len(self._labels) and plot.contains(QPointF(event.pos())):
                QToolTip.showText(event.globalPos(), self.text_of(part), self)
                return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: ARG002  Qt's signature
        tokens, plot = self._theme.tokens, self._plot()
        painter = QPainter(self)
        font = text_font(Size.CAPTION)
        painter.setFont(font)
        if self._labels:
            self._paint_axis(painter, plot, font.pixelSize())
            width = plot.width() / len(self._labels)
            for part in range(len(self._labels)):
                bottom = plot.bottom()
                for layer in self._layers:
                    height = plot.height() * layer.counts[part] / self._top
                    if height <= 0:
                        continue
                    height = max(height, 1.0)
                    bar = QRectF(plot.left() + part * width, bottom - height, max(1.0, width - min(2.0, width / 3)), height)
                    painter.fillRect(bar, QColor(tokens.state(layer.state)))
                    bottom -= height
        painter.end()

    def _paint_axis(self, painter: QPainter, plot: QRectF, pixels: int) -> None:
        tokens = self._theme.tokens
        value = 0.0
        while value <= self._top + self._step / 2:
            y = plot.bottom() - plot.height() * value / self._top
            painter.fillRect(QRectF(plot.left(), y, plot.width(), 1), QColor(tokens.border))
            painter.setPen(QColor(tokens.text_3))
            box = QRectF(0, y - pixels, AXIS_WIDTH - 8, 2 * pixels)
            painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, short_count_text(value))
            value += self._step
        width = plot.width() / len(self._labels)
        every = max(1, math.ceil(LABEL_DISTANCE_MIN / width))
        metrics = QFontMetrics(painter.font())
        for part in range(0, len(self._labels), every):
            left = plot.left() + part * width
            if left + metrics.horizontalAdvance(self._labels[part]) <= self.width():
                painter.drawText(QPointF(left, plot.bottom() + LABEL_HEIGHT - 4), self._labels[part])
