"""`ChartsPanel`: the charts of a result, under one another, over one range of time."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QVBoxLayout, QWidget

from gui.models.reports import FigureUnit, ResultChart
from gui.plots.category_charts import CategoryBars, CategoryGrid
from gui.plots.chart_series import ChartSeries, Floats
from gui.plots.time_chart import TimeChart
from gui.text import TimeZoneChoice, tr
from gui.theme.manager import ThemeManager
from gui.views.reports.columns import figure_text
from gui.views.reports.words import report_label, report_text
from gui.views.time_range import TimeRangeChoice
from gui.widgets.basic import label
from gui.widgets.inputs import SegmentedControl

WHOLE, WINDOW = "whole", "window"
LEGEND_COLUMNS = 4
TIME_CHART_HEIGHT = 220
GRID_POINTS_MAX = 20_000
OVER_TIME = ("stack", "lines")


JUMP_MARGIN = 8
"""Px above the title of a chart that is jumped to."""


class ChartsPanel(QScrollArea):
    """Findings and charts of one result. Charts over time share their range and their crosshair.

    Signals:
        scrolled: Another chart is the first on the screen; carries its number, -1 for the findings above all of them.
    """

    scrolled = Signal(int)

    def __init__(
        self, theme: ThemeManager, times: TimeZoneChoice, time_range: TimeRangeChoice, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme, self._times, self._time_range = theme, times, time_range
        self._charts: Sequence[ResultChart] = ()
        self.time_charts: list[tuple[TimeChart, dict[str, tuple[Floats, Floats]]]] = []
        self.range = SegmentedControl([(WHOLE, " "), (WINDOW, " ")])
        self.range.chosen.connect(lambda _key: self._show_range())
        self._now_ms = 0
        self._titles: list[QLabel] = []
        self._at = -1
        self._is_jumping = False
        self.findings = label(wrap=True, selectable=True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.verticalScrollBar().valueChanged.connect(self._moved)
        time_range.changed.connect(self._range_changed)
        self.retranslate()

    def show_charts(self, charts: Sequence[ResultChart], now_ms: int) -> None:
        """Show charts; ``now_ms`` is the end of the window's time range, epoch ms."""
        self._charts, self._now_ms = charts, now_ms
        self._fill()

    def jump_to(self, number: int) -> None:
        """Bring a chart to the top, as far as there is something below it; -1: the findings."""
        body = self.widget()
        layout = body.layout() if body is not None else None
        if layout is not None:
            # Where a chart stands is known once the charts before it have their heights.
            layout.activate()
        self._at, self._is_jumping = number, True
        self.verticalScrollBar().setValue(self._titles[number].y() - JUMP_MARGIN if 0 <= number < len(self._titles) else 0)
        self._is_jumping = False

    def _moved(self, value: int) -> None:
        """Tell which chart stands at the top: the last one whose title is not below it."""
        before = [number for number, title in enumerate(self._titles) if title.y() - JUMP_MARGIN <= value]
        at = before[-1] if before and value > 0 else -1
        if at != self._at and not self._is_jumping:
            self._at = at
            self.scrolled.emit(at)

    def retranslate(self) -> None:
        """Write all texts anew."""
        self._write_range()
        self._fill()

    def _write_range(self) -> None:
        self.range.set_text(WHOLE, tr("Whole result"))
        self.range.set_text(WINDOW, tr(self._time_range.name))

    def _range_changed(self) -> None:
        self._write_range()
        self._show_range()

    def _fill(self) -> None:
        self.time_charts = []
        self._titles = []
        self.range.setParent(None)
        self.findings.setParent(None)
        body = QWidget()
        lines = QVBoxLayout(body)
        lines.setContentsMargins(14, 10, 14, 10)
        lines.setSpacing(6)
        over_time = any(chart.kind in OVER_TIME for chart in self._charts)
        first = QHBoxLayout()
        first.addStretch(1)
        first.addWidget(self.range)
        lines.addWidget(self.findings)
        self.findings.show()
        lines.addLayout(first)
        self.range.setVisible(over_time)
        for chart in self._charts:
            drawn = self._drawn(chart)
            drawn.setAccessibleName(report_text(chart.title))
            self._titles.append(label(report_text(chart.title), "panel-title"))
            lines.addWidget(self._titles[-1])
            if isinstance(drawn, TimeChart):
                drawn.legend.spread(LEGEND_COLUMNS)
                lines.addWidget(drawn.legend)
            lines.addWidget(drawn)
            if chart.note:
                lines.addWidget(label(report_text(chart.note), "caption", wrap=True))
        lines.addStretch(1)
        self.setWidget(body)
        for chart_widget, _points in self.time_charts:
            for other, _points_of_other in self.time_charts:
                if other is not chart_widget:
                    chart_widget.hovered.connect(other.show_crosshair)
        self._show_range()

    def _drawn(self, chart: ResultChart) -> QWidget:
        unit = chart.unit
        if chart.kind in OVER_TIME:
            return self._over_time(chart)
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

    def _over_time(self, chart: ResultChart) -> TimeChart:
        names = [report_label(one.name, words=chart.words) for one in chart.series]
        series = [ChartSeries(str(place), name, fill=chart.kind == "stack") for place, name in enumerate(names)]
        unit = chart.unit
        made = TimeChart(
            self._theme, self._times, series, value_text=lambda value: figure_text(value, unit),
            tick_text=lambda value: figure_text(value, unit), binary=unit is FigureUnit.BYTES,
        )  # fmt: skip
        made.setFixedHeight(TIME_CHART_HEIGHT)
        points = {str(place): (_seconds(one.x), np.asarray(one.y, np.float64)) for place, one in enumerate(chart.series)}
        if chart.kind == "stack":
            points = _with_zeros(points)
        self.time_charts.append((made, points))
        return made

    def _show_range(self) -> None:
        ends = [float(x[end]) for _, points in self.time_charts for x, _ in points.values() for end in (0, -1)]
        if not ends:
            return
        from_s, to_s = min(ends), max(ends)
        if self.range.current == WINDOW:
            from_s, to_s = (at_ms / 1_000 for at_ms in self._time_range.window_ms(self._now_ms))
        if to_s <= from_s:
            from_s, to_s = from_s - 60, to_s + 60
        for chart, points in self.time_charts:
            chart.show_points(points, from_s, to_s)


def _seconds(x: Sequence[int | str]) -> Floats:
    return np.asarray([at / 1_000 if isinstance(at, int) else 0.0 for at in x], np.float64)


def _with_zeros(points: dict[str, tuple[Floats, Floats]]) -> dict[str, tuple[Floats, Floats]]:
    """Counts on one grid: where a series has none, nothing was counted, and that is zero."""
    every = np.unique(np.concatenate([x for x, _ in points.values()]))
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
