"""What the cluster switcher needs, and the colours of connections; the connections themselves are `gui.connections.cluster`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QIcon, QPixmap

from gui.connections.cluster import ATTACHED, Cluster, own_group
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


def _nothing_known() -> Sequence[Cluster]:
    return ()


def _cannot_switch(_cluster: Cluster) -> None:
    """A window that has one cluster only."""


def _cannot_open(_cluster: Cluster, _link: str) -> None:
    """As above."""


def _cannot_change(_before: Cluster, _cluster: Cluster) -> None:
    """As above."""


def _cannot_forget(_cluster: Cluster) -> Pending[None]:
    raise AssertionError("a window that has one cluster only has none to forget")


@dataclass(frozen=True, slots=True)
class Clusters:
    """What the switcher needs: what is known, and how to go there. Made by `gui.app.console`."""

    title: str = "Embedded"
    """English; how the current one is called in the tool bar."""
    known: Callable[[], Sequence[Cluster]] = field(default=_nothing_known)
    """The current one first, then as they were last used."""
    switch: Callable[[Cluster], None] = field(default=_cannot_switch)
    open_beside: Callable[[Cluster, str], None] = field(default=_cannot_open)
    """Shows one in a window of its own, at a link unless that is empty; the window that shows it already comes to the front."""
    forget: Callable[[Cluster], Pending[None]] = field(default=_cannot_forget)
    """Takes one that is not shown off the list, of an attached one once its secrets are gone."""
    keep: Callable[[Cluster, Cluster], None] = field(default=_cannot_change)
    """Changes a connection that is not shown: as it was, as it is to be."""
    secrets: SecretDesk | None = None
    """Where secrets of connections are kept; None where there are no connections."""

    @property
    def attached(self) -> Cluster | None:
        """The cluster that is shown, if it runs elsewhere."""
        shown = next(iter(self.known()), None)
        return shown if shown is not None and shown.kind == ATTACHED else None

    @property
    def settings_group(self) -> str:
        """Where the settings keep what belongs to the shown cluster alone; empty for embedded ones."""
        shown = self.attached
        return "" if shown is None else own_group(shown.kept_under)

    @property
    def connections(self) -> list[Cluster]:
        """Known clusters that run elsewhere."""
        return [one for one in self.known() if one.kind == ATTACHED]

    def at(self, name_servers: str) -> Cluster | None:
        """The known connection to some name servers, or the one that had them when a link was made."""
        found = (one for one in self.connections if one.address == name_servers)
        return next(found, None) or next((one for one in self.connections if one.kept_under == name_servers), None)


def show_cluster(clusters: Clusters, cluster: Cluster) -> None:
    """Show a cluster here, or with Ctrl held in a window of its own."""
    if QGuiApplication.keyboardModifiers() & Qt.KeyboardModifier.ControlModifier:
        clusters.open_beside(cluster, "")
    else:
        clusters.switch(cluster)
