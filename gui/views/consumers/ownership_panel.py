"""`OwnershipPanel`: who owned which queue of a group when, and the rebalances between."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtWidgets import QVBoxLayout, QWidget

from broker_core.api import EventPage, OrbitError, Ownership, ReadEvents, ReadOwnership
from gui.broker_words import broker_text
from gui.models.consumers import own_first
from gui.models.table import CellKind, Column, ColumnTableModel
from gui.operations.queries import LatestQuery
from gui.plots.ownership_strip import OwnedStretch, OwnershipPicture, OwnershipStrip, rows_of
from gui.text import TimeZoneChoice, count_text, tr
from gui.theme.tokens import Size, State
from gui.views.page import PageContext
from gui.widgets.data_grid import DataGrid
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from monitoring.sources.base import SourceStatus

REBALANCE = "members_changed"
EVENTS_MAX = 200
REFRESH_MS = 5_000


@dataclass(frozen=True, slots=True)
class RebalanceRow:
    """A change of a group's members."""

    number: int
    at_ms: int
    text: str


def rebalance_columns(times: TimeZoneChoice) -> list[Column[RebalanceRow]]:
    """Columns of the list of rebalances."""
    return [
        Column("at", "Time", lambda row: times.minutes(row.at_ms)[:11] + times.seconds(row.at_ms), sort=lambda row: row.at_ms,
               kind=CellKind.STRONG, width=170),
        Column("text", "What changed", lambda row: broker_text(row.text), tip=lambda row: broker_text(row.text)),
    ]  # fmt: skip


class OwnershipPanel(QWidget):
    """Strip above, list below. Asks while it is shown: `show_group` is called with each state then."""

    def __init__(self, context: PageContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._context = context
        self._group = ""
        self._asked: tuple[str, int] | None = None
        self._asked_ms = 0
        self._span = (0, 0)
        self._query: LatestQuery[Ownership] = LatestQuery(self)
        self._events_query: LatestQuery[EventPage] = LatestQuery(self)
        self._is_told = True
        self._owned = Ownership([], [], [], [], [])
        self.strip = OwnershipStrip(context.theme, context.times)
        self.fault = Notice(context.theme)
        self.fault.set("")
        self.model: ColumnTableModel[RebalanceRow] = ColumnTableModel(
            rebalance_columns(context.times), lambda row: row.number, parent=self
        )
        self.grid = DataGrid(self.model, context.theme)
        self._strip_panel = Panel(" ")
        self._strip_panel.content.addWidget(self.fault)
        self._strip_panel.content.addWidget(self.strip, 1)
        self._list_panel = Panel(" ", flush=True)
        self._list_panel.content.addWidget(self.grid)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, Size.GAP, 0, 0)
        lines.setSpacing(Size.GAP)
        lines.addWidget(self._strip_panel, 3)
        lines.addWidget(self._list_panel, 2)
        context.times.changed.connect(self.model.all_texts_changed)
        self.retranslate()

    def show_group(self, group: str, from_ms: int, to_ms: int, *, is_told: bool = True) -> None:
        """Show a group over a time, ms since the epoch; ``is_told`` says whether brokers tell who owns a queue."""
        self._is_told = is_told
        if group != self._group:
            self._group = group
            self._owned = Ownership([], [], [], [], [])
            self.model.set_rows([])
            self.grid.set_loading(True)
            self._asked = None
            self._draw()
        key = (group, to_ms - from_ms)
        is_due = key != self._asked or not 0 <= to_ms - self._asked_ms < REFRESH_MS
        if not group or not is_due or self._context.source.status is not SourceStatus.READY:
            return
        self._asked, self._asked_ms, self._span = key, to_ms, (max(0, from_ms), to_ms)
        source = self._context.source
        self._query.ask(source.read_ownership(ReadOwnership(group, max(0, from_ms), to_ms + 1)), self._take, self._failed)
        events = ReadEvents(max(0, from_ms), to_ms + 1, EVENTS_MAX, [REBALANCE], group)
        self._events_query.ask(source.read_events(events), self._take_events, self._failed)

    def retranslate(self) -> None:
        """Write all texts anew."""
        self._strip_panel.set_title(tr("Owners of the queues"), tr("recorded here once a second"))
        self._list_panel.set_title(tr("Rebalances"))
        self.grid.set_empty(tr("No client came or went in this time."))
        self.model.all_texts_changed()

    def _take(self, owned: Ownership) -> None:
        self._owned = owned
        left_out = tr("{count} more queues are not shown.", count=owned.left_out)
        if not self._is_told:
            left_out = tr("Owners are not recorded here: brokers do not tell who owns a queue, clients do when they are asked.")
        self.fault.set(left_out if owned.left_out or not self._is_told else "", "", State.INFO)
        self._draw()

    def _take_events(self, page: EventPage) -> None:
        rows = zip(page.at_ms, page.text, strict=True)
        self.grid.set_loading(False)
        self.model.set_rows(RebalanceRow(number, at_ms, text) for number, (at_ms, text) in enumerate(rows))
        self._list_panel.set_title(tr("Rebalances"), count_text(page.total))
        self._draw()

    def _failed(self, error: OrbitError) -> None:
        self.grid.set_loading(False)
        self.fault.set(tr("The recorded owners were not read"), error.message, State.CRITICAL)

    def _draw(self) -> None:
        owned = self._owned
        known = set(zip(owned.topic, owned.queue_id, strict=True))
        places = sorted(known, key=lambda place: (own_first(place[0]), place))
        number = {place: row for row, place in enumerate(places)}
        columns = zip(owned.topic, owned.queue_id, owned.from_ms, owned.to_ms, owned.client, strict=True)
        stretches = [OwnedStretch(number[topic, queue], first, last, client) for topic, queue, first, last, client in columns]
        marks = tuple(row.at_ms for row in self.model.rows)
        self.strip.set_picture(OwnershipPicture(rows_of(places), tuple(stretches), *self._span, marks))
