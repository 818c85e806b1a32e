"""The Transactions page: a board by state, the list, one transaction's life, both queues; and atomic transactions."""

from __future__ import annotations

import math
from functools import partial

from PySide6.QtCore import QPoint
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

from broker_core.api import names as reserved
from broker_core.worker.questions.transactions import ReadTransactionHistory, TransactionHistory
from gui.models.row_filter import with_words
from gui.models.table import ColumnTableModel
from gui.models.transactions import (
    CHECKING,
    COMMITTED,
    LOST,
    PREPARED,
    ROLLED_BACK,
    BoardFigures,
    TransactionRow,
    board_figures,
    decision_times,
    lives,
)
from gui.operations.demo import may_offer_demo
from gui.operations.queries import LatestQuery
from gui.theme.tokens import Size, State
from gui.views.acting import add_acting
from gui.views.action_dialog import ActionDialog
from gui.views.page import PageArguments, PageContext, PageView
from gui.views.transactions.actions import CHECK, COMMIT, RESUME, ROLL_BACK, TransactionDialogs, done_text
from gui.views.transactions.atomic_panel import AtomicPanel
from gui.views.transactions.board import Board
from gui.views.transactions.board_picture import GIVEN_UP_KEY, board_picture
from gui.views.transactions.columns import columns_to_hide, transaction_columns
from gui.views.transactions.detail import TransactionDetail
from gui.views.transactions.lists import FILTERS, OPEN, PAGE_ROWS, PAST, TransactionLists
from gui.views.transactions.strip_panel import StripPanel
from gui.widgets.basic import column, fill, label, on_key, row
from gui.widgets.containers import LazyTab, Parts
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.inputs import SearchField, SegmentedControl
from gui.widgets.notice import MissingNote
from gui.widgets.pane_splitter import PaneSplitter
from gui.widgets.panel import TERM, Panel
from gui.widgets.popups import new_menu, opened
from gui.widgets.said import on_language, said, said_button, said_label, say_tabs
from gui.widgets.saved_menu import menu_name
from gui.words.broker_words import broker_words
from gui.words.text import count_text, milliseconds_text, tr
from monitoring.sources.base import SourceStatus
from monitoring.state import ClusterState

GRID_HEIGHT_MIN = 140
"""Some rows; the page is scrolled where there is less room."""
DETAIL_WIDTH = 326


def figure_chips(figures: BoardFigures | None) -> list[tuple[str, State]]:
    """Chips of figures that need attention, with their counts."""
    if figures is None:
        return []
    counted = (
        (figures.undecided, "{count} undecided", State.PENDING),
        (figures.without_producer, "{count} without a producer", State.WARNING),
        (figures.unread, "reading {count} records", State.CHECKING),
        (figures.given_up, "{count} given up", State.CRITICAL),
    )
    return [(tr(words, count=count_text(count)), state) for count, words, state in counted if count > 0]


def foot_words(lists: TransactionLists, filter_key: str, shown: int, undecided: float = -1, unread: float = 0) -> str:
    """How many transactions a filter lists, and of how many; empty where unknown.

    ``undecided`` is the live count, which the list follows within a moment; -1: unknown. ``unread`` records have still to be
    read before the decided ones are left out.
    """
    if lists.read_of(filter_key).is_failed:
        return ""
    if filter_key == PAST:
        return tr("{shown} of {count} on this page of the store, newest first", shown=shown, count=len(lists.past.rows))
    if filter_key != OPEN:
        return tr("{shown} of the last {count} that ended since the start", shown=shown, count=len(lists.ended))
    if lists.total < 0:
        return ""
    if lists.missing:
        return tr("{shown} undecided on the brokers that answered", shown=shown)
    if lists.sought:
        return tr("{shown} of {count} undecided that match", shown=shown, count=count_text(lists.total))
    if unread > 0:
        total = count_text(lists.total)
        return tr("{shown} of {count} half messages; decided ones go when their op records are read", shown=shown, count=total)
    if 0 <= undecided < shown:
        # The list is newer than the figures above it.
        return tr("{shown} undecided, read {time}", shown=shown, time=lists.read_of(OPEN).time_text)
    count = undecided if undecided >= shown else lists.total
    return tr("{shown} of {count} undecided, in the order of the half queue", shown=shown, count=count_text(count))


