"""The two charts of the Overview: throughput and backlog. Imports pyqtgraph, through `gui.plots.time_chart`."""

from __future__ import annotations

import math

from gui.operations.history import ChartHistory, EventMarks
from gui.plots.chart_series import ChartSeries
from gui.plots.event_marks import MARK_NAMES, chart_marks
from gui.plots.time_chart import TimeChart
from gui.theme.tokens import State
from gui.views.chart_tools import RuleLine, brush_time_range
from gui.views.overview.figures import change_per_second
from gui.views.page import PageContext
from gui.widgets.panel import Panel
from gui.widgets.said import said, segments
from gui.words.text import byte_rate_text, bytes_text, count_text, rate_number, rate_text, short_count_text, tr
from monitoring.series import History
from monitoring.state import ClusterState

COUNT, BYTES = "count", "bytes"
_SERIES = {
    COUNT: {"in": "totals.put_rate", "out": "totals.got_rate"},
    BYTES: {"in": "totals.put_byte_rate", "out": "totals.got_byte_rate"},
}


class ThroughputPanel(Panel):
    """Messages or bytes in and out over time."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ")
        self._context = context
        self._state: ClusterState | None = None
        lines = [ChartSeries("in", "In", fill=True), ChartSeries("out", "Out", State.COMMITTED, fill=True)]
        self.chart = TimeChart(context.theme, context.times, lines, value_text=rate_text, tick_text=short_count_text)
        self._lines = ChartHistory(context.source, context.history, self)
        self._lines.arrived.connect(self._draw)
        self._marks = EventMarks(context.source, tuple(MARK_NAMES), self)
        self._marks.arrived.connect(self._draw)
        brush_time_range(self.chart, context)
        self._rule = RuleLine(self.chart, context)
        self.unit = segments({COUNT: "Count", BYTES: "Bytes"})
        self.unit.chosen.connect(self._unit_chosen)
        self.add_action(self.chart.legend, self.unit)
        self.content.addWidget(self.chart, 1)
        said(self, title="Throughput", subtitle="4 s average")

    def show_state(self, state: ClusterState) -> None:
        """Draw up to the time of ``state``."""
        self._state = state
        self._draw()

    def _draw(self) -> None:
        if self._state is not None:
            from_ms, to_ms = self._context.time_range.window_ms(self._state.taken_ms)
            marks = chart_marks(self._marks.events(from_ms, to_ms), from_ms, to_ms)
            self.chart.set_marks(marks, self._marks.fault)
            _draw(self.chart, self._context, self._lines, self._state, _SERIES[self.unit.current])
            self._rule.show(_SERIES[self.unit.current]["in"])

    def _unit_chosen(self, unit: str) -> None:
        if unit == BYTES:
            self.chart.set_value_text(byte_rate_text, bytes_text, binary=True)
        else:
            self.chart.set_value_text(rate_text, short_count_text)
        self._draw()


class BacklogPanel(Panel):
    """Messages that wait to be consumed, over time."""

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ")
        self._context = context
        self._state: ClusterState | None = None
        self._lines = ChartHistory(context.source, context.history, self)
        self._lines.arrived.connect(self._draw)
        lines = [ChartSeries("lag", "Lag", State.WARNING, fill=True)]
        self.chart = TimeChart(context.theme, context.times, lines, value_text=count_text)
        brush_time_range(self.chart, context)
        self._rule = RuleLine(self.chart, context)
        self.chart.leave_out_legend()
        self.content.addWidget(self.chart, 1)
        said(self, title="Backlog", subtitle="messages, all groups")

    def show_state(self, state: ClusterState) -> None:
        """Draw up to the time of ``state``."""
        self._state = state
        self._draw()
        change = backlog_change(self._context.history, state)
        self.set_subtitle(_backlog_text(change))

    def _draw(self) -> None:
        if self._state is not None:
            _draw(self.chart, self._context, self._lines, self._state, {"lag": "totals.lag_messages"})
            self._rule.show("totals.lag_messages")


def backlog_change(history: History, state: ClusterState) -> float:
    """Mean change of all lag over the last minute, messages/s."""
    return change_per_second(*history.series("totals.lag_messages").window(state.taken_ms - 60_000, state.taken_ms, 61))


def _draw(chart: TimeChart, context: PageContext, source: ChartHistory, state: ClusterState, names: dict[str, str]) -> None:
    from_ms, to_ms = context.time_range.window_ms(state.taken_ms)
    lines = source.lines(list(names.values()), from_ms, to_ms)
    chart.show_points({key: lines[name] for key, name in names.items()}, from_ms / 1_000, to_ms / 1_000, source.fault)


def _backlog_text(change: float) -> str:
    if math.isnan(change) or abs(change) < 1:
        return tr("messages, all groups")
    if change > 0:
        return tr("growing by {rate}/s", rate=rate_number(change))
    return tr("shrinking by {rate}/s", rate=rate_number(-change))
