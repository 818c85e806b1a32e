"""Dialogs about connections: add, change and delete one.

`ConnectDialog`: asks for name, addresses and look of a cluster that runs elsewhere, and tests the connection.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import shiboken6
from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QDialog, QWidget

from broker_core.api import addresses
from gui.connections.cluster import EMBEDDED, Cluster, changed_to, settled
from gui.models.hops import hop_columns
from gui.models.table import ColumnTableModel
from gui.operations.clusters import Clusters
from gui.operations.connection_probe import ConnectionProbe
from gui.operations.secret_desk import SecretDesk
from gui.theme.manager import ThemeManager
from gui.views.action_dialog import ActionDialog, ActionPlan
from gui.views.connections.connect_fields import ConnectFields
from gui.views.settings.connection_rows import kept_pairs
from gui.widgets.basic import fill, label, row, show_text
from gui.widgets.data_grid import DataGrid
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.popups import opened
from gui.widgets.said import push_button
from gui.words.broker_words import broker_text
from gui.words.text import tr

WIDTH = 640
HOPS_HEIGHT = 172


class ConnectDialog(FittedDialog):
    """Asks for a connection, read-only unless the user decides otherwise.

    Args:
        parent: Qt's owner.
        theme: Colours of the list of hops.
        shown: First content of the fields; None: empty.
        secrets: Stores and reads secrets; None where nothing is stored or tested.
        known: Stored connections. An edit cannot use the name servers of another one, because it would replace that one; a
            new connection with known name servers changes the stored one.
        probe: Tests the connection; passed in by tests.

    Signals:
        chosen: Carries the `Cluster` to open.
    """

    chosen = Signal(object)
    SHRINKS = True

    def __init__(
        self,
        parent: QWidget,
        theme: ThemeManager,
        *,
        shown: Cluster | None = None,
        secrets: SecretDesk | None = None,
        known: Sequence[Cluster] = (),
        probe: ConnectionProbe | None = None,
    ) -> None:
        super().__init__(parent)
        self._shown = shown
        self._secrets = secrets
        self._known = known
        self._key_store: str | None = None
        """Its name, empty for none; None while it is searched."""
        self._is_busy = False
        self.setWindowTitle(tr("Connect to a cluster"))
        self.heading = label(tr("Connect to a cluster"), "card-title")
        self.fields = ConnectFields()
        self.probe = probe or ConnectionProbe(self)
        self.place = label(role="caption", wrap=True)
        self.fault = label(role="secondary", wrap=True)
        self.hops = ColumnTableModel(hop_columns(), lambda hop: (hop.name, hop.address), parent=self)
        self.hop_grid = DataGrid(self.hops, theme)
        self.hop_grid.setFixedHeight(HOPS_HEIGHT)
        self.hop_grid.hide()
        self.hop_fault = label(role="warning", wrap=True, selectable=True)
        self.hop_fault.hide()
        self.beside = QCheckBox(tr("In a window of its own"))
        self.beside.setToolTip(tr("What this window shows stays as it is."))
        self.test = push_button("Test", self._test)
        self.go = push_button("Connect", self._choose, role="primary")
        self.go.setDefault(True)
        self.cancel = push_button("Cancel", self.reject)
        for button in (self.cancel, self.test):
            button.setAutoDefault(False)
        self.fields.setMinimumWidth(WIDTH)
        fill(self.lay_out(), self.heading, self.fields, self.place, self.hop_grid, self.hop_fault)
        self.set_foot(self.fault, row(self.test, self.beside, 1, self.cancel, self.go))
        if shown is not None:
            self.fields.show_cluster(shown)
        self.fields.in_file.hide()
        self.fields.changed.connect(self._fields_changed)
        self.probe.changed.connect(self._show_hops)
        self.probe.ended.connect(self._check)
        self._check()
        if secrets is not None:
            secrets.find_key_store(shown.kept_under if shown is not None else "", self._key_store_found)

    def done(self, result: int) -> None:
        """Close, and cancel a running test or store operation."""
        self._is_busy = False
        self.probe.cancel()
        super().done(result)

    def _key_store_found(self, found: tuple[str, bool]) -> None:
        if self._secrets is None or not shiboken6.isValid(self):
            return
        name, is_in_file = found
        self._key_store = name
        self.fields.in_file.setVisible(bool(name))
        self.fields.in_file.setChecked(bool(name) and is_in_file)
        self._show_place()

    def _show_place(self) -> None:
        if self._secrets is None or self._key_store is None:
            return
        if self._key_store and not self.fields.in_file.isChecked():
            self.place.setText(tr("Secrets are kept in the key store of the system ({name}).", name=self._key_store))
            return
        text = tr("Secrets are kept in {place}, which only you can read.", place=self._secrets.file)
        none = "" if self._key_store else tr("This system has no key store that works.")
        self.place.setText(" ".join(filter(None, (none, text))))

    def _fields_changed(self) -> None:
        # The result of the test is that of the former fields.
        self.probe.cancel()
        self.hop_grid.hide()
        self.hop_fault.hide()
        self._show_place()
        self._check()

    def _check(self) -> None:
        fault = self.fields.fault() or self._taken_fault()
        self.fault.setText(fault or self.fields.warning())
        self.go.setEnabled(not fault and not self._is_busy)
        self.test.setEnabled(self.probe.is_running or (not fault and not self._is_busy))
        self.test.setText(tr("Stop the test") if self.probe.is_running else tr("Test"))

    def _taken_fault(self) -> str:
        shown, address = self._shown, self.fields.cluster().address
        if shown is None:
            return ""
        same = (one for one in self._known if addresses.same_addresses(one.address, address))
        name = next((one.name for one in same if one.place != shown.place), "")
        return tr("“{name}” has these name servers already.", name=name) if name else ""

    def _cluster(self) -> Cluster:
        cluster = self.fields.cluster()
        return settled(cluster, self._known) if self._shown is None else changed_to(self._shown, cluster)

    def _set_busy(self, is_busy: bool) -> None:
        self._is_busy = is_busy
        self.fields.setEnabled(not is_busy)
        self._check()

    def _refused(self, fault: str) -> None:
        if shiboken6.isValid(self):
            self._set_busy(False)
            self.fault.setText(broker_text(fault))

    def _test(self) -> None:
        if self.probe.is_running:
            self.probe.cancel()
            self._check()
            return
        cluster = self._cluster()
        if self._secrets is None:
            return
        self._set_busy(True)
        self._secrets.details(
            cluster, self.fields.typed_secrets(), lambda details: self._begin_test(cluster, details), self._refused
        )

    def _begin_test(self, cluster: Cluster, details: str) -> None:
        if not shiboken6.isValid(self) or not self._is_busy:
            return
        self._set_busy(False)
        self.hop_grid.show()
        self.probe.start(cluster.address, details)
        self._check()

    def _show_hops(self) -> None:
        self.hops.set_rows(self.probe.hops)
        wrong = [hop.what_is_wrong for hop in self.probe.hops if hop.fault] or [broker_text(self.probe.fault)]
        show_text(self.hop_fault, wrong[0])

    def _choose(self) -> None:
        cluster = self._cluster()
        if self._secrets is None:
            self._kept(cluster)
            return
        self._set_busy(True)
        self._secrets.keep(
            cluster,
            self.fields.typed_secrets(),
            in_file=self.fields.in_file.isChecked(),
            done=lambda _answer: self._kept(cluster),
            failed=self._refused,
        )

    def _kept(self, cluster: Cluster) -> None:
        # A dialog that was closed meanwhile opens no cluster.
        if shiboken6.isValid(self) and (self._is_busy or self._secrets is None):
            self.chosen.emit(cluster)
            self.accept()


def ask_for_cluster(
    clusters: Clusters, theme: ThemeManager, parent: QWidget, shown: Cluster | None = None, *, beside: bool = False
) -> None:
    """Let the user enter a cluster, or change ``shown``, and open it here or in another window."""
    dialog = ConnectDialog(parent, theme, shown=shown, secrets=clusters.secrets, known=clusters.connections)
    dialog.beside.setVisible(shown is None)
    dialog.beside.setChecked(beside)
    theme.dress(dialog)

    def go(cluster: Cluster) -> None:
        if dialog.beside.isChecked():
            clusters.open_beside(cluster, "")
        else:
            clusters.switch(cluster)

    dialog.chosen.connect(go)
    opened(dialog)


def ask_to_change(clusters: Clusters, theme: ThemeManager, parent: QWidget, cluster: Cluster) -> QDialog:
    """Let the user change a connection that is not shown, without opening it."""
    dialog = ConnectDialog(parent, theme, shown=cluster, secrets=clusters.secrets, known=clusters.connections)
    dialog.setWindowTitle(tr("Change a connection"))
    dialog.heading.setText(tr("Change a connection"))
    dialog.beside.hide()
    dialog.go.setText(tr("Save"))
    theme.dress(dialog)
    dialog.chosen.connect(partial(clusters.keep, cluster))
    return opened(dialog)


def ask_to_forget(clusters: Clusters, theme: ThemeManager, parent: QWidget, cluster: Cluster) -> ActionDialog:
    """Ask whether to delete a connection that is not shown; the dialog closes when it and its secrets are deleted."""
    effect = tr("Its way and its secrets are forgotten on this computer. Nothing is changed in the cluster.")
    if cluster.kind == EMBEDDED:
        effect = tr("It is only taken off this list: the folder and its messages stay.")
    plan = ActionPlan(
        title=tr("Delete the connection {name}?", name=cluster.name),
        facts=kept_pairs(cluster),
        effects=[effect],
        verb=tr("Delete 1 connection"),
        start=partial(clusters.forget, cluster),
        is_destructive=True,
        is_local=True,
    )
    dialog = ActionDialog(plan, theme, parent)
    theme.dress(dialog)
    return opened(dialog)
