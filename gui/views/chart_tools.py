"""Shared parts of charts: a time span chosen with the mouse, the threshold of an alert, and the figures as a table."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QMenu, QVBoxLayout, QWidget
from shiboken6 import isValid

from gui.models.table import CellKind, Column, ColumnTableModel
from gui.operations.alert_center import SEVERITY_STATES
from gui.plots.brush import Brush
from gui.plots.chart_series import ChartSeries, Floats
from gui.plots.time_chart import TimeChart
from gui.theme.manager import ThemeManager
from gui.views.page import PageContext, PageView
from gui.widgets.basic import fill, label, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.popups import new_menu
from gui.widgets.said import push_button
from gui.words.plain_text import title_text
from gui.words.text import UNKNOWN, TimeZoneChoice, count_text, tr
from monitoring.alert_rules import AlertRule, rule_about
from monitoring.alert_watch import number_text

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


FAR_ABOVE = 4.0
"""A threshold higher than so many times the line is not drawn, because it would flatten the line."""


def brush_time_range(chart: TimeChart, context: PageContext) -> Brush:
    """Let a drag over a chart choose the time range of all charts; a double click, Esc or Backspace goes back.

    `ChartReading` makes the chart readable by keys.
    """
    ChartReading(chart, context)
    brush = Brush(chart, context.theme)
    brush.chosen.connect(lambda from_s, to_s: context.time_range.zoom(int(from_s * 1_000), int(to_s * 1_000)))
    brush.cleared.connect(context.time_range.zoom_out)
    return brush


def show_table(chart: TimeChart, context: PageContext) -> ChartTable:
    """Open the figures of a chart as a table."""
    # Of the page, which knows what the lines are.
    table = ChartTable(chart, context.theme, context.times, _page_around(chart) or chart.window())
    table.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    table.show()
    return table


def _page_around(chart: TimeChart) -> PageView | None:
    around = chart.parentWidget()
    while around is not None and not isinstance(around, PageView):
        around = around.parentWidget()
    return around


def explain_chart(chart: TimeChart, at: QPoint) -> None:
    """Have the page of a chart explain its lines."""
    around = _page_around(chart)
    if around is not None:
        around.explain_part(chart, at)


class ChartReading(QObject):
    """Puts a chart into the tab order, describes it to a screen reader, and opens its table on T."""

    def __init__(self, chart: TimeChart, context: PageContext) -> None:
        super().__init__(chart)
        self._chart = chart
        self._context = context
        chart.plot.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        chart.plot.installEventFilter(self)
        self._name()

    def _name(self) -> None:
        lines = ", ".join(tr(one.title) for one in self._chart.series)
        self._chart.plot.setAccessibleName(tr("Chart: {lines}", lines=lines))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isValid(self._chart):
            # A chart that is deleted while the keyboard is there loses the focus when it is none any more: using it is the end.
            return False
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            # Only then: told at each new figure, it would never be silent.
            self._chart.plot.setAccessibleDescription(self._chart.described())
            self._chart.plot.viewport().update()  # the ring comes or goes
        elif event.type() == QEvent.Type.LanguageChange:
            self._name()
        elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_T:
            show_table(self._chart, self._context)
            return True
        return super().eventFilter(watched, event)


class RuleLine(QObject):
    """The threshold of the alert rule on a chart's line. Dragging it opens the rule with the new value.

    The menu of the chart creates a rule where there is none, and copies what is shown.
    """

    def __init__(self, chart: TimeChart, context: PageContext) -> None:
        super().__init__(chart)
        self._chart = chart
        self._context = context
        self._rule: AlertRule | None = None
        self._series, self._factor = "", 1.0
        chart.threshold_moved.connect(self._moved)
        chart.plot.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        chart.plot.customContextMenuRequested.connect(self._open_menu)

    def show(self, series: str, factor: float = 1.0) -> None:
        """Show the threshold of a series; call it after the points are set.

        Args:
            series: Name in the history and in rules; empty for none.
            factor: From the unit of the series to that of the chart.
        """
        rule = rule_about(self._context.alerts.rules, series) if series else None
        self._rule, self._series, self._factor = rule, series, factor
        if rule is None or rule.threshold <= 0 or rule.threshold * factor > self._chart.highest * FAR_ABOVE:
            self._chart.show_threshold(None)
            return
        words = tr("alert {limit}", limit=number_text(rule.threshold * factor))
        self._chart.show_threshold(rule.threshold * factor, SEVERITY_STATES[rule.severity], words)

    def _moved(self, value: float) -> None:
        rule = self._rule
        if rule is not None:
            self._context.navigate("alerts", rule=rule.rule_id, threshold=value / self._factor)
            # Nothing is changed before it is saved there.
            self.show(self._series, self._factor)

    def menu(self, at: QPoint) -> QMenu:
        """The menu at a place of the plot."""
        menu = new_menu(self._chart)
        value = self._chart.value_of(QPointF(at)) / self._factor
        if self._series and value > 0:
            threshold = float(f"{value:.3g}")
            words = tr("Alert above {limit}…", limit=number_text(threshold * self._factor))
            menu.addAction(words, lambda: self._context.navigate("alerts", series=self._series, threshold=threshold))
        back = menu.addAction(tr("Time range before"), self._context.time_range.zoom_out)
        back.setEnabled(self._context.time_range.is_zoomed)
        menu.addSeparator()
        menu.addAction(tr("What is this?"), lambda: explain_chart(self._chart, self._chart.plot.mapToGlobal(at)))
        menu.addAction(tr("Show as table"), lambda: show_table(self._chart, self._context))
        menu.addAction(tr("Copy picture"), lambda: QGuiApplication.clipboard().setPixmap(self._chart.grab()))
        menu.addAction(tr("Copy as CSV"), lambda: QGuiApplication.clipboard().setText(self._chart.csv_text()))
        return menu

    def _open_menu(self, at: QPoint) -> None:
        self.menu(at).popup(self._chart.plot.viewport().mapToGlobal(at))
