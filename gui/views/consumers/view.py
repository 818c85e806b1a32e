"""The Consumers page: groups on the left, lag, queues, clients and subscriptions of one on the right."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication, QKeySequence
from PySide6.QtWidgets import QMenu, QWidget

from broker_core.api import OrbitError
from broker_core.worker.questions.administration import ListMembers, Members
from gui.connections.cluster import group_of_source
from gui.models.consumers import (
    GroupRow,
    MemberRow,
    PositionRow,
    by_urgency,
    group_rows,
    member_rows,
    position_rows,
    subscription_rows,
    topics_of,
    with_reported_owners,
)
from gui.models.favourites import FAVOURITES
from gui.models.row_filter import with_words
from gui.models.table import ColumnTableModel
from gui.operations.group_facts import ClientInfos, GroupVersions
from gui.operations.queries import LatestQuery
from gui.operations.snapshots import OffsetSnapshots
from gui.theme.tokens import Size, State
from gui.views.acting import add_acting, set_acting, unless_refused
from gui.views.action_dialog import read_only_reason
from gui.views.chart_tools import join_charts, window_link
from gui.views.consumers.columns import (
    SYSTEM_GROUPS,
    YOUR_GROUPS,
    columns_to_hide,
    finding_words,
    group_columns,
    group_section,
    health_chip,
    member_columns,
    no_client_text,
    position_columns,
    subscription_columns,
)
from gui.views.consumers.group_actions import GroupActions
from gui.views.consumers.group_panels import LagHeatPanel, MembersPanel, OwnershipPanel, SubscriptionsPanel
from gui.views.consumers.group_settings import GROUP_SETTINGS
from gui.views.consumers.in_flight_panel import InFlightPanel
from gui.views.consumers.lag_panel import NO_OUTLOOK, LagPanel
from gui.views.consumers.offsets_panel import OffsetsPanel
from gui.views.list_read import ListRead
from gui.views.page import PageArguments, PageContext, PageView
from gui.views.staged_settings import StagedSettings
from gui.widgets.basic import column, fill, label, on_key
from gui.widgets.containers import LaterPart, LazyTab, Parts
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.inputs import SearchField
from gui.widgets.notice import AgeNote, Notice, age_text
from gui.widgets.pane_splitter import PaneSplitter
from gui.widgets.panel import Panel
from gui.widgets.popups import new_menu, popup_below
from gui.widgets.said import on_language, said_button
from gui.widgets.saved_menu import menu_name
from gui.words.broker_words import broker_words
from gui.words.text import UNKNOWN, count_text, tr
from monitoring.admin.clients import MemberFinding, findings
from monitoring.group_outlook import GroupOutlook, group_outlook
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

SPARKLINE_POINTS = 60
GROUP_LIST_WIDTH = 520
MEMBERS_AGAIN_MS = 10_000
TABS = ("lag", "members", "subscriptions", "in flight", "ownership", "offsets", "settings")


class ConsumersView(PageView):
    """Lists groups by urgency; shows one in detail."""

    page_id = "consumers"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._state: ClusterState | None = None
        self._outlooks: dict[str, GroupOutlook] = {}
        self._shown_group = ""
        self._asked_members: tuple[str, int, tuple[str, ...], int] | None = None
        self._findings: list[MemberFinding] = []
        self._member_list: Members | None = None
        self._wanted = ""
        """The requested group that is not selected yet."""
        self.favourites = context.pins.groups
        self._member_query: LatestQuery[Members] = LatestQuery(self)
        self.search = SearchField(theme, " ", "funnel")
        self.versions = GroupVersions(context.source, self)
        self.clients = ClientInfos(context.source, self)
        self.snapshots = OffsetSnapshots(context.settings, self, own_group=group_of_source(context.source))
        self.dialogs = GroupActions(context, self.snapshots, self)
        self.reset_button = said_button(theme, "clock", "Reset offsets…", on_click=self._reset_clicked)
        self.stacks_button = said_button(theme, "cpu", "Client stacks…", on_click=self._stacks_clicked)
        self.more_button = said_button(theme, "list", on_click=self._open_more, tip="More actions")
        self.header.add_action(self.reset_button, self.stacks_button, self.more_button)
        self.groups = ColumnTableModel(
            group_columns(self._lag_over_time, self._outlook, self.versions.of, self.versions.over_grpc, context.queue_text),
            lambda group: group.name,
            section=lambda group: FAVOURITES if group.name in self.favourites else group_section(group),
            sections=(FAVOURITES, YOUR_GROUPS, SYSTEM_GROUPS),
            parent=self,
        )
        self.group_grid = DataGrid(self.groups, theme)
        self.foot = label(role="caption")
        """Number and lag of the user's groups."""
        self.foot.setContentsMargins(12, 3, 8, 5)
        self.disagreement = Notice(theme)
        self.link = window_link(context, self)
        self.lag = LagPanel(context, self.link)
        self.positions = ColumnTableModel(
            position_columns(context.queue_text), lambda row: (row.topic, row.queue_id), parent=self
        )
        self.position_grid = DataGrid(self.positions, theme)
        self.members = ColumnTableModel(member_columns(context.times), lambda row: row.client_id, parent=self)
        self.position_age = AgeNote()
        self.member_tab = LazyTab(self._make_members)
        self.subscriptions = ColumnTableModel(subscription_columns(), lambda row: (row.topic, row.client_id), parent=self)
        self.subscription_tab = LazyTab(self._make_subscriptions)
        self._members_known = ListRead(context.times)
        self.heat = LaterPart(self._make_heat)
        self.in_flight = LazyTab(lambda: InFlightPanel(context))
        self.ownership = LazyTab(lambda: OwnershipPanel(context, self.link))
        self.offsets = LazyTab(self._make_offsets)
        self.settings = LazyTab(lambda: StagedSettings(context, GROUP_SETTINGS), margin_top=Size.GAP, at_top=True)
        self.tabs = Parts()
        self._build()
        self.set_parts(grid=self.group_grid, find=self.search, detail=self.tabs)
        self._connect()
        self.group_grid.sort_by("lag", descending=True)
        self.position_grid.sort_by("lag", descending=True)
        self.groups.toggle_section(SYSTEM_GROUPS)
        on_language(self, self._show_texts, self._show_header)
        self._show_group()

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def tab_title(self) -> str:
        return self._shown_group or self._wanted or self.page_title

    def gone(self) -> str:
        is_gone = self._wanted and self._state is not None and self._state.lacks_group(self._wanted)
        return tr("Group {group} is gone.", group=self._wanted) if is_gone else ""

    def open(self, arguments: PageArguments) -> None:
        group = arguments.get("group")
        if isinstance(group, str) and group:
            self.search.clear()
            self._filter("")
            self._wanted = group
            self._select_wanted()
            self._show_group()
        tab, topic = arguments.get("tab"), arguments.get("reset")
        if tab in TABS:
            self.tabs.setCurrentIndex(TABS.index(str(tab)))
        if isinstance(topic, str) and topic:
            self.dialogs.reset(self.group_grid.selected_row, topic)

    def state_changed(self, state: ClusterState) -> None:
        self._state = state
        self._outlooks = {}
        if self.is_pinned and state.lacks_group(self._shown_group):
            # Qt would select the next group, but a pinned page changes its group only for the user.
            self._wanted = self._shown_group
            self.group_grid.select_key(None)
        self.dialogs.set_state(state)
        self.groups.set_rows(by_urgency(group_rows(state, self.context.alerts.lag_limits)))
        self.group_grid.view.viewport().update()  # the sparklines move also where the figures stay
        self._select_wanted()
        if not self._wanted:
            self.group_grid.select_first()
        self._show_group()
        self._show_texts()
        self.versions.tend()
        if self.settings.made is not None:
            self.settings.made.tend(state.taken_ms)

    def _select_wanted(self) -> None:
        """Select the requested group; until there is one of that name, none is selected."""
        if not self._wanted:
            return
        is_there = any(group.name == self._wanted for group in self.groups.rows)
        if is_there and self.groups.position_of(self._wanted) < 0:
            self.groups.toggle_section(SYSTEM_GROUPS)
        if self.group_grid.select_key(self._wanted):
            self._wanted = ""

    def status_changed(self, status: SourceStatus) -> None:
        if status is SourceStatus.READY:
            self._asked_members = None
            self.clients.refresh()

    def refresh(self) -> None:
        self._asked_members = None
        self.clients.refresh()
        settings = self.settings.made
        if settings is not None and not settings.form.changes:
            settings.reload()
        self._show_group()

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        left = Panel(flush=True, spacing=0)
        fill(left.content, column(self.search, spacing=-1, margins=(8, 8, 8, 8)), (self.group_grid, 1), self.foot)
        left.content.addLayout(column(self.disagreement, spacing=-1, margins=(8, 8, 8, 8)))
        clients = (self.member_tab, self.subscription_tab, self.in_flight)
        pages = (self._lag_page(), *clients, self.ownership, self.offsets, self.settings)
        for page in pages:
            self.tabs.addTab(page, "")
        # Beside the list there is room for all of them, which the list would take.
        self.tabs.tabBar().setUsesScrollButtons(False)
        self.content.addWidget(PaneSplitter((left, self.tabs), (GROUP_LIST_WIDTH, 680), grows=1), 1)

    def _lag_page(self) -> QWidget:
        page = QWidget()
        lines = column(spacing=Size.GAP, margins=(0, Size.GAP, 0, 0))
        page.setLayout(lines)
        table = Panel(flush=True)
        table.content.addWidget(self.position_grid)
        table.content.addWidget(self.position_age)
        fill(lines, (self.lag, 9), (self.heat, 5), (table, 6))
        return page

    def _make_heat(self) -> LagHeatPanel:
        made = LagHeatPanel(self.context)
        join_charts(self.context, self.link, made.heat)
        made.queue_chosen.connect(lambda topic, queue_id: self.position_grid.select_key((topic, queue_id)))
        if self._shown_group and self._state is not None:
            made.show_positions(self._shown_group, self.positions.rows, self.lag.window_ms())
        return made

    def _make_offsets(self) -> OffsetsPanel:
        made = OffsetsPanel(self.context, self.snapshots)
        made.reset_wanted.connect(self._reset_clicked)
        made.undo_wanted.connect(lambda snapshot: self.dialogs.undo(self.group_grid.selected_row, snapshot))
        return made

    def _make_members(self) -> MembersPanel:
        made = MembersPanel(self.members, self.context)
        made.grid.menu_asked.connect(self._open_member_menu)
        made.grid.activated.connect(lambda row: self.dialogs.client(self._shown_group, row))
        if self._member_list is not None:
            made.notice.set(broker_words(self._member_list.notice), state=State.WARNING)
        self._show_known_in(made.grid)
        return made

    def _make_subscriptions(self) -> SubscriptionsPanel:
        made = SubscriptionsPanel(self.subscriptions, self.context.theme)
        made.show_findings(self._findings)
        self._show_known_in(made.grid)
        return made

    def _show_known_in(self, grid: DataGrid[Any]) -> None:
        """Show what is known of the clients in a table that was just created."""
        grid.set_empty(self._nobody(self.group_grid.selected_row))
        if self._shown_group:
            self._show_members_read(grid)

    @property
    def _client_grids(self) -> list[DataGrid[Any]]:
        """Tables of clients that were created."""
        return [tab.grid for tab in (self.member_tab.made, self.subscription_tab.made) if tab is not None]

    def _tab_chosen(self) -> None:
        tab = self.tabs.currentWidget()
        if tab is self.member_tab or tab is self.subscription_tab:
            tab.make()
        self._show_group()

    def _connect(self) -> None:
        self.search.searched.connect(self._filter)
        self.group_grid.selected.connect(self._group_selected)
        self.group_grid.menu_asked.connect(self._open_group_menu)
        self.position_grid.activated.connect(self._open_position)
        self.position_grid.menu_asked.connect(self._open_position_menu)
        self.versions.changed.connect(self.groups.all_texts_changed)
        self.clients.arrived.connect(self._clients_told)
        self.tabs.currentChanged.connect(lambda _tab: self._tab_chosen())
        self.context.time_range.changed.connect(self._range_changed)
        self.favourites.changed.connect(self._favourites_changed)
        on_key(self.group_grid, "Ctrl+D", self.toggle_favourite)
        on_key(self, QKeySequence.StandardKey.Undo, unless_refused(self.context, self._undo_newest))

    def toggle_favourite(self) -> None:
        """Add the selected group to the favourites, or remove it."""
        group = self.group_grid.selected_row
        if group is not None:
            self.favourites.toggle(group.name)

    def _favourites_changed(self) -> None:
        self.groups.set_rows(self.groups.rows)
        self.groups.all_texts_changed()

    def _lag_over_time(self, group: GroupRow) -> Sequence[float]:
        if self._state is None:
            return ()
        series = self.context.history.series(f"group:{group.name}.lag_messages")
        _seconds, lags = series.window(*self.context.time_range.window_ms(self._state.taken_ms), SPARKLINE_POINTS)
        points: list[float] = lags.tolist()
        return points

    def _outlook(self, group: GroupRow) -> GroupOutlook:
        """Outlook of a group, the same in list and panel until the next state."""
        if self._state is None:
            return NO_OUTLOOK
        if group.name not in self._outlooks:
            self._outlooks[group.name] = group_outlook(self.context.history, self._state, group.name)
        return self._outlooks[group.name]

    # ---- the shown group -----------------------------------------------------------------------------------------------

    def _group_selected(self, group: GroupRow | None) -> None:
        if group is not None and group.name != self._shown_group:
            self._wanted = ""
            self._show_group()
            self.place_changed.emit({"group": group.name})

    def _range_changed(self) -> None:
        if self.isVisible():
            self._show_group()

    def _show_group(self) -> None:
        group = self.group_grid.selected_row
        changed = (group.name if group else "") != self._shown_group
        self._shown_group = group.name if group is not None else ""
        state = self._state
        if changed:
            self._member_list = None
            self._say_missing("")
            self._findings = []
            self._members_known.begin()
            self.members.set_rows([])
            self.subscriptions.set_rows([])
            self._show_disagreement()
            self.title_changed.emit(self.tab_title())
        if state is None or group is None:
            self.positions.set_rows([])
            self.lag.show_group(None, state)
            if self.heat.made is not None:
                self.heat.made.show_positions("", (), self.lag.window_ms())
        else:
            self._show_positions(group.name, state)
            self.position_grid.set_hidden(columns_to_hide(self.positions.rows))
            self._ask_members(group)
            self._show_members()
            self._show_tab(group, state)
        self._show_header()

    def _show_positions(self, group: str, state: ClusterState) -> None:
        rows = position_rows(state, group, self.context.alerts.lag_limits)
        infos = self.clients.infos if self.clients.group == group else {}
        self.positions.set_rows(with_reported_owners(rows, state.catalog.brokers, infos))
        self.position_age.show_age(state.group_age_ms(group))

    def _show_tab(self, group: GroupRow, state: ClusterState) -> None:
        """Show the group in the visible tab only."""
        self.lag.show_group(group, state, self.positions.rows, self._outlook(group))
        match TABS[self.tabs.currentIndex()]:
            case "lag":
                if self.heat.made is not None:
                    self.heat.made.show_positions(group.name, self.positions.rows, self.lag.window_ms())
            case "in flight":
                self.in_flight.make().show_group(group.name, state.taken_ms)
            case "ownership":
                self.ownership.make().show_group(group.name, *self.lag.window_ms(), is_reported=not state.is_from_outside)
            case "offsets":
                self.offsets.make().show_group(group.name)
            case "settings":
                self.settings.make().show_subject(group.name)

    def _ask_members(self, group: GroupRow) -> None:
        """Read the members when group, client count or answering brokers changed.

        While the members are visible they are read again at times, because the shown age of heartbeats would only grow.
        """
        looked_at = self._state is not None and TABS[self.tabs.currentIndex()] == "members"
        turn = self._state.taken_ms // MEMBERS_AGAIN_MS if self._state is not None and looked_at else 0
        wanted = (group.name, group.members, tuple(self._state.faults) if self._state is not None else (), turn)
        if wanted == self._asked_members:
            return
        is_other = self._asked_members is None or self._asked_members[:3] != wanted[:3]
        self._asked_members = wanted
        if is_other and not self._members_known.is_failed:
            for grid in self._client_grids:
                grid.set_loading(True)
        self._member_query.ask(self.context.source.ask(ListMembers(group.name)), self._members_read, self._members_failed)

    def _members_read(self, members: Members) -> None:
        self._members_known.answered()
        self._show_members_read(*self._client_grids)
        self._member_list = members
        self._say_missing(members.notice)
        self._show_members()
        self._show_header()

    def _members_failed(self, error: OrbitError) -> None:
        self._member_list = None
        self._members_known.refused(error)
        self._show_members_read(*self._client_grids)
        self._show_header()

    def _say_missing(self, notice: str) -> None:
        if self.member_tab.made is not None:
            self.member_tab.made.notice.set(broker_words(notice), state=State.WARNING)

    def _show_members_read(self, *grids: DataGrid[Any]) -> None:
        text = tr("The clients of {group} were not read.", group=self._shown_group)
        for grid in grids:
            self._members_known.show_in(grid, text, self.refresh)

    def _show_members(self) -> None:
        if self._member_list is None or self._state is None:
            return
        now_ms = self._state.taken_ms
        self.clients.show(self._shown_group, self._member_list.client_id, now_ms)
        rows = member_rows(self._member_list, self.positions.rows, now_ms, self.clients.infos, self.clients.faults)
        self.members.set_rows(rows)
        if self.member_tab.made is not None:
            self.member_tab.made.fit()
            self.member_tab.made.show_positions(self.positions.rows)
        self.subscriptions.set_rows(subscription_rows(rows))

    def _clients_told(self) -> None:
        if self.clients.group != self._shown_group:
            return
        if self.clients.is_complete and self._state is not None:
            self._findings = findings(self.clients.told, self._state.taken_ms, self.context.queue_text)
        if self._state is not None:
            self._show_positions(self._shown_group, self._state)
        self._show_members()
        self._show_disagreement()
        self._show_header()

    def _show_disagreement(self) -> None:
        title, text = finding_words(self._findings[0]) if self._findings else ("", "")
        self.disagreement.set(f"{self._shown_group}: {title}" if title else "", text, State.WARNING)
        if self.subscription_tab.made is not None:
            self.subscription_tab.made.show_findings(self._findings)

    # ---- texts ---------------------------------------------------------------------------------------------------------

    def _show_header(self) -> None:
        group = self.group_grid.selected_row
        self.header.set_title(group.name if group is not None else self._wanted or self.page_title)
        if group is None or self._state is None:
            self.header.set_chips([])
            self.header.set_facts("")
            self.disagreement.set("")
        else:
            self.header.set_chips([health_chip(group, self.lag.outlook.forecast)])
            self.header.set_facts(", ".join(topics_of(self._state, group.name)))
        self._say_empty(group)
        self.tabs.setTabText(0, tr("Lag"))
        self.tabs.setTabText(1, tr("Members {count}", count=self._members_text(group)))
        self.tabs.setTabText(2, tr("Subscriptions {count}", count=self._subscriptions_text(group)))
        for place, title in enumerate(("In flight", "Ownership", "Offsets", "Settings"), 3):
            self.tabs.setTabText(place, tr(title))
        set_acting(self.reset_button, read_only_reason(self.context.source), able=bool(self.positions.rows))
        self.stacks_button.setEnabled(group is not None and not group.offline)
        self.more_button.setEnabled(group is not None)

    def _say_empty(self, group: GroupRow | None) -> None:
        no_position = tr("This group has no position in any queue yet.")
        self.position_grid.set_empty(self._no_group() if group is None else no_position)
        for grid in self._client_grids:
            grid.set_empty(self._nobody(group))

    def _nobody(self, group: GroupRow | None) -> str:
        return self._no_group() if group is None else no_client_text(group)

    def _no_group(self) -> str:
        is_told = self._wanted and self._state is not None and not self._state.is_blank
        return tr("There is no group {group}.", group=self._wanted) if is_told else tr("No group is selected.")

    @staticmethod
    def _members_text(group: GroupRow | None) -> str:
        if group is None:
            return "0"
        return UNKNOWN if group.is_unread else str(max(0, group.members))

    def _subscriptions_text(self, group: GroupRow | None) -> str:
        is_unread = group is not None and not group.offline and self._member_list is None
        return UNKNOWN if is_unread else str(len(self.subscriptions.rows))

    def _show_texts(self) -> None:
        is_blank = self._state is not None and self._state.is_blank
        lists_all = self._state is None or self._state.lists_all
        self._show_foot()
        words = tr("Filter {count} groups", count=count_text(len(self.groups.rows) if lists_all else math.nan))
        self.search.setPlaceholderText(words)
        self.search.setAccessibleName(words)
        if self.groups.rows:
            self.group_grid.set_empty(tr("No group matches this filter."), tr("Show all"), self.search.clear)
        elif is_blank:
            self.group_grid.set_empty(tr("No broker has reported its groups."))
        else:
            text = tr("No group has consumed here yet.")
            self.group_grid.set_empty(text, tr("Show how to connect"), lambda: self.context.navigate("welcome"))

    def _show_foot(self) -> None:
        state = self._state
        if state is None or state.is_blank:
            self.foot.setText("")
            return
        own = sum(not row.is_system for row in self.groups.rows) if state.lists_all else math.nan
        lag = count_text(state.totals.get("lag_messages"))
        words = tr("{lag} messages of lag in {count} groups", lag=lag, count=count_text(own))
        self.foot.setText(" · ".join(filter(None, (words, age_text(state.positions_age_ms())))))

    def _filter(self, text: str) -> None:
        self.groups.set_filter(with_words(text, lambda row: row.name))

    # ---- actions -------------------------------------------------------------------------------------------------------

    def _reset_clicked(self) -> None:
        self.dialogs.reset(self.group_grid.selected_row)

    def _stacks_clicked(self) -> None:
        looked_at = self.member_tab.made
        chosen = looked_at.grid.selected_row if looked_at is not None else None
        member = chosen or next(iter(self.members.rows), None)
        if member is not None:
            self.dialogs.client(self._shown_group, member)

    def _undo_newest(self) -> None:
        """Undo the last change of the visible part: the settings of the group, else its offsets."""
        if self.tabs.currentWidget() is self.settings:
            self.settings.make().ask_undo()
            return
        self.offsets.make().show_group(self._shown_group)
        newest = self.offsets.make().newest
        if newest is not None:
            self.dialogs.undo(self.group_grid.selected_row, newest)

    def _open_more(self) -> None:
        menu = new_menu(self)
        menu.addAction(tr("Copy name"), lambda: QGuiApplication.clipboard().setText(self._shown_group))
        menu.addSeparator()
        self._add_acting(menu, "Delete group…", lambda: self.dialogs.delete(self.group_grid.selected_row))
        popup_below(menu, self.more_button)

    # ---- menus ---------------------------------------------------------------------------------------------------------

    def _add_acting(self, menu: QMenu, title: str, run: Callable[[], object]) -> None:
        add_acting(menu, tr(title), run, read_only_reason(self.context.source))

    def _open_group_menu(self, group: GroupRow, at: QPoint) -> None:
        menu = new_menu(self)
        topics = topics_of(self._state, group.name) if self._state is not None else []
        for topic in topics[:8]:
            menu.addAction(tr("Open topic {topic}", topic=menu_name(topic)), partial(self._open_topic, topic))
        menu.addSeparator()
        self._add_acting(menu, "Reset offsets…", lambda: self.dialogs.reset(group))
        kept = group.name in self.favourites
        words = tr("Remove from favourites") if kept else tr("Add to favourites")
        menu.addAction(words, lambda: self.favourites.toggle(group.name))
        menu.addAction(tr("Copy name"), lambda: QGuiApplication.clipboard().setText(group.name))
        menu.addAction(tr("Copy row"), lambda: self.group_grid.copy(CopyFormat.TSV))
        menu.addSeparator()
        self._add_acting(menu, "Delete group…", lambda: self.dialogs.delete(group))
        menu.popup(at)

    def _open_topic(self, topic: str) -> None:
        self.context.navigate("topic", topic=topic)

    def _open_position(self, row: PositionRow) -> None:
        offset = row.group_offset if row.group_offset >= 0 else None
        self.context.navigate("messages", topic=row.topic, queue=row.queue_id, offset=offset)

    def _open_position_menu(self, row: PositionRow, at: QPoint) -> None:
        menu = new_menu(self)
        menu.addAction(tr("Messages from the group's position"), lambda: self._open_position(row))
        menu.addAction(tr("Copy row"), lambda: self.position_grid.copy(CopyFormat.TSV))
        menu.popup(at)

    def _open_member_menu(self, row: MemberRow, at: QPoint) -> None:
        menu = new_menu(self)
        menu.addAction(tr("Running info and stacks…"), lambda: self.dialogs.client(self._shown_group, row))
        menu.addAction(tr("Copy client ID"), lambda: QGuiApplication.clipboard().setText(row.client_id))
        menu.addAction(tr("Copy address"), lambda: QGuiApplication.clipboard().setText(row.address))
        menu.addAction(tr("Copy row as JSON"), lambda: self.member_tab.make().grid.copy(CopyFormat.JSON))
        menu.popup(at)
