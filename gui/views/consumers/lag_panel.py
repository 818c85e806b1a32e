"""`LagPanel`: figures of one group and its lag over time, in total or by queue (`QueueLines`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QLabel, QPushButton, QSizePolicy, QWidget

from gui.models.consumers import GroupRow, PositionRow
from gui.operations.history import ChartHistory, EventMarks, not_read
from gui.operations.matrix import NAMES_MAX, HistoryMatrix
from gui.plots.chart_link import ChartLink
from gui.plots.chart_series import ChartForecast, ChartMark, ChartSeries
from gui.plots.event_marks import MARK_NAMES, chart_marks
from gui.plots.ownership_strip import rows_of
from gui.plots.time_chart import TimeChart
from gui.theme.style import repolish
from gui.views.chart_tools import RuleLine, join_charts
from gui.views.consumers.columns import standing_text
from gui.views.page import PageContext
from gui.widgets.basic import ElidedLabel, Line, column, fill, label, row
from gui.widgets.containers import LaterPart
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_label, segments
from gui.words.amounts import online_text
from gui.words.outlooks import explained, help_text, outlook_text, slowest_text
from gui.words.plain_text import tip_text
from gui.words.text import UNKNOWN, count_text, duration_text, messages_unit, rate_number, rate_text, short_count_text, tr
from monitoring.group_outlook import GroupOutlook
from monitoring.lag import Forecast, LagOutlook
from monitoring.state import ClusterState

LINES_MAX = 5
"""More lines are hard to distinguish."""
OTHERS = "others"
COLUMNS = 300


class QueueLines(QWidget):
    """The lag of the queues that lag most, one line each. The chart keeps its queues while the group stays.

    Signals:
        arrived: Other figures arrived; draw again.
    """

    arrived = Signal()

    def __init__(self, context: PageContext, link: ChartLink, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context, self._link = context, link
        self._group = ""
        self._positions: Sequence[PositionRow] = ()
        self.places: list[tuple[str, int]] = []
        """Topic and queue of the lines, those that lag most first."""
        self._matrix = HistoryMatrix(context.source, self, columns=COLUMNS)
        self._matrix.arrived.connect(self.arrived)
        self.chart: TimeChart | None = None
        self._legend_line = row(spacing=-1, margins=(12, 0, 12, 0))
        self._lines = column(self._legend_line, spacing=0)
        self.setLayout(self._lines)

    def set_positions(self, group: str, positions: Sequence[PositionRow]) -> None:
        """Set the queues of the group, those that lag most first."""
        known = {(row.topic, row.queue_id) for row in positions}
        if group != self._group or not set(self.places) <= known or (positions and not self.places):
            self._group = group
            self.places = []
        self._positions = positions

    def draw(
        self, figure: str, factor: float, span_ms: tuple[int, int], marks: Sequence[ChartMark], marks_fault: str = ""
    ) -> None:
        """Draw a figure of the positions (``lag_messages``, ``behind_ms``) over a time; the fault is that of the marks."""
        if not self.places and self._positions:
            self.places = [(row.topic, row.queue_id) for row in self._positions[:NAMES_MAX]]
            self._make_chart()
        if self.chart is None:
            return
        from_ms, to_ms = span_ms
        names = [f"position:{self._group}/{topic}/{queue_id}.{figure}" for topic, queue_id in self.places]
        self._matrix.show(names, from_ms, to_ms)
        matrix = self._matrix.matrix
        points = {}
        if matrix.values.shape[0] == len(names):
            x = matrix.seconds
            for number in range(min(LINES_MAX, len(names))):
                points[str(number)] = (x, matrix.values[number] * factor)
            if len(names) > LINES_MAX:
                rest = matrix.values[LINES_MAX:]
                unknown = np.isnan(rest).all(axis=0)
                # Messages are summed; of times the longest is shown.
                joined = np.nansum(rest, axis=0) if figure == "lag_messages" else np.fmax.reduce(rest, axis=0)
                points[OTHERS] = (x, np.where(unknown, np.nan, joined) * factor)
        self.chart.set_marks(marks, marks_fault)
        self.chart.show_points(points, from_ms / 1_000, to_ms / 1_000, not_read(self._matrix.error))

    def _make_chart(self) -> None:
        if self.chart is not None:
            self.chart.deleteLater()
        several = len({topic for topic, _ in self.places}) > 1
        titles = rows_of(self.places, self._context.queue_text)
        series = [
            ChartSeries(str(number), title if several else tr("Queue {queue}", queue=title))
            for number, title in enumerate(titles[:LINES_MAX])
        ]
        if len(titles) > LINES_MAX:
            series.append(ChartSeries(OTHERS, "The others"))
        self.chart = TimeChart(self._context.theme, self._context.times, series, value_text=short_count_text)
        self.chart.setMinimumHeight(110)
        join_charts(self._context, self._link, self.chart)
        while self._legend_line.count():
            self._legend_line.takeAt(0)
        # Names of queues may be longer than there is room for.
        self.chart.legend.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._legend_line.addWidget(self.chart.legend)
        self._lines.addWidget(self.chart, 1)


LAG, BEHIND, RATE = "lag", "behind", "rate"
TOTAL, BY_QUEUE = "total", "by queue"


@dataclass(frozen=True, slots=True)
class Measure:
    """A figure of a group over time; ``factor`` leads from the unit of the series to that of the chart."""

    series: str
    """Name within the group in `monitoring.series.History`."""
    factor: float


MEASURES = {LAG: Measure("lag_messages", 1.0), BEHIND: Measure("behind_ms", 0.001), RATE: Measure("got_rate", 1.0)}


FORECAST_SHARE = 0.35
"""Maximum length of the forecast, in lengths of the time range."""
FORECAST_POINTS = 40
NO_OUTLOOK = GroupOutlook(Forecast(math.nan, math.nan))


FACT_SPACING = 20


class LagPanel(Panel):
    """Facts in a line, the chart below."""

    def __init__(self, context: PageContext, link: ChartLink) -> None:
        super().__init__(flush=True)
        self._context = context
        self._link = link
        self._group: GroupRow | None = None
        self._now_ms = 0
        self.outlook = NO_OUTLOOK
        """The forecast of the shown group's lag."""
        self._lines = ChartHistory(context.source, context.history, self)
        self._lines.arrived.connect(self._draw)
        self._marks = EventMarks(context.source, tuple(MARK_NAMES), self)
        self._marks.arrived.connect(self._draw)
        names = {
            "lag": "Lag", "behind": "Behind", "drains": "Drains in", "standing": "Standing", "in": "In", "out": "Out",
            "members": "Members",
        }  # fmt: skip
        # What a lag grows by may be cut beside the list of groups; the list has it, too.
        self.facts = {key: _Fact(name, may_be_cut=key == "drains") for key, name in names.items()}
        self.facts["standing"].hide()
        self.switch = segments({LAG: "Messages", BEHIND: "Time", RATE: "Delivered"})
        self.parts = segments({TOTAL: "Total", BY_QUEUE: "By queue"})
        self.by_queue = QueueLines(context, link, self)
        self._chart_title = label(role="panel-title")
        self._chart_note = said(ElidedLabel(role="caption"), text="recorded here once a second")
        self._rule: RuleLine | None = None
        self.chart = LaterPart(self._make_chart, fill=self._chart_made, turns=3)
        self.advice = label(role="caption", wrap=True)
        """The slowest queue, and what would help."""
        facts = column(row(*self.facts.values(), 1, spacing=FACT_SPACING), self.advice, spacing=6, margins=(14, 10, 14, 8))
        head = row(self._chart_title, self._chart_note, 1, self.switch, self.parts, margins=(12, 8, 12, 4))
        self.content.setSpacing(0)
        fill(self.content, facts, Line(), head, (self.chart, 1), (self.by_queue, 1))
        self.by_queue.hide()
        self.chart.setMinimumHeight(130)
        self.switch.chosen.connect(self._choose)
        self.parts.chosen.connect(lambda _key: self._choose(self.switch.current))
        self.by_queue.arrived.connect(self._draw)
        context.times.changed.connect(self._draw)
        on_language(self, self._write_texts)

    def hasHeightForWidth(self) -> bool:
        """False: beside the wrapped advice a layout would take the preferred height of the chart as the least one."""
        return False

    def window_ms(self) -> tuple[int, int]:
        """The shown span, ms since the epoch."""
        return self._context.time_range.window_ms(self._now_ms)

    def show_group(
        self,
        group: GroupRow | None,
        state: ClusterState | None,
        positions: Sequence[PositionRow] = (),
        outlook: GroupOutlook = NO_OUTLOOK,
    ) -> None:
        """Show a group's figures and outlook in a state; None clears the panel."""
        self.by_queue.set_positions(group.name if group is not None else "", positions)
        self._group, self._now_ms = group, state.taken_ms if state is not None else 0
        self.outlook = outlook
        self._show_facts()
        self._draw()

    def _write_texts(self) -> None:
        self._choose(self.switch.current)
        self._show_facts()

    # ---- facts -----------------------------------------------------------------------------------------------------

    def _show_facts(self) -> None:
        group, facts = self._group, self.facts
        if group is None:
            for fact in facts.values():
                fact.set(UNKNOWN)
            self.advice.hide()
            facts["standing"].hide()
            facts["drains"].show()
            return
        state = "warning" if group.over_limit else ""
        facts["lag"].set(count_text(group.lag_messages), messages_unit(group.lag_messages), state)
        facts["behind"].set(*_split(duration_text(group.behind_ms)))
        wrong = standing_text(group)
        facts["standing"].set(wrong)
        facts["standing"].setVisible(bool(wrong))
        # No forecast for a group beyond the end or with lost messages: it needs a correction first.
        facts["drains"].setVisible(not wrong)
        facts["drains"].set(*self._drain_text(self.outlook))
        facts["drains"].setToolTip(tip_text(explained(self.outlook, self._context.queue_text)))
        facts["in"].set(rate_number(group.in_rate), "/s")
        facts["out"].set(rate_number(group.out_rate), "/s")
        facts["members"].set(online_text(group.members))
        advice = [slowest_text(self.outlook.slowest, self._context.queue_text), help_text(self.outlook.help)]
        self.advice.setText(" · ".join(part for part in advice if part))
        self.advice.setVisible(any(advice))

    def _drain_text(self, outlook: GroupOutlook) -> tuple[str, str]:
        lag = outlook.forecast
        if lag.outlook is LagOutlook.DRAINING and not math.isinf(outlook.drained_in_ms):
            number, unit = _split(duration_text(outlook.drained_in_ms))
            return number, tr("{unit} at {rate} net", unit=unit, rate=rate_text(-lag.slope))
        if lag.outlook is LagOutlook.GROWING:
            return tr("growing"), tr("by {rate}, no end", rate=rate_text(lag.slope))
        return outlook_text(outlook, self._context.queue_text), ""

    # ---- chart -----------------------------------------------------------------------------------------------------

    def _make_chart(self) -> TimeChart:
        context, lines = self._context, (ChartSeries(LAG, "Lag", fill=True),)
        chart = TimeChart(context.theme, context.times, lines, value_text=count_text)
        chart.leave_out_legend()
        [tools] = join_charts(context, self._link, chart)
        self._rule = RuleLine(chart, context, tools)
        return chart

    def _chart_made(self, chart: TimeChart) -> None:
        # The chart is made later than the rest, and would be the last stop of the window for Tab.
        QWidget.setTabOrder(self.parts.findChildren(QPushButton)[-1], chart.plot)
        self._choose(self.switch.current)

    def _choose(self, key: str) -> None:
        titles = {LAG: "Lag history", BEHIND: "Time behind, seconds", RATE: "Delivered, messages/s"}
        self._chart_title.setText(tr(titles[key]))
        by_queue = self._is_by_queue
        self.by_queue.setVisible(by_queue)
        self.chart.setVisible(not by_queue)
        if self.chart.made is not None:
            self.chart.made.setAccessibleName(tr(titles[key]))
            self.chart.made.setVisible(not by_queue)
        # The rates of a group are not recorded by queue.
        self.parts.setEnabled(key != RATE)
        self._draw()

    @property
    def _is_by_queue(self) -> bool:
        return self.parts.current == BY_QUEUE and self.switch.current != RATE

    def _draw(self) -> None:
        from_ms, to_ms = self.window_ms()
        if self._is_by_queue:
            events = self._marks.events(from_ms, to_ms, self._group.name) if self._group is not None else []
            measure = MEASURES[self.switch.current]
            marks = chart_marks(events, from_ms, to_ms)
            self.by_queue.draw(measure.series, measure.factor, (from_ms, to_ms), marks, self._marks.fault)
            return
        chart, rule = self.chart.made, self._rule
        if chart is None or rule is None:
            return
        measure = MEASURES[self.switch.current]
        empty = np.zeros(0)
        name, x, y = "", empty, empty
        if self._group is not None:
            name = f"group:{self._group.name}.{measure.series}"
            x, y = self._lines.lines([name], from_ms, to_ms)[name]
        wants_ahead = self.switch.current == LAG and self._context.time_range.is_live
        ahead = self._ahead((to_ms - from_ms) / 1_000) if wants_ahead else None
        events = self._marks.events(from_ms, to_ms, self._group.name) if self._group is not None else []
        chart.set_marks(chart_marks(events, from_ms, to_ms), self._marks.fault)
        chart.show_forecast(ahead)
        end_s = to_ms / 1_000 if ahead is None else ahead.x[-1]
        chart.show_points({LAG: (x, y * measure.factor)}, from_ms / 1_000, end_s, self._lines.fault or self._why_no_lag(y))
        rule.show(name, measure.factor)

    def _why_no_lag(self, values: NDArray[np.float64]) -> str:
        """Why an empty chart has no lag to show; empty for another chart."""
        is_beyond = self._group is not None and self._group.beyond_messages > 0
        if not is_beyond or self.switch.current == RATE or np.isfinite(values).any():
            return ""
        return tr("The group is beyond the end of a queue: it has no lag.")

    def _ahead(self, shown_s: float) -> ChartForecast | None:
        """The forecast, at most as long as the chart has room for."""
        lag = self.outlook.forecast
        if lag.outlook not in {LagOutlook.DRAINING, LagOutlook.GROWING}:
            return None
        end_s = shown_s * FORECAST_SHARE
        if lag.outlook is LagOutlook.DRAINING:
            end_s = min(end_s, lag.drained_between_ms[1] / 1_000 * 1.05)
        run = np.linspace(0, end_s, FORECAST_POINTS)
        y, low, high = (np.maximum(0, lag.lag_messages + slope * run) for slope in (lag.slope, lag.slope_low, lag.slope_high))
        return ChartForecast(self._now_ms / 1_000 + run, y, low, high)


class _Fact(QWidget):
    """A name above a number with its unit."""

    def __init__(self, name: str, *, may_be_cut: bool = False) -> None:
        super().__init__()
        self.name = said_label(name)
        self.value = label(UNKNOWN, "card-title")
        self.unit: QLabel = ElidedLabel(role="caption") if may_be_cut else label(role="caption")
        self.setLayout(column(self.name, row(self.value, (self.unit, 0, Qt.AlignmentFlag.AlignBottom), spacing=4), spacing=1))

    def set(self, value: str, unit: str = "", tone: str = "") -> None:
        self.value.setText(value)
        self.unit.setText(unit if value != UNKNOWN else "")
        self.unit.setVisible(bool(unit) and value != UNKNOWN)
        if self.value.property("tone") != tone:
            self.value.setProperty("tone", tone)
            repolish(self.value)


def _split(text: str) -> tuple[str, str]:
    """Number and unit of ``131 s``; the last word is the unit."""
    number, _, unit = text.rpartition(" ")
    return (number, unit) if number else (text, "")
