"""The Overview: health, problems, and ways to other pages.

`ThroughputPanel` and `BacklogPanel`: its two charts; `PanelsPart`: these beside the open alerts.
"""

from __future__ import annotations

import math

from PySide6.QtWidgets import QWidget

from gui.operations.alert_center import SEVERITY_STATES
from gui.operations.demo import demo_refusal, play_demo
from gui.operations.history import ChartHistory, EventMarks
from gui.plots.chart_link import ChartLink
from gui.plots.chart_series import ChartSeries
from gui.plots.event_marks import MARK_NAMES, chart_marks
from gui.plots.time_chart import TimeChart
from gui.processes.demo import DemoPace
from gui.theme.tokens import Size, State, Tokens
from gui.views.acting import set_acting
from gui.views.action_dialog import read_only_reason
from gui.views.chart_tools import RuleLine, join_charts, window_link
from gui.views.overview.attention import ROWS_KEPT, ROWS_SHOWN, AttentionPanel
from gui.views.overview.figures import total, total_series
from gui.views.overview.flow_picture import STAGE_PAGES, flow_picture
from gui.views.overview.flow_scene import FlowScene
from gui.views.overview.tables_part import HEIGHT as TABLES_HEIGHT
from gui.views.overview.tables_part import TablesPart
from gui.views.overview.tiles import TileRow
from gui.views.page import PageContext, PageView
from gui.widgets.basic import IconButton, column
from gui.widgets.containers import BesideRow, LaterPart, ScrolledPart
from gui.widgets.panel import TERM, Panel
from gui.widgets.said import on_language, said, said_button, segments
from gui.words.outlooks import growth_text
from gui.words.text import byte_rate_text, bytes_text, count_text, duration_text, rate_text, short_count_text, tr
from monitoring.sources.base import EMBEDDED_NAME, SourceStatus
from monitoring.state import ClusterState

COUNT, BYTES = "count", "bytes"
_FIGURES = {COUNT: {"in": "put_rate", "out": "got_rate"}, BYTES: {"in": "put_byte_rate", "out": "got_byte_rate"}}
_LAG = {"lag": "lag_messages"}


class ThroughputPanel(Panel):
    """Messages or bytes in and out over time."""

    def __init__(self, context: PageContext, link: ChartLink) -> None:
        super().__init__(" ")
        self._context = context
        self._state: ClusterState | None = None
        lines = [ChartSeries("in", "In", fill=True), ChartSeries("out", "Delivered", State.COMMITTED, fill=True)]
        self.chart = TimeChart(context.theme, context.times, lines, value_text=rate_text, tick_text=short_count_text)
        self._lines = ChartHistory(context.source, context.history, self)
        self._lines.arrived.connect(self._draw)
        self._marks = EventMarks(context.source, tuple(MARK_NAMES), self)
        self._marks.arrived.connect(self._draw)
        [self.tools] = join_charts(context, link, self.chart)
        self._rule = RuleLine(self.chart, context, self.tools)
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
            _draw(self.chart, self._context, self._lines, self._state, _FIGURES[self.unit.current])
            self._rule.show(total_series(_FIGURES[self.unit.current]["in"]))

    def _unit_chosen(self, unit: str) -> None:
        if unit == BYTES:
            self.chart.set_value_text(byte_rate_text, bytes_text, binary=True)
        else:
            self.chart.set_value_text(rate_text, short_count_text)
        self._draw()


class BacklogPanel(Panel):
    """Messages that wait to be consumed, over time."""

    def __init__(self, context: PageContext, link: ChartLink) -> None:
        super().__init__(" ")
        self._context = context
        self._state: ClusterState | None = None
        self._lines = ChartHistory(context.source, context.history, self)
        self._lines.arrived.connect(self._draw)
        lines = [ChartSeries("lag", "Lag", fill=True)]
        self.chart = TimeChart(context.theme, context.times, lines, value_text=count_text)
        [tools] = join_charts(context, link, self.chart)
        self._rule = RuleLine(self.chart, context, tools)
        self.chart.leave_out_legend()
        self.content.addWidget(self.chart, 1)
        said(self, title="Backlog", subtitle="messages, all groups")

    def show_state(self, state: ClusterState) -> None:
        """Draw up to the time of ``state``."""
        self._state = state
        self._draw()
        lag = self._context.history.forecast(total_series(_LAG["lag"]), total(state, _LAG["lag"]))
        self.set_subtitle(growth_text(lag) or tr("messages, all groups"))

    def _draw(self) -> None:
        if self._state is not None:
            _draw(self.chart, self._context, self._lines, self._state, _LAG)
            self._rule.show(total_series(_LAG["lag"]))


