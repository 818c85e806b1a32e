"""`BrokersPanel`: the brokers of an attached cluster, whether each answers, and its abilities."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from gui.models.brokers import BROKER_ABILITIES, BrokerRow, broker_rows
from gui.models.table import CellKind, Column, ColumnTableModel
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import Panel
from gui.widgets.said import said
from gui.words.broker_words import broker_text
from gui.words.text import UNKNOWN, bytes_text, tr
from monitoring.state import ClusterState

ROWS_SHOWN = 5
"""Visible rows; more are scrolled, because the figures below matter more."""
ABOVE_ROWS = 36 + Size.HEADER + 4
"""Title, head of the table and the edges of the panel, px."""


def broker_columns() -> list[Column[BrokerRow]]:
    """Columns of the table."""
    return [
        Column("name", "Broker", lambda row: row.name, kind=CellKind.STRONG, width=120),
        Column("address", "Address", lambda row: row.address or UNKNOWN, kind=CellKind.MONO, dim=True, width=142),
        Column("version", "Version", lambda row: row.version or UNKNOWN, width=84),
        Column("slaves", "Slaves", _slaves_text, sort=lambda row: row.slaves, width=120),
        Column("answers", "Answers", _answers_text, state=_answers_state, tip=lambda row: broker_text(row.fault), width=220),
        Column("cannot", "Cannot", _cannot_text, dim=True, tip=_cannot_tip),
    ]


def _slaves_text(row: BrokerRow) -> str:
    if row.slave_lag_bytes < 0:
        return str(row.slaves)
    return tr("{count}, {lag} behind", count=row.slaves, lag=bytes_text(row.slave_lag_bytes))


def _answers_text(row: BrokerRow) -> str:
    return broker_text(row.fault) if row.fault else tr("yes")


def _answers_state(row: BrokerRow) -> State | None:
    return State.WARNING if row.fault else None


def _cannot_text(row: BrokerRow) -> str:
    return ", ".join(tr(name) for ability, name in BROKER_ABILITIES.items() if ability in row.cannot)


def _cannot_tip(row: BrokerRow) -> str:
    return "\n".join(broker_text(reason) for reason in row.cannot.values())


class BrokersPanel(Panel):
    """A table with a row for each broker."""

    def __init__(self, theme: ThemeManager, parent: QWidget | None = None) -> None:
        super().__init__(" ", flush=True, parent=parent)
        self.rows = ColumnTableModel(broker_columns(), lambda row: row.name, parent=self)
        self.grid = DataGrid(self.rows, theme)
        self._theme = theme
        theme.density_changed.connect(self._give_height)
        self.content.addWidget(self.grid)
        said(self, title="Brokers", subtitle="what each can and cannot do; hover for the reasons")

    def show_state(self, state: ClusterState) -> None:
        self.rows.set_rows(broker_rows(state))
        self._give_height()

    def _give_height(self) -> None:
        """Be as high as the rows."""
        count = min(max(self.rows.rowCount(), 1), ROWS_SHOWN)
        self.setFixedHeight(ABOVE_ROWS + count * self._theme.density.value)
