"""The page of one topic: queues and traffic, consumers, route, settings. Its place is ``topic`` with the topic's name."""

from __future__ import annotations

import math

from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QWidget

from broker_core.api import TopicConfig, read_route
from gui.models.consumers import GroupRow, group_rows, position_rows
from gui.models.table import ColumnTableModel
from gui.models.topic_queues import RouteRow, TopicMeasure, route_rows
from gui.models.topics import TopicGroupRow, TopicRow, topic_group_rows, topic_rows
from gui.operations.queries import LatestQuery
from gui.operations.requests import ReadAnswer
from gui.operations.topic_facts import TopicFacts
from gui.theme.tokens import Size, State
from gui.views.acting import add_acting, set_acting, unless_refused
from gui.views.action_dialog import ActionDialog, read_only_reason
from gui.views.consumers.columns import health_chip
from gui.views.consumers.group_panels import LagHeatPanel
from gui.views.list_read import shown_read
from gui.views.messages.compose_dialog import ComposeDialog
from gui.views.page import PageArguments, PageContext, PageView
from gui.views.staged_settings import StagedSettings
from gui.views.topics.actions import ask_delete, send_dialog
from gui.views.topics.columns import AGE_SHOWN_FROM_MS, type_text
from gui.views.topics.queues_panel import QueuesPanel
from gui.views.topics.settings import TOPIC_SETTINGS
from gui.views.topics.topic_columns import route_columns, topic_consumer_columns
from gui.widgets.basic import column, fill, on_key
from gui.widgets.containers import LaterPart, LazyTab, Parts
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.notice import AgeNote, Placeholder
from gui.widgets.panel import fitting_panel
from gui.widgets.popups import new_menu, popup_below
from gui.widgets.said import on_language, said, said_button
from gui.widgets.saved_menu import menu_name
from gui.words.text import bytes_text, count_text, duration_text, rate_text, tr
from monitoring.admin.topics import ask_route
from monitoring.group_outlook import lag_series
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

TABS = ("queues", "consumers", "route", "settings")
ROWS_FITTED = 12
"""Groups listed before their table scrolls."""
UNKNOWN_GROUP = TopicGroupRow("", math.nan, math.nan, -1)


