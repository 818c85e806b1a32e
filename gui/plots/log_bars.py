"""`LogBars`: counts of buckets, on a logarithmic axis. Drawn by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QColor, QFontMetrics, QPainter, QPaintEvent

from gui.plots.stacked_bars import plot_box
from gui.plots.value_scale import AXIS_HEIGHT, AXIS_WIDTH
from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State
from gui.widgets.repaint import Drawn
from gui.words.text import count_text, short_count_text

LABEL_GAP = 4
DECADES_MIN = 2


@dataclass(frozen=True, slots=True)
class LogBar:
    """A bucket: text at the axis, whole name, count; ``state`` sets the colour, None: the first series colour."""

    label: str
    name: str
    count: int
    state: State | None = None


class LogBars(Drawn):
    """A bucket with a count of 1 has a bar of a third of a decade, an empty one none."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(theme)
        self._bars: Sequence[LogBar] = ()
        self._decades = DECADES_MIN
        self.setMinimumHeight(110)

    def set_bars(self, bars: Sequence[LogBar]) -> None:
        self._bars = bars
        most = max((bar.count for bar in bars), default=0)
        self._decades = max(DECADES_MIN, math.ceil(math.log10(most))) if most > 1 else DECADES_MIN
        self.setAccessibleDescription(", ".join(map(_tip, filter(_is_filled, bars))))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(320, 150)

    def height_of(self, count: int) -> float:
        """Height of a bar, 0 to 1 of the axis."""
        step = 1 / (self._decades + 1 / 3)
        return 0.0 if count <= 0 else min(1.0, (math.log10(count) + 1 / 3) * step)

    def has_label(self, count: int, plot_height: float, text_height: float) -> bool:
        """Whether the axis names a count: a label that would lie on the 0 is left out."""
        return count == 0 or plot_height * self.height_of(count) >= text_height

    def tip_at(self, at: QPointF) -> str:
        plot = plot_box(self)
        if not self._bars or not plot.contains(at):
            return ""
        return _tip(self._bars[int((at.x() - plot.left()) / plot.width() * len(self._bars))])

    def paintEvent(self, _event: QPaintEvent) -> None:
        if not self._bars:
            return
        tokens, plot = self._theme.tokens, plot_box(self)
        painter = QPainter(self)
        painter.setFont(text_font(Size.CAPTION))
        metrics = QFontMetrics(painter.font())
        for value in [0, *(10**power for power in range(self._decades + 1))]:
            y = plot.bottom() - plot.height() * self.height_of(value)
            painter.fillRect(QRectF(plot.left(), y, plot.width(), 1), QColor(tokens.border))
            painter.setPen(QColor(tokens.text_3))
            if self.has_label(value, plot.height(), metrics.height()):
                box = QRectF(0, y - 10, AXIS_WIDTH - 8, 20)
                painter.drawText(box, Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter, short_count_text(value))
        width, free_from = plot.width() / len(self._bars), 0.0
        for place, bar in enumerate(self._bars):
            left, height = plot.left() + place * width, plot.height() * self.height_of(bar.count)
            colour = QColor(tokens.series[0] if bar.state is None else tokens.state(bar.state))
            painter.fillRect(QRectF(left + 2, plot.bottom() - height, max(1.0, width - 4), height), colour)
            room = metrics.horizontalAdvance(bar.label)
            if left + (width - room) / 2 >= free_from:
                box = QRectF(left - 8, plot.bottom() + 3, width + 16, AXIS_HEIGHT)
                painter.drawText(box, Qt.AlignmentFlag.AlignHCenter, bar.label)
                free_from = left + (width + room) / 2 + LABEL_GAP
        painter.end()


def _tip(bar: LogBar) -> str:
    return f"{bar.name}: {count_text(bar.count)}"


def _is_filled(bar: LogBar) -> bool:
    return bar.count > 0
