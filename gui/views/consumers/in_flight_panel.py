"""`InFlightPanel`, its rows and columns: messages that a group received by POP and has not acknowledged, by queue."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtWidgets import QWidget

from broker_core.api import OrbitError
from broker_core.worker.questions.in_flight import InFlightPage, ListInFlight
from gui.models.table import CellKind, Column, ColumnTableModel, number_column
from gui.operations.queries import LatestQuery
from gui.theme.tokens import Size
from gui.views.list_read import ListRead, shown_read
from gui.views.page import PageContext
from gui.widgets.basic import column
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said
from gui.words.text import QueueText, TimeZoneChoice, count_text, duration_text, tr


@dataclass(frozen=True, slots=True)
class InFlightRow:
    """Messages of one queue that a group received by POP and has not acknowledged. Times are ms since the epoch."""

    topic: str
    queue_id: int
    messages: int
    next_due_ms: int
    oldest_ms: int
    in_order: bool
    taken_ms: int

    @property
    def due_in_ms(self) -> int:
        """Time until the first of them is delivered again; 0 when it is due."""
        return max(0, self.next_due_ms - self.taken_ms)

    @property
    def out_for_ms(self) -> int:
        """Time since the oldest of them was received."""
        return max(0, self.taken_ms - self.oldest_ms)


def in_flight_rows(page: InFlightPage) -> list[InFlightRow]:
    """One row a queue, the one that is due next first."""
    columns = zip(
        page.topic, page.queue_id, page.messages, page.next_due_ms, page.oldest_ms, page.in_order, strict=True
    )  # fmt: skip
    return [
        InFlightRow(topic, queue_id, messages, next_due_ms, oldest_ms, in_order, page.taken_ms)
        for topic, queue_id, messages, next_due_ms, oldest_ms, in_order in columns
    ]


READ_AGAIN_MS = 1_000


def in_flight_columns(times: TimeZoneChoice, queue_text: QueueText) -> list[Column[InFlightRow]]:
    return [
        Column("topic", "Topic", lambda row: row.topic, kind=CellKind.STRONG),
        number_column("queue", "Queue", lambda row: row.queue_id, queue_text, width=66),
        number_column("messages", "In flight", lambda row: row.messages, width=84),
        Column("due", "Next due", _due_text, sort=lambda row: row.next_due_ms,
               tip=lambda row: times.full(row.next_due_ms), right=True, width=104),
        Column("oldest", "Out for", lambda row: duration_text(row.out_for_ms), sort=lambda row: row.oldest_ms,
               tip=lambda row: times.full(row.oldest_ms), right=True, dim=True, width=92, gives_way=1),
        Column("order", "Delivery", lambda row: tr("in order") if row.in_order else tr("any order"), tip=_order_tip, dim=True,
               width=96, gives_way=2),
    ]  # fmt: skip


def _due_text(row: InFlightRow) -> str:
    return tr("in {time}", time=duration_text(row.due_in_ms)) if row.due_in_ms else tr("due")


def _order_tip(row: InFlightRow) -> str:
    return tr("The queue is blocked until all of them are acknowledged or visible again") if row.in_order else ""


class InFlightPanel(QWidget):
    """The list, read again each second while `show_group` is called with each state."""

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        self._source = context.source
        self._group = ""
        self._asked_ms = -READ_AGAIN_MS
        self._page: InFlightPage | None = None
        self._query: LatestQuery[InFlightPage] = LatestQuery(self)
        self.model = ColumnTableModel(
            in_flight_columns(context.times, context.queue_text), lambda row: (row.topic, row.queue_id), parent=self
        )
        self.grid = said(DataGrid(self.model, context.theme), empty="No message of this group is in flight.")
        self.panel = said(Panel(" ", flush=True), title="Messages in flight")
        self.panel.content.addWidget(self.grid)
        self.setLayout(column(self.panel, spacing=-1, margins=(0, Size.GAP, 0, 0)))
        self._read: ListRead = shown_read(context.times, "The messages in flight were not read.", self._ask, self.grid)
        context.times.changed.connect(self.model.all_texts_changed)
        on_language(self, self._show_total)

    def show_group(self, group: str, now_ms: int) -> None:
        """Show a group; the list is read at once for another one, else when it is a second old."""
        if group != self._group:
            self._group, self._page = group, None
            self.model.set_rows([])
            self._read.begin()
            self._read.show()
            self._asked_ms = now_ms - READ_AGAIN_MS
        if abs(now_ms - self._asked_ms) >= READ_AGAIN_MS and not (self._query.waiting and self._page is not None):
            self._asked_ms = now_ms
            self._ask()

    def _ask(self) -> None:
        self._query.ask(self._source.ask(ListInFlight(self._group)), self._take, self._failed)

    def _take(self, page: InFlightPage) -> None:
        self._page = page
        self.model.set_rows(in_flight_rows(page))
        self._read.answered()
        self._show_total()

    def _failed(self, error: OrbitError) -> None:
        self._page = None
        self._read.refused(error)
        self._show_total()

    def _show_total(self) -> None:
        page = self._page
        if page is None or not page.messages:
            self.panel.set_subtitle(tr("received by POP and not acknowledged yet"))
            return
        total = count_text(sum(page.messages))
        words = tr("{count} received by POP and not acknowledged yet", count=total)
        more = tr("{count} more queues", count=count_text(page.left_out)) if page.left_out else ""
        self.panel.set_subtitle(", ".join(filter(None, (words, more))))
