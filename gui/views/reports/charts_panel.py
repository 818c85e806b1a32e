"""`ChartsPanel`: the charts of a result, under one another, over one range of time."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QLabel, QScrollArea, QVBoxLayout, QWidget

from gui.event_loop.turns import next_turn
from gui.models.reports import ReportUnit, ResultChart
from gui.plots.category_charts import CategoryBars, CategoryGrid
from gui.plots.chart_link import ChartLink, LocalRange
from gui.plots.chart_series import ChartSeries, Floats
from gui.plots.time_chart import TimeChart
from gui.theme.manager import ThemeManager
from gui.views.chart_tools import ChartTools
from gui.views.reports.columns import figure_text
from gui.views.reports.words import report_label, report_text
from gui.views.time_range import TimeRangeChoice
from gui.widgets.basic import column, fill, label, row
from gui.widgets.inputs import SegmentedControl
from gui.widgets.said import on_language
from gui.words.text import TimeZoneChoice, tr

WHOLE, WINDOW = "whole", "window"
LEGEND_COLUMNS = 3
TIME_CHART_HEIGHT = 220
GRID_POINTS_MAX = 20_000
OVER_TIME = ("stack", "lines")
Points = dict[str, tuple[Floats, Floats]]
JUMP_MARGIN = 8
"""Px above the title of a chart after a jump."""


class DrawnChart(NamedTuple):
    """A chart over time; ``is_counted``: its points are counts of intervals, and no levels."""

    chart: TimeChart
    points: Points
    is_counted: bool


class ChartsPanel(QScrollArea):
    """Findings and charts of one result. Charts over time share their range, their cursor and their selection.

    Signals:
        scrolled: Another chart is at the top; carries its number, -1 for the findings above.
    """

    scrolled = Signal(int)

    def __init__(self, theme: ThemeManager, times: TimeZoneChoice, time_range: TimeRangeChoice) -> None:
        super().__init__()
        self._theme, self._times, self._time_range = theme, times, time_range
        self._charts: Sequence[ResultChart] = ()
        self.time_charts: list[DrawnChart] = []
        self._points: dict[int, Points] = {}
        """Of the charts over time, by their number."""
        self.range = SegmentedControl([(WHOLE, " "), (WINDOW, " ")])
        self.range.chosen.connect(lambda _key: self._range_changed())
        self.zoom = LocalRange(self, lambda: tr("Whole result") if self.range.current == WHOLE else tr("Whole range"))
        self.zoom.changed.connect(self._show_range)
        self.link = ChartLink(self.zoom, self)
        self._now_ms = 0
        self._titles: list[QLabel] = []
        self._at = -1
        self._is_jumping = False
        self._wanted = -1
        """Target of the last jump, until the user scrolls."""
        self._left = 0
        self.findings = label(wrap=True, selectable=True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.verticalScrollBar().valueChanged.connect(self._moved)
        self.verticalScrollBar().rangeChanged.connect(self._stay)
        time_range.changed.connect(self._range_changed)
        on_language(self, self._write_texts)

    def show_charts(self, charts: Sequence[ResultChart], now_ms: int) -> None:
        """Show charts; ``now_ms`` is the end of the window's time range, epoch ms."""
        self._charts, self._now_ms, self._wanted = charts, now_ms, -1
        self.link.unselect()
        self.zoom.forget()
        self._fill()

    @property
    def is_whole(self) -> bool:
        return not self._left

    def jump_to(self, number: int) -> None:
        """Scroll a chart to the top, as far as the content reaches; -1: the findings."""
        body = self.widget()
        layout = body.layout() if body is not None else None
        self._at = self._wanted = number
        self._is_jumping = True
        if layout is not None:
            # Where a chart stands is known once the charts before it have their heights.
            layout.activate()
        self.verticalScrollBar().setValue(self._titles[number].y() - JUMP_MARGIN if 0 <= number < len(self._titles) else 0)
        self._is_jumping = False

    def _stay(self) -> None:
        """Keep the target of a jump in place when parts before it change their heights."""
        if self._wanted >= 0 and not self._is_jumping:
            self.jump_to(self._wanted)

    def _moved(self, value: int) -> None:
        """Report the chart at the top: the last one whose title is not below it."""
        before = [number for number, title in enumerate(self._titles) if title.y() - JUMP_MARGIN <= value]
        at = before[-1] if before and value > 0 else -1
        if not self._is_jumping:
            self._wanted = -1
        if at != self._at and not self._is_jumping:
            self._at = at
            self.scrolled.emit(at)

    def _write_texts(self) -> None:
        self._write_range()
        self._fill()

    def _write_range(self) -> None:
        self.range.set_text(WHOLE, tr("Whole result"))
        self.range.set_text(WINDOW, tr(self._time_range.name))

    def _range_changed(self) -> None:
        self._write_range()
        self.zoom.show_whole()  # which shows the range

    def _fill(self) -> None:
        self.time_charts = []
        self._titles = []
        over_time = [(number, chart) for number, chart in enumerate(self._charts) if chart.kind in OVER_TIME]
        self._points = {number: _points_of(chart) for number, chart in over_time}
        self.range.setParent(None)
        self.findings.setParent(None)
        body = QWidget()
        lines = column(spacing=6, margins=(14, 10, 14, 10))
        body.setLayout(lines)
        first = row(1, self.range, spacing=-1)
        lines.addWidget(self.findings)
        self.findings.show()
        lines.addLayout(first)
        self.range.setVisible(bool(self._points))
        places = []
        for chart in self._charts:
            self._titles.append(label(report_text(chart.title), "panel-title"))
            place = column(spacing=lines.spacing())
            fill(lines, self._titles[-1], place)
            places.append(place)
        lines.addStretch(1)
        self.setWidget(body)
        self._left = len(places)
        if places:
            next_turn(body, partial(self._make, body, places))

    def _make(self, body: QWidget, places: Sequence[QVBoxLayout]) -> None:
        """Make the first pending chart, and the others a turn later each, because all in one turn would be noticeable."""
        number, place = len(self._charts) - len(places), places[0]
        chart = self._charts[number]
        drawn = self._drawn(chart, self._points.get(number, {}))
        drawn.setAccessibleName(report_text(chart.title))
        if isinstance(drawn, TimeChart):
            drawn.legend.spread(LEGEND_COLUMNS)
            place.addWidget(drawn.legend)
            self._show_range(drawn)
        place.addWidget(drawn)
        if chart.note:
            place.addWidget(label(report_text(chart.note), "caption", wrap=True))
        self._left = len(places) - 1
        if self._left:
            next_turn(body, partial(self._make, body, places[1:]))

    def _drawn(self, chart: ResultChart, points: Points) -> QWidget:
        unit = chart.unit
        if chart.kind in OVER_TIME:
            return self._over_time(chart, points)
        if chart.kind == "heat":
            columns = [str(at) for at in chart.series[0].x]
            values = np.full((len(chart.series), len(columns)), np.nan)
            for place, one in enumerate(chart.series):
                values[place, : min(len(columns), len(one.y))] = one.y[: len(columns)]
            rows = [report_text(one.name) for one in chart.series]
            return CategoryGrid(self._theme, rows, columns, values, value_text=lambda value: figure_text(value, unit))
        first = chart.series[0]
        labels = [report_label(str(at), words=chart.words) for at in first.x]
        return CategoryBars(self._theme, labels, first.y, lambda value: figure_text(value, unit))

    def _over_time(self, chart: ResultChart, points: Points) -> TimeChart:
        names = [report_label(one.name, words=chart.words) for one in chart.series]
        series = [ChartSeries(str(place), name, fill=chart.kind == "stack") for place, name in enumerate(names)]
        unit = chart.unit
        made = TimeChart(
            self._theme, self._times, series, value_text=lambda value: figure_text(value, unit),
            tick_text=lambda value: figure_text(value, unit), binary=unit is ReportUnit.BYTES,
        )  # fmt: skip
        made.setFixedHeight(TIME_CHART_HEIGHT)
        self.time_charts.append(DrawnChart(made, points, is_counted=chart.kind == "stack"))
        ChartTools(made, self._theme, self._times, self.link)
        return made

    def _show_range(self, only: TimeChart | None = None) -> None:
        """Draw the charts over time, or one of them, over their common range."""
        ends = [float(x[end]) for points in self._points.values() for x, _ in points.values() for end in (0, -1)]
        if not ends:
            return
        from_s, to_s = min(ends), max(ends)
        if self.range.current == WINDOW:
            from_s, to_s = (at_ms / 1_000 for at_ms in self._time_range.window_ms(self._now_ms))
        if to_s <= from_s:
            from_s, to_s = from_s - 60, to_s + 60
        self.zoom.set_whole(from_s, to_s)
        from_s, to_s = self.zoom.span_s
        for chart, points, is_counted in self.time_charts:
            if only is None or chart is only:
                chart.show_points(points, from_s, to_s, legend_values=_sums(points, from_s, to_s) if is_counted else {})


