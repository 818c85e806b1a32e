"""`StackedBars`: counts in equal parts of a time span, one colour a layer. Drawn by hand, without pyqtgraph."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPointF, QRectF, QSize
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.plots.chart_link import Point, Span, TimePlot, TipLine
from gui.plots.value_scale import AXIS_HEIGHT, AXIS_WIDTH, paint_time_axis, paint_value_axis, round_top
from gui.theme.fonts import text_font
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State, Tokens
from gui.widgets.repaint import Drawn
from gui.words.text import TimeZoneChoice, count_text

TOP_SPACE = 8


def plot_box(widget: QWidget) -> QRectF:
    """The rectangle of the bars in a widget, without axis and labels."""
    width, height = widget.width() - AXIS_WIDTH, widget.height() - AXIS_HEIGHT - TOP_SPACE
    return QRectF(AXIS_WIDTH, TOP_SPACE, max(1, width), max(1, height))


@dataclass(frozen=True, slots=True)
class BarLayer:
    """One colour of the bars.

    Attributes:
        title: In the language of the window.
        counts: One for each part; NaN: unknown, drawn as nothing.
        state: Sets the colour.
        series: Series colour instead; -1: none.
    """

    title: str
    counts: Sequence[float]
    state: State = State.PLAIN
    series: int = -1

    def colour(self, tokens: Tokens) -> str:
        return tokens.state(self.state) if self.series < 0 else tokens.series[self.series]


class StackedBars(TimePlot, Drawn):
    """Bars from 0 up, with a tip for each."""

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, *, value_text: Callable[[float], str] = count_text) -> None:
        super().__init__(theme)
        self._times = times
        self._value_text = value_text
        self._layers: Sequence[BarLayer] = ()
        self._labels: Sequence[str] = ()
        self._top = 1.0
        self._step = 1.0
        self._span: Span = (0.0, 0.0)
        """Begin of the first part and end of the last one."""
        self._view: Span = (0.0, 0.0)
        self._is_held = False
        """Whether `preview` keeps the shown time."""
        self._above = TOP_SPACE
        self.setMinimumHeight(90)

    def set_bars(self, labels: Sequence[str], layers: Sequence[BarLayer], span: Span, view: Span | None = None) -> None:
        """Show counts.

        Args:
            labels: Times of the parts, for tips.
            layers: Their counts.
            span: Begin of the first part and end of the last one, s since the epoch.
            view: The shown part of the span; None: all of it.
        """
        self._labels, self._layers = labels, layers
        self._span = span
        if not self._is_held:
            self._view = view or self._span
        totals = [sum(_or_0(layer.counts[i]) for layer in layers) for i in range(len(labels))]
        self._top, self._step = round_top(max(totals, default=0.0), 1.0)
        filled = [f"{name}: {self._value_text(total)}" for name, total in zip(labels, totals, strict=True) if total >= 0.5]
        self.setAccessibleDescription(", ".join(filled[:20]))
        self.update()

    def text_of(self, part: int) -> str:
        counts = [f"{layer.title}: {self._value_text(layer.counts[part])}" for layer in self._layers]
        return "\n".join([self._labels[part], *counts])

    def sizeHint(self) -> QSize:
        return QSize(320, 130)

    def tip_at(self, at: QPointF) -> str:
        if self.is_joined:
            return ""  # the cursor of the link shows the values
        part = self._part_at(self.seconds_at(at.x()))
        return self.text_of(part) if part is not None and self.inside().contains(at) else ""

    def _part_at(self, at_s: float) -> int | None:
        """The part that contains a time; None outside the span."""
        (from_s, to_s), parts = self._span, len(self._labels)
        if not from_s <= at_s <= to_s or not parts:
            return None
        return min(int((at_s - from_s) / max(1e-9, to_s - from_s) * parts), parts - 1)

    # ---- TimePlot ------------------------------------------------------------------------------------------------------

    def surface(self) -> QWidget:
        return self

    def inside(self) -> QRectF:
        plot = plot_box(self)
        return plot.adjusted(0, min(self._above - TOP_SPACE, plot.height() / 2), 0, 0)

    def top_right(self) -> QPointF:
        return plot_box(self).topRight()

    def span_s(self) -> Span:
        return self._view if self._labels else (0.0, 0.0)

    def preview(self, span: Span | None) -> None:
        self._is_held = span is not None
        if span is not None:
            self._view = span
            self.update()

    def legend_lines(self) -> list[tuple[str, str]]:
        return [(one.title, one.colour(self._theme.tokens)) for one in self._layers]

    def tip_lines(self, at_s: float) -> list[TipLine]:
        part, tokens = self._part_at(at_s), self._theme.tokens
        if part is None:
            return []
        shown = [one for one in self._layers if _or_0(one.counts[part])]
        return [(one.title, self._value_text(one.counts[part]), one.colour(tokens)) for one in shown]

    def points(self) -> Iterator[Point]:
        (from_s, to_s), parts = self._span, self._shown_parts() if self._labels else range(0)
        for layer in self._layers:
            for part in parts:
                yield layer.title, from_s + (to_s - from_s) * part / len(self._labels), layer.counts[part]

    def keep_above(self, height: int, corner: int = 0) -> None:  # noqa: ARG002  the whole line is kept free
        above = max(TOP_SPACE, height + 2)
        if above != self._above:
            self._above = above
            self.update()

    # ---- painting ------------------------------------------------------------------------------------------------------

    def paintEvent(self, _event: QPaintEvent) -> None:
        plot = self.inside()
        painter = QPainter(self)
        painter.setFont(text_font(Size.CAPTION))
        if self._labels:
            self._paint_axis(painter, plot)
            painter.setClipRect(plot)
            for part in self._shown_parts():
                self._paint_bar(painter, plot, part)
        painter.end()

    def _shown_parts(self) -> range:
        """The parts that overlap the shown time."""
        first, last = (self._part_at(min(max(at_s, self._span[0]), self._span[1])) for at_s in self._view)
        return range(first or 0, (last or 0) + 1)

    def _left_of(self, part: int) -> float:
        from_s, to_s = self._span
        return self.x_of(from_s + (to_s - from_s) * part / len(self._labels))

    def _paint_bar(self, painter: QPainter, plot: QRectF, part: int) -> None:
        tokens, bottom = self._theme.tokens, plot.bottom()
        left, width = self._left_of(part), self._left_of(part + 1) - self._left_of(part)
        for layer in self._layers:
            height = plot.height() * _or_0(layer.counts[part]) / self._top
            if height <= 0:
                continue
            height = max(height, 1.0)
            bar = QRectF(left, bottom - height, max(1.0, width - min(2.0, width / 3)), height)
            painter.fillRect(bar, QColor(layer.colour(tokens)))
            bottom -= height

    def _paint_axis(self, painter: QPainter, plot: QRectF) -> None:
        paint_value_axis(painter, plot, self._top, self._step, self._theme.tokens)
        paint_time_axis(painter, plot, self._view, self._times, self._theme.tokens.text_3)


def _or_0(count: float) -> float:
    return 0.0 if math.isnan(count) else count
