"""`ElsewhereBar`: what can be shown instead of this broker: a running cluster, a store in a folder, recent ones."""

from __future__ import annotations

from functools import partial

from PySide6.QtWidgets import QWidget

from gui.connections.cluster import ATTACHED, Cluster
from gui.operations.actions import ActionRegistry
from gui.operations.clusters import Clusters, show_cluster
from gui.theme.manager import ThemeManager
from gui.widgets.basic import IconButton, IconLabel, Line, fill, row, take_out
from gui.widgets.panel import Panel
from gui.widgets.said import on_language, said, said_label
from gui.widgets.saved_menu import menu_text
from gui.words.plain_text import tip_text
from gui.words.text import tr

RECENT_MAX = 3
"""Recent entries that fit beside the three ways in at 1,280 px; the switcher has all."""
NAME_CHARACTERS_MAX = 22
CONNECT, OPEN_STORE, LOOK, SWITCH = "broker.connect", "broker.open_store", "file.look_at_store", "broker.switch"


class ElsewhereBar(Panel):
    """One line of ways in, and one of recent clusters, if there are any."""

    def __init__(self, theme: ThemeManager, clusters: Clusters, actions: ActionRegistry) -> None:
        super().__init__()
        self._theme = theme
        self._clusters = clusters
        self._actions = actions
        self._known: list[Cluster] = []
        self._title = said_label("Or show something else", "card-title")
        self.connect_button = said(self._way("share-network", CONNECT), text="Connect to a cluster…")
        self.open_button = said(
            self._way("folder-open", OPEN_STORE),
            text="Open another store…",
            tip="Folder of a store; an empty one begins a new store",
        )
        self.look_button = said(
            self._way("database", LOOK),
            text="Open store, read-only…",
            tip="Of any RocketMQ broker: no broker runs on it, and not a byte is changed.",
        )
        self._recent_title = said_label("Shown before")
        self.recent: list[IconButton] = []
        self.more_button = self._way("", SWITCH, role="link")
        self._recent_line = row(self._recent_title, self.more_button, 1, spacing=8)
        self._recent_row = QWidget()
        self._recent_row.setLayout(self._recent_line)
        self.content.setContentsMargins(18, 10, 18, 10)
        ways = row(
            IconLabel(self._theme, "arrow-square-out", "accent", 18),
            self._title,
            1,
            self.connect_button,
            self.open_button,
            self.look_button,
            spacing=10,
        )
        self.content.addLayout(ways)
        self._rule = Line()
        fill(self.content, self._rule, self._recent_row)
        on_language(self, self._fill)

    def show_known(self) -> None:
        """List recent clusters; hidden where this window has one cluster only."""
        known = list(self._clusters.known())
        self.setVisible(bool(known))
        if known[1:] != self._known:
            self._known = known[1:]
            self._fill()

    def _way(self, glyph: str, action_id: str, role: str = "") -> IconButton:
        return IconButton(self._theme, glyph, " ", role=role, on_click=lambda: self._actions.run(action_id))

    def _fill(self) -> None:
        take_out(self._recent_line, *self.recent)
        self.recent = [self._button(cluster) for cluster in self._known[:RECENT_MAX]]
        for place, button in enumerate(self.recent, start=1):
            self._recent_line.insertWidget(place, button)
        more = len(self._known) - len(self.recent)
        self.more_button.setText(tr("and {count} more", count=more))
        self.more_button.setVisible(more > 0)
        for part in (self._rule, self._recent_row):
            part.setVisible(bool(self.recent))

    def _button(self, cluster: Cluster) -> IconButton:
        glyph = "share-network" if cluster.kind == ATTACHED else "database"
        button = IconButton(self._theme, glyph, menu_text(cluster.name, NAME_CHARACTERS_MAX), role="quiet")
        button.setToolTip(tip_text(tr("{address}; with Ctrl in a window of its own", address=cluster.address)))
        kind = tr("Cluster") if cluster.kind == ATTACHED else tr("Store")
        button.setAccessibleName(f"{kind}: {cluster.name}")
        button.clicked.connect(partial(self._show, cluster))
        return button

    def _show(self, cluster: Cluster, _checked: bool = False) -> None:
        show_cluster(self._clusters, cluster)
