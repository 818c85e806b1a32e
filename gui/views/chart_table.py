"""`ChartTable`: the figures of a chart as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.models.table import CellKind, Column, ColumnTableModel
from gui.plots.chart_series import ChartSeries, Floats
from gui.plots.time_chart import TimeChart
from gui.theme.manager import ThemeManager
from gui.views.page import page_around
from gui.widgets.basic import fill, label, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.said import push_button
from gui.words.plain_text import title_text
from gui.words.text import UNKNOWN, TimeZoneChoice, count_text, tr

WIDTH, HEIGHT = 640, 520
VALUE_WIDTH = 120


@dataclass(frozen=True, slots=True)
class ChartRow:
    """One moment: seconds since the epoch, and the value of each line, NaN where there is none."""

    at_s: float
    values: tuple[float, ...]


def chart_rows(points: Mapping[str, tuple[Floats, Floats]]) -> list[ChartRow]:
    """The moments of all lines, newest first.

    Args:
        points: Line → (seconds, ascending; values), as `TimeChart.shown_points` returns them.
    """
    moments = np.unique(np.concatenate([x for x, _y in points.values()])) if points else np.empty(0)
    columns = []
    for x, y in points.values():
        values = np.full(len(moments), math.nan)
        values[np.searchsorted(moments, x)] = y
        columns.append(values.tolist())
    rows = zip(moments.tolist(), *columns, strict=True)
    return [ChartRow(at_s, tuple(values)) for at_s, *values in reversed(list(rows))]


class ChartTable(FittedDialog):
    """The figures of a chart when the dialog was opened, or when they were last read again."""

    def __init__(self, chart: TimeChart, theme: ThemeManager, times: TimeZoneChoice, parent: QWidget) -> None:
        super().__init__(parent)
        self._chart = chart
        self._times = times
        self._value_text = chart.value_text
        chart.destroyed.connect(self.close)
        self.setWindowTitle(title_text(chart.accessibleName() or tr("Figures of the chart")))
        points = chart.shown_points()
        shown = [one for one in chart.series if one.key in points]
        self._keys = [one.key for one in shown]
        """Lines of the columns. The chart may later hide some or show others."""
        self.rows = ColumnTableModel(self._columns(shown), lambda row: row.at_s, parent=self)
        self.grid = DataGrid(self.rows, theme, several=True)
        self.grid.set_empty(tr("Nothing is drawn in this time range."))
        self.facts = label(role="caption")
        self.again = push_button("Read again", self.read)
        close = push_button("Close", self.accept)
        lines = QVBoxLayout(self)
        fill(lines, (self.grid, 1), row(self.facts, 1, self.again, close))
        self.resize(WIDTH, HEIGHT)
        theme.dress(self)
        self.read()
        self.grid.view.setFocus()

    def read(self) -> None:
        """Read the points that the chart shows now."""
        points, none = self._chart.shown_points(), (np.empty(0), np.empty(0))
        rows = chart_rows({key: points.get(key, none) for key in self._keys})
        self._value_text = self._chart.value_text  # the unit of these figures, also when the chart shows another one later
        self.rows.set_rows(rows)
        newest = self._times.seconds(rows[0].at_s * 1_000) if rows else UNKNOWN
        self.facts.setText(tr("{count} moments, the newest {time}", count=count_text(len(rows)), time=newest))

    def _columns(self, shown: list[ChartSeries]) -> list[Column[ChartRow]]:
        def value_column(place: int, one: ChartSeries) -> Column[ChartRow]:
            def known(row: ChartRow) -> float | None:
                value = row.values[place] if place < len(row.values) else math.nan
                return None if math.isnan(value) else value

            def text(row: ChartRow) -> str:
                value = known(row)
                return UNKNOWN if value is None else self._value_text(value)

            return Column(one.key, one.title, text, sort=known, right=True, width=VALUE_WIDTH, term=f"chart/{one.title}")

        times = self._times
        time_column = Column[ChartRow](
            "time",
            "Time",
            lambda row: times.full(row.at_s * 1_000),
            sort=lambda row: row.at_s,
            kind=CellKind.STRONG,
            term="chart/Time",
        )
        return [time_column, *(value_column(place, one) for place, one in enumerate(shown))]


def show_table(chart: TimeChart, theme: ThemeManager, times: TimeZoneChoice) -> ChartTable:
    """Open the figures of a chart as a table."""
    # A child of the page, so that F1 explains its columns.
    table = ChartTable(chart, theme, times, page_around(chart) or chart.window())
    table.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    table.show()
    return table
