"""`ChartTools`: what charts over time have in common: zoom, selection, cursor, keys, a menu, pictures, figures as a table.

`window_link` lets the charts of a page follow the time range of the window; `RuleLine` shows the threshold of an alert rule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt, Signal
from PySide6.QtGui import QGuiApplication, QKeyEvent
from PySide6.QtWidgets import QMenu, QWidget
from shiboken6 import isValid

from gui.models.filter_text import within_times
from gui.operations.alert_center import SEVERITY_STATES
from gui.operations.background import write_file
from gui.plots.chart_gestures import ChartGestures
from gui.plots.chart_link import ChartLink, Span, TimePlot, span_ms
from gui.plots.chart_overlay import PlotOverlay
from gui.plots.chart_pictures import Recorded, figures_csv, image_of, png_bytes, recorded, svg_bytes
from gui.plots.time_chart import TimeChart
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.views.chart_table import show_table
from gui.views.page import PageContext, page_around
from gui.widgets.panel import Panel
from gui.widgets.popups import ask_to_save, new_menu
from gui.words.error_words import kept_line
from gui.words.text import TimeZoneChoice, bytes_text, tr
from monitoring.alert_rules import AlertRule, rule_about
from monitoring.alert_watch import number_text


class WindowRange(QObject):
    """The time range of the window as the `gui.plots.chart_link.ShownRange` of a link.

    Signals:
        changed: Another span is shown.
    """

    changed = Signal()

    def __init__(self, context: PageContext, parent: QObject) -> None:
        super().__init__(parent)
        self._context = context
        self._range = context.time_range
        self._range.changed.connect(self.changed)

    def whole_s(self) -> Span:
        state = self._context.source.state
        from_ms, to_ms = self._range.whole_ms(state.taken_ms if state is not None else 0)
        return from_ms / 1_000, to_ms / 1_000

    def begin_s(self) -> float:
        begin_ms = self._range.begin_ms
        return -math.inf if begin_ms is None else begin_ms / 1_000

    @property
    def is_part(self) -> bool:
        return not self._range.is_live

    @property
    def is_zoomed(self) -> bool:
        return self._range.is_zoomed

    def whole_words(self) -> str:
        ready = self._context.source.ready
        is_opened = ready is not None and not ready.runs_broker
        return tr("Whole range") if is_opened or self._range.is_part_of_own_range else tr("Back to live")

    def show(self, from_s: float, to_s: float, *, joins: bool = False) -> None:
        self._range.zoom(round(from_s * 1_000), round(to_s * 1_000), joins=joins)

    def show_whole(self) -> None:
        self._range.show_whole()

    def back(self) -> None:
        self._range.zoom_out()


SVG, PNG, CSV = "svg", "png", "csv"
MenuPart = Callable[[QMenu, QPoint], object]
"""Adds entries to the menu at a place of the plot."""


def window_link(context: PageContext, parent: QObject) -> ChartLink:
    """A link of charts that follow the time range of the window."""
    return ChartLink(WindowRange(context, parent), parent)


class ChartTools(QObject):
    """Joins a plot to the others of its page. Lives as long as the plot's surface."""

    def __init__(self, plot: TimePlot, theme: ThemeManager, times: TimeZoneChoice, link: ChartLink) -> None:
        super().__init__(plot.surface())
        self.plot, self.link = plot, link
        self._theme, self._times = theme, times
        self._parts: list[MenuPart] = []
        link.join(plot)
        ChartGestures(plot, link)
        self.overlay = PlotOverlay(plot, link, theme, times)
        focused = plot.focused()
        focused.installEventFilter(self)
        focused.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        focused.customContextMenuRequested.connect(self._open_menu)
        self._name()

    @property
    def chart(self) -> TimeChart | None:
        """The plot, where it has lines and so a table."""
        return self.plot if isinstance(self.plot, TimeChart) else None

    def add_to_menu(self, part: MenuPart) -> None:
        self._parts.append(part)

    def offer_messages(self, context: PageContext, filter_text: Callable[[], str]) -> Callable[[], None]:
        """Add to the menu a search of what was stored in the selected time and passes ``filter_text()``; returns the search.

        An empty filter text disables the entry.
        """

        def search() -> None:
            if self.link.selection is not None:
                first_ms, last_ms = span_ms(self.link.selection)
                context.navigate("messages", filter=within_times(filter_text(), first_ms, last_ms + 1))

        def offer(menu: QMenu, _at: QPoint) -> None:
            entry = menu.addAction(tr("Messages of the selected time"), search)
            entry.setEnabled(self.link.selection is not None and bool(filter_text()))

        self.add_to_menu(offer)
        return search

    # ---- keys and screen readers ---------------------------------------------------------------------------------------

    def _name(self) -> None:
        if self.chart is not None:
            lines = ", ".join(tr(one.title) for one in self.chart.series)
            self.plot.focused().setAccessibleName(tr("Chart: {lines}", lines=lines))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isValid(watched) or not isValid(self.plot):
            # A chart that is deleted with the focus gets this event after its end, and must not be used.
            return False
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            if self.chart is not None:
                # Only with the focus: a screen reader would read each new figure.
                self.plot.focused().setAccessibleDescription(self.chart.described())
            self.plot.surface().update()  # the ring comes or goes
        elif event.type() == QEvent.Type.LanguageChange:
            self._name()
        elif isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() == Qt.Key.Key_T:
            return self._show_table()
        return super().eventFilter(watched, event)

    def _show_table(self) -> bool:
        if self.chart is not None:
            show_table(self.chart, self._theme, self._times)
        return self.chart is not None

    # ---- menu ----------------------------------------------------------------------------------------------------------

    def menu(self, at: QPoint) -> QMenu:
        menu, link, chart = new_menu(self.plot.focused()), self.link, self.chart
        for part in self._parts:
            part(menu, at)
        menu.addAction(tr("Zoom to selection"), link.zoom_to_selection).setEnabled(link.selection is not None)
        menu.addAction(link.shown.whole_words(), link.show_whole).setEnabled(link.shown.is_part)
        menu.addAction(tr("Time range before"), link.back).setEnabled(link.shown.is_part)
        menu.addSeparator()
        menu.addAction(tr("What is this?"), partial(self._explain, at))
        if chart is not None:
            menu.addAction(tr("Show as table"), self._show_table)
        menu.addAction(tr("Copy picture"), self._copy_picture)
        if self.plot.has_figures:
            menu.addAction(tr("Copy as CSV"), lambda: QGuiApplication.clipboard().setText(figures_csv(self.plot, self._times)))
        menu.addSeparator()
        menu.addAction(tr("Save as SVG…"), partial(self._ask_path, SVG))
        menu.addAction(tr("Save as PNG…"), partial(self._ask_path, PNG))
        if self.plot.has_figures:
            menu.addAction(tr("Save as CSV…"), partial(self._ask_path, CSV))
        return menu

    def _open_menu(self, at: QPoint) -> None:
        self.menu(at).popup(self.plot.surface().mapToGlobal(at))

    def _explain(self, at: QPoint) -> None:
        surface = self.plot.surface()
        page = page_around(surface)
        if page is not None:
            page.explain_part(self.chart or surface, surface.mapToGlobal(at))

    # ---- pictures ------------------------------------------------------------------------------------------------------

    @property
    def title(self) -> str:
        """Name of the chart, in the language of the window."""
        around: QWidget | None = self.chart or self.plot.surface()
        name = ""
        while around is not None and not name:
            name = around.title if isinstance(around, Panel) else around.accessibleName()
            around = None if isinstance(around, Panel) else around.parentWidget()
        return name or self.plot.focused().accessibleName()

    def _record(self) -> Recorded:
        return recorded(self.plot, self.title, self._theme.tokens, self._times)

    def _copy_picture(self) -> None:
        QGuiApplication.clipboard().setImage(image_of(self._record()))

    def _ask_path(self, suffix: str) -> None:
        ask_to_save(self.plot.surface().window(), tr("Save the chart"), f"chart.{suffix}", self.save)

    def save(self, path: Path) -> None:
        """Write the chart as it is shown: a ``.svg``, a ``.csv`` of its figures, or else a PNG."""
        suffix = path.suffix[1:].casefold()
        if suffix == CSV and self.plot.has_figures:
            make = partial(str.encode, figures_csv(self.plot, self._times))
        else:
            make = partial(svg_bytes if suffix == SVG else png_bytes, self._record())
        write_file(self, path, make, partial(self._saved, path), partial(self._not_saved, path))

    def _saved(self, path: Path, size: int) -> None:
        self._tell(lambda: tr("The chart was saved as {path}, {size}", path=str(path), size=bytes_text(size)), State.HEALTHY)

    def _not_saved(self, path: Path, error: Exception) -> None:
        reason = kept_line(error)
        self._tell(lambda: tr("The chart was not saved as {path}: {reason}", path=str(path), reason=reason()), State.CRITICAL)

    def _tell(self, words: Callable[[], str], state: State) -> None:
        page = page_around(self.plot.surface())
        if page is not None:
            page.tell(words, state)


def join_charts(context: PageContext, link: ChartLink, *plots: TimePlot) -> list[ChartTools]:
    """Join plots to a page's link."""
    return [ChartTools(plot, context.theme, context.times, link) for plot in plots]


FAR_ABOVE = 4.0
"""A threshold higher than so many times the line is not drawn, because it would flatten the line."""


class RuleLine(QObject):
    """The threshold of the alert rule on a chart's line. Dragging it opens the rule with the new value.

    The menu of the chart creates a rule where there is none.
    """

    def __init__(self, chart: TimeChart, context: PageContext, tools: ChartTools) -> None:
        super().__init__(chart)
        self._chart = chart
        self._context = context
        self._rule: AlertRule | None = None
        self._series, self._factor = "", 1.0
        chart.threshold_moved.connect(self._moved)
        tools.add_to_menu(self._offer_rule)

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

    def _offer_rule(self, menu: QMenu, at: QPoint) -> None:
        value = self._chart.value_of(QPointF(at)) / self._factor
        if self._series and value > 0:
            threshold = float(f"{value:.3g}")
            words = tr("Alert above {limit}…", limit=number_text(threshold * self._factor))
            menu.addAction(words, lambda: self._context.navigate("alerts", series=self._series, threshold=threshold))
