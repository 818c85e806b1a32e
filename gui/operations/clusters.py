"""Services of the cluster switcher, and the colours of connections; `gui.connections.cluster` has the connections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPixmap

from gui.connections.cluster import ATTACHED, Cluster, own_group, same_servers
from gui.operations.secret_desk import SecretDesk

if TYPE_CHECKING:
    from monitoring.sources.base import Pending

_ICON_PIXELS = 12


def colour_icon(colour: str) -> QIcon:
    """A square of a connection's colour; nothing for none."""
    if not QColor.isValidColorName(colour):
        return QIcon()
    square = QPixmap(_ICON_PIXELS, _ICON_PIXELS)
    square.fill(QColor(colour))
    return QIcon(square)


def _cannot_forget(_cluster: Cluster) -> Pending[None]:
    raise AssertionError("a window that has one cluster only has none to forget")


@dataclass(frozen=True, slots=True)
class Clusters:
    """Known clusters and how to show them. Made by `gui.app.console`."""

    title: str = "Embedded"
    """English name of the current one in the tool bar."""
    known: Callable[[], Sequence[Cluster]] = field(default=tuple)
    """The current one first, then the others, last used first."""
    switch: Callable[[Cluster], None] = field(default=lambda _cluster: None)
    open_beside: Callable[[Cluster, str], None] = field(default=lambda _cluster, _link: None)
    """Shows one in a window of its own, at a link unless that is empty; a window that shows it already comes to the front."""
    forget: Callable[[Cluster], Pending[None]] = field(default=_cannot_forget)
    """Removes one that is not shown from the list, an attached one after its secrets."""
    keep: Callable[[Cluster, Cluster], None] = field(default=lambda _before, _cluster: None)
    """Changes a connection that is not shown: (old, new)."""
    secrets: SecretDesk | None = None
    """Secrets of connections; None where there are no connections."""

    @property
    def attached(self) -> Cluster | None:
        """The shown cluster, if it is attached."""
        shown = next(iter(self.known()), None)
        return shown if shown is not None and shown.kind == ATTACHED else None

    @property
    def settings_group(self) -> str:
        """Settings group of the shown cluster; empty for embedded ones."""
        shown = self.attached
        return "" if shown is None else own_group(shown.kept_under)

    @property
    def connections(self) -> list[Cluster]:
        return [one for one in self.known() if one.kind == ATTACHED]

    def at(self, place: str) -> Cluster | None:
        """The known connection to these name servers, the one that had them when a link was made, or the one of this name."""
        orders: tuple[Callable[[Cluster], bool], ...] = (
            lambda one: same_servers(one.address, place),
            lambda one: one.kept_under == place,
            lambda one: one.title == place,
        )
        return next((one for fits in orders for one in self.connections if fits(one)), None)


def show_cluster(clusters: Clusters, cluster: Cluster) -> None:
    """Show a cluster here, or with Ctrl held in a window of its own."""
    if QGuiApplication.keyboardModifiers() & Qt.KeyboardModifier.ControlModifier:
        clusters.open_beside(cluster, "")
    else:
        clusters.switch(cluster)