def _sums(points: Points, from_s: float, to_s: float) -> dict[str, float]:
    """Counts of intervals, summed over a time; as many messages as findings and tables name."""
    return {key: float(np.nansum(y[(x >= from_s) & (x <= to_s)])) for key, (x, y) in points.items()}


def _seconds(x: Sequence[int | str]) -> Floats:
    return np.asarray([at / 1_000 if isinstance(at, int) else 0.0 for at in x], np.float64)


def _points_of(chart: ResultChart) -> Points:
    points = {str(place): (_seconds(one.x), np.asarray(one.y, np.float64)) for place, one in enumerate(chart.series)}
    return _with_zeros(points) if chart.kind == "stack" else points


def _with_zeros(points: Points) -> Points:
    """Counts on one grid; a series without a count has zero there."""
    every = np.sort(np.concatenate([x for x, _ in points.values()]))
    # `np.unique` would bring masked arrays, 20 ms of import.
    every = every[np.diff(every, prepend=-np.inf) > 0]
    if len(every) < 2:
        return points
    step = float(np.diff(every).min())
    if (every[-1] - every[0]) / step > GRID_POINTS_MAX:
        return points
    grid = every[0] + step * np.arange(round((every[-1] - every[0]) / step) + 1)
    filled = {}
    for key, (x, y) in points.items():
        values = np.zeros(len(grid))
        values[np.rint((x - grid[0]) / step).astype(np.int64)] = y
        filled[key] = (grid, values)
    return filled
