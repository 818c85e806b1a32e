"""The Topics page: every topic of the broker, and the queues and groups of the selected one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QModelIndex, QPoint
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QMenu, QWidget

from broker_core.api import TopicConfig
from gui.models.favourites import FAVOURITES
from gui.models.row_filter import RowField, WordKind
from gui.models.table import ColumnTableModel
from gui.models.topics import IDLE_AFTER_MS, GroupOnTopic, TopicRow, groups_by_topic, topic_rows
from gui.operations.demo import may_offer_demo
from gui.operations.topic_facts import TopicFacts
from gui.theme.tokens import Size, State
from gui.views.acting import add_acting, set_acting, unless_refused
from gui.views.action_dialog import ActionDialog, read_only_reason
from gui.views.list_filter import ColumnsButton, ListFilter
from gui.views.messages.compose_dialog import ComposeDialog
from gui.views.page import PageArguments, PageContext, PageView
from gui.views.topics.actions import TopicsExport, ask_delete, send_dialog
from gui.views.topics.columns import EMBEDDED_ONLY, SYSTEM_TOPICS, YOUR_TOPICS, TopicColumnSources, topic_columns
from gui.views.topics.detail import TopicDetail
from gui.views.topics.import_dialog import ImportTopicsDialog
from gui.views.topics.new_topic_dialog import NewTopicDialog
from gui.widgets.basic import fill, label, on_key, row
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.notice import Notice, age_text
from gui.widgets.panel import Panel
from gui.widgets.popups import new_menu, opened
from gui.widgets.said import on_language, said_button, said_label
from gui.widgets.saved_menu import menu_name
from gui.words.text import bytes_text, count_text, tr
from monitoring.admin.topics import TopicType
from monitoring.state import ClusterState

DETAIL_HEIGHT_MIN, DETAIL_HEIGHT_MAX = 170, 258
SPARKLINE_POINTS = 60
SPARKLINE_MS = 15 * 60_000
ALL, FAVOURITE, IDLE, LAG = "all", "favourites", "idle", "lag"
FILTER_NAMES = {ALL: "All {count}", FAVOURITE: "Favourites {count}", IDLE: "Idle {count}", LAG: "With lag {count}"}


def topic_fields(sources: TopicColumnSources, groups: Callable[[], Sequence[str]]) -> list[RowField[TopicRow]]:
    """Fields for conditions of the filter, in the order of the columns."""

    def disk(row: TopicRow) -> float:
        measure = sources.measure(row)
        return float("nan") if measure is None else measure.bytes

    return [
        RowField("name", "Topic", WordKind.TEXT, lambda row: (row.name,)),
        RowField("type", "Type", WordKind.TEXT, lambda row: type_words(sources.topic_type(row)),
                 lambda: [kind.value for kind in TopicType]),
        RowField("queues", "Write queues", WordKind.COUNT, lambda row: row.write_queues, lambda: ["4", "8", "16"]),
        RowField("in", "In /s", WordKind.COUNT, lambda row: row.put_rate, lambda: ["0", "10", "100", "1k"]),
        RowField("size", "Avg size", WordKind.SIZE, lambda row: row.average_bytes, lambda: ["1KiB", "64KiB", "1MiB"]),
        RowField("kept", "Messages kept", WordKind.COUNT, lambda row: row.kept_messages, lambda: ["0", "1k", "1m"]),
        RowField("group", "Group", WordKind.TEXT, lambda row: [one.name for one in sources.groups(row)], groups),
        RowField("lag", "Lag", WordKind.COUNT, lambda row: row.lag_messages, lambda: ["0", "1000", "15k"]),
        RowField("disk", "On disk", WordKind.SIZE, disk, lambda: ["10MiB", "100MiB", "1GiB"]),
        RowField("idle", "Last write", WordKind.TIME, lambda row: row.age_ms, lambda: ["1m", "1h", "1d"]),
    ]  # fmt: skip


def type_words(kind: TopicType | None) -> tuple[str, ...]:
    """Names of a type in English and in the language of the window; empty while unknown."""
    return () if kind is None else (kind.value, tr(kind.value))


class TopicsView(PageView):
    """Lists topics; the strip below shows the selected one."""

    page_id = "topics"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._state: ClusterState | None = None
        self.import_button = said_button(theme, "folder-open", "Import…", on_click=self.ask_import)
        self.header.add_action(self.import_button)
        self.new_button = said_button(theme, "plus", "New topic", role="primary", on_click=self.ask_new_topic)
        self.header.add_action(self.new_button)
        self.facts = TopicFacts(context.source, self)
        self.favourites = context.pins.topics
        self._groups: tuple[ClusterState | None, dict[str, list[GroupOnTopic]]] = (None, {})
        sources = TopicColumnSources(
            put_rates=self._put_rates,
            groups=self._groups_of,
            topic_type=lambda topic: self.facts.type_of(topic.name, is_system=topic.is_system),
            measure=lambda topic: self.facts.measure_of(topic.name),
            measured_ago_ms=lambda topic: self.facts.measured_ago_ms(topic.name),
            is_favourite=lambda topic: topic.name in self.favourites,
        )
        self.model = ColumnTableModel(
            topic_columns(sources),
            lambda topic: topic.name,
            section=sources.section,
            sections=(FAVOURITES, YOUR_TOPICS, SYSTEM_TOPICS),
            parent=self,
        )
        self.filter = ListFilter(
            theme,
            self.model,
            FILTER_NAMES,
            "Filter by topic or group, or with words such as lag>1000, type:FIFO, idle>1h",
            accepts=self._is_listed,
            text_of=lambda topic: f"{topic.name} {topic.slowest_group}",
            fields=topic_fields(sources, lambda: self._state.catalog.groups if self._state is not None else ()),
        )
        self.grid = DataGrid(self.model, theme)
        self.columns_button = ColumnsButton(theme, self.grid)
        self.export = TopicsExport(context, self._settings_shown, self)
        self.filter.add_action(self.columns_button, self.export.button)
        self.hint = Notice(theme)
        self.foot = label(role="caption")
        self._keys = said_label("Enter: details · M: messages · P: send · Ctrl+D: favourite · Del: delete", "caption")
        self.detail = TopicDetail(context, self.facts)
        self._build()
        self.set_parts(grid=self.grid, find=self.filter.focus, detail=self.detail)
        self._connect()
        self.grid.sort_by("in", descending=True)
        self.model.toggle_section(SYSTEM_TOPICS)
        self.detail.show_topic(None, None)
        on_language(self, self._write_texts)

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def open(self, arguments: PageArguments) -> None:
        topic = arguments.get("topic")
        if isinstance(topic, str) and topic:
            self.filter.show_all()
            self.grid.select_key(topic)
            self._show_selected()
        if arguments.get("create"):
            unless_refused(self.context, self.ask_new_topic)()

    def state_changed(self, state: ClusterState) -> None:
        self._state = state
        self.filter.is_known = state.lists_all
        rows = topic_rows(state, limits=self.context.alerts.lag_limits)
        self.grid.set_hidden(EMBEDDED_ONLY if state.is_from_outside else frozenset())
        self.model.set_rows(rows)
        self.header.set_facts(self._facts(rows, state) if state.lists_all else "")
        self.filter.write_counts()
        self._show_empty()
        self.grid.select_first()
        self._show_selected()
        self.facts.tend(state.catalog, state.taken_ms)

    def refresh(self) -> None:
        self.facts.forget()
        if self._state is not None:
            self.facts.tend(self._state.catalog, self._state.taken_ms)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.detail.setFixedHeight(max(DETAIL_HEIGHT_MIN, min(DETAIL_HEIGHT_MAX, self.height() // 3)))

    def _write_texts(self) -> None:
        for button in (self.new_button, self.import_button):
            set_acting(button, read_only_reason(self.context.source))
        self.filter.write_counts()
        self._show_empty()
        if self._state is not None:
            self.state_changed(self._state)

    # ---- actions -------------------------------------------------------------------------------------------------------

    def ask_new_topic(self) -> NewTopicDialog:
        dialog = NewTopicDialog(self.context.source, self._names, self)
        dialog.created.connect(self._topic_created)
        return opened(dialog)

    def ask_import(self) -> ImportTopicsDialog:
        dialog = ImportTopicsDialog(self.context, self._is_own_of_broker, self)
        dialog.imported.connect(lambda _count: self.facts.forget())
        return opened(dialog)

    def _is_own_of_broker(self, name: str) -> bool:
        return any(topic.name == name and topic.is_system for topic in self.model.rows)

    def _settings_shown(self) -> list[TopicConfig]:
        """Known settings of the listed topics, without the broker's own."""
        found = [self.facts.settings_of(topic.name) for topic in self.model.shown_rows if not topic.is_system]
        return [one for one in found if one is not None]

    def show_detail(self, topic: TopicRow | None = None) -> None:
        """Open the page of a topic, or of the selected one."""
        chosen = topic or self.grid.selected_row
        if chosen is not None:
            self.context.navigate("topic", topic=chosen.name)

    def show_settings(self) -> None:
        chosen = self.grid.selected_row
        if chosen is not None:
            self.context.navigate("topic", topic=chosen.name, tab="settings")

    def toggle_favourite(self, topic: TopicRow | None = None) -> None:
        """Add a topic, or the selected one, to the favourites, or remove it."""
        chosen = topic or self.grid.selected_row
        if chosen is not None:
            self.favourites.toggle(chosen.name)

    def ask_send(self, topic: TopicRow | None = None) -> ComposeDialog | None:
        chosen = topic or self.grid.selected_row
        if chosen is None:
            return None
        return send_dialog(self.context, self._state, chosen.name, self)

    def ask_delete(self, topic: TopicRow | None = None) -> ActionDialog | None:
        chosen = topic or self.grid.selected_row
        if chosen is None or self._state is None:
            return None
        return ask_delete(self, chosen, self._state, self._deleted)

    def _deleted(self, name: str) -> None:
        if name in self.favourites:
            self.favourites.toggle(name)
        self.context.notify(lambda: tr("Topic {topic} is deleted", topic=name), state=State.HEALTHY)

    def show_messages(self, topic: TopicRow | None = None, queue_id: int = -1) -> None:
        """Open the messages of a topic, or of the selected one; queue -1 means all."""
        chosen = topic or self.grid.selected_row
        if chosen is not None:
            self.context.navigate("messages", topic=chosen.name, queue=queue_id)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        fill(self.content, self.filter, self.hint)
        panel = Panel(flush=True, spacing=0)
        panel.content.addWidget(self.grid, 1)
        foot = QWidget()
        foot.setFixedHeight(Size.ROW)
        foot.setLayout(row(self.foot, 1, self._keys, margins=(12, 0, 12, 0)))
        panel.content.addWidget(foot)
        fill(self.content, (panel, 1), self.detail)

    def _connect(self) -> None:
        self.filter.changed.connect(self._filtered)
        self.grid.selected.connect(lambda _topic: self._show_selected())
        self.grid.activated.connect(self.show_detail)
        self.grid.view.clicked.connect(self._clicked)
        self.facts.changed.connect(self.model.all_texts_changed)
        self.favourites.changed.connect(self._favourites_changed)
        self.grid.menu_asked.connect(self._open_menu)
        self.detail.change_button.clicked.connect(self.show_settings)
        self.detail.bars.chosen.connect(lambda queue_id: self.show_messages(queue_id=queue_id))
        self.detail.group_wanted.connect(lambda group: self.context.navigate("consumers", group=group))
        self.detail.open_button.clicked.connect(lambda _checked=False: self.show_detail())
        send, delete = (unless_refused(self.context, run) for run in (self.ask_send, self.ask_delete))
        keys = {"M": self.show_messages, "P": send, "Ctrl+D": self.toggle_favourite, "Del": delete}
        for key, run in keys.items():
            on_key(self.grid, key, run)

    def _clicked(self, index: QModelIndex) -> None:
        topic = self.model.row_at(index.row())
        if topic is not None and self.model.columns[index.column()].key == "favourite":
            self.toggle_favourite(topic)

    def _favourites_changed(self) -> None:
        self.model.set_rows(self.model.rows)
        self.model.all_texts_changed()
        self.filter.apply()
        self.filter.write_counts()

    def _groups_of(self, topic: TopicRow) -> Sequence[GroupOnTopic]:
        state = self._state
        if state is None:
            return ()
        if self._groups[0] is not state:
            self._groups = (state, groups_by_topic(state))
        return self._groups[1].get(topic.name, ())

    def _put_rates(self, topic: TopicRow) -> Sequence[float] | None:
        now_ms = topic.taken_ms
        series = self.context.history.series(f"topic:{topic.name}.put_rate")
        _seconds, rates = series.window(now_ms - SPARKLINE_MS, now_ms, SPARKLINE_POINTS)
        points: list[float] = rates.tolist()
        return points if any(rate > 0 for rate in rates) else None

    def _names(self) -> list[str]:
        return [topic.name for topic in self.model.rows]

    def _topic_created(self, name: str) -> None:
        self.filter.show_all()
        self.grid.select_key(name)
        self.context.notify(lambda: tr("Topic {topic} created", topic=name), state=State.HEALTHY)

    # ---- filter --------------------------------------------------------------------------------------------------------

    def _is_listed(self, topic: TopicRow, key: str) -> bool | None:
        """Whether a topic passes a choice; None where a lost broker may have what decides it."""
        if key == FAVOURITE:
            return topic.name in self.favourites
        if key == IDLE:
            is_unknown = topic.age_ms < 0 and topic.kept_messages < 0
            return None if is_unknown else topic.age_ms >= IDLE_AFTER_MS or topic.age_ms < 0
        is_unknown = math.isnan(topic.lag_messages) and bool(self._groups_of(topic))
        return None if is_unknown else topic.lag_messages > 0

    def _filtered(self) -> None:
        self._show_empty()
        self._show_foot()

    # ---- texts ---------------------------------------------------------------------------------------------------------

    def _facts(self, rows: list[TopicRow], state: ClusterState) -> str:
        system = sum(topic.is_system for topic in rows)
        facts = [tr("{count} yours", count=len(rows) - system), tr("{count} system", count=system)]
        disk = state.totals.get("store_bytes")
        if disk is not None:
            facts.append(tr("{size} on disk", size=bytes_text(disk)))
        return ", ".join(facts)

    def _show_empty(self) -> None:
        # The broker's own topics fill the table from the first start on.
        rows = self.model.rows
        may_play = may_offer_demo(self.context.source)
        nothing = tr("No topics yet. Create one or play the demo.") if may_play else tr("No topics yet.")
        self.hint.set(nothing if rows and all(topic.is_system for topic in rows) else "", "", State.INFO)
        if self.model.rows and self.filter.is_active:
            self.grid.set_empty(tr("No topic matches this filter."), tr("Show all"), self.filter.show_all)
        elif self._state is not None and self._state.is_blank:
            self.grid.set_empty(tr("No broker has reported its topics."))
        else:
            may_act = not read_only_reason(self.context.source)
            self.grid.set_empty(nothing, tr("New topic") if may_act else "", self.ask_new_topic)

    def _show_foot(self) -> None:
        shown = self.model.shown_rows
        known = [topic.lag_messages for topic in shown if not math.isnan(topic.lag_messages)]
        lists_all = self._state is None or self._state.lists_all
        lag = count_text(sum(known) if (known or not shown) and lists_all else None)
        count = len(shown) if lists_all else math.nan
        words = tr("{count} topics · sum of lag of the slowest groups {lag}", count=count_text(count), lag=lag)
        age_ms = self._state.topics_age_ms({topic.name for topic in shown}) if self._state is not None else 0
        self.foot.setText(" · ".join(filter(None, (words, age_text(age_ms)))))

    def _show_selected(self) -> None:
        self.detail.show_topic(self.grid.selected_row, self._state)
        self._show_foot()

    def _open_menu(self, topic: TopicRow, at: QPoint) -> None:
        menu = new_menu(self)
        menu.addAction(tr("Open details"), lambda: self.show_detail(topic))
        menu.addAction(tr("Browse messages"), lambda: self.show_messages(topic))
        add_acting(menu, tr("Send message…"), lambda: self.ask_send(topic), read_only_reason(self.context.source))
        kept = topic.name in self.favourites
        menu.addAction(tr("Remove from favourites") if kept else tr("Add to favourites"), lambda: self.toggle_favourite(topic))
        if topic.slowest_group:
            menu.addAction(
                tr("Open group {group}", group=menu_name(topic.slowest_group)),
                lambda: self.context.navigate("consumers", group=topic.slowest_group),
            )
        self._add_conditions(menu, topic)
        menu.addSeparator()
        menu.addAction(tr("Copy name"), lambda: QGuiApplication.clipboard().setText(topic.name))
        menu.addAction(tr("Copy row"), lambda: self.grid.copy(CopyFormat.TSV))
        menu.addAction(tr("Copy row as JSON"), lambda: self.grid.copy(CopyFormat.JSON))
        menu.addSeparator()
        add_acting(menu, tr("Delete topic…"), lambda: self.ask_delete(topic), read_only_reason(self.context.source))
        menu.popup(at)

    def _add_conditions(self, menu: QMenu, topic: TopicRow) -> None:
        """Add entries that filter for or against facts of a topic."""
        kinds = type_words(self.facts.type_of(topic.name, is_system=topic.is_system))
        found = [("type", kinds[0], kinds[1])] if kinds else []
        found += [("group", topic.slowest_group, topic.slowest_group)] if topic.slowest_group else []
        if found:
            menu.addSeparator()
        for field, value, words in found:
            menu.addAction(tr("Only {what}", what=menu_name(words)), partial(self.filter.ask_for, field, value))
            menu.addAction(
                tr("Without {what}", what=menu_name(words)), partial(self.filter.ask_for, field, value, wanted=False)
            )
