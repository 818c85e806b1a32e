"""Tabs of the Consumers page: members, subscriptions, lag and ownership of queues over time."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from gui.models.consumers import MemberRow, PositionRow, SubscriptionRow, own_first
from gui.models.table import CellKind, Column, ColumnTableModel
from gui.operations.matrix import HistoryMatrix
from gui.plots.chart_link import ChartLink
from gui.plots.heat_map import HeatMap, HeatScale
from gui.plots.ownership_strip import rows_of
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State
from gui.views.chart_tools import join_charts
from gui.views.consumers.columns import columns_to_hide, finding_words, position_columns
from gui.views.ownership_history import OwnershipHistory, Rebalance
from gui.views.page import PageContext
from gui.views.time_filter import TimeFilter
from gui.widgets.basic import column
from gui.widgets.data_grid import DataGrid
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel, fitting_panel
from gui.widgets.said import on_language, said
from gui.words.broker_words import broker_text
from gui.words.text import TimeZoneChoice, count_text, short_count_text, tr
from monitoring.admin.clients import MemberFinding

ROWS_MAX = 64


class LagHeatPanel(Panel):
    """A heat map with its scale.

    Signals:
        queue_chosen: A row was clicked; carries topic and queue id.
    """

    queue_chosen = Signal(str, int)

    def __init__(self, context: PageContext) -> None:
        super().__init__(" ")
        self._places: list[tuple[str, int]] = []
        self._queue_text = context.queue_text
        self.lags = HistoryMatrix(context.source, self)
        self.heat = said(HeatMap(context.theme, context.times, State.DELAYED), name="Lag by queue over time")
        self.scale = HeatScale(context.theme, State.DELAYED)
        self.add_action(self.scale)
        self.content.addWidget(self.heat, 1)
        self.lags.arrived.connect(self._show)
        self.heat.row_chosen.connect(self._chosen)
        said(self, title="Lag by queue over time")
        on_language(self, self._show)

    def show_positions(self, group: str, positions: Sequence[PositionRow], span_ms: tuple[int, int]) -> None:
        """Show the queues of a group over a time, at most `ROWS_MAX` of those that lag most."""
        places = [(row.topic, row.queue_id) for row in positions[:ROWS_MAX]]
        most = sorted(places, key=lambda place: (own_first(place[0]), place))
        if not set(self._places) <= set(most) or len(most) != len(self._places):
            self._places = most
        names = [f"position:{group}/{topic}/{queue_id}.lag_messages" for topic, queue_id in self._places]
        self.lags.show(names, *span_ms)
        if not names or self.lags.matrix.is_empty:
            self._show()
        left_out = len(positions) - len(most)
        words = tr("{count} of {all} queues, those that lag most", count=len(most), all=len(positions))
        self.set_subtitle(words if left_out else "")

    def _show(self) -> None:
        matrix = self.lags.matrix
        labels = rows_of(self._places, self._queue_text) if matrix.values.shape[0] == len(self._places) else ()
        names = [f"{topic}, {self._queue_text(queue_id)}" for topic, queue_id in self._places]
        self.heat.set_matrix(labels, matrix, names[: len(labels)])
        self.scale.set_top(short_count_text(matrix.top))
        nothing = tr("Reading the history…") if self.lags.waiting else tr("not recorded")
        self.heat.set_note(self.lags.fault or nothing)

    def _chosen(self, row: int) -> None:
        if row < len(self._places):
            self.queue_chosen.emit(*self._places[row])


def rebalance_columns(times: TimeZoneChoice) -> list[Column[Rebalance]]:
    return [
        Column("at", "Time", lambda row: times.minutes(row.at_ms)[:11] + times.seconds(row.at_ms), sort=lambda row: row.at_ms,
               kind=CellKind.STRONG, width=170),
        Column("text", "What changed", lambda row: broker_text(row.text), tip=lambda row: broker_text(row.text)),
    ]  # fmt: skip


class OwnershipPanel(QWidget):
    """Strip above, list below. Reads while it is shown, when `show_group` is called with each state."""

    def __init__(self, context: PageContext, link: ChartLink) -> None:
        super().__init__()
        self._link, self.time_filter = link, TimeFilter(link, context, self)
        self.history = said(OwnershipHistory(context), title="Owners of the queues")
        self.strip, self.fault, self.show_group = self.history.strip, self.history.fault, self.history.show_group
        self.model = ColumnTableModel(rebalance_columns(context.times), lambda row: row.number, parent=self)
        self.grid = said(DataGrid(self.model, context.theme), empty="No client came or went in this time.")
        self._list_panel = said(Panel(" ", flush=True), title="Rebalances")
        self._list_panel.content.addWidget(self.grid)
        self._list_panel.add_action(self.time_filter.chip)
        join_charts(context, link, self.strip)
        self.time_filter.changed.connect(self._filter)
        self.setLayout(column((self.history, 3), (self._list_panel, 2), spacing=Size.GAP, margins=(0, Size.GAP, 0, 0)))
        self.history.rebalanced.connect(self._show_rebalances)
        on_language(self, self.history.write_subtitle)
        context.times.changed.connect(self.model.all_texts_changed)

    def _filter(self) -> None:
        bounds = self.time_filter
        self.model.set_filter((lambda row: bounds.accepts(row.at_ms)) if bounds.is_active else None)
        if bounds.is_active:
            self.grid.set_empty(tr("No client came or went in the selected time."), tr("Show all"), self._link.unselect)
        else:
            self.grid.set_empty(tr("No client came or went in this time."))

    def _show_rebalances(self, total: int) -> None:
        self.grid.set_loading(total < 0)
        self.model.set_rows(self.history.rebalances)
        if total >= 0:
            self._list_panel.set_title(tr("Rebalances"), count_text(total))


FINDINGS_SHOWN = 4
ROWS_FITTED = 12
"""Rows of a table that is as high as they are; it scrolls with more."""
COLUMN_WIDTHS = {"held": 732, "threads": 672}
"""Below this width of the table of members a column is hidden."""


class MembersPanel(QWidget):
    """The clients, below a notice with what brokers did not report, above the queues of the selected one.

    The page owns the model.
    """

    def __init__(self, model: ColumnTableModel[MemberRow], context: PageContext) -> None:
        super().__init__()
        theme = context.theme
        self._positions: Sequence[PositionRow] = ()
        self._members = model
        self.grid = DataGrid(model, theme)
        self.grid.fit_rows(ROWS_FITTED)
        self.notice = Notice(theme)
        columns = [one for one in position_columns(context.queue_text) if one.key != "owner"]
        self.queues = ColumnTableModel(columns, lambda row: (row.topic, row.queue_id), parent=self)
        self.queue_grid = said(DataGrid(self.queues, theme), empty="It owns no queue, or nobody says which.")
        self._queue_panel = Panel(" ", flush=True)
        self._queue_panel.content.addWidget(self.queue_grid)
        fitted = fitting_panel(self.grid)
        parts = (self.notice, fitted, (self._queue_panel, 1))
        self.setLayout(column(*parts, spacing=Size.GAP, margins=(0, Size.GAP, 0, 0)))
        self.grid.selected.connect(lambda _row: self._show_queues())
        on_language(self, self._show_queues)

    def show_positions(self, positions: Sequence[PositionRow]) -> None:
        """Set the positions of the group with their owners."""
        self._positions = positions
        self.grid.select_first()
        self._show_queues()

    def _show_queues(self) -> None:
        member = self.grid.selected_row
        owned = [row for row in self._positions if member is not None and row.owner == member.client_id]
        self.queues.set_rows(owned)
        self.queue_grid.set_hidden(columns_to_hide(owned))
        self._queue_panel.set_title(tr("Queues of the member"), member.client_id if member is not None else "")

    def fit(self) -> None:
        """Hide columns without room: the dialog of a client shows them too, and the ID needs the room."""
        width = self.grid.width()
        hidden = {key for key, least in COLUMN_WIDTHS.items() if width < least}
        # Brokers of an attached cluster do not report it.
        is_told = any(row.last_heartbeat_ms >= 0 for row in self._members.rows)
        self.grid.set_hidden(hidden if is_told else hidden | {"heartbeat"})


class SubscriptionsPanel(QWidget):
    """The subscriptions of each client, below their faults. The page owns the model."""

    def __init__(self, model: ColumnTableModel[SubscriptionRow], theme: ThemeManager) -> None:
        super().__init__()
        self.grid = DataGrid(model, theme)
        self.grid.fit_rows(2 * ROWS_FITTED)
        self.findings = [Notice(theme) for _ in range(FINDINGS_SHOWN)]
        margins = (0, Size.GAP, 0, 0)
        self.setLayout(column(*self.findings, fitting_panel(self.grid), 1, spacing=Size.GAP, margins=margins))

    def show_findings(self, found: Sequence[MemberFinding]) -> None:
        words = [finding_words(finding) for finding in found[:FINDINGS_SHOWN]]
        said = words + [("", "")] * (FINDINGS_SHOWN - len(words))
        for notice, one in zip(self.findings, said, strict=True):
            notice.set(*one, State.WARNING)
