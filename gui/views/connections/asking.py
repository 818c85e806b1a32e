"""Dialogs about connections: add, change and delete one."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QDialog, QWidget

from gui.connections.cluster import EMBEDDED, Cluster
from gui.operations.clusters import Clusters
from gui.theme.manager import ThemeManager
from gui.views.action_dialog import ActionDialog, ActionPlan
from gui.views.connections.connect_dialog import ConnectDialog
from gui.views.settings.connection_rows import kept_pairs
from gui.widgets.popups import opened
from gui.words.text import tr


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
    dialog.open()


def ask_to_change(clusters: Clusters, theme: ThemeManager, parent: QWidget, cluster: Cluster) -> QDialog:
    """Let the user change a connection that is not shown, without opening it."""
    dialog = ConnectDialog(parent, theme, shown=cluster, secrets=clusters.secrets, known=clusters.connections)
    dialog.setWindowTitle(tr("Change a connection"))
    dialog.heading.setText(tr("Change a connection"))
    dialog.beside.hide()
    dialog.go.setText(tr("Save"))
    theme.dress(dialog)
    dialog.chosen.connect(partial(clusters.keep, cluster))
    dialog.open()
    return dialog


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