def _draw(chart: TimeChart, context: PageContext, source: ChartHistory, state: ClusterState, names: dict[str, str]) -> None:
    from_ms, to_ms = context.time_range.window_ms(state.taken_ms)
    series = {key: total_series(name) for key, name in names.items()}
    lines = source.lines(list(series.values()), from_ms, to_ms)
    points = {key: lines[name] for key, name in series.items()}
    newest = {key: total(state, name) for key, name in names.items()} if context.time_range.is_live else {}
    chart.show_points(points, from_ms / 1_000, to_ms / 1_000, source.fault, newest)


class PanelsPart(BesideRow):
    """Panels side by side; the charts share cursor, selection and zoom."""

    def __init__(self, context: PageContext, link: ChartLink) -> None:
        # Two charts in one turn would be felt.
        backlog = LaterPart(lambda: self._make_backlog(context), fill=self._fill_backlog, turns=1)
        throughput, attention = ThroughputPanel(context, link), AttentionPanel(context)
        super().__init__((throughput, 45), (backlog, 19), (attention, 36))
        self._link = link
        self.throughput, self.backlog, self.attention = throughput, backlog, attention
        self.turned.connect(self._give_rows)
        self._state: ClusterState | None = None

    def _give_rows(self, is_turned: bool) -> None:
        # Below the charts it takes no room from them.
        self.attention.keep_rows(ROWS_SHOWN if is_turned else ROWS_KEPT)

    def _make_backlog(self, context: PageContext) -> BacklogPanel:
        return BacklogPanel(context, self._link)

    def _fill_backlog(self, made: BacklogPanel) -> None:
        if self._state is not None:
            made.show_state(self._state)

    @property
    def _made(self) -> list[ThroughputPanel | BacklogPanel | AttentionPanel]:
        panels = (self.throughput, self.backlog.made, self.attention)
        return [panel for panel in panels if panel is not None]

    def show_state(self, state: ClusterState) -> None:
        self._state = state
        for panel in self._made:
            panel.show_state(state)


