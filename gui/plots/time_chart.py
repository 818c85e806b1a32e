"""`TimeChart`: lines over time, drawn by pyqtgraph, styled by the tokens.

x is float64 seconds since the epoch, y float64 with NaN for gaps, as `monitoring.series.Series.window` returns them. The chart
has no timer: its owner calls `TimeChart.show_points` with new points.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np
import pyqtgraph as pg
from PySide6.QtCore import QPoint, QPointF, QRect, QRectF, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QShowEvent
from PySide6.QtWidgets import QWidget

from gui.plots.chart_axes import TimeAxis, ValueAxis, ValueGrid
from gui.plots.chart_legend import ChartLegend
from gui.plots.chart_lines import PaintedLine, paint_grid, paint_lines
from gui.plots.chart_link import Point, Span, TimePlot, TipLine
from gui.plots.chart_parts import FILL_ALPHA, ChartNote, ForecastLines
from gui.plots.chart_series import ChartForecast, ChartMark, ChartSeries, Floats, lone_points
from gui.plots.light_plot import LightPlot
from gui.plots.mark_lines import LANE_SHARE_MAX, MarkLines, name_ground
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State, Tokens
from gui.widgets.basic import column
from gui.words.text import UNKNOWN, TimeZoneChoice, short_count_text, tr

ANTIALIAS_POINTS_MAX = 2_000
DOTTED_POINTS_MAX = 2_000
"""With more points each has a neighbour within a pixel or two."""
DOT_PIXELS = 4
NO_VALUES: Mapping[str, float] = MappingProxyType({})
POINTS_MAX = 1_200
"""Points to request of `Series.window`: more than a chart has pixels would be wasted."""
PLOT_HEIGHT_MIN = 60
THRESHOLD_REACH = 5
"""Distance from the threshold in px within which a drag moves it."""
THRESHOLD_LABEL = {"position": 0.985, "anchors": [(1, 0), (1, 1)]}
"""At the right end; below a line in the upper half, where there may be no room above it."""
SPACE_ABOVE = 1.12
"""Top of the value axis, as a multiple of the largest value; more where the lane of names needs it."""


class TimeChart(TimePlot, QWidget):
    """Lines over time with a legend; names of marks stand in a lane above the lines. Y starts at 0.

    Signals:
        threshold_moved: The threshold was dragged and released; carries its value.
    """

    threshold_moved = Signal(float)

    def __init__(
        self,
        theme: ThemeManager,
        times: TimeZoneChoice,
        series: Sequence[ChartSeries],
        *,
        value_text: Callable[[float], str] = short_count_text,
        tick_text: Callable[[float], str] = short_count_text,
        binary: bool = False,
    ) -> None:
        """Create an empty chart.

        Args:
            theme: Colours.
            times: Zone of the axis.
            series: Lines in order of their colours.
            value_text: Format of a value in legend and tip.
            tick_text: Format of a tick.
            binary: Ticks at multiples of 1,024 instead of 1,000, for bytes.
        """
        super().__init__()
        self._theme = theme
        self._times = times
        self.series = tuple(series)
        self.value_text = value_text
        """Current format of a value in legend and tip."""
        self._data: dict[str, tuple[Floats, Floats]] = {}
        self._hidden: set[str] = set()
        self.plot = LightPlot(ValueAxis(tick_text, binary=binary), TimeAxis(times))
        """The plot itself, for tools on top of it."""
        self._marks = MarkLines(self.plot)
        self._viewport: QWidget = self.plot.viewport()
        self.plot.setMinimumHeight(PLOT_HEIGHT_MIN)
        self._grid = ValueGrid(self.plot.getAxis("left"))
        self.plot.addItem(self._grid, ignoreBounds=True)
        self._curves = {one.key: self.plot.plot([], [], connect="finite") for one in self.series}
        self._dots: dict[str, Any] = {}
        """Of the lines that ever had an isolated point."""
        self._forecast: ForecastLines | None = None
        self._note: ChartNote | None = None
        self._legend_values: dict[str, float] = {}
        self._fault = self._marks_fault = ""
        self._cursor_s = math.nan
        self._held: Span | None = None
        """The span of a gesture; `show_points` leaves it."""
        self._above = self._corner = 0
        self._threshold: Any = None
        self._threshold_state = State.CRITICAL
        self.legend = ChartLegend(theme, self)
        self.setLayout(column(self.plot))
        self._is_stale = False
        self._follow()
        self._restyle(theme.tokens)
        self.setMinimumHeight(90)

    def _follow(self) -> None:
        self.plot.getViewBox().sigResized.connect(self._resized)
        self._theme.changed.connect(self._theme_changed)
        self._times.changed.connect(self.plot.getAxis("bottom").relabel)

    # ---- what pages call -------------------------------------------------------------------------------------------

    def leave_out_legend(self) -> None:
        """Hide the legend of a single line whose title is elsewhere."""
        self.legend.setParent(self)
        self.legend.hide()

    def show_points(
        self,
        points: dict[str, tuple[Floats, Floats]],
        from_s: float,
        to_s: float,
        fault: str = "",
        legend_values: Mapping[str, float] = NO_VALUES,
    ) -> None:
        """Show these points; series that are not named keep their old ones.

        Args:
            points: Series key → (x seconds, y), of one length each.
            from_s: Left end of the axis, seconds since the epoch.
            to_s: Right end.
            fault: What was not read, and why; in the language of the window.
            legend_values: What the legend shows while there is no cursor, in place of the last points of lines: figures of
                now, because a last point may be a mean of several samples; sums, because a last count is of one interval.
        """
        self._fault, self._legend_values = fault, dict(legend_values)
        self._data.update(points)
        for key, (x, y) in points.items():
            self._curves[key].setData(x, y, connect="finite", antialias=len(x) <= ANTIALIAS_POINTS_MAX)
            self._show_dots(key, x, y)
        self._show_span(self._held or (from_s, to_s))
        self.legend.update_values()

    def _show_span(self, span: Span) -> None:
        self.plot.setXRange(*span, padding=0)
        if self._marks.are_outdated:
            self._draw_marks()
        self._show_note()
        self.plot.setYRange(0, self._top(), padding=0)

    def _show_dots(self, key: str, x: Floats, y: Floats) -> None:
        """Draw a dot at each isolated point, which the line would not show."""
        lone = lone_points(y) if len(y) <= DOTTED_POINTS_MAX else np.zeros(len(y), bool)
        if key not in self._dots:
            if not lone.any():
                return
            brush = pg.mkBrush(self.colour(key, self._theme.tokens))
            self._dots[key] = pg.ScatterPlotItem(size=DOT_PIXELS, pen=None, brush=brush)
            self.plot.addItem(self._dots[key], ignoreBounds=True)
            self._dots[key].setVisible(key not in self._hidden)
        self._dots[key].setData(x[lone], y[lone])

    def _show_note(self) -> None:
        """Show a note where no value of the shown lines is known, or something was not read."""
        begins = [x[np.isfinite(y)][:1] for key, (x, y) in self._data.items() if key not in self._hidden]
        begin_s = min((float(x[0]) for x in begins if len(x)), default=math.inf)
        if self._note is None:
            if not math.isinf(begin_s) and not self.fault:
                return
            self._note = ChartNote(self.plot)
        before = self._note_lane
        self._note.tell(is_empty=math.isinf(begin_s), fault=self.fault)
        self._place_note(begin_s)
        if self._note_lane != before:
            self._draw_marks()

    @property
    def _note_lane(self) -> int:
        """Height of the words over the lines, px; 0 for none."""
        return self._note.lane if self._note is not None and not self._note.isHidden() else 0

    def _place_note(self, begin_s: float) -> None:
        if self._note is None or self._note.isHidden():
            return
        box = self.plot.getViewBox()
        inside = self.plot.mapFromScene(box.sceneBoundingRect()).boundingRect()
        per_px = self._marks.seconds_per_px
        known_s = min(max(0.0, begin_s - box.viewRange()[0][0]), per_px * inside.width())
        self._note.place(inside, round(known_s / per_px))

    @property
    def fault(self) -> str:
        """What of the lines or the events was not read, and why; empty for nothing."""
        return self._fault or self._marks_fault

    def show_forecast(self, forecast: ChartForecast | None) -> None:
        """Show the forecast of the first line, dashed, with its band; None: nothing."""
        if self._forecast is None:
            if forecast is None:
                return
            self._forecast = ForecastLines(self.plot)
            self._forecast.set_colour(self.colour(self.series[0].key, self._theme.tokens))
        self._forecast.show(forecast)

    def set_marks(self, marks: Sequence[ChartMark], fault: str = "") -> None:
        """Replace the marks, in any order; ``fault`` says why more of them were not read and is shown with the next points."""
        self._marks_fault = fault
        if self._marks.take(marks):
            self._draw_marks()
            self.plot.setYRange(0, self._top(), padding=0)

    def _resized(self, _box: object) -> None:
        self._draw_marks()
        if self._note is not None:
            self._show_note()
        self.plot.setYRange(0, self._top(), padding=0)

    def _draw_marks(self) -> None:
        above, corner = self._above, self._corner
        if self._note_lane:  # names would stand below the words
            above, corner = max(above, self._note_lane), round(self.plot.getViewBox().width())
        self._marks.draw(self._theme.tokens, self.plot.font(), above, corner)

    def show_threshold(self, value: float | None, state: State = State.CRITICAL, text: str = "") -> None:
        """Show a horizontal line that can be dragged, with a text at its end; None removes it."""
        if value is None:
            if self._threshold is not None:
                self._threshold.hide()
        else:
            if self._threshold is None:
                self._threshold = pg.InfiniteLine(angle=0, movable=True, label="", labelOpts=THRESHOLD_LABEL)
                self._threshold.setBounds((0, None))
                self._threshold.sigPositionChangeFinished.connect(self._threshold_let_go)
                self.plot.addItem(self._threshold, ignoreBounds=True)
            self._threshold.label.setFormat(text.replace("{", "{{").replace("}", "}}"))
            # An empty label would be a white box on the line.
            self._threshold.label.setVisible(bool(text))
            self._threshold_state = state
            self._colour_threshold(self._theme.tokens)
            if not self._threshold.moving:
                self._threshold.setValue(value)
            self._threshold.show()
        self.plot.setYRange(0, self._top(), padding=0)

    def _colour_threshold(self, tokens: Tokens) -> None:
        colour = tokens.state(self._threshold_state)
        self._threshold.setPen(pg.mkPen(colour, width=1.3, style=Qt.PenStyle.DashLine))
        self._threshold.setHoverPen(pg.mkPen(colour, width=3))
        self._threshold.label.setColor(colour)
        self._threshold.label.fill = pg.mkBrush(name_ground(tokens))
        self._threshold.label.update()

    def value_of(self, at: QPointF) -> float:
        """Value at a place of the plot's viewport; never below 0."""
        return max(0.0, float(self.plot.getViewBox().mapSceneToView(self.plot.mapToScene(at.toPoint())).y()))

    def shown_points(self) -> dict[str, tuple[Floats, Floats]]:
        """Points of the visible lines within the shown time, in their order."""
        left, right = self.plot.getViewBox().viewRange()[0]
        found = {}
        for one in self.series:
            if one.key not in self._hidden:
                x, y = self._data.get(one.key, (np.empty(0), np.empty(0)))
                inside = (x >= left) & (x <= right)
                found[one.key] = x[inside], y[inside]
        return found

    def points(self) -> Iterator[Point]:
        titles = {one.key: tr(one.title) for one in self.series}
        for key, (x, y) in self.shown_points().items():
            for at_s, value in zip(x.tolist(), y.tolist(), strict=True):
                yield titles[key], at_s, value

    @property
    def has_figures(self) -> bool:
        return True

    def described(self) -> str:
        """Current values, for a screen reader."""
        values = [f"{tr(one.title)}: {self.shown_value(one.key)}" for one in self.series if one.key not in self._hidden]
        return "; ".join(filter(None, (self.fault, *values)))

    @property
    def highest(self) -> float:
        """The largest value of the visible lines within the shown time; 0 for none."""
        tops = [0.0]
        left, right = self.span_s()
        for key, (x, y) in self._data.items():
            if key not in self._hidden:
                # With the neighbours outside, to which the lines go on.
                first, last = np.searchsorted(x, (left, right))
                shown = y[max(0, first - 1) : last + 1]
                tops.append(float(np.nanmax(shown)) if np.isfinite(shown).any() else 0.0)
        return max(tops)

    def _threshold_let_go(self) -> None:
        self.threshold_moved.emit(float(self._threshold.value()))

    def set_value_text(
        self, value_text: Callable[[float], str], tick_text: Callable[[float], str], *, binary: bool = False
    ) -> None:
        """Change the unit, e.g. from messages to bytes."""
        self.value_text = value_text
        self.plot.getAxis("left").set_format(tick_text, binary=binary)
        self.legend.update_values()

    def value_at(self, key: str, at_s: float) -> float:
        """Value of a series at the sample nearest to a time; NaN where there is none."""
        x, y = self._data.get(key, (np.empty(0), np.empty(0)))
        if not len(x):
            return math.nan
        place = int(np.searchsorted(x, at_s))
        near = [i for i in (place - 1, place) if 0 <= i < len(x)]
        return float(y[min(near, key=lambda i: abs(x[i] - at_s))])

    def last_value(self, key: str) -> float:
        """Value of a series without a cursor, the newest one if `show_points` was given no other; NaN where there is none."""
        value = self._legend_values.get(key, math.nan)
        if not math.isnan(value):
            return value
        _, y = self._data.get(key, (None, np.empty(0)))
        return float(y[-1]) if len(y) else math.nan

    def shown_value(self, key: str) -> str:
        """Legend value of a series: at the cursor, else `last_value`."""
        value = self.last_value(key) if math.isnan(self._cursor_s) else self.value_at(key, self._cursor_s)
        return UNKNOWN if math.isnan(value) else self.value_text(value)

    def toggle_series(self, key: str) -> None:
        self._hidden.symmetric_difference_update({key})
        for item in (self._curves[key], self._dots.get(key)):
            if item is not None:
                item.setVisible(key not in self._hidden)
        self.plot.setYRange(0, self._top(), padding=0)

    def colour(self, key: str, tokens: Tokens) -> str:
        index = next(i for i, one in enumerate(self.series) if one.key == key)
        state = self.series[index].state
        return tokens.state(state) if state is not None else tokens.series[min(index, 6)]

    # ---- TimePlot --------------------------------------------------------------------------------------------------

    def surface(self) -> QWidget:
        return self._viewport

    def focused(self) -> QWidget:
        return self.plot

    def inside(self) -> QRectF:
        place: QRectF = self.plot.viewportTransform().mapRect(self.plot.getViewBox().sceneBoundingRect())
        return place

    def span_s(self) -> Span:
        left, right = self.plot.getViewBox().viewRange()[0]
        return float(left), float(right)

    def preview(self, span: Span | None) -> None:
        self._held = span
        if span is not None:
            self._show_span(span)

    def legend_lines(self) -> list[tuple[str, str]]:
        tokens = self._theme.tokens
        return [(tr(one.title), self.colour(one.key, tokens)) for one in self.series if one.key not in self._hidden]

    def tip_lines(self, at_s: float) -> list[TipLine]:
        shown = [one for one in self.series if one.key not in self._hidden]
        values = [self._text_at(one.key, at_s) for one in shown]
        return [(name, value, colour) for (name, colour), value in zip(self.legend_lines(), values, strict=True)]

    def _text_at(self, key: str, at_s: float) -> str:
        value = self.value_at(key, at_s)
        return UNKNOWN if math.isnan(value) else self.value_text(value)

    def show_cursor(self, at_s: float) -> None:
        self._cursor_s = at_s
        self.legend.update_values()

    def is_grip(self, at: QPointF) -> bool:
        """Whether a place of the plot's viewport is near enough to the threshold to drag it."""
        if self._threshold is None or not self._threshold.isVisible():
            return False
        y = self.plot.mapFromScene(self.plot.getViewBox().mapViewToScene(QPointF(0, self._threshold.value()))).y()
        return bool(abs(at.y() - y) <= THRESHOLD_REACH)

    def keep_above(self, height: int, corner: int = 0) -> None:
        if (height, corner) != (self._above, self._corner):
            self._above, self._corner = height, corner
            self._draw_marks()
            self.plot.setYRange(0, self._top(), padding=0)

    def paint(self, painter: QPainter, at: QPoint) -> None:
        surface, own = self.surface(), self._lines_of_own()
        for item in own:
            item.setOpacity(0)
        painter.save()
        self.plot.render(painter, QRectF(QRect(at, surface.size())), surface.rect())
        painter.restore()
        for item in own:
            item.setOpacity(1)
        low, high = self.plot.getViewBox().viewRange()[1]
        box = self.inside().translated(QPointF(at))
        paint_grid(painter, box, self._grid.values(), (low, high), self._theme.tokens.border)
        paint_lines(painter, box, self._painted_lines(), self.span_s(), (low, high))

    def _lines_of_own(self) -> list[Any]:
        """The items with times as coordinates, which a picture has in px."""
        return [
            self._grid,
            *self._curves.values(),
            *self._dots.values(),
            *(self._forecast.items if self._forecast is not None else ()),
        ]

    def _painted_lines(self) -> list[PaintedLine]:
        lines = [] if self._forecast is None else self._forecast.painted()
        for one in self.series:
            x, y = self._curves[one.key].getData()  # reduced to the pixels of the plot
            if one.key not in self._hidden and x is not None:
                options = self._curves[one.key].opts
                lines.append(PaintedLine(x, y, options["pen"], options["fillBrush"]))
        return lines

    # ---- inside ----------------------------------------------------------------------------------------------------

    def _top(self) -> float:
        shown = self._threshold is not None and self._threshold.isVisible()
        height = self.plot.getViewBox().height()
        lane = max(self._marks.lane, self._note_lane)
        lane = lane if lane < height * (LANE_SHARE_MAX + 0.2) else 0
        above = max(SPACE_ABOVE, height / (height - lane)) if lane else SPACE_ABOVE
        return max(self.highest, float(self._threshold.value()) if shown else 0.0) * above or 1.0

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_stale:
            self._restyle(self._theme.tokens)

    def _theme_changed(self, tokens: Tokens) -> None:
        # All charts of all pages at once would be noticeable: a hidden one changes its colours when it is shown.
        if self.isVisible():
            self._restyle(tokens)
        else:
            self._is_stale = True

    def _restyle(self, tokens: Tokens) -> None:
        self._is_stale = False
        self.plot.setBackground(None)
        grid = QColor(tokens.border)
        for side in ("left", "bottom"):
            axis = self.plot.getAxis(side)
            axis.setPen(pg.mkPen(grid) if side == "bottom" else pg.mkPen(None))
            axis.setTextPen(pg.mkPen(tokens.text_3))
        self._grid.set_colour(grid)
        for index, one in enumerate(self.series):
            colour = QColor(self.colour(one.key, tokens))
            style = Qt.PenStyle.DashLine if index >= 5 else Qt.PenStyle.SolidLine
            self._curves[one.key].setPen(pg.mkPen(colour, width=1.3, style=style))
            if one.key in self._dots:
                self._dots[one.key].setBrush(pg.mkBrush(colour))
            fill = QColor(colour)
            fill.setAlpha(FILL_ALPHA)
            self._curves[one.key].setFillLevel(0 if one.fill else None)
            self._curves[one.key].setBrush(pg.mkBrush(fill) if one.fill else None)
        if self._forecast is not None:
            self._forecast.set_colour(self.colour(self.series[0].key, tokens))
        if self._threshold is not None:
            self._colour_threshold(tokens)
        self._marks.colour(tokens)
