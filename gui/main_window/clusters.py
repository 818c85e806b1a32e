"""What the cluster switcher needs, and the colours of connections; the connections themselves are `gui.connections`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from PySide6.QtGui import QColor, QIcon, QPixmap

from gui.connections import ATTACHED, Cluster
from gui.operations.secret_desk import SecretDesk

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


@dataclass(frozen=True, slots=True)
class Clusters:
    """What the switcher needs: what is known, and how to go there. Made by `gui.app`."""

    title: str = "Embedded"
    """English; how the current one is called in the tool bar."""
    known: Callable[[], Sequence[Cluster]] = field(default=_nothing_known)
    """The current one first, then as they were last used."""
    switch: Callable[[Cluster], None] = field(default=_cannot_switch)
    forget: Callable[[Cluster], None] = field(default=_cannot_switch)
    """Takes an attached one, and its secrets, off the list."""
    secrets: SecretDesk | None = None
    """Where secrets of connections are kept; None where there are no connections."""


def attached_cluster(clusters: Clusters) -> Cluster | None:
    """The cluster that is shown, if it runs elsewhere."""
    shown = next(iter(clusters.known()), None)
    return shown if shown is not None and shown.kind == ATTACHED else None
