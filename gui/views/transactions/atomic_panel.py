"""`AtomicPanel`: producers with atomic transactions over several queues, and the messages that open ones hold back."""

from __future__ import annotations

import math

from PySide6.QtWidgets import QSplitter

from broker_core.api import OrbitError
from broker_core.worker.questions.transactions import AtomicPage, ListAtomic
from gui.models.table import ColumnTableModel
from gui.models.transactions import WaitingQueue, atomic_rows
from gui.operations.queries import LatestQuery
from gui.theme.tokens import Size, State
from gui.views.acting import set_acting
from gui.views.action_dialog import ActionDialog
from gui.views.list_read import shown_read
from gui.views.page import PageContext
from gui.views.transactions.actions import ABORT, TransactionDialogs
from gui.views.transactions.columns import atomic_columns, held_columns
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import Panel
from gui.widgets.popups import opened
from gui.widgets.said import on_language, said_button
from gui.words.text import count_text, duration_text, tr
from monitoring.state import ClusterState

ROWS = 500
READ_AGAIN_MS = 2_000


class AtomicPanel(QSplitter):
    """Transactional ids on the left, the queues of the selected one on the right."""

    def __init__(self, context: PageContext, actions: TransactionDialogs) -> None:
        super().__init__()
        theme = context.theme
        self._context = context
        self._actions = actions
        self._now_ms = 0
        self._read_ms = -READ_AGAIN_MS
        self._is_on = True
        self._query: LatestQuery[AtomicPage] = LatestQuery(self)
        self.rows = ColumnTableModel(atomic_columns(lambda: self._now_ms), lambda one: one.name, parent=self)
        self.grid = DataGrid(self.rows, theme)
        self._list_read = shown_read(context.times, "The atomic transactions were not read.", self.read, self.grid)
        self.held = ColumnTableModel(held_columns(), lambda one: (one.topic, one.queue_id), parent=self)
        self.held_grid = DataGrid(self.held, theme)
        self.abort_button = said_button(theme, "prohibit", "Abort…", role="small", on_click=self.ask_abort)
        self._left = Panel(" ", flush=True)
        self._right = Panel(" ", flush=True)
        self._left.add_action(self.abort_button)
        self._left.content.addWidget(self.grid)
        self._right.content.addWidget(self.held_grid)
        self.addWidget(self._left)
        self.addWidget(self._right)
        self.setChildrenCollapsible(False)
        self.setHandleWidth(Size.GAP)
        self.setStretchFactor(0, 1)
        self.setSizes([800, 420])
        self.grid.selected.connect(lambda _row: self._show_held())
        self.held_grid.activated.connect(self._open_queue)
        self.grid.set_loading(True)
        on_language(self, self._write_texts)

    def state_changed(self, state: ClusterState) -> None:
        """Use new figures; an old list is read again."""
        self._now_ms = state.taken_ms
        totals = state.totals
        self._is_on = "atomic_open" in totals
        self._right.setVisible(self._is_on and bool(self.rows.rows))
        self._write_titles(totals)
        if not self._is_on:
            self.grid.set_loading(False)
            self.rows.set_rows([])
            self._show_held()
        elif self._now_ms - self._read_ms >= READ_AGAIN_MS and not self._query.waiting:
            self.read()
        self.grid.view.viewport().update()

    def read(self) -> None:
        self._read_ms = self._now_ms
        if self._is_on:
            self._query.ask(self._context.source.ask(ListAtomic(0, ROWS)), self._show_page, self._failed)

    def _write_texts(self) -> None:
        self._write_titles({})
        self._write_empty()

    def ask_abort(self) -> ActionDialog | None:
        """Open the dialog that aborts the selected open transaction."""
        chosen = self.grid.selected_row
        if chosen is None or not chosen.is_open:
            return None
        dialog = self._actions.abort(chosen, self)
        dialog.succeeded.connect(lambda _done: self._aborted(chosen.name))
        return opened(dialog)

    def _aborted(self, name: str) -> None:
        self._context.notify(lambda: tr("The transaction of {name} is aborted", name=name), state=State.HEALTHY)
        self.read()

    def _show_page(self, page: AtomicPage) -> None:
        self._list_read.answered()
        self.rows.set_rows(atomic_rows(page))
        self.grid.select_first()
        self._show_held()

    def _failed(self, error: OrbitError) -> None:
        self._list_read.refused(error)
        self._show_held()

    def _show_held(self) -> None:
        chosen = self.grid.selected_row
        set_acting(self.abort_button, self._actions.refusal(ABORT), able=chosen is not None and chosen.is_open)
        self.held.set_rows(chosen.queues if chosen is not None else ())
        self._right.set_title(tr("Queues held back"), chosen.name if chosen is not None else "")
        self._write_empty()

    def _write_empty(self) -> None:
        if self._is_on:
            self.grid.set_empty(tr("No producer has used atomic transactions here yet."))
        else:
            self.grid.set_empty(tr("Atomic transactions are off. Start the broker with orbitAtomicTransactions=true."))
        self.held_grid.set_empty(tr("No queue waits for this transaction."))

    def _write_titles(self, totals: dict[str, float]) -> None:
        is_open, oldest_ms = totals.get("atomic_open", math.nan), totals.get("atomic_oldest_ms", -1.0)
        words = tr("one transaction over several queues and consumer positions")
        if is_open > 0:
            age = duration_text(self._now_ms - oldest_ms if oldest_ms >= 0 else None)
            held = count_text(totals.get("atomic_held_back"))
            words = tr("{count} open, the oldest for {age}; {held} messages held back", count=count_text(is_open), age=age,
                       held=held)  # fmt: skip
        self._left.set_title(tr("Atomic transactions"), words)

    def _open_queue(self, queue: WaitingQueue) -> None:
        self._context.navigate("messages", topic=queue.topic, queue=queue.queue_id, offset=queue.first_offset)
