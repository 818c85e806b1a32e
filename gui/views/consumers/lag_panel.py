"""`LagPanel`: the figures of one group and its lag over time."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gui.models.consumers import TREND_SPAN_MS, GroupHealth, GroupRow, Trend, lag_trend
from gui.plots.time_chart import POINTS_MAX, ChartSeries, TimeChart
from gui.text import UNKNOWN, count_text, duration_text, rate_number, rate_text, tr
from gui.theme.style import repolish
from gui.theme.tokens import State
from gui.views.page import PageContext
from gui.widgets.basic import Line, label
from gui.widgets.inputs import SegmentedControl
from gui.widgets.panel import Panel

LAG, BEHIND, RATE = "lag", "behind", "rate"


@dataclass(frozen=True, slots=True)
class Measure:
    """What the chart shows."""

    series: str
    """Name within the group, as `monitoring.series.History` records it."""
    factor: float


MEASURES = {LAG: Measure("lag_messages", 1.0), BEHIND: Measure("behind_ms", 0.001), RATE: Measure("got_rate", 1.0)}


class LagPanel(Panel):
    """Facts in a line, the chart below."""

    def __init__(self, context: PageContext, parent: QWidget | None = None) -> None:
        super().__init__(flush=True, parent=parent)
        self._context = context
        self._group: GroupRow | None = None
        self._in_rate = math.nan
        self._now_ms = 0
        self.facts = {key: _Fact() for key in ("lag", "behind", "drains", "in", "out", "members")}
        self.switch = SegmentedControl(((LAG, " "), (BEHIND, " "), (RATE, " ")))
        self._chart_title = label(role="panel-title")
        self._chart_note = label(role="caption")
        self.chart = TimeChart(
            context.theme, context.times, (ChartSeries(LAG, "Lag", State.WARNING, fill=True),), value_text=count_text
        )
        self.chart.legend.setParent(self.chart)  # one line with a title of its own needs none
        self.chart.legend.hide()
        self._build()
        self.switch.chosen.connect(self._choose)
        context.time_range.changed.connect(self._draw)
        context.times.changed.connect(self._draw)
        self.retranslate()

    @property
    def trend(self) -> Trend:
        """Where the lag of the shown group goes."""
        if self._group is None:
            return Trend(math.nan, math.nan)
        series = self._context.history.series(f"group:{self._group.name}.lag_messages")
        x, y = series.window(self._now_ms - TREND_SPAN_MS, self._now_ms, POINTS_MAX)
        return Trend(lag_trend(x, y).slope, self._group.lag_messages)

    def show_group(self, group: GroupRow | None, in_rate: float, now_ms: int) -> None:
        """Show a group's figures; None empties the panel."""
        self._group, self._in_rate, self._now_ms = group, in_rate, now_ms
        self._show_facts()
        self._draw()

    def retranslate(self) -> None:
        """Write all texts anew."""
        names = {"lag": "Lag", "behind": "Behind", "drains": "Drains in", "in": "In", "out": "Out", "members": "Members"}
        for key, fact in self.facts.items():
            fact.name.setText(tr(names[key]))
        for key, text in ((LAG, "Messages"), (BEHIND, "Time"), (RATE, "Out")):
            self.switch.set_text(key, tr(text))
        self._chart_note.setText(tr("recorded here once a second"))
        self._choose(self.switch.current)
        self._show_facts()

    def _build(self) -> None:
        facts = QHBoxLayout()
        facts.setContentsMargins(14, 10, 14, 8)
        facts.setSpacing(26)
        for fact in self.facts.values():
            facts.addWidget(fact)
        facts.addStretch(1)
        head = QHBoxLayout()
        head.setContentsMargins(12, 8, 12, 4)
        head.setSpacing(8)
        for widget in (self._chart_title, self._chart_note):
            head.addWidget(widget)
        head.addStretch(1)
        head.addWidget(self.switch)
        self.content.setSpacing(0)
        self.content.addLayout(facts)
        self.content.addWidget(Line())
        self.content.addLayout(head)
        self.content.addWidget(self.chart, 1)
        self.chart.setMinimumHeight(130)

    # ---- facts -----------------------------------------------------------------------------------------------------

    def _show_facts(self) -> None:
        group, facts = self._group, self.facts
        if group is None:
            for fact in facts.values():
                fact.set(UNKNOWN)
            return
        trend = self.trend
        state = "warning" if group.over_limit else ""
        facts["lag"].set(count_text(group.lag_messages), tr("messages"), state)
        facts["behind"].set(*_split(duration_text(group.behind_ms)))
        facts["drains"].set(*self._drain_text(trend))
        facts["in"].set(rate_number(self._in_rate), "/s")
        facts["out"].set(rate_number(group.got_rate), "/s")
        facts["members"].set(tr("offline") if group.offline else str(group.members))

    @staticmethod
    def _drain_text(trend: Trend) -> tuple[str, str]:
        if trend.health is GroupHealth.DRAINING:
            number, unit = _split(duration_text(trend.drained_in_ms))
            return number, tr("{unit} at {rate} net", unit=unit, rate=rate_text(-trend.slope))
        if trend.health is GroupHealth.GROWING:
            return tr("growing"), tr("by {rate}, no end", rate=rate_text(trend.slope))
        return (tr("steady"), "") if trend.health is GroupHealth.STEADY else (UNKNOWN, "")

    # ---- chart -----------------------------------------------------------------------------------------------------

    def _choose(self, key: str) -> None:
        titles = {LAG: "Lag history", BEHIND: "Time behind, seconds", RATE: "Consumed, messages/s"}
        self._chart_title.setText(tr(titles[key]))
        self._draw()

    def _draw(self) -> None:
        from_ms, to_ms = self._context.time_range.window_ms(self._now_ms)
        measure = MEASURES[self.switch.current]
        empty = np.zeros(0)
        x, y = empty, empty
        if self._group is not None:
            series = self._context.history.series(f"group:{self._group.name}.{measure.series}")
            x, y = series.window(from_ms, to_ms, POINTS_MAX)
        self.chart.show_points({LAG: (x, y * measure.factor)}, from_ms / 1_000, to_ms / 1_000)


class _Fact(QWidget):
    """A name above a number with its unit."""

    def __init__(self) -> None:
        super().__init__()
        self.name = label(role="secondary")
        self.value = label(UNKNOWN, "card-title")
        self.unit = label(role="caption")
        number = QHBoxLayout()
        number.setSpacing(4)
        number.addWidget(self.value)
        number.addWidget(self.unit, 0, Qt.AlignmentFlag.AlignBottom)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(1)
        lines.addWidget(self.name)
        lines.addLayout(number)

    def set(self, value: str, unit: str = "", tone: str = "") -> None:
        self.value.setText(value)
        self.unit.setText(unit if value != UNKNOWN else "")
        if self.value.property("tone") != tone:
            self.value.setProperty("tone", tone)
            repolish(self.value)


def _split(text: str) -> tuple[str, str]:
    """``131 s`` as number and unit; the last word is the unit."""
    number, _, unit = text.rpartition(" ")
    return (number, unit) if number else (text, "")