class TransactionsView(PageView):
    """Half-message transactions first; atomic ones have a tab of their own."""

    page_id = "transactions"

    def __init__(self, context: PageContext) -> None:
        super().__init__(context)
        theme = context.theme
        self._state: ClusterState | None = None
        self._now_ms = 0
        self._only = ""
        self._wanted = -1
        self._life_of: tuple[int, int, str] | None = None
        self._life_query: LatestQuery[TransactionHistory] = LatestQuery(self)
        self._counted: tuple[float, ...] = ()
        self.lists = TransactionLists(context, self)
        self.dialogs = TransactionDialogs(context.source, theme, context.times)
        self.board = said(Board(theme), name="State of transactions")
        self.board.setProperty(TERM, "State of transactions")
        self.board_panel = said(
            Panel(" "), title="State of transactions", subtitle="counts now, decided ones since the start; click to list"
        )
        self.decision = label(role="caption")
        self.filters = SegmentedControl([(key, " ") for key in FILTERS])
        self.search = said(SearchField(theme, " ", "funnel"), hint="Filter by key, topic or group")
        self.rows = ColumnTableModel(transaction_columns(lambda: self._now_ms), lambda one: one.origin, parent=self)
        self.grid = DataGrid(self.rows, theme)
        self.foot = label(role="caption")
        self.missing = MissingNote()
        self._keys = said_label("C: commit · B: roll back · K: check · R: resume", "caption")
        self.back = said_button(theme, "caret-left", on_click=lambda: self._turn(later=False), tip="Earlier ones")
        self.forward = said_button(theme, "caret-right", on_click=lambda: self._turn(later=True), tip="Later ones")
        self.detail = TransactionDetail(context, self.dialogs.refusal)
        self.strip_panel = StripPanel(context)
        self.strip = self.strip_panel.strip
        self.atomic = LazyTab(self._make_atomic, margin_top=Size.GAP)
        self.tabs = Parts()
        self.grid.set_loading(True)
        self._build()
        self.set_parts(grid=self.grid, find=self.search, detail=self.detail)
        self._connect()
        on_language(self, self._write_decision, self._show_board, self._show_texts)

    # ---- what the frame calls ------------------------------------------------------------------------------------------

    def open(self, arguments: PageArguments) -> None:
        wanted = arguments.get("show")
        if wanted in FILTERS:
            self.tabs.setCurrentIndex(0)
            self.filters.choose(str(wanted))
            self._show_filter("")
        if wanted == "atomic":
            self.tabs.setCurrentIndex(1)
        group = arguments.get("group")
        if isinstance(group, str):
            self.search.setText(group)
            self._filter(group)
        origin = arguments.get("origin")
        if isinstance(origin, int):
            self.grid.select_key(origin)

    def state_changed(self, state: ClusterState) -> None:
        self._state = state
        self._now_ms = state.taken_ms
        figures = board_figures(state.totals)
        counted = (figures.undecided, figures.checks, figures.committed, figures.rolled_back, figures.given_up)
        self._counted = counted
        self.lists.take(counted, state.taken_ms)
        self.strip_panel.setVisible(not state.is_from_outside)
        if not state.is_from_outside:  # a cluster reports its undecided transactions alone
            self.strip_panel.show_counts(state.totals, counted, state.taken_ms)
        self.grid.view.viewport().update()
        self._show_selected()
        self._show_board()
        self._show_texts()
        if self.atomic.made is not None:
            self.atomic.made.state_changed(state)

    def status_changed(self, status: SourceStatus) -> None:
        if status is SourceStatus.READY:
            self.refresh()

    def refresh(self) -> None:
        self.strip_panel.forget()
        self._life_of = None
        self._read_rows()
        if self._state is not None:
            self.strip_panel.show_counts(self._state.totals, self._counted, self._now_ms)
            self._show_selected()
            if self.atomic.made is not None:
                self.atomic.made.read()

    def _read_rows(self) -> None:
        """Read the lists again, also where nothing has changed."""
        if self.filters.current == PAST:
            self.lists.past.read()
        self.lists.read_again()

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        self.board_panel.add_action(self.decision)
        self.board_panel.content.addWidget(self.board)
        table = Panel(flush=True, spacing=0)
        table.content.addLayout(row(self.filters, 1, (self.search, 4), margins=(8, 8, 8, 8)))
        self.search.setMinimumWidth(200)
        self.grid.setMinimumHeight(GRID_HEIGHT_MIN)
        fill(
            table.content,
            (self.grid, 1),
            self.missing,
            row(self.foot, 1, self._keys, self.back, self.forward, spacing=4, margins=(12, 3, 8, 3)),
        )
        left = QWidget()
        left.setLayout(column(table, self.strip_panel, spacing=Size.GAP))
        split = PaneSplitter((left, self.detail), (880, DETAIL_WIDTH), grows=0)
        page = QWidget()
        page.setLayout(column(self.board_panel, (split, 1), spacing=Size.GAP, margins=(0, Size.GAP, 0, 0)))
        for widget in (page, self.atomic):
            self.tabs.addTab(widget, "")
        say_tabs(self.tabs, "Half messages", "Atomic")
        self.tabs.currentChanged.connect(self._tab_chosen)
        self.content.addWidget(self.tabs, 1)

    def _make_atomic(self) -> AtomicPanel:
        made = AtomicPanel(self.context, self.dialogs)
        if self._state is not None:
            made.state_changed(self._state)
        return made

    def _tab_chosen(self, _tab: int) -> None:
        if self.tabs.currentWidget() is self.atomic:
            self.atomic.make()

    def _connect(self) -> None:
        self.board.chosen.connect(self._card_chosen)
        self.filters.chosen.connect(lambda _key: self._show_filter(""))
        self.search.searched.connect(self._filter)
        self.lists.changed.connect(self._show_lists)
        self.lists.past_changed.connect(self._show_past)
        self.lists.masks.changed.connect(self._read_rows)
        self.grid.selected.connect(self._row_selected)
        self.grid.menu_asked.connect(self._open_menu)
        self.detail.asked.connect(self.ask)
        for key, action in (("C", COMMIT), ("B", ROLL_BACK), ("K", CHECK), ("R", RESUME)):
            on_key(self.grid, key, partial(self._ask_by_key, action))
        self.strip.chosen.connect(self._cell_chosen)

    # ---- the list ------------------------------------------------------------------------------------------------------

    def _show_lists(self) -> None:
        self._write_decision()
        self._show_rows()

    def _write_decision(self) -> None:
        p50, p99 = decision_times(self.lists.ended)
        shown = tr("Decision time p50 {p50}, p99 {p99}", p50=milliseconds_text(p50), p99=milliseconds_text(p99))
        self.decision.setText(shown if not math.isnan(p50) else "")

    def _show_rows(self) -> None:
        self.rows.set_rows(self.lists.rows(self.filters.current, self._only))
        is_outside = self._state is not None and self._state.is_from_outside
        self.grid.set_hidden(columns_to_hide(self.rows.rows, is_outside=is_outside))
        shown_read = self.lists.read_of(self.filters.current)
        shown_read.show_in(self.grid, lambda: tr("The transactions were not read."), self.refresh)
        self.grid.select_first()
        self._show_selected()
        self._show_texts()

    def _card_chosen(self, key: str) -> None:
        self.filters.choose(OPEN if key in (PREPARED, CHECKING) else key)
        self._show_filter(key if key in (PREPARED, CHECKING) and key != self._only else "")

    def _show_filter(self, only: str) -> None:
        self._only = only
        if self.filters.current == PAST:
            self.lists.begin_past()
        self._show_rows()
        self._show_board()

    def _filter(self, text: str) -> None:
        """Filter the present rows at once, then search all rows of the broker."""
        self.rows.set_filter(with_words(text, _searched_text))
        self.lists.search(text)
        self._show_texts()

    def _show_past(self) -> None:
        if self.filters.current == PAST:
            wanted, self._wanted = self._wanted, -1
            self._show_rows()
            if wanted >= 0:
                self.grid.select_key(wanted)

    def _turn(self, *, later: bool) -> None:
        self.grid.set_loading(True)
        self.lists.turn(self.filters.current, later=later)

    def _row_selected(self, chosen: TransactionRow | None) -> None:
        if chosen is not None:
            self._show_selected()

    def _cell_chosen(self, origin: int) -> None:
        found = self.lists.filter_with(origin)
        self.filters.choose(found)
        if found != PAST:
            self._show_filter("")
            self.grid.select_key(origin)
            return
        self._only, self._wanted = "", origin
        self.lists.begin_past(origin + 1)
        self._show_rows()

    # ---- the shown transaction -----------------------------------------------------------------------------------------

    def _show_selected(self) -> None:
        chosen = self.grid.selected_row
        self.detail.show_transaction(chosen, self._now_ms)
        self.strip.select(chosen.origin if chosen is not None else -1)
        if chosen is None:
            self._life_of = None
            self._life_query.cancel()
            return
        wanted = (chosen.origin, chosen.half_offset, chosen.state)
        if wanted != self._life_of:
            self._life_of = wanted
            self._read_life(chosen.origin)

    def _read_life(self, origin: int) -> None:
        pending = self.context.source.ask(ReadTransactionHistory(origin + 1, 1, halves_back=1))
        again = partial(self._read_life, origin)
        self._life_query.ask(pending, self._show_life, lambda error: self.detail.show_fault(error, again))

    def _show_life(self, history: TransactionHistory) -> None:
        origin = self._life_of[0] if self._life_of is not None else -1
        self.detail.show_life(next((life for life in lives(history) if life.origin == origin), None))

    def ask(self, action: str) -> ActionDialog | None:
        chosen = self.grid.selected_row
        if chosen is None:
            return None
        dialog = self.dialogs.dialog(action, chosen, self)
        dialog.succeeded.connect(lambda _done: self._acted(action, chosen))
        return opened(dialog)

    def _ask_by_key(self, action: str) -> None:
        button = self.detail.buttons[action]
        if button.isVisible() and button.isEnabled():
            self.ask(action)

    def _acted(self, action: str, chosen: TransactionRow) -> None:
        self.context.notify(lambda: done_text(action, chosen), state=State.HEALTHY)
        self.refresh()

    # ---- texts ---------------------------------------------------------------------------------------------------------

    def _figures(self) -> BoardFigures | None:
        return board_figures(self._state.totals) if self._state is not None else None

    def _show_board(self) -> None:
        figures = self._figures()
        current = self.filters.current
        marked = self._only or (current if current != OPEN else "")
        is_from_outside = self._state is not None and self._state.is_from_outside
        picture = board_picture(figures, self._now_ms, self.lists.check_times_max, is_from_outside=is_from_outside)
        self.board.set_picture(picture, marked)

    def _show_texts(self) -> None:
        figures = self._figures()
        given_up = count_text(figures.given_up) if figures is not None else ""
        undecided = count_text(figures.undecided) if figures is not None else ""
        self.filters.set_text(OPEN, tr("Undecided {count}", count=undecided))
        self.filters.set_text(GIVEN_UP_KEY, tr("Given up {count}", count=given_up))
        self.filters.set_text(COMMITTED, tr("Committed"))
        self.filters.set_text(ROLLED_BACK, tr("Rolled back"))
        self.filters.set_text(PAST, tr("All in the store"))
        self.header.set_chips(figure_chips(figures))
        self.header.set_facts(reserved.HALF_TOPIC)
        self._show_empty()
        self._show_foot()

    def _show_foot(self) -> None:
        lists, current = self.lists, self.filters.current
        figures = self._figures()
        undecided, unread = (figures.undecided, figures.unread) if figures is not None else (-1, 0)
        is_open, is_past = current == OPEN, current == PAST
        for button in (self.back, self.forward):
            button.setVisible(is_past or (is_open and lists.total > PAGE_ROWS))
        self.back.setEnabled(lists.past.has_newer if is_past else lists.has_earlier)
        self.forward.setEnabled(lists.past.has_older if is_past else lists.has_later)
        self.missing.say(broker_words(lists.past.notice if is_past else lists.missing if is_open else ""))
        self.foot.setText(foot_words(lists, current, len(self.rows.shown_rows), undecided, unread))

    def _show_empty(self) -> None:
        if self.lists.sought or self._only:
            self.grid.set_empty(tr("No transaction matches this filter."), tr("Show all"), self._show_all)
        elif self.filters.current == OPEN:
            words = tr("No open transactions. A half message stands here until its producer commits it or rolls it back.")
            if self.lists.missing:
                words = tr("No open transactions on the brokers that answered.")
            may_play = may_offer_demo(self.context.source) and not self.context.demo.is_running
            offer = tr("Play a demo") if may_play else ""
            self.grid.set_empty(words, offer, lambda: self.context.navigate("welcome"))
        elif self.filters.current == GIVEN_UP_KEY:
            words = tr("Nothing was given up since the start. Earlier ones are in {topic}.", topic=reserved.DISCARD_TOPIC)
            open_topic = tr("Open topic {topic}", topic=reserved.DISCARD_TOPIC)
            self.grid.set_empty(words, open_topic, lambda: self.context.navigate("messages", topic=reserved.DISCARD_TOPIC))
        elif self.filters.current == PAST:
            self.grid.set_empty(tr("The store holds no transactions."))
        else:
            self.grid.set_empty(tr("None since the start of the broker."))

    def _show_all(self) -> None:
        self.search.clear()
        self._filter("")
        self._show_filter("")

    def _open_menu(self, one: TransactionRow, at: QPoint) -> None:
        menu = new_menu(self)
        if one.is_undecided:
            for text, action in (("Commit…", COMMIT), ("Roll back…", ROLL_BACK), ("Check now…", CHECK)):
                add_acting(menu, tr(text), partial(self.ask, action), self.dialogs.refusal(action))
        elif one.state in LOST:
            add_acting(menu, tr("Resume…"), lambda: self.ask(RESUME), self.dialogs.refusal(RESUME))
        menu.addSeparator()
        menu.addAction(
            tr("Open topic {topic}", topic=menu_name(one.topic)), lambda: self.context.navigate("topic", topic=one.topic)
        )
        menu.addAction(tr("Copy keys"), lambda: QGuiApplication.clipboard().setText(one.keys))
        menu.addAction(tr("Copy unique ID"), lambda: QGuiApplication.clipboard().setText(one.unique_key))
        menu.addAction(tr("Copy row"), lambda: self.grid.copy(CopyFormat.TSV))
        menu.popup(at)


def _searched_text(one: TransactionRow) -> str:
    return f"{one.keys} {one.unique_key} {one.topic} {one.group} {one.tag}"