class TopicView(PageView):
    """One topic in detail. Without a topic it shows a placeholder.

    `open` takes ``topic`` (its name) and ``tab`` (one of `TABS`).
    """

    page_id = "topic"
    side_bar_id = "topics"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._topic = ""
        self._state: ClusterState | None = None
        self._row: TopicRow | None = None
        self._on_topic: dict[str, TopicGroupRow] = {}
        self._route_query: LatestQuery[list[RouteRow]] = LatestQuery(self)
        self._route_of = ""
        self.facts = TopicFacts(context.source, self)
        self.favourites = context.pins.topics
        self.back_button = said_button(
            theme, "caret-left", "All topics", on_click=lambda: context.navigate("topics", topic=self._topic)
        )
        self.messages_button = said_button(theme, "envelope-simple", "Browse messages", on_click=self.show_messages)
        self.send_button = said_button(theme, "paper-plane-tilt", "Send message", on_click=self._send_clicked)
        self.more_button = said_button(theme, "list", on_click=self._open_more, tip="More actions")
        self.header.add_action(self.back_button, self.messages_button, self.send_button, self.more_button)
        self.queues = QueuesPanel(context)
        self.set_parts(grid=self.queues.grid)
        self.consumers = ColumnTableModel(
            topic_consumer_columns(self._lag_of, self._behind_of, self._health_of), lambda row: row.name, parent=self
        )
        self.consumer_grid = said(DataGrid(self.consumers, theme), empty="No group has a position on this topic.")
        self.route = ColumnTableModel(route_columns(self._fault_of), lambda row: (row.broker_name, row.broker_id), parent=self)
        self.route_grid = said(DataGrid(self.route, theme), empty="The name server knows no broker with this topic.")
        self._route_read = shown_read(
            context.times, lambda: tr("The route of {topic} was not read.", topic=self._topic), self.refresh, self.route_grid
        )
        self.settings = LazyTab(self._make_settings, margin_top=Size.GAP, at_top=True)
        self.tabs = Parts()
        self.nothing = Placeholder(theme)
        self.heat = LaterPart(lambda: LagHeatPanel(context), fill=lambda _made: self._show_heat())
        self.age = AgeNote()
        self._build_tabs()
        fill(self.content, (self.nothing, 1), (self.tabs, 1))
        self._connect()
        on_language(self, self._show)

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def tab_title(self) -> str:
        return self._topic or self.page_title

    def gone(self) -> str:
        is_gone = self._topic and self._state is not None and self._state.lacks_topic(self._topic)
        return tr("Topic {topic} is gone.", topic=self._topic) if is_gone else ""

    def open(self, arguments: PageArguments) -> None:
        topic, tab = arguments.get("topic"), arguments.get("tab")
        if isinstance(topic, str) and topic and topic != self._topic:
            self._topic = topic
            self._route_of = ""
            self._route_read.begin()
            self.route.set_rows([])
            self.title_changed.emit(self.tab_title())
        if tab in TABS:
            self.tabs.setCurrentIndex(TABS.index(str(tab)))
        self._show()

    def state_changed(self, state: ClusterState) -> None:
        self._state = state
        self.facts.tend(state.catalog, state.taken_ms)
        if self.settings.made is not None:
            self.settings.made.tend(state.taken_ms)
        self._show()

    def status_changed(self, status: SourceStatus) -> None:
        if status is SourceStatus.READY:
            self.refresh()

    def refresh(self) -> None:
        self._route_of = ""
        self.facts.forget()
        settings = self.settings.made
        if settings is not None and not settings.form.changes:
            settings.reload()
        self._show()

    # ---- actions -------------------------------------------------------------------------------------------------------

    def show_messages(self, queue_id: int = -1) -> None:
        """Open the messages of the topic; queue -1 means all."""
        if self._topic:
            self.context.navigate("messages", topic=self._topic, queue=queue_id)

    def ask_send(self) -> ComposeDialog:
        return send_dialog(self.context, self._state, self._topic, self)

    def ask_delete(self) -> ActionDialog | None:
        if self._row is None or self._state is None:
            return None
        return ask_delete(self, self._row, self._state, self._deleted)

    def _deleted(self, name: str) -> None:
        if name in self.favourites:
            self.favourites.toggle(name)
        self.context.notify(lambda: tr("Topic {topic} is deleted", topic=name), state=State.HEALTHY)
        self.context.navigate("topics")

    def _send_clicked(self) -> None:
        self.tabs.setCurrentIndex(TABS.index("queues"))
        self.queues.compose()

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build_tabs(self) -> None:
        pages = QWidget(), QWidget()
        self.consumer_grid.fit_rows(ROWS_FITTED)
        self.route_grid.fit_rows(2 * ROWS_FITTED)
        margins = (0, Size.GAP, 0, 0)
        pages[0].setLayout(
            column(fitting_panel(self.consumer_grid), self.age, (self.heat, 1), spacing=Size.GAP, margins=margins)
        )
        pages[1].setLayout(column(fitting_panel(self.route_grid), 1, margins=margins))
        for page in (self.queues, *pages, self.settings):
            self.tabs.addTab(page, "")

    def _make_settings(self) -> StagedSettings[TopicConfig]:
        made = StagedSettings(self.context, TOPIC_SETTINGS)
        made.applied.connect(lambda _name: self.facts.forget())
        return made

    def _connect(self) -> None:
        self.facts.changed.connect(self._show)
        self.favourites.changed.connect(self._show_header)
        self.tabs.currentChanged.connect(lambda _tab: self._show())
        self.queues.queue_wanted.connect(self.show_messages)
        self.queues.composer_wanted.connect(self.ask_send)
        self.consumer_grid.selected.connect(lambda _row: self._show_heat())
        self.consumer_grid.activated.connect(lambda row: self.context.navigate("consumers", group=row.name))
        self.consumer_grid.menu_asked.connect(self._open_group_menu)
        on_key(self, QKeySequence.StandardKey.Undo, unless_refused(self.context, self._undo_settings))

    def _undo_settings(self) -> None:
        if self.tabs.currentWidget() is self.settings:
            self.settings.make().ask_undo()

    # ---- figures -------------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        state = self._state
        found = []
        if state and self._topic in state.catalog.topics:
            place = state.catalog.topics.index(self._topic)
            found = topic_rows(state, [place], self.context.alerts.lag_limits)
        self._row = found[0] if found else None
        self._show_nothing()
        self._show_header()
        if self._row is None or state is None:
            return
        current = TABS[self.tabs.currentIndex()]
        if current == "queues":
            self.queues.show_topic(self._row, state, self.measure)
        elif current == "consumers":
            self._show_consumers(state)
        elif current == "route":
            self._ask_route()
            self.route_grid.set_hidden(frozenset() if state.faults else frozenset({"answers"}))
            self.route_grid.view.viewport().update()
        else:
            self.settings.make().show_subject(self._topic)

    @property
    def measure(self) -> TopicMeasure | None:
        """The size of the topic on disk, once measured."""
        return self.facts.measure_of(self._topic) if self._topic else None

    def _show_nothing(self) -> None:
        there = self._row is not None
        self.tabs.setVisible(there)
        self.nothing.setVisible(not there)
        for button in (self.messages_button, self.more_button):
            button.setEnabled(there)
        set_acting(self.send_button, read_only_reason(self.context.source), able=there)
        if there:
            return
        if self._state is None:
            self.nothing.show_empty(tr("Waiting for the broker…"))
        else:
            words = tr("There is no topic {topic}.", topic=self._topic) if self._topic else tr("No topic is chosen.")
            self.nothing.show_empty(words, tr("All topics"), lambda: self.context.navigate("topics"))

    def _show_header(self) -> None:
        topic = self._row
        self.header.set_title(self._topic or self.page_title)
        if topic is None or self._state is None:
            self.header.set_chips([])
            self.header.set_facts("")
            return
        kind = self.facts.type_of(topic.name, is_system=topic.is_system)
        chips = [(type_text(kind), State.PLAIN)] if kind is not None else []
        if topic.put_rate > 0:
            chips.append((tr("{rate} in", rate=rate_text(topic.put_rate)), State.HEALTHY))
        self.header.set_chips(chips)
        self.header.set_facts(self._facts(topic))
        groups = len(topic_group_rows(self._state, topic.name))
        self.tabs.setTabText(0, tr("Queues and traffic"))
        self.tabs.setTabText(1, tr("Consumers {count}", count=groups))
        self.tabs.setTabText(2, tr("Route"))
        self.tabs.setTabText(3, tr("Settings"))

    def _facts(self, topic: TopicRow) -> str:
        facts = [tr("{count} queues", count=count_text(max(topic.write_queues, topic.read_queues)))]
        facts.append(tr("{count} kept", count=count_text(topic.kept_messages)))
        measure = self.measure
        if measure is not None:
            size = bytes_text(measure.bytes)
            facts.append(tr("{size} on disk", size=f"≈ {size}" if measure.is_estimate else size))
            if measure.oldest_ms >= 0:
                since = self.context.times.minutes_near(measure.oldest_ms, self._state.taken_ms if self._state else 0)
                facts.append(tr("kept since {time}", time=since))
        if topic.age_ms >= 0:
            age = duration_text(topic.age_ms)
            is_now = topic.age_ms < AGE_SHOWN_FROM_MS
            facts.append(tr("last message now") if is_now else tr("last message {age} ago", age=age))
        return ", ".join(facts)

    def _show_consumers(self, state: ClusterState) -> None:
        self._on_topic = {group.name: group for group in topic_group_rows(state, self._topic)}
        groups = group_rows(state, self.context.alerts.lag_limits)
        self.consumers.set_rows(row for row in groups if row.name in self._on_topic)
        self.consumer_grid.view.viewport().update()
        self.consumer_grid.select_first()
        self.age.show_age(max((state.group_age_ms(name, self._topic) for name in self._on_topic), default=0))
        self._show_heat()

    def _show_heat(self) -> None:
        """Show where the selected group lags on the topic."""
        group, state = self.consumer_grid.selected_row, self._state
        if self.heat.made is None or group is None or state is None:
            return
        rows = position_rows(state, group.name, self.context.alerts.lag_limits)
        span_ms = self.context.time_range.window_ms(state.taken_ms)
        self.heat.made.show_positions(group.name, [row for row in rows if row.topic == self._topic], span_ms)
        self.heat.made.set_title(tr("Lag by queue over time"), group.name)

    def _lag_of(self, group: GroupRow) -> float:
        return self._on_topic.get(group.name, UNKNOWN_GROUP).lag_messages

    def _behind_of(self, group: GroupRow) -> float:
        return self._on_topic.get(group.name, UNKNOWN_GROUP).behind_ms

    def _health_of(self, group: GroupRow) -> tuple[str, State]:
        return health_chip(group, self.context.history.forecast(lag_series(group.name), group.lag_messages))

    # ---- route ---------------------------------------------------------------------------------------------------------

    def _ask_route(self) -> None:
        if self._route_of == self._topic or self.context.source.status is not SourceStatus.READY:
            return
        self._route_of = self._topic
        self.route_grid.set_loading(True)
        topic = self._topic
        asked = ReadAnswer(self.context.source.ask(ask_route(topic)), lambda answer: route_rows(read_route(topic, answer.body)))
        self._route_query.ask(asked, self._take_route, self._route_read.refused)

    def _fault_of(self, row: RouteRow) -> str:
        """Why a master does not answer; empty where it does, and for replicas, which are not asked."""
        state = self.context.source.state
        return state.faults.get(row.broker_name, "") if state is not None and row.broker_id == 0 else ""

    def _take_route(self, rows: list[RouteRow]) -> None:
        self._route_read.answered()
        self.route.set_rows(rows)

    # ---- menus ---------------------------------------------------------------------------------------------------------

    def _open_more(self) -> None:
        menu = new_menu(self)
        kept = self._topic in self.favourites
        words = tr("Remove from favourites") if kept else tr("Add to favourites")
        menu.addAction(words, lambda: self.favourites.toggle(self._topic))
        menu.addAction(tr("Copy name"), lambda: QGuiApplication.clipboard().setText(self._topic))
        menu.addSeparator()
        add_acting(menu, tr("Delete topic…"), self.ask_delete, read_only_reason(self.context.source))
        popup_below(menu, self.more_button)

    def _open_group_menu(self, group: GroupRow, at: QPoint) -> None:
        menu = new_menu(self)
        menu.addAction(
            tr("Open group {group}", group=menu_name(group.name)), lambda: self.context.navigate("consumers", group=group.name)
        )
        menu.addAction(tr("Reset offsets…"), lambda: self.context.navigate("consumers", group=group.name, reset=self._topic))
        menu.addAction(tr("Copy row"), lambda: self.consumer_grid.copy(CopyFormat.TSV))
        menu.popup(at)
