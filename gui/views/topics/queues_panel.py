"""`QueuesPanel`: the queues of a topic, their write rates over time, traffic, and a composer."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QStackedWidget, QWidget

from gui.models.filter_text import quoted
from gui.models.table import ColumnTableModel
from gui.models.topic_queues import TopicMeasure, TopicQueueRow, topic_queue_rows
from gui.models.topics import TopicRow, queue_rows, skew, topic_group_rows
from gui.operations.group_facts import ReportedOwners
from gui.operations.history import ChartHistory, EventMarks
from gui.operations.matrix import NAMES_MAX, HistoryMatrix
from gui.plots.chart_series import ChartSeries
from gui.plots.event_marks import MARK_NAMES, chart_marks
from gui.plots.heat_map import HeatMap, HeatScale
from gui.plots.time_chart import TimeChart
from gui.theme.style import set_role
from gui.theme.tokens import Size, State
from gui.views.chart_tools import RuleLine, join_charts, window_link
from gui.views.messages.compose_dialog import PANEL_WIDTH_MIN, ComposePanel
from gui.views.messages.sending import show_sent
from gui.views.page import PageContext
from gui.views.topics.detail import SKEW_WARNING, bars_text
from gui.views.topics.tag_chart import TagChart
from gui.views.topics.topic_columns import EMBEDDED_ONLY, topic_queue_columns
from gui.widgets.basic import column, fill, label
from gui.widgets.chip import Chip
from gui.widgets.containers import LaterPart, LazyTab
from gui.widgets.data_grid import DataGrid
from gui.widgets.inputs import NameBox
from gui.widgets.notice import AgeNote
from gui.widgets.pane_splitter import PaneSplitter, splitter
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_label, segments
from gui.words.text import percent_text, rate_text, tr
from monitoring.state import ClusterState

NO_MEASURE = TopicMeasure({})
SPARKLINE_MS, SPARKLINE_POINTS = 15 * 60_000, 60
OVER_TIME_WIDTH_MIN = 320
TRAFFIC, TAGS = "traffic", "tags"
CHART_KEY = "topic/chart"
"""Setting: the chosen chart."""


class QueuesPanel(QWidget):
    """Table above; below it heat map and chart, and beside them the composer.

    Signals:
        queue_wanted: Browse a queue; carries its id.
        composer_wanted: Open all fields of the composer in a dialog.
    """

    queue_wanted = Signal(int)
    composer_wanted = Signal()

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        theme = context.theme
        self._context = context
        self._now_ms = 0
        self._topic = ""
        self.model = ColumnTableModel(
            topic_queue_columns(context.times, context.queue_text, lambda: self._now_ms, self._rates_of),
            lambda row: row.queue_id,
            parent=self,
        )
        self.grid = said(DataGrid(self.model, theme), empty="No queue of this topic has been written to yet.")
        self.age = AgeNote()
        self.group = said(NameBox(), name="Positions of")
        self.group.setMinimumWidth(160)
        self._group_label = said_label("Positions of")
        self.skew_chip = Chip(theme)
        self.skew_note = label(role="secondary", wrap=True)
        self.heat = said(HeatMap(theme, context.times, State.DELAYED, rate_text), name="Write rate by queue")
        self.scale = HeatScale(theme, State.DELAYED)
        self.rates = HistoryMatrix(context.source, self)
        self.recent = HistoryMatrix(context.source, self, columns=SPARKLINE_POINTS)
        """The quarter of an hour of the sparklines, independent of the page's time range."""
        self.composer: LaterPart[ComposePanel] = LaterPart(self._make_composer)
        self.composer.setMinimumWidth(PANEL_WIDTH_MIN)  # already before it is made
        self.chart = TimeChart(
            theme,
            context.times,
            (ChartSeries("put_rate", "In", fill=True), ChartSeries("got_rate", "Delivered", State.COMMITTED)),
            value_text=rate_text,
        )
        self.link = window_link(context, self)
        tools, of_heat = join_charts(context, self.link, self.chart, self.heat)
        for each in (tools, of_heat):
            each.offer_messages(context, self._search_text)
        self.tags = LazyTab(self._make_tags)
        self.switch = segments({TRAFFIC: "In and out", TAGS: "In by tag"})
        self._charts = QStackedWidget()
        self._rule = RuleLine(self.chart, context, tools)
        self._lines = ChartHistory(context.source, context.history, self)
        self._marks = EventMarks(context.source, tuple(MARK_NAMES), self)
        self._table, self._heat_panel, self._chart_panel = self._panels()
        self._build()
        self._owners = ReportedOwners(context.source, self)
        self._state: ClusterState | None = None
        self._measure: TopicMeasure = NO_MEASURE
        self.switch.choose(TAGS if context.settings.value(CHART_KEY) == TAGS else TRAFFIC)
        self._show_chart()
        said(self._table, title="Queues")
        said(self._heat_panel, title="Write rate by queue", subtitle="over time")
        on_language(self, self._name_chart, self._show_heat)
        self._connect()

    def show_topic(self, topic: TopicRow | None, state: ClusterState | None, measure: TopicMeasure | None) -> None:
        """Show a topic of ``state``; None empties the panel."""
        self._state = state
        self._measure = measure or NO_MEASURE
        self._topic = topic.name if topic is not None else ""
        self._now_ms = state.taken_ms if state is not None else 0
        if self.composer.made is not None and self._topic:
            self.composer.made.set_topic(self._topic)
        self._show_groups()
        self._show_rows()
        self._show_age()
        self._show_skew()
        self._draw()

    def _show_age(self) -> None:
        """Show how old the oldest part of the table is: of a queue, or of an offset of the chosen group."""
        state, group = self._state, str(self.group.currentData() or "")
        if state is None:
            self.age.show_age(0)
            return
        self.age.show_age(max(state.topics_age_ms({self._topic}), state.group_age_ms(group, self._topic)))

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _panels(self) -> tuple[Panel, Panel, Panel]:
        table = Panel(" ", flush=True)
        table.add_action(self._group_label, self.group)
        table.content.addWidget(self.grid)
        table.content.addWidget(self.age)
        heat = Panel(" ")
        heat.add_action(self.scale, self.skew_chip)
        fill(heat.content, (self.heat, 1), self.skew_note)
        chart = Panel(" ")
        chart.add_action(self.chart.legend, self.switch)
        self._charts.addWidget(self.chart)
        self._charts.addWidget(self.tags)
        chart.content.addWidget(self._charts, 1)
        return table, heat, chart

    def _build(self) -> None:
        over_time = QWidget()
        over_time.setMinimumWidth(OVER_TIME_WIDTH_MIN)
        over_time.setLayout(column((self._heat_panel, 1), (self._chart_panel, 1), spacing=Size.GAP))
        below = PaneSplitter((over_time, self.composer), (600, 588), grows=0)
        split = splitter(Qt.Orientation.Vertical, (self._table, 300, 0), (below, 380, 0))
        self.setLayout(column(split, spacing=-1, margins=(0, Size.GAP, 0, 0)))

    def _connect(self) -> None:
        self._owners.arrived.connect(self._show_rows)
        self.rates.arrived.connect(self._show_heat)
        self.recent.arrived.connect(self.grid.view.viewport().update)
        self._lines.arrived.connect(self._draw)
        self._marks.arrived.connect(self._draw)
        self._context.time_range.changed.connect(self._draw)
        self._context.times.changed.connect(self.model.all_texts_changed)
        self.group.currentIndexChanged.connect(lambda _place: self._show_rows())
        self.grid.activated.connect(lambda row: self.queue_wanted.emit(row.queue_id))
        self.heat.row_chosen.connect(self._select_row)
        self.switch.chosen.connect(self._chart_chosen)

    # ---- the composer --------------------------------------------------------------------------------------------------

    def _make_composer(self) -> ComposePanel:
        made = ComposePanel(self._context, self._state, self._topic, self)
        made.shown_wanted.connect(partial(show_sent, self._context))
        made.whole_wanted.connect(self.composer_wanted)
        return made

    def compose(self) -> None:
        """Focus the composer."""
        self.composer.make().take_focus()

    # ---- in and out, or in by tag --------------------------------------------------------------------------------------

    def _make_tags(self) -> TagChart:
        made = TagChart(self._context)
        [tools] = join_charts(self._context, self.link, made.bars)
        tools.offer_messages(self._context, self._search_text)
        self._chart_panel.add_action(made.legend, before=self.switch)
        return made

    def _chart_chosen(self, key: str) -> None:
        self._context.settings.setValue(CHART_KEY, key)
        self._show_chart()
        self._draw()

    def _name_chart(self) -> None:
        if self.switch.current == TAGS:
            self._chart_panel.set_title(tr("Messages in by tag"), "")
        else:
            self._chart_panel.set_title(tr("Traffic"), tr("messages/s"))

    def _show_chart(self) -> None:
        has_tags = self.switch.current == TAGS
        if has_tags:
            self.tags.make().legend.show()
        elif self.tags.made is not None:
            self.tags.made.legend.hide()
        self.chart.legend.setVisible(not has_tags)
        self._name_chart()
        self._charts.setCurrentIndex(int(has_tags))

    def _search_text(self) -> str:
        return f"topic = {quoted(self._topic)}" if self._topic else ""

    # ---- figures -------------------------------------------------------------------------------------------------------

    def _show_groups(self) -> None:
        names = [row.name for row in topic_group_rows(self._state, self._topic)] if self._state is not None else []
        shown = [str(self.group.itemData(place)) for place in range(self.group.count())]
        if sorted(names) == sorted(shown) and names:
            return
        chosen = self.group.currentData()
        self.group.blockSignals(True)
        self.group.clear()
        for name in names:
            self.group.addItem(name, name)
        if chosen in names:
            self.group.setCurrentIndex(names.index(chosen))
        self.group.blockSignals(False)
        for widget in (self.group, self._group_label):
            widget.setVisible(bool(names))

    def _show_rows(self) -> None:
        if self._state is None:
            self.model.set_rows([])
            return
        group = self.group.currentData()
        rows = topic_queue_rows(self._state, self._topic, self._measure.queues, str(group) if group else "", self._told(group))
        self.model.set_rows(rows)
        # Without a group its columns are empty.
        unfilled = EMBEDDED_ONLY if self._state.is_from_outside else frozenset()
        self.grid.set_hidden(unfilled | (frozenset() if group else {"group", "lag", "owner"}))
        even = percent_text(1 / len(rows)) if rows else ""
        self._table.set_subtitle(tr("{count} queues, an even share is {even}", count=len(rows), even=even) if rows else "")

    def _told(self, group: str | None) -> Mapping[tuple[str, int], str]:
        """Owners as the clients of a group say, where the brokers do not."""
        state = self._state
        return self._owners.of(group, state) if group and state is not None and state.is_from_outside else {}

    def _show_skew(self) -> None:
        queues = queue_rows(self._state, self._topic) if self._state is not None else []
        ratio = skew(queues)
        is_skewed = ratio >= SKEW_WARNING
        self.skew_chip.set(tr("Skew {ratio}×", ratio=f"{ratio:.1f}") if is_skewed else "", State.WARNING)
        self.skew_note.setText(bars_text(queues, ratio, self._context.queue_text))
        set_role(self.skew_note, "warning" if is_skewed else "secondary")

    def _show_heat(self) -> None:
        ids = [row.queue_id for row in self.model.rows][:NAMES_MAX]
        labels = [self._context.queue_text(queue_id) for queue_id in ids]
        names = [tr("Queue {queue}", queue=queue) for queue in labels]
        matrix = self.rates.matrix
        if matrix.values.shape[0] in (0, len(ids)):
            self.heat.set_matrix([] if matrix.is_empty else labels, matrix, names)
        nothing = tr("Reading the history…") if self.rates.waiting else tr("not recorded")
        self.heat.set_note(self.rates.fault or nothing)
        self.scale.set_top(rate_text(matrix.top))

    def _draw(self) -> None:
        if not self._topic or self._state is None:
            return
        from_ms, to_ms = self._context.time_range.window_ms(self._now_ms)
        ids = sorted(row.queue_id for row in self.model.rows)
        series = [f"queue:{self._topic}/{queue_id}.put_rate" for queue_id in ids]
        self.rates.show(series, from_ms, to_ms)
        self.recent.show(series, self._now_ms - SPARKLINE_MS, self._now_ms)
        if self.rates.matrix.is_empty:
            self._show_heat()
        if self.switch.current == TAGS:
            self.tags.make().show_topic(self._topic, self._state, from_ms, to_ms)
            return
        names = {key: f"topic:{self._topic}.{key}" for key in ("put_rate", "got_rate")}
        lines = self._lines.lines(list(names.values()), from_ms, to_ms)
        marks = chart_marks(self._marks.events(from_ms, to_ms, self._topic), from_ms, to_ms)
        self.chart.set_marks(marks, self._marks.fault)
        points = {key: lines[name] for key, name in names.items()}
        newest = self._rates_now() if self._context.time_range.is_live else {}
        self.chart.show_points(points, from_ms / 1_000, to_ms / 1_000, self._lines.fault, newest)
        self._rule.show(names["put_rate"])

    def _rates_now(self) -> dict[str, float]:
        state = self._state
        if state is None or self._topic not in state.catalog.topics:
            return {}
        row = state.catalog.topics.index(self._topic)
        return {"put_rate": float(state.topic_put_rate[row]), "got_rate": float(state.topic_got_rate[row])}

    def _select_row(self, row: int) -> None:
        ids = sorted(one.queue_id for one in self.model.rows)
        if row < len(ids):
            self.grid.select_key(ids[row])

    def _rates_of(self, row: TopicQueueRow) -> Sequence[float] | None:
        """Write rates of a queue in the last quarter of an hour, messages/s; None: no writes, or unknown."""
        ids = sorted(one.queue_id for one in self.model.rows)[:NAMES_MAX]
        values = self.recent.matrix.values
        if row.queue_id not in ids or values.shape[0] != len(ids):
            return None
        rates: list[float] = values[ids.index(row.queue_id)].tolist()
        # From the begin of the record, because there are no values before.
        begin = next((place for place, rate in enumerate(rates) if not math.isnan(rate)), len(rates))
        return rates[begin:] if any(rate > 0 for rate in rates) else None