class OverviewView(PageView):
    """Tiles, message flow, charts, and what is busiest or behind."""

    page_id = "overview"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._state: ClusterState | None = None
        self.link = window_link(context, self)
        self.demo_button = IconButton(theme, "play", " ", on_click=self._demo_clicked)
        self.send_button = said_button(theme, "paper-plane-tilt", "Send a message", role="primary", on_click=self._send_clicked)
        self.header.add_action(self.demo_button, self.send_button)
        self.tiles = TileRow(context)
        self.flow = said(FlowScene(theme.tokens), name="Message flow")
        self.flow.setProperty(TERM, "Message flow")
        self._flow_panel = said(
            Panel(" "), title="Message flow", subtitle="rates over 4 s, counts now; click a stage to open it"
        )
        self.panels = LaterPart(self._make_panels, fill=self._fill_panels, turns=3)
        self.tables = LaterPart(self._make_tables, turns=6)
        self.tables.setFixedHeight(TABLES_HEIGHT)
        self._flow_panel.content.setContentsMargins(4, 0, 4, 6)
        self._flow_panel.content.addWidget(self.flow)
        body = _Body()
        body.setLayout(column(self.tiles, self._flow_panel, (self.panels, 1), self.tables, spacing=Size.GAP))
        scroll = ScrolledPart()
        scroll.setWidget(body)
        self.content.addWidget(scroll, 1)
        self.flow.chosen.connect(self._open_stage)
        self.context.demo.changed.connect(self._show_demo)
        self.context.alerts.changed.connect(self._show_attention)
        self.context.time_range.changed.connect(self._show_again)
        on_language(self, self._show_demo, self._show_again)

    def state_changed(self, state: ClusterState) -> None:
        self._state = state
        self.tiles.show_state(state)
        self.flow.set_picture(flow_picture(state))
        for part in (self.panels.made, self.tables.made):
            if part is not None:
                part.show_state(state)
        self._show_header(state)

    def status_changed(self, status: SourceStatus) -> None:
        self._show_demo()
        set_acting(self.send_button, read_only_reason(self.context.source), able=status is SourceStatus.READY)
        if self.tables.made is not None:
            self.tables.made.show_status(status)

    def theme_changed(self, tokens: Tokens) -> None:
        self.flow.set_tokens(tokens)

    def _show_again(self) -> None:
        if self.context.source.state is not None and self.isVisible():
            self.state_changed(self.context.source.state)

    def _make_panels(self) -> PanelsPart:
        return PanelsPart(self.context, self.link)

    def _fill_panels(self, panels: PanelsPart) -> None:
        if self._state is not None:
            panels.show_state(self._state)

    def _make_tables(self) -> TablesPart:
        made = TablesPart(self.context, self._play)
        if self._state is not None:
            made.show_state(self._state)
        made.beside.turned.connect(self._tables_turned)
        return made

    def _tables_turned(self, is_turned: bool) -> None:
        """Make the scrolled part higher while one table is below the others."""
        self.tables.setFixedHeight(TABLES_HEIGHT * (2 if is_turned else 1) + (Size.GAP if is_turned else 0))

    def _show_header(self, state: ClusterState) -> None:
        ready = self.context.source.ready
        if self.context.source.status is SourceStatus.LOST:
            self.header.set_facts("")  # nothing is up
        elif ready is not None and not ready.runs_broker:
            self.header.set_facts(tr("Store opened, read-only"))
        elif ready is not None:
            names = {"count": len(state.catalog.brokers), "address": ready.name_server}
            up_ms = state.up_ms(ready.started_ms)
            up = duration_text(up_ms) if not math.isnan(up_ms) else ""
            if self.context.source.name == EMBEDDED_NAME:
                facts = tr("{name} broker, up {duration}", name=tr(EMBEDDED_NAME), duration=up)
            elif up and len(state.catalog.brokers) > 1:
                facts = tr("{count} brokers, all up for {duration}, known to the name server {address}", duration=up, **names)
            elif up:
                facts = tr("{count} brokers, up {duration}, known to the name server {address}", duration=up, **names)
            else:
                facts = tr("{count} brokers, known to the name server {address}", **names)
            self.header.set_facts(facts)
        self._show_attention()

    def _show_attention(self) -> None:
        """Show the number of alerts beside the title."""
        alerts = self.context.alerts.open_alerts()
        words = tr("{count} need attention", count=len(alerts))
        self.header.set_chips([(words, SEVERITY_STATES[alerts[0].rule.severity])] if alerts else [])

    def _show_demo(self) -> None:
        demo = self.context.demo
        playing = demo.is_running
        ready = self.context.source.ready
        self.demo_button.setVisible(ready is None or (ready.runs_broker and ready.has_store))
        self.demo_button.setText(tr("Stopping…") if demo.is_stopping else tr("Stop demo") if playing else tr("Play a demo"))
        self.demo_button.set_glyph("stop" if playing else "play")
        self.demo_button.setEnabled(not demo.is_stopping and (playing or not demo_refusal(self.context.source)))

    def _demo_clicked(self) -> None:
        if self.context.demo.is_running:
            self.context.demo.stop()
        else:
            self._play()

    def _play(self) -> None:
        play_demo(self.context.demo, self.context.tasks, self.context.source, DemoPace.NORMAL)

    def _send_clicked(self) -> None:
        self.context.navigate("messages", send=True)

    def _open_stage(self, key: str) -> None:
        page_id, arguments = STAGE_PAGES[key]
        self.context.navigate(page_id, **arguments)


class _Body(QWidget):
    """The scrolled content, at its minimum height where there is no room for more.

    Empty tables contain wrapped words, whose height depends on the width: charts would be stretched for them.
    """

    def hasHeightForWidth(self) -> bool:
        return False

    def heightForWidth(self, _width: int) -> int:
        return self.minimumSizeHint().height()
