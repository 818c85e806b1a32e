"""The connections section: the brokers that Orbit knows, and how one is reached."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QWidget

from broker_core.api import ORBIT_VERSION
from gui.models.hops import Hop, hop_columns
from gui.models.table import CellKind, Column, ColumnTableModel
from gui.text import UNKNOWN, duration_text, tr
from gui.theme.tokens import Size, State
from gui.views.page import PageContext
from gui.views.settings.connection_doctor import ConnectionDoctor
from gui.widgets.basic import IconButton, label
from gui.widgets.data_grid import DataGrid
from gui.widgets.key_values import KeyValueList
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from monitoring.sources.base import EMBEDDED_NAME, ClusterSource, SourceStatus

LIST_WIDTH = 340
LIST_WIDTH_MIN = 170
_STATES = {
    SourceStatus.STARTING: ("Starting", State.PENDING),
    SourceStatus.READY: ("Running", State.HEALTHY),
    SourceStatus.LOST: ("Lost", State.CRITICAL),
    SourceStatus.STOPPED: ("Stopped", State.IDLE),
}


def connection_columns() -> list[Column[ClusterSource]]:
    """Columns of the list of connections."""
    return [
        Column("name", "Connection", lambda source: tr(source.name), kind=CellKind.STRONG, width=100),
        Column("address", "Address", _address, kind=CellKind.MONO, dim=True, gives_way=1),
        Column("state", "State", lambda source: tr(_state_of(source)[0]), kind=CellKind.CHIP,
               state=lambda source: _state_of(source)[1], width=96),
    ]  # fmt: skip


def _state_of(source: ClusterSource) -> tuple[str, State]:
    is_read = source.status is SourceStatus.READY and source.ready is not None and not source.ready.runs_broker
    return ("Opened", State.IDLE) if is_read else _STATES[source.status]


def _address(source: ClusterSource) -> str:
    ready = source.ready
    return UNKNOWN if ready is None else ready.name_server if ready.runs_broker else ready.store_directory


class ConnectionsPanel(QWidget):
    """The embedded broker; attached clusters get their rows here, too."""

    def __init__(self, context: PageContext, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        theme = context.theme
        self._context = context
        self.doctor = ConnectionDoctor(context.source, self)
        self.list_panel = Panel(" ", flush=True)
        self.connections: ColumnTableModel[ClusterSource] = ColumnTableModel(connection_columns(), id, parent=self)
        self.list = DataGrid(self.connections, theme)
        self.detail = Panel(" ")
        self.facts = KeyValueList()
        self.test_button = IconButton(theme, "lightning", " ", role="small", on_click=self.doctor.run)
        self.restart_button = IconButton(theme, "arrow-clockwise", " ", role="small", on_click=context.restart_worker)
        self.hops: ColumnTableModel[Hop] = ColumnTableModel(hop_columns(), lambda hop: (hop.name, hop.address), parent=self)
        self.hop_grid = DataGrid(self.hops, theme)
        self.doctor_title = label(role="panel-title")
        self.fault = Notice(theme)
        self.fault.set("")
        self._build()
        self.doctor.changed.connect(self._show_hops)
        self.list.select_first()
        self.retranslate()

    def refresh(self) -> None:
        """Show where the connection stands, and try it if that was not done yet."""
        self.connections.set_rows([self._context.source])
        self.connections.all_texts_changed()
        self.list.select_first()
        self._show_facts()
        source = self._context.source
        # The way to an attached cluster is of interest also while it does not answer.
        if not self.doctor.hops and (source.status is SourceStatus.READY or source.connect_details):
            self.doctor.run()

    def retranslate(self) -> None:
        """Write all texts anew."""
        self.list_panel.set_title(tr("Connections"))
        self.test_button.setText(tr("Test again"))
        self.restart_button.setText(tr("Restart"))
        self.restart_button.setAccessibleName(tr("Restart the broker"))
        self.doctor_title.setText(tr("Connection doctor"))
        self.hop_grid.set_empty(tr("Not tried yet."))
        for model in (self.connections, self.hops):
            model.all_texts_changed()
        self._show_facts()

    def _build(self) -> None:
        self.list_panel.content.addWidget(self.list)
        self.list_panel.setMinimumWidth(LIST_WIDTH_MIN)
        self.list_panel.setMaximumWidth(LIST_WIDTH)
        self.detail.add_action(self.test_button)
        self.detail.add_action(self.restart_button)
        for part in (self.facts, self.doctor_title, self.fault):
            self.detail.content.addWidget(part)
        self.detail.content.addWidget(self.hop_grid, 1)
        line = QHBoxLayout(self)
        line.setContentsMargins(0, 0, 0, 0)
        line.setSpacing(Size.GAP)
        line.addWidget(self.list_panel, 2)
        line.addWidget(self.detail, 3)

    def _show_title(self) -> None:
        name, ready = self._context.source.name, self._context.source.ready
        if ready is not None and not ready.runs_broker:
            self.detail.set_title(tr("Store opened, read-only"), tr("no broker runs, and nothing is changed"))
        else:
            self.detail.set_title(
                tr(name), tr("name server, broker and store in Orbit itself") if name == EMBEDDED_NAME else ""
            )

    def _show_facts(self) -> None:
        self._show_title()
        ready, state = self._context.source.ready, self._context.source.state
        if ready is None:
            self.facts.set_pairs([(tr("State"), tr(_STATES[self._context.source.status][0]))])
            return
        if not ready.runs_broker:
            self.facts.set_pairs([(tr("Store"), ready.store_directory), (tr("Version"), f"Orbit {ORBIT_VERSION}")])
            return
        running_ms = max(0, state.taken_ms - ready.started_ms) if state is not None else None
        self.facts.set_pairs(
            [
                (tr("Name servers"), ready.name_server),
                (tr("Broker"), f"{ready.broker_name}, {ready.broker}"),
                (tr("Reachable"), _reach_text(ready.name_server)),
                (tr("Running for"), duration_text(running_ms)),
                (tr("Version"), f"Orbit {ORBIT_VERSION}"),
            ]
        )

    def _show_hops(self) -> None:
        self.hops.set_rows(self.doctor.hops)
        fault = next((hop for hop in self.doctor.hops if hop.fault), None)
        self.fault.set(tr("{hop} does not answer", hop=tr(fault.name)) if fault else "", fault.what_is_wrong if fault else "")


def _reach_text(address: str) -> str:
    host = address.rpartition(":")[0].strip("[]")
    is_local = host.startswith("127.") or host in ("::1", "localhost")
    return tr("from this machine only") if is_local else tr("from the network")
