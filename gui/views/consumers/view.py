"""The Consumers page: groups on the left, lag, queues, clients and subscriptions of one on the right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu, QSplitter, QTabWidget, QVBoxLayout, QWidget

from broker_core.api import Members, OrbitError
from gui.models.consumers import (
    GroupRow,
    MemberRow,
    PositionRow,
    SubscriptionRow,
    by_urgency,
    group_health,
    group_rows,
    in_rate,
    member_rows,
    position_rows,
    subscription_rows,
    topics_of,
)
from gui.models.table import ColumnTableModel
from gui.operations.queries import LatestQuery
from gui.text import count_text, tr
from gui.theme.tokens import Size
from gui.views.consumers.columns import (
    HEALTH_CHIPS,
    SYSTEM_GROUPS,
    YOUR_GROUPS,
    group_columns,
    group_section,
    member_columns,
    position_columns,
    subscription_columns,
)
from gui.views.consumers.lag_panel import LagPanel, forecast_of
from gui.views.page import PageArguments, PageContext, PageView
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.inputs import SearchField
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from monitoring.lag import Forecast
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

SPARKLINE_POINTS = 60
GROUP_LIST_WIDTH = 456


class ConsumersView(PageView):
    """Lists groups by urgency; shows one in detail."""

    page_id = "consumers"
    title = "Consumers"
    icon = "users-three"

    def __init__(self, context: PageContext, parent: QWidget | None = None) -> None:
        super().__init__(context, parent)
        theme = context.theme
        self._state: ClusterState | None = None
        self._shown_group = ""
        self._asked_members: tuple[str, int] | None = None
        self._member_list: Members | None = None
        self._member_query: LatestQuery[Members] = LatestQuery(self)
        self.search = SearchField(theme, " ", "funnel")
        self.groups: ColumnTableModel[GroupRow] = ColumnTableModel(
            group_columns(self._lag_over_time, self._forecast),
            lambda group: group.name,
            section=group_section,
            sections=(YOUR_GROUPS, SYSTEM_GROUPS),
            parent=self,
        )
        self.group_grid = DataGrid(self.groups, theme)
        self.disagreement = Notice(theme)
        self.lag = LagPanel(context)
        self.positions: ColumnTableModel[PositionRow] = ColumnTableModel(
            position_columns(), lambda row: (row.topic, row.queue_id), parent=self
        )
        self.position_grid = DataGrid(self.positions, theme)
        self.members: ColumnTableModel[MemberRow] = ColumnTableModel(
            member_columns(context.times), lambda row: row.client_id, parent=self
        )
        self.member_grid = DataGrid(self.members, theme)
        self.subscriptions: ColumnTableModel[SubscriptionRow] = ColumnTableModel(
            subscription_columns(), lambda row: (row.topic, row.client_id), parent=self
        )
        self.subscription_grid = DataGrid(self.subscriptions, theme)
        self.tabs = QTabWidget()
        self._build()
        self._connect()
        self.group_grid.sort_by("lag", descending=True)
        self.position_grid.sort_by("lag", descending=True)
        self.groups.toggle_section(SYSTEM_GROUPS)
        self.retranslate()
        self._show_group()

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def tab_title(self) -> str:
        return self._shown_group or tr(self.title)

    def open(self, arguments: PageArguments) -> None:
        group = arguments.get("group")
        if isinstance(group, str) and group:
            self.search.clear()
            self._filter("")
            self.group_grid.select_key(group)
            self._show_group()

    def state_changed(self, state: ClusterState) -> None:
        self._state = state
        self.groups.set_rows(by_urgency(group_rows(state)))
        self.group_grid.view.viewport().update()  # the sparklines move on where the figures do not
        self.group_grid.select_first()
        self._show_group()
        self._show_texts()

    def status_changed(self, status: SourceStatus) -> None:
        if status is SourceStatus.READY:
            self._asked_members = None

    def refresh(self) -> None:
        self._asked_members = None
        self._show_group()

    def focus_filter(self) -> None:
        self.search.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search.selectAll()

    def retranslate(self) -> None:
        self.lag.retranslate()
        self.position_grid.set_empty(tr("This group has no position in any queue yet."))
        self.member_grid.set_empty(tr("No client of this group is online."))
        self.subscription_grid.set_empty(tr("No client of this group is online."))
        for model in (self.groups, self.positions, self.members, self.subscriptions):
            model.all_texts_changed()
        self._show_texts()
        self._show_header()

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        left = Panel(flush=True)
        left.content.setSpacing(0)
        search = QVBoxLayout()
        search.setContentsMargins(8, 8, 8, 8)
        search.addWidget(self.search)
        left.content.addLayout(search)
        left.content.addWidget(self.group_grid, 1)
        notice = QVBoxLayout()
        notice.setContentsMargins(8, 8, 8, 8)
        notice.addWidget(self.disagreement)
        left.content.addLayout(notice)
        self.disagreement.set("")
        for page in (self._lag_page(), _in_panel(self.member_grid), _in_panel(self.subscription_grid)):
            self.tabs.addTab(page, "")
        self.tabs.tabBar().setDrawBase(False)
        self.tabs.setDocumentMode(True)
        split = QSplitter(Qt.Orientation.Horizontal)
        split.addWidget(left)
        split.addWidget(self.tabs)
        split.setChildrenCollapsible(False)
        split.setHandleWidth(Size.GAP)
        split.setStretchFactor(1, 1)
        split.setSizes([GROUP_LIST_WIDTH, 748])
        self.content.addWidget(split, 1)

    def _lag_page(self) -> QWidget:
        page = QWidget()
        lines = QVBoxLayout(page)
        lines.setContentsMargins(0, Size.GAP, 0, 0)
        lines.setSpacing(Size.GAP)
        table = Panel(flush=True)
        table.content.addWidget(self.position_grid)
        lines.addWidget(self.lag, 5)
        lines.addWidget(table, 4)
        return page

    def _connect(self) -> None:
        self.search.searched.connect(self._filter)
        self.group_grid.selected.connect(self._group_selected)
        self.group_grid.menu_asked.connect(self._open_group_menu)
        self.position_grid.activated.connect(self._open_position)
        self.position_grid.menu_asked.connect(self._open_position_menu)
        self.member_grid.menu_asked.connect(self._open_member_menu)

    def _lag_over_time(self, group: GroupRow) -> Sequence[float]:
        if self._state is None:
            return ()
        series = self.context.history.series(f"group:{group.name}.lag_messages")
        lag: list[float] = series.window(*self.context.time_range.window_ms(self._state.taken_ms), SPARKLINE_POINTS)[1].tolist()
        return lag

    def _forecast(self, group: GroupRow) -> Forecast:
        now_ms = self._state.taken_ms if self._state is not None else 0
        return forecast_of(self.context.history, group, now_ms)

    # ---- the shown group -----------------------------------------------------------------------------------------------

    def _group_selected(self, group: GroupRow | None) -> None:
        if group is not None and group.name != self._shown_group:
            self._show_group()
            self.place_changed.emit({"group": group.name})

    def _show_group(self) -> None:
        group = self.group_grid.selected_row
        changed = (group.name if group else "") != self._shown_group
        self._shown_group = group.name if group is not None else ""
        state = self._state
        if changed:
            self._member_list = None
            self.members.set_rows([])
            self.subscriptions.set_rows([])
            self.title_changed.emit(self.tab_title())
        if state is None or group is None:
            self.positions.set_rows([])
            self.lag.show_group(None, math.nan, state.taken_ms if state is not None else 0)
        else:
            self.positions.set_rows(position_rows(state, group.name))
            self.lag.show_group(group, in_rate(state, group.name), state.taken_ms)
            self._ask_members(group)
            self._show_members()
        self._show_header()

    def _ask_members(self, group: GroupRow) -> None:
        """Ask who is in the group when it is another one, or as many clients as before are not in it any more."""
        wanted = (group.name, group.members)
        if wanted == self._asked_members:
            return
        self._asked_members = wanted
        self.member_grid.set_loading(True)
        self._member_query.ask(self.context.source.list_members(group.name), self._members_read, self._members_failed)

    def _members_read(self, members: Members) -> None:
        self.member_grid.set_loading(False)
        for grid in (self.member_grid, self.subscription_grid):
            grid.set_error("")
        self._member_list = members
        self._show_members()
        self._show_header()

    def _members_failed(self, error: OrbitError) -> None:
        self.member_grid.set_loading(False)
        self._member_list = None
        for grid in (self.member_grid, self.subscription_grid):
            text = tr("The clients of {group} were not read.", group=self._shown_group)
            grid.set_error(text, error.message, tr("Retry"), self.refresh)

    def _show_members(self) -> None:
        if self._member_list is None or self._state is None:
            return
        rows = member_rows(self._member_list, self.positions.rows, self._state.taken_ms)
        self.members.set_rows(rows)
        self.subscriptions.set_rows(subscription_rows(rows))
        self._show_disagreement()

    def _show_disagreement(self) -> None:
        differing = [row for row in self.subscriptions.rows if row.differs]
        if not differing:
            self.disagreement.set("")
            return
        topic = differing[0].topic
        said = {row.expression or tr("not subscribed") for row in differing if row.topic == topic}
        title = tr("{group}: members disagree", group=self._shown_group)
        words = tr("On {topic} they take {filters}. Messages are being skipped.", topic=topic, filters=", ".join(sorted(said)))
        self.disagreement.set(title, words)

    # ---- texts ---------------------------------------------------------------------------------------------------------

    def _show_header(self) -> None:
        group = self.group_grid.selected_row
        self.header.set_title(group.name if group is not None else tr(self.title))
        if group is None or self._state is None:
            self.header.set_chips([])
            self.header.set_facts("")
            self.disagreement.set("")
        else:
            health = group_health(group, self.lag.forecast)
            word, state = HEALTH_CHIPS[health]
            self.header.set_chips([(tr(word), state)])
            self.header.set_facts(", ".join(topics_of(self._state, group.name)))
        self.tabs.setTabText(0, tr("Lag"))
        self.tabs.setTabText(1, tr("Members {count}", count=self._count(group)))
        self.tabs.setTabText(2, tr("Subscriptions {count}", count=len(self.subscriptions.rows)))

    @staticmethod
    def _count(group: GroupRow | None) -> int:
        return max(0, group.members) if group is not None else 0

    def _show_texts(self) -> None:
        words = tr("Filter {count} groups", count=count_text(len(self.groups.rows)))
        self.search.setPlaceholderText(words)
        self.search.setAccessibleName(words)
        if self.groups.rows:
            self.group_grid.set_empty(tr("No group matches this filter."), tr("Show all"), self.search.clear)
        else:
            text = tr("No group has consumed here yet.")
            self.group_grid.set_empty(text, tr("Show how to connect"), lambda: self.context.navigate("welcome"))

    def _filter(self, text: str) -> None:
        words = text.casefold().split()
        self.groups.set_filter((lambda row: all(word in row.name.casefold() for word in words)) if words else None)

    # ---- menus ---------------------------------------------------------------------------------------------------------

    def _menu(self) -> QMenu:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        return menu

    def _open_group_menu(self, group: GroupRow, at: QPoint) -> None:
        menu = self._menu()
        topics = topics_of(self._state, group.name) if self._state is not None else []
        for topic in topics[:8]:
            menu.addAction(tr("Open topic {topic}", topic=topic), partial(self._open_topic, topic))
        menu.addSeparator()
        menu.addAction(tr("Copy name"), lambda: QGuiApplication.clipboard().setText(group.name))
        menu.addAction(tr("Copy row"), lambda: self.group_grid.copy(CopyFormat.TSV))
        menu.popup(at)

    def _open_topic(self, topic: str) -> None:
        self.context.navigate("topics", topic=topic)

    def _open_position(self, row: PositionRow) -> None:
        offset = row.group_offset if row.group_offset >= 0 else None
        self.context.navigate("messages", topic=row.topic, queue=row.queue_id, offset=offset)

    def _open_position_menu(self, row: PositionRow, at: QPoint) -> None:
        menu = self._menu()
        menu.addAction(tr("Messages from the group's position"), lambda: self._open_position(row))
        menu.addAction(tr("Copy row"), lambda: self.position_grid.copy(CopyFormat.TSV))
        menu.popup(at)

    def _open_member_menu(self, row: MemberRow, at: QPoint) -> None:
        menu = self._menu()
        menu.addAction(tr("Copy client ID"), lambda: QGuiApplication.clipboard().setText(row.client_id))
        menu.addAction(tr("Copy address"), lambda: QGuiApplication.clipboard().setText(row.address))
        menu.addAction(tr("Copy row as JSON"), lambda: self.member_grid.copy(CopyFormat.JSON))
        menu.popup(at)


def _in_panel(widget: QWidget) -> QWidget:
    page = QWidget()
    lines = QVBoxLayout(page)
    lines.setContentsMargins(0, Size.GAP, 0, 0)
    panel = Panel(flush=True)
    panel.content.addWidget(widget)
    lines.addWidget(panel)
    return page
