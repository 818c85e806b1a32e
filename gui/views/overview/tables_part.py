"""`TablesPart`: the busiest topics, the groups that lag most and the broker's meters, below the charts of the Overview."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from gui.models.table import CellKind, Column, ColumnTableModel, number_column
from gui.models.topics import TopicRow, own_topics, topic_rows
from gui.operations.demo import may_offer_demo
from gui.theme.tokens import Size, State
from gui.views.opened_store import opened_chip
from gui.views.overview.figures import busiest_topics, disk_share, lagging_groups, own_groups, total
from gui.views.overview.tiles import DISK_LIMIT_SHARE
from gui.views.page import PageContext
from gui.widgets.basic import IconButton, column, fill
from gui.widgets.chip import Chip
from gui.widgets.containers import BesideRow
from gui.widgets.data_grid import DataGrid
from gui.widgets.key_values import Meter
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, say
from gui.words.outlooks import basis_text, change_text, explained, outlook_text
from gui.words.text import (
    UNKNOWN,
    QueueText,
    bytes_text,
    count_text,
    duration_text,
    is_unknown,
    percent_text,
    rate_text,
    tr,
)
from monitoring.group_outlook import GroupOutlook, group_outlook
from monitoring.lag import LagOutlook
from monitoring.lag_limits import LagLimits
from monitoring.series import History
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

SPARKLINE_MS = 15 * 60_000
SPARKLINE_POINTS = 60


@dataclass(frozen=True, slots=True)
class GroupLagRow:
    """One group. NaN is unknown."""

    name: str
    lag_messages: float
    behind_ms: float
    outlook: GroupOutlook
    lag_limit: float = math.inf
    """See `monitoring.lag_limits`."""
    beyond_messages: float = 0.0
    """How far it is beyond the ends of its queues."""

    @property
    def drained_ms(self) -> float:
        """Time until the lag is gone, inf when it does not shrink, NaN when unknown; sorts the table."""
        if self.outlook.forecast.outlook in (LagOutlook.GROWING, LagOutlook.STEADY):
            return math.inf
        return 0.0 if self.lag_messages == 0 else self.outlook.drained_in_ms


def _group_lag_row(state: ClusterState, history: History, row: int, limits: LagLimits) -> GroupLagRow:
    name = state.catalog.groups[row]
    lag = float(state.group_lag_messages[row])
    outlook = group_outlook(history, state, name)
    beyond = float(state.group_standings.beyond[row])
    return GroupLagRow(name, lag, float(state.group_behind_ms[row]), outlook, limits.of_group(name), beyond)


def busiest_columns(put_rates: Callable[[str], Sequence[float]]) -> list[Column[TopicRow]]:
    """Columns of the busiest topics; ``put_rates`` returns the sparkline of a topic by name."""
    return [
        Column("topic", "Topic", lambda row: row.name, kind=CellKind.STRONG),
        number_column("in", "In", lambda row: row.put_rate, rate_text, width=72),
        number_column("size", "Size", lambda row: row.average_bytes, bytes_text, width=80, gives_way=1),
        Column("spark", "15 min", lambda _row: "", kind=CellKind.SPARKLINE, value=lambda row: put_rates(row.name), width=82),
    ]


def lag_columns(lags: Callable[[str], Sequence[float]], queue_text: QueueText) -> list[Column[GroupLagRow]]:
    """Columns of the consumer lag; ``lags`` returns the sparkline of a group by name."""
    return [
        Column("group", "Group", lambda row: row.name, kind=CellKind.STRONG),
        number_column("lag", "Lag", lambda row: row.lag_messages, state=lag_state, width=80),
        number_column("behind", "Behind", lambda row: row.behind_ms, duration_text, width=66),
        Column("change", "Change", lambda row: change_text(row.outlook.forecast), sort=lambda row: row.outlook.forecast.slope,
               right=True, tip=lambda row: basis_text(row.outlook.forecast), dim=True, width=72, gives_way=1),
        Column("spark", "15 min", lambda _row: "", kind=CellKind.SPARKLINE, value=lambda row: lags(row.name), state=lag_state,
               width=82, gives_way=2),
        Column("drains", "Forecast", lambda row: drains_text(row, queue_text), sort=lambda row: row.drained_ms,
               state=_beyond_state, tip=lambda row: explained(row.outlook, queue_text), right=True, dim=True, width=116),
    ]  # fmt: skip


def lag_state(row: GroupLagRow) -> State | None:
    """Colour of a lag above the limit of its alert rule, or of a group beyond the end; else None."""
    if row.beyond_messages > 0:
        return State.CRITICAL
    return State.WARNING if row.lag_messages > row.lag_limit else None


def _beyond_state(row: GroupLagRow) -> State | None:
    return State.CRITICAL if row.beyond_messages > 0 else None


def drains_text(row: GroupLagRow, queue_text: QueueText) -> str:
    """The forecast of the lag in words."""
    return tr("beyond the end") if row.beyond_messages > 0 else outlook_text(row.outlook, queue_text)


ROWS_SHOWN = 4
ROW_HEIGHT = 24
HEIGHT = 38 + Size.HEADER + ROWS_SHOWN * ROW_HEIGHT + 8
UNFLUSHED_FULL_BYTES = 64 * 1024 * 1024
"""Unflushed bytes of a full meter: the most that asynchronous flushes leave in normal operation."""
MEMORY_FULL_BYTES = 2 * 1024 * 1024 * 1024
EMBEDDED_ONLY = frozenset({"size"})
"""Columns of the busiest topics that an attached cluster cannot fill."""
EMBEDDED_ONLY_METERS = ("unflushed", "held", "cpu", "memory")
"""Meters that an attached cluster cannot fill."""
_METERS = {"disk": "Disk", "unflushed": "Unflushed", "held": "Held pulls", "cpu": "Processor", "memory": "Memory"}


class TablesPart(QWidget):
    """Three panels side by side; the demo is offered while there are no topics."""

    def __init__(self, context: PageContext, play: Callable[[], None]) -> None:
        super().__init__()
        self._context = context
        self._play = play
        theme = context.theme
        self.topics = ColumnTableModel(
            busiest_columns(lambda topic: self._line(f"topic:{topic}.put_rate")), lambda row: row.name, parent=self
        )
        self.groups = ColumnTableModel(
            lag_columns(lambda group: self._line(f"group:{group}.lag_messages"), context.queue_text),
            lambda row: row.name,
            parent=self,
        )
        self.topic_grid = DataGrid(self.topics, theme, row_height=ROW_HEIGHT)
        self.group_grid = DataGrid(self.groups, theme, row_height=ROW_HEIGHT)
        self.broker_chip = Chip(theme)
        self.meters = {key: Meter(theme) for key in _METERS}
        for key, name in _METERS.items():
            say(self.meters[key], "set_name", name)
        self._all_topics = IconButton(theme, "arrow-right", " ", role="link", on_click=lambda: context.navigate("topics"))
        self._all_groups = IconButton(theme, "arrow-right", " ", role="link", on_click=lambda: context.navigate("consumers"))
        self._topic_panel = said(Panel(" ", flush=True), title="Busiest topics")
        self._group_panel = said(Panel(" ", flush=True), title="Consumer lag")
        self._broker_panel = said(Panel(" "), title="Broker")
        self._topic_panel.add_action(self._all_topics)
        self._topic_panel.content.addWidget(self.topic_grid)
        self._group_panel.add_action(self._all_groups)
        self._group_panel.content.addWidget(self.group_grid)
        self._broker_panel.add_action(self.broker_chip)
        self._broker_panel.content.setSpacing(1)
        fill(self._broker_panel.content, *self.meters.values(), 1)
        parts = ((self._topic_panel, 40), (self._group_panel, 52), (self._broker_panel, 26))
        for panel, _weight in parts:
            panel.setFixedHeight(HEIGHT)
        self.beside = BesideRow(*parts)
        self.setLayout(column(self.beside, spacing=-1))
        self.topic_grid.activated.connect(lambda row: context.navigate("topic", topic=row.name))
        self.group_grid.activated.connect(lambda row: context.navigate("consumers", group=row.name))
        on_language(self, self._write_texts)
        self.show_status(context.source.status)

    def show_state(self, state: ClusterState) -> None:
        limits = self._context.alerts.lag_limits
        # What is not known, as while a broker is lost, stays in the order in which it was last known.
        busiest = busiest_topics(state, ROWS_SHOWN, [row.name for row in self.topics.rows])
        lagging = lagging_groups(state, ROWS_SHOWN, [row.name for row in self.groups.rows])
        self.topics.set_rows(topic_rows(state, busiest, limits))
        self.groups.set_rows(_group_lag_row(state, self._context.history, row, limits) for row in lagging)
        topics, groups = (len(own_topics(state)), len(own_groups(state))) if state.lists_all else (math.nan, math.nan)
        self._all_topics.setText(tr("All {count} topics", count=count_text(topics)))
        self._all_groups.setText(tr("All {count} groups", count=count_text(groups)))
        self._show_empty(is_blank=state.is_blank)
        self.topic_grid.set_hidden(EMBEDDED_ONLY if state.is_from_outside else frozenset())
        self._show_meters(state)

    def show_status(self, status: SourceStatus) -> None:
        """Show the status of a broker that is not ready; `show_state` shows that of a ready one."""
        if status is not SourceStatus.READY:
            self.broker_chip.set(status_text(status), State.CRITICAL if status is SourceStatus.LOST else State.PENDING)

    def _write_texts(self) -> None:
        self.show_status(self._context.source.status)
        state = self._context.source.state
        self._show_empty(is_blank=state is not None and state.is_blank)

    def _show_empty(self, *, is_blank: bool) -> None:
        if is_blank:
            self.topic_grid.set_empty(tr("No broker has reported its topics."))
            self.group_grid.set_empty(tr("No broker has reported its groups."))
        else:
            offer = tr("Play a demo") if may_offer_demo(self._context.source) else ""
            self.topic_grid.set_empty(tr("No topics yet."), offer, self._play)
            self.group_grid.set_empty(tr("No group has consumed here yet."))

    def _line(self, name: str) -> Sequence[float]:
        state = self._context.source.state
        if state is None:
            return ()
        series = self._context.history.series(name)
        _seconds, values = series.window(state.taken_ms - SPARKLINE_MS, state.taken_ms, SPARKLINE_POINTS)
        points: list[float] = values.tolist()
        return points

    def _show_meters(self, state: ClusterState) -> None:
        for key in EMBEDDED_ONLY_METERS:
            self.meters[key].setVisible(not state.is_from_outside)
        disk = disk_share(state)
        full = disk >= DISK_LIMIT_SHARE
        limit = percent_text(DISK_LIMIT_SHARE, 0)
        used = tr("{share} of {limit}", share=f"{disk * 100:.1f}", limit=limit) if not math.isnan(disk) else UNKNOWN
        self.meters["disk"].set(used, _share(disk, DISK_LIMIT_SHARE), State.WARNING if full else None)
        unflushed = total(state, "unflushed_bytes")
        self.meters["unflushed"].set(bytes_text(unflushed), _share(unflushed, UNFLUSHED_FULL_BYTES))
        held = total(state, "held_pulls")
        waiting = UNKNOWN if is_unknown(held) else tr("{count} waiting", count=count_text(held))
        self.meters["held"].set(waiting, _share(held, total(state, "connections") * 16))
        cpu = total(state, "process_cpu_percent")
        self.meters["cpu"].set(UNKNOWN if math.isnan(cpu) else f"{cpu:.0f} %", _share(cpu, 100))
        memory = total(state, "process_rss_bytes")
        self.meters["memory"].set(bytes_text(memory), _share(memory, MEMORY_FULL_BYTES))
        if self._context.source.status is SourceStatus.READY:
            words = tr("Part missing") if state.faults else tr("Disk filling") if full else tr("Healthy")
            shown = (words, State.WARNING if full or state.faults else State.HEALTHY)
            self.broker_chip.set(*(opened_chip(self._context.source.ready) or shown))


def _share(value: float, full: float) -> float | None:
    return None if is_unknown(value) or is_unknown(full) or full <= 0 else min(1.0, max(0.0, value / full))


def status_text(status: SourceStatus) -> str:
    """The status of a broker, in a word."""
    texts = {
        SourceStatus.STARTING: tr("Starting"),
        SourceStatus.READY: tr("Healthy"),
        SourceStatus.LOST: tr("Stopped unexpectedly"),
        SourceStatus.STOPPED: tr("Stopped"),
    }
    return texts[status]
