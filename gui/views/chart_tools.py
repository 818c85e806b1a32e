"""What charts of a page share: a stretch that is chosen with the mouse, and the threshold of the alert that watches a line."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QMenu
from shiboken6 import isValid

from gui.operations.alert_center import SEVERITY_STATES
from gui.plots.brush import Brush
from gui.plots.time_chart import TimeChart
from gui.views.chart_table import ChartTable
from gui.views.page import PageContext, PageView
from gui.words.text import tr
from monitoring.alert_rules import AlertRule, rule_about
from monitoring.alert_watch import number_text

FAR_ABOVE = 4.0
"""A threshold that is higher than so many times the line would press it flat: it is not drawn."""


def brush_time_range(chart: TimeChart, context: PageContext) -> Brush:
    """Let a drag over a chart choose the time range of all charts; a double click, Esc or Backspace goes back.

    The chart can be read by keys, too: see `ChartReading`.
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
    """Have the page of a chart say what its lines are."""
    around = _page_around(chart)
    if around is not None:
        around.explain_part(chart, at)


class ChartReading(QObject):
    """Makes a chart a stop of the keyboard, says to a screen reader what it shows, and opens its table on T."""

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
    """The threshold of the alert rule that watches a chart's line. Dragged and let go, the rule opens with the new value.

    The menu of the chart makes a rule where there is none, and copies what is shown.
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
        """Show the threshold for a series of the history; call it after the points.

        Args:
            series: Name as rules and history have it; empty for none.
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
        """What can be done at a place of the plot."""
        menu = QMenu(self._chart)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
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
