"""`StackedBars`: counts in equal parts of a time, in layers. Drawn by hand, without pyqtgraph."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QFontMetrics, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.plots.chart_axes import round_step
from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State, Tokens
from gui.widgets.repaint import Drawn
from gui.words.text import count_text, short_count_text

AXIS_WIDTH = 40
LABEL_HEIGHT = 18
TOP_SPACE = 8
LABEL_GAP = 10
CHOICE_OPACITY = 0.25
DRAG_PIXELS_MIN = 6


def plot_box(widget: QWidget) -> QRectF:
    """The place of the bars in a widget, without axis and labels."""
    width, height = widget.width() - AXIS_WIDTH, widget.height() - LABEL_HEIGHT - TOP_SPACE
    return QRectF(AXIS_WIDTH, TOP_SPACE, max(1, width), max(1, height))


@dataclass(frozen=True, slots=True)
class BarLayer:
    """One colour of the bars.

    Attributes:
        title: Shown in tips, in the language of the window.
        counts: One for each part; NaN is not known, and drawn as nothing.
        state: Sets the colour.
        series: Series colour instead; -1: none.
    """

    title: str
    counts: Sequence[float]
    state: State = State.PLAIN
    series: int = -1

    def colour(self, tokens: Tokens) -> str:
        return tokens.state(self.state) if self.series < 0 else tokens.series[self.series]


class StackedBars(Drawn):
    """Bars from 0 up, with a tip for each; where ``is_choosable`` is set a drag selects parts.

    Signals:
        parts_chosen: A drag selected parts; carries the numbers of the first and the last one.
        cleared: A double click: all are wanted again.
    """

    parts_chosen = Signal(int, int)
    cleared = Signal()

    def __init__(
        self, theme: ThemeManager, parent: QWidget | None = None, *, value_text: Callable[[float], str] = count_text
    ) -> None:
        super().__init__(theme, parent)
        self._value_text = value_text
        self._layers: Sequence[BarLayer] = ()
        self._labels: Sequence[str] = ()
        self._top = 1.0
        self._step = 1.0
        self.is_choosable = False
        self._pressed_x: float | None = None
        self._dragged: tuple[int, int] | None = None
        """The first and the last part under the drag."""
        self.setMinimumHeight(90)

    def set_bars(self, labels: Sequence[str], layers: Sequence[BarLayer]) -> None:
        """Show counts; ``labels`` names each part."""
        self._labels, self._layers = labels, layers
        totals = [sum(_or_0(layer.counts[i]) for layer in layers) for i in range(len(labels))]
        step = round_step(max(totals, default=0.0) / 2)
        self._step = max(step, 1.0)
        self._top = max(self._step * math.ceil(max(totals, default=0.0) / self._step), self._step)
        filled = [f"{name}: {self._value_text(total)}" for name, total in zip(labels, totals, strict=True) if total >= 0.5]
        self.setAccessibleDescription(", ".join(filled[:20]))
        self.update()

    def text_of(self, part: int) -> str:
        counts = [f"{layer.title}: {self._value_text(layer.counts[part])}" for layer in self._layers]
        return "\n".join([self._labels[part], *counts])

    def sizeHint(self) -> QSize:
        return QSize(320, 130)

    def tip_at(self, at: QPointF) -> str:
        return self.text_of(self._part_at(at.x())) if self._labels and plot_box(self).contains(at) else ""

    def _part_at(self, x: float) -> int:
        """The part at a place, beside the bars the nearest one."""
        plot = plot_box(self)
        return min(max(int((x - plot.left()) / plot.width() * len(self._labels)), 0), len(self._labels) - 1)

    # ---- dragging ------------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if self.is_choosable and self._labels and event.button() == Qt.MouseButton.LeftButton:
            self._pressed_x = event.position().x()
        else:
            super().mousePressEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        pressed, x = self._pressed_x, event.position().x()
        if pressed is None or not self._labels:
            super().mouseMoveEvent(event)
            return
        # A shorter drag is a click, which selects nothing.
        is_drag = abs(x - pressed) >= DRAG_PIXELS_MIN
        self._dragged = (self._part_at(min(pressed, x)), self._part_at(max(pressed, x))) if is_drag else None
        self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, dragged = self._pressed_x, self._dragged
        self._pressed_x = self._dragged = None
        self.update()
        if pressed is None:
            super().mouseReleaseEvent(event)
        elif dragged is not None and dragged[1] < len(self._labels):
            self.parts_chosen.emit(*dragged)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if self.is_choosable:
            self.cleared.emit()
        else:
            super().mouseDoubleClickEvent(event)

    # ---- painting ------------------------------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        tokens, plot = self._theme.tokens, plot_box(self)
        painter = QPainter(self)
        font = text_font(Size.CAPTION)
        painter.setFont(font)
        if self._labels:
            self._paint_axis(painter, plot, font.pixelSize())
            width = plot.width() / len(self._labels)
            for part in range(len(self._labels)):
                bottom = plot.bottom()
                for layer in self._layers:
                    height = plot.height() * _or_0(layer.counts[part]) / self._top
                    if height <= 0:
                        continue
                    height = max(height, 1.0)
                    bar = QRectF(plot.left() + part * width, bottom - height, max(1.0, width - min(2.0, width / 3)), height)
                    painter.fillRect(bar, QColor(layer.colour(tokens)))
                    bottom -= height
            if self._dragged is not None:
                first, last = self._dragged
                painter.setOpacity(CHOICE_OPACITY)
                chosen = QRectF(plot.left() + first * width, plot.top(), (last - first + 1) * width, plot.height())
                painter.fillRect(chosen, QColor(tokens.accent))
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
        metrics = QFontMetrics(painter.font())
        every = max(1, math.ceil((metrics.horizontalAdvance(self._labels[0]) + LABEL_GAP) / width))
        for part in range(0, len(self._labels), every):
            left = plot.left() + part * width
            if left + metrics.horizontalAdvance(self._labels[part]) <= self.width():
                painter.drawText(QPointF(left, plot.bottom() + LABEL_HEIGHT - 4), self._labels[part])


def _or_0(count: float) -> float:
    return 0.0 if math.isnan(count) else count
