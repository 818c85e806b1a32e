"""`BrokersPanel`: the brokers of an attached cluster, whether each answers, and its abilities.

`broker_rows` makes its rows of a state: address, faults and missing abilities.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from broker_core.worker.questions.abilities import Ability
from gui.models.table import CellKind, Column, ColumnTableModel
from gui.theme.manager import ThemeManager
from gui.theme.tokens import Size, State
from gui.widgets.data_grid import DataGrid
from gui.widgets.panel import Panel
from gui.widgets.said import said
from gui.words.broker_words import broker_text
from gui.words.text import UNKNOWN, bytes_text, tr
from monitoring.state import ClusterState

BROKER_ABILITIES = {
    Ability.TIMERS: "Timers",
    Ability.POP: "POP",
    Ability.SQL_FILTERS: "SQL filters",
    Ability.RESET_ONE_QUEUE: "Reset of one queue",
    Ability.TRACE: "Trace topic",
    Ability.ACCESS_CONTROL: "Access control",
    Ability.ATOMIC_TRANSACTIONS: "Atomic transactions",
}
"""Abilities that differ between brokers, with their English names."""


@dataclass(frozen=True, slots=True)
class BrokerRow:
    """One broker.

    Attributes:
        name: As registered.
        address: Of its master, or of a slave where there is no master now.
        version: As RocketMQ prints it; empty while it is not known.
        slaves: Registered now.
        slave_lag_bytes: Lag of the slowest slave; -1 unknown.
        fault: Why it does not answer properly, and since when; empty when it does.
        cannot: `Ability` → why not.
    """

    name: str
    address: str
    version: str
    slaves: int
    slave_lag_bytes: int
    fault: str
    cannot: Mapping[str, str]


def broker_rows(state: ClusterState) -> list[BrokerRow]:
    """The brokers of a state; none for an embedded one."""
    catalog = state.catalog
    columns = zip(
        catalog.brokers,
        catalog.broker_address,
        catalog.broker_version,
        catalog.broker_slaves,
        catalog.broker_cannot,
        strict=True,
    )
    lags = dict(zip(catalog.brokers, state.slave_lag_bytes, strict=False))
    return [
        BrokerRow(name, address, version, slaves, lags.get(name, -1), state.faults.get(name, ""), cannot)
        for name, address, version, slaves, cannot in columns
    ]


ROWS_SHOWN = 5
"""Visible rows; more are scrolled, because the figures below matter more."""
ABOVE_ROWS = 36 + Size.HEADER + 4
"""Title, head of the table and the edges of the panel, px."""


def broker_columns() -> list[Column[BrokerRow]]:
    return [
        Column("name", "Broker", lambda row: row.name, kind=CellKind.STRONG, width=120),
        Column("address", "Address", lambda row: row.address or UNKNOWN, kind=CellKind.MONO, dim=True, width=142),
        Column("version", "Version", lambda row: row.version or UNKNOWN, width=84),
        Column("slaves", "Slaves", _slaves_text, sort=lambda row: row.slaves, width=64, whole=True),
        Column("answers", "Answers", _answers_text, state=_answers_state, tip=lambda row: broker_text(row.fault), width=160),
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
    """A table as high as its rows, up to `ROWS_SHOWN`."""

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(" ", flush=True)
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
