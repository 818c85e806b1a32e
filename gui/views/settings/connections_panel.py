"""The connections section: all known clusters, the way to one, and its actions."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from broker_core.api import ORBIT_VERSION, addresses
from gui.connections.cluster import Cluster
from gui.models.hops import hop_columns
from gui.models.table import ColumnTableModel
from gui.operations.connection_probe import ConnectionProbe
from gui.theme.tokens import Size, State
from gui.views.action_dialog import ActionDialog
from gui.views.connections.asking import ask_for_cluster, ask_to_change, ask_to_forget
from gui.views.page import PageContext
from gui.views.settings.connection_doctor import ConnectionDoctor
from gui.views.settings.connection_rows import (
    STATES,
    ConnectionRow,
    connection_columns,
    connection_rows,
    kept_pairs,
)
from gui.widgets.basic import IconButton, fill, row
from gui.widgets.data_grid import DataGrid
from gui.widgets.key_values import KeyValueList
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_button, said_label
from gui.words.broker_words import broker_text
from gui.words.text import UNKNOWN, duration_text, tr
from monitoring.sources.base import EMBEDDED_NAME, SourceStatus
from monitoring.state import ClusterState

LIST_WIDTH = 380
LIST_WIDTH_MIN = 170


class ConnectionsPanel(QWidget):
    """The shown cluster and the stored ones: opened, changed, tested and deleted here."""

    def __init__(self, context: PageContext) -> None:
        super().__init__()
        theme = context.theme
        self._context = context
        self.doctor = ConnectionDoctor(context.source, self)
        self.list_panel = said(Panel(" ", flush=True), title="Connections")
        self.connections = ColumnTableModel(connection_columns(), lambda one: one.key, parent=self)
        self.list = DataGrid(self.connections, theme)
        self.detail = Panel(" ")
        self.facts = KeyValueList()
        self.probe = ConnectionProbe(self)
        """Tests a connection that is not shown."""
        self._tested = ""
        """Key of the row whose hops are listed."""
        self._lost: frozenset[str] = frozenset()
        """Parts of the cluster that did not answer when its hops were tested."""
        self.open_button = said_button(theme, "arrow-right", "Open here", role="small", on_click=self._open)
        self.beside_button = said_button(
            theme, "arrow-square-out", role="small", on_click=self._open_beside, tip="In a window of its own"
        )
        self.change_button = said_button(theme, "gear-six", role="small", on_click=self._change, tip="Change this connection…")
        self.delete_button = said_button(theme, "trash", role="small", on_click=self.ask_delete, tip="Delete this connection…")
        self.test_button = IconButton(theme, "lightning", " ", role="small", on_click=self._test)
        self.restart_button = IconButton(theme, "arrow-clockwise", " ", role="small", on_click=context.restart_worker)
        self.hops = ColumnTableModel(hop_columns(), lambda hop: (hop.name, hop.address), parent=self)
        self.hop_grid = said(DataGrid(self.hops, theme), empty="Not tried yet.")
        self.doctor_title = said_label("Connection doctor", "panel-title")
        self.fault = Notice(theme)
        self.list_panel.content.addWidget(self.list)
        self.list_panel.setMinimumWidth(LIST_WIDTH_MIN)
        self.list_panel.setMaximumWidth(LIST_WIDTH)
        self.detail.add_action(*self._buttons)
        fill(self.detail.content, self.facts, self.doctor_title, self.fault, (self.hop_grid, 1))
        self.setLayout(row((self.list_panel, 3), (self.detail, 5), spacing=Size.GAP))
        self.doctor.changed.connect(self._show_hops)
        self.probe.changed.connect(self._show_hops)
        self.list.selected.connect(lambda _row: self._show_selected())
        self.list.activated.connect(lambda _row: self._open())
        self.list.select_first()
        on_language(self, self._show_rows, self._show_hops)

    def refresh(self) -> None:
        """Show the state of the connection; test it if that was not done yet, or a part was lost or is back."""
        self._show_rows()
        source = self._context.source
        # The hops to an attached cluster are tested also while it does not answer.
        lost = frozenset(source.state.faults) if source.state is not None else frozenset[str]()
        can_test = source.status is SourceStatus.READY or source.connect_details
        if can_test and (not self.doctor.hops or lost != self._lost):
            self._lost = lost
            self.doctor.run()

    def _show_rows(self) -> None:
        self.connections.set_rows(connection_rows(self._context.source, self._context.clusters))
        self.list.select_first()
        self._show_facts()

    @property
    def _buttons(self) -> tuple[IconButton, ...]:
        others = (self.open_button, self.beside_button, self.change_button, self.delete_button)
        return (*others, self.test_button, self.restart_button)

    def _other(self) -> Cluster | None:
        """The selected cluster, unless it is the shown one."""
        chosen = self.list.selected_row
        return None if chosen is None or chosen.is_shown else chosen.cluster

    def _open(self) -> None:
        cluster = self._other()
        if cluster is not None:
            self._context.clusters.switch(cluster)

    def _open_beside(self) -> None:
        cluster = self._other()
        if cluster is not None:
            self._context.clusters.open_beside(cluster, "")

    def _change(self) -> None:
        chosen, clusters, theme = self.list.selected_row, self._context.clusters, self._context.theme
        if chosen is None or chosen.cluster is None:
            return
        if chosen.is_shown:
            ask_for_cluster(clusters, theme, self.window(), chosen.cluster)
        else:
            ask_to_change(clusters, theme, self.window(), chosen.cluster).finished.connect(lambda _code: self.refresh())

    def ask_delete(self) -> ActionDialog | None:
        cluster = self._other()
        if cluster is None:
            return None
        dialog = ask_to_forget(self._context.clusters, self._context.theme, self, cluster)
        dialog.succeeded.connect(lambda _done: self.refresh())
        return dialog

    def _test(self) -> None:
        cluster, secrets = self._other(), self._context.clusters.secrets
        if cluster is None:
            self.doctor.run()
        elif secrets is not None:
            self._tested = cluster.place
            self.probe.cancel()
            self.probe.hops, self.probe.fault = [], ""
            self._show_selected()
            secrets.details(cluster, {}, partial(self._begin_test, cluster), partial(self._not_tested, cluster))

    def _begin_test(self, cluster: Cluster, details: str) -> None:
        if isValid(self) and self._tested == cluster.place:
            self.probe.start(cluster.address, details)

    def _not_tested(self, cluster: Cluster, fault: str) -> None:
        if isValid(self) and self._tested == cluster.place:
            self.probe.fault = fault
            self._show_hops()  # shows the fault only if this cluster is selected

    def _show_selected(self) -> None:
        self._show_facts()
        self._show_hops()

    def _show_buttons(self, chosen: ConnectionRow | None) -> None:
        is_other = chosen is not None and not chosen.is_shown
        is_attached = chosen is not None and chosen.is_attached
        for button in (self.open_button, self.beside_button, self.delete_button):
            button.setVisible(is_other)
        self.change_button.setVisible(is_attached)
        self.test_button.setVisible(is_attached or not is_other)
        is_tested = chosen is not None and (chosen.is_shown or self._tested == chosen.key)
        self.test_button.setText(tr("Test again") if is_tested else tr("Test"))
        self.restart_button.setVisible(not is_other)
        again = tr("Connect again") if self._context.source.name != EMBEDDED_NAME else ""
        self.restart_button.setText(again or tr("Restart"))
        self.restart_button.setAccessibleName(again or tr("Restart the broker"))

    def _show_facts(self) -> None:
        chosen = self.list.selected_row
        self._show_buttons(chosen)
        if chosen is not None and not chosen.is_shown and chosen.cluster is not None:
            self.detail.set_title(chosen.name, tr("not shown in this window"))
            self.facts.set_pairs(kept_pairs(chosen.cluster))
        else:
            self._show_facts_of_shown(chosen.name if chosen is not None else tr(self._context.source.name))

    def _show_title(self, title: str) -> None:
        name, ready = self._context.source.name, self._context.source.ready
        if ready is not None and not ready.runs_broker:
            self.detail.set_title(tr("Store opened, read-only"), tr("no broker runs, and nothing is changed"))
        else:
            self.detail.set_title(title, tr("name server, broker and store in Orbit itself") if name == EMBEDDED_NAME else "")

    def _show_facts_of_shown(self, title: str) -> None:
        self._show_title(title)
        ready, state = self._context.source.ready, self._context.source.state
        if ready is None:
            self.facts.set_pairs([(tr("State"), tr(STATES[self._context.source.status][0]))])
            return
        if not ready.runs_broker:
            self.facts.set_pairs([(tr("Store"), ready.store_directory), (tr("Version"), f"Orbit {ORBIT_VERSION}")])
            return
        running_ms = state.up_ms(ready.started_ms) if state is not None else None
        self.facts.set_pairs(
            [
                (tr("Name servers"), ready.name_server),
                (tr("Broker"), f"{ready.broker_name}, {ready.broker}"),
                (tr("Reachable"), _reach_text(ready.name_server)),
                (tr("Running for"), duration_text(running_ms)),
                (tr("Version"), _version_text(state)),
            ]
        )

    def _show_hops(self) -> None:
        chosen = self.list.selected_row
        if chosen is None or chosen.is_shown:
            hops, fault = self.doctor.hops, ""
        elif chosen.key == self._tested:
            hops, fault = self.probe.hops, self.probe.fault
        else:
            hops, fault = [], ""
        self.hops.set_rows(hops)
        wrong = next((hop for hop in hops if hop.fault), None)
        name, why = (
            (tr(wrong.name), wrong.what_is_wrong) if wrong is not None else (chosen.name if chosen else "", broker_text(fault))
        )
        self.fault.set(tr("{hop} does not answer", hop=name) if why else "", why, State.WARNING)


def _version_text(state: ClusterState | None) -> str:
    """Versions of an attached cluster's brokers; the embedded one has Orbit's."""
    if state is None or not state.is_from_outside:
        return f"Orbit {ORBIT_VERSION}"
    return ", ".join(sorted(set(filter(None, state.catalog.broker_version)))) or UNKNOWN


def _reach_text(address: str) -> str:
    host = addresses.host_of(address)
    is_local = host.startswith("127.") or host in ("::1", "localhost")
    return tr("from this machine only") if is_local else tr("from the network")
