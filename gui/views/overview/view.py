"""The Overview: is it healthy, where is the problem, where to go."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from gui.bridge.demo import DemoPace
from gui.models.table import ColumnTableModel
from gui.models.topics import TopicRow, topic_rows
from gui.operations.alert_center import SEVERITY_STATES
from gui.operations.demo import play_demo
from gui.text import UNKNOWN, bytes_text, count_text, duration_text, is_unknown, percent_text, tr
from gui.theme.tokens import Size, State, Tokens
from gui.views.overview.attention import AttentionPanel
from gui.views.overview.charts import BacklogPanel, ThroughputPanel
from gui.views.overview.figures import busiest_topics, disk_share, own_groups, own_topics, total
from gui.views.overview.flow_picture import STAGE_PAGES, flow_picture
from gui.views.overview.flow_scene import FlowScene
from gui.views.overview.tables import (
    SPARKLINE_MS,
    SPARKLINE_POINTS,
    GroupLagRow,
    busiest_columns,
    group_lag_rows,
    lag_columns,
)
from gui.views.overview.tiles import DISK_LIMIT_SHARE, TileRow
from gui.views.page import PageContext, PageView
from gui.widgets.basic import IconButton
from gui.widgets.chip import Chip
from gui.widgets.containers import ScrolledPart
from gui.widgets.data_grid import DataGrid
from gui.widgets.key_values import Meter
from gui.widgets.panel import Panel
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

ROWS_SHOWN = 4
ROW_HEIGHT = 24
UNFLUSHED_FULL_BYTES = 64 * 1024 * 1024
"""Unflushed bytes at which the meter is full: what an asynchronous flush leaves behind at most in normal work."""
MEMORY_FULL_BYTES = 2 * 1024 * 1024 * 1024
BODY_HEIGHT_MIN = 660


class OverviewView(PageView):
    """Tiles, message flow, charts, and what is busiest or behind."""

    page_id = "overview"
    title = "Overview"
    icon = "squares-four"

    def __init__(self, context: PageContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        theme = context.theme
        self.demo_button = IconButton(theme, "play", " ", on_click=self._demo_clicked)
        self.send_button = IconButton(theme, "paper-plane-tilt", " ", role="primary", on_click=self._send_clicked)
        self.header.add_action(self.demo_button)
        self.header.add_action(self.send_button)
        self.tiles = TileRow(context)
        self.flow = FlowScene(theme.tokens)
        self.throughput = ThroughputPanel(context)
        self.backlog = BacklogPanel(context)
        self.attention = AttentionPanel(context)
        self.topics: ColumnTableModel[TopicRow] = ColumnTableModel(
            busiest_columns(self._put_rates), lambda row: row.name, parent=self
        )
        self.groups: ColumnTableModel[GroupLagRow] = ColumnTableModel(
            lag_columns(self._lags), lambda row: row.name, parent=self
        )
        self.topic_grid = DataGrid(self.topics, theme, row_height=ROW_HEIGHT)
        self.group_grid = DataGrid(self.groups, theme, row_height=ROW_HEIGHT)
        self.broker_chip = Chip(theme)
        self.meters = {key: Meter(theme) for key in ("disk", "unflushed", "held", "cpu", "memory")}
        self._all_topics = IconButton(theme, "arrow-right", " ", role="link", on_click=lambda: context.navigate("topics"))
        self._all_groups = IconButton(theme, "arrow-right", " ", role="link", on_click=lambda: context.navigate("consumers"))
        self._flow_panel, self._topic_panel, self._group_panel, self._broker_panel = (
            Panel(" "),
            Panel(" ", flush=True),
            Panel(" ", flush=True),
            Panel(" "),
        )
        self._build()
        self._connect()
        self.retranslate()

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def state_changed(self, state: ClusterState) -> None:
        self.tiles.show_state(state)
        self.flow.set_picture(flow_picture(state))
        self.throughput.show_state(state)
        self.backlog.show_state(state)
        self.attention.show_state(state)
        self.topics.set_rows(topic_rows(state, busiest_topics(state, ROWS_SHOWN)))
        self.groups.set_rows(group_lag_rows(state, self.context.history, ROWS_SHOWN))
        self._show_header(state)
        self._show_meters(state)
        self._all_topics.setText(tr("All {count} topics", count=len(own_topics(state))))
        self._all_groups.setText(tr("All {count} groups", count=len(own_groups(state))))

    def status_changed(self, status: SourceStatus) -> None:
        self._show_demo()
        self.send_button.setEnabled(status is SourceStatus.READY)
        if status is not SourceStatus.READY:
            self.broker_chip.set(_status_text(status), State.CRITICAL if status is SourceStatus.LOST else State.PENDING)

    def theme_changed(self, tokens: Tokens) -> None:
        self.flow.set_tokens(tokens)

    def retranslate(self) -> None:
        self._flow_panel.set_title(tr("Message flow"), tr("rates over 4 s, counts now; click a stage to open it"))
        self.flow.setAccessibleName(tr("Message flow"))
        self._topic_panel.set_title(tr("Busiest topics"))
        self._group_panel.set_title(tr("Consumer lag"))
        self._broker_panel.set_title(tr("Broker"))
        names = {"disk": "Disk", "unflushed": "Unflushed", "held": "Held pulls", "cpu": "Processor", "memory": "Memory"}
        for key, name in names.items():
            self.meters[key].set_name(tr(name))
        self.send_button.setText(tr("Send a message"))
        self.topic_grid.set_empty(tr("No topics yet."), tr("Play a demo"), self._play)
        self.group_grid.set_empty(tr("No group has consumed here yet."))
        self.tiles.retranslate()
        self.throughput.retranslate()
        self.backlog.retranslate()
        self.attention.retranslate()
        self._show_demo()
        if self.context.source.state is not None and self.isVisible():
            self.state_changed(self.context.source.state)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self._flow_panel.content.setContentsMargins(4, 0, 4, 6)
        self._flow_panel.content.addWidget(self.flow)
        self._topic_panel.add_action(self._all_topics)
        self._topic_panel.content.addWidget(self.topic_grid)
        self._group_panel.add_action(self._all_groups)
        self._group_panel.content.addWidget(self.group_grid)
        self._broker_panel.add_action(self.broker_chip)
        self._broker_panel.content.setSpacing(1)
        for meter in self.meters.values():
            self._broker_panel.content.addWidget(meter)
        self._broker_panel.content.addStretch(1)
        body = _Body()
        body.setMinimumHeight(BODY_HEIGHT_MIN)
        lines = QVBoxLayout(body)
        lines.setContentsMargins(0, 0, 0, 0)
        lines.setSpacing(Size.GAP)
        lines.addWidget(self.tiles)
        lines.addWidget(self._flow_panel)
        lines.addLayout(_beside((self.throughput, 42), (self.backlog, 24), (self.attention, 34)), 1)
        tables = _beside((self._topic_panel, 40), (self._group_panel, 52), (self._broker_panel, 26))
        for panel in (self._topic_panel, self._group_panel, self._broker_panel):
            panel.setFixedHeight(38 + Size.HEADER + ROWS_SHOWN * ROW_HEIGHT + 8)
        lines.addLayout(tables)
        scroll = ScrolledPart()
        scroll.setWidget(body)
        self.content.addWidget(scroll, 1)

    def _connect(self) -> None:
        self.flow.chosen.connect(self._open_stage)
        self.topic_grid.activated.connect(lambda row: self.context.navigate("topic", topic=row.name))
        self.group_grid.activated.connect(lambda row: self.context.navigate("consumers", group=row.name))
        self.throughput.chart.hovered.connect(self.backlog.chart.show_crosshair)
        self.backlog.chart.hovered.connect(self.throughput.chart.show_crosshair)
        self.context.demo.changed.connect(self._show_demo)
        self.context.alerts.changed.connect(self._show_attention)
        self.context.time_range.changed.connect(self._show_again)

    def _show_again(self) -> None:
        if self.context.source.state is not None and self.isVisible():
            self.state_changed(self.context.source.state)

    def _line(self, name: str) -> Sequence[float]:
        state = self.context.source.state
        if state is None:
            return ()
        series = self.context.history.series(name)
        values: list[float] = series.window(state.taken_ms - SPARKLINE_MS, state.taken_ms, SPARKLINE_POINTS)[1].tolist()
        return values

    def _put_rates(self, topic: str) -> Sequence[float]:
        return self._line(f"topic:{topic}.put_rate")

    def _lags(self, group: str) -> Sequence[float]:
        return self._line(f"group:{group}.lag_messages")

    # ---- texts ---------------------------------------------------------------------------------------------------------

    def _show_header(self, state: ClusterState) -> None:
        ready = self.context.source.ready
        if ready is not None and not ready.runs_broker:
            self.header.set_facts(tr("Store opened, read-only"))
        elif ready is not None:
            up = duration_text(max(0, state.taken_ms - ready.started_ms))
            self.header.set_facts(tr("{name} broker, up {duration}", name=tr(self.context.source.name), duration=up))
        self._show_attention()

    def _show_attention(self) -> None:
        """Say beside the title what the panel says in full."""
        alerts = self.context.alerts.open_alerts()
        words = tr("{count} need attention", count=len(alerts))
        self.header.set_chips([(words, SEVERITY_STATES[alerts[0].rule.severity])] if alerts else [])

    def _show_meters(self, state: ClusterState) -> None:
        disk = disk_share(state)
        full = disk >= DISK_LIMIT_SHARE
        limit = percent_text(DISK_LIMIT_SHARE, 0)
        used = tr("{share} of {limit}", share=f"{disk * 100:.1f}", limit=limit) if not math.isnan(disk) else UNKNOWN
        self.meters["disk"].set(used, _share(disk, DISK_LIMIT_SHARE), State.WARNING if full else None)
        unflushed = total(state, "unflushed_bytes")
        self.meters["unflushed"].set(bytes_text(unflushed), _share(unflushed, UNFLUSHED_FULL_BYTES))
        held = total(state, "held_pulls")
        self.meters["held"].set(tr("{count} waiting", count=count_text(held)), _share(held, total(state, "connections") * 16))
        cpu = total(state, "process_cpu_percent")
        self.meters["cpu"].set(UNKNOWN if math.isnan(cpu) else f"{cpu:.0f} %", _share(cpu, 100))
        memory = total(state, "process_rss_bytes")
        self.meters["memory"].set(bytes_text(memory), _share(memory, MEMORY_FULL_BYTES))
        if self.context.source.status is SourceStatus.READY:
            self.broker_chip.set(tr("Disk filling") if full else tr("Healthy"), State.WARNING if full else State.HEALTHY)

    def _show_demo(self) -> None:
        demo = self.context.demo
        playing = demo.is_running
        ready = self.context.source.ready
        self.demo_button.setVisible(ready is None or ready.runs_broker)
        self.demo_button.setText(tr("Stopping…") if demo.is_stopping else tr("Stop demo") if playing else tr("Play a demo"))
        self.demo_button.set_glyph("stop" if playing else "play")
        self.demo_button.setEnabled(not demo.is_stopping and (playing or self.context.source.status is SourceStatus.READY))

    # ---- actions -------------------------------------------------------------------------------------------------------

    def _demo_clicked(self) -> None:
        if self.context.demo.is_running:
            self.context.demo.stop()
        else:
            self._play()

    def _play(self) -> None:
        ready = self.context.source.ready
        if ready is not None and ready.name_server and self.context.source.status is SourceStatus.READY:
            play_demo(self.context.demo, self.context.tasks, ready.name_server, DemoPace.NORMAL)

    def _send_clicked(self) -> None:
        self.context.navigate("messages", send=True)

    def _open_stage(self, key: str) -> None:
        page_id, arguments = STAGE_PAGES[key]
        self.context.navigate(page_id, **arguments)


class _Body(QWidget):
    """What scrolls. Empty tables hold wrapped words, whose height depends on the width: charts would be stretched for them."""

    def hasHeightForWidth(self) -> bool:
        return False

    def heightForWidth(self, width: int) -> int:  # noqa: ARG002  Qt's signature
        return BODY_HEIGHT_MIN


def _beside(*parts: tuple[QWidget, int]) -> QHBoxLayout:
    line = QHBoxLayout()
    line.setSpacing(Size.GAP)
    for widget, weight in parts:
        line.addWidget(widget, weight)
    return line


def _share(value: float, full: float) -> float | None:
    return None if is_unknown(value) or is_unknown(full) or full <= 0 else min(1.0, max(0.0, value / full))


def _status_text(status: SourceStatus) -> str:
    texts = {
        SourceStatus.STARTING: tr("Starting"),
        SourceStatus.READY: tr("Healthy"),
        SourceStatus.LOST: tr("Stopped unexpectedly"),
        SourceStatus.STOPPED: tr("Stopped"),
    }
    return texts[status]
