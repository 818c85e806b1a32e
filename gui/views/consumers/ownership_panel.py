"""`OwnershipPanel`: who owned which queue of a group when, and the rebalances between."""

from __future__ import annotations

from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.models.table import CellKind, Column, ColumnTableModel
from gui.theme.tokens import Size
from gui.views.ownership_history import OwnershipHistory, Rebalance
from gui.views.page import PageContext
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import Panel
from gui.words.broker_words import broker_text
from gui.words.text import TimeZoneChoice, count_text, tr


def rebalance_columns(times: TimeZoneChoice) -> list[Column[Rebalance]]:
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
        self.history = OwnershipHistory(context)
        self.strip, self.fault, self.show_group = self.history.strip, self.history.fault, self.history.show_group
        self.model: ColumnTableModel[Rebalance] = ColumnTableModel(
            rebalance_columns(context.times), lambda row: row.number, parent=self
        )
        self.grid = DataGrid(self.model, context.theme)
        self._list_panel = Panel(" ", flush=True)
        self._list_panel.content.addWidget(self.grid)
        lines = QVBoxLayout(self)
        lines.setContentsMargins(0, Size.GAP, 0, 0)
        lines.setSpacing(Size.GAP)
        lines.addWidget(self.history, 3)
        lines.addWidget(self._list_panel, 2)
        self.history.rebalanced.connect(self._show_rebalances)
        context.times.changed.connect(self.model.all_texts_changed)
        self.retranslate()

    def retranslate(self) -> None:
        """Write all texts anew."""
        self.history.set_title(tr("Owners of the queues"), tr("recorded here once a second"))
        self._list_panel.set_title(tr("Rebalances"))
        self.grid.set_empty(tr("No client came or went in this time."))
        self.model.all_texts_changed()

    def _show_rebalances(self, total: int) -> None:
        self.grid.set_loading(total < 0)
        self.model.set_rows(self.history.rebalances)
        if total >= 0:
            self._list_panel.set_title(tr("Rebalances"), count_text(total))
