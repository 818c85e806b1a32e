"""The menus of the tool bar: all actions by section, and the cluster switcher."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QWidget

from gui.connections.cluster import ATTACHED, EMBEDDED, Cluster
from gui.operations.actions import Action, ActionRegistry
from gui.operations.clusters import Clusters, colour_icon, show_cluster
from gui.operations.key_choices import shown as key_text
from gui.theme.icons import icon
from gui.theme.manager import ThemeManager
from gui.theme.tokens import mix
from gui.views.connections.asking import ask_for_cluster, ask_to_forget
from gui.widgets.popups import ask_folder, new_menu
from gui.widgets.saved_menu import menu_name
from gui.words.plain_text import tip_text
from gui.words.text import tr

MENUS = ("File", "Edit", "View", "Broker", "Topic", "Message", "Tools", "Window", "Help")
"""English menu names in order; an empty menu is not shown."""
DIRECT_ACTIONS = (
    ("file.palette", "message.send", "message.search", "topic.new"),
    ("file.open_beside", "broker.open_store", "broker.copy"),
    ("window.reopen_tab", "help.shortcuts"),
)
"""Actions of the menu itself, group by group."""
CLUSTER_ACTIONS = ("broker.copy_address", "broker.restart")


def action_menu(registry: ActionRegistry, theme: ThemeManager, parent: QWidget) -> QMenu:
    """All actions by section, below those that are wanted most, so that these are one click away."""
    menu = window_menu(theme, parent)
    for ids in DIRECT_ACTIONS:
        for action in _known_actions(registry, ids):
            add_action(menu, action, registry, theme)
        menu.addSeparator()
    known = registry.actions()
    for section in dict.fromkeys([*MENUS, *(action.section for action in known)]):
        members = [action for action in known if action.section == section]
        if members:
            part = menu.addMenu(tr(section))
            for action in members:
                add_action(part, action, registry, theme)
    return menu


def add_action(menu: QMenu, action: Action, registry: ActionRegistry, theme: ThemeManager) -> None:
    """Add an action of the registry to a menu; a blocked one is grey and its tool tip says why."""
    tokens = theme.tokens
    made = menu.addAction(action.text)
    if action.icon:
        made.setIcon(icon(action.icon, tokens.text_2, disabled=mix(tokens.text_3, tokens.panel, 60)))
    if action.shortcut:
        made.setText(f"{action.text}\t{key_text(action.shortcut)}")
    reason = action.blocked()
    made.setEnabled(not reason)
    made.setToolTip(tip_text(reason))
    made.triggered.connect(lambda _checked=False: registry.run(action.action_id))


def cluster_menu(clusters: Clusters, address: str, registry: ActionRegistry, theme: ThemeManager, parent: QWidget) -> QMenu:
    """The cluster switcher: known clusters, the current one ticked, and their commands."""
    menu = window_menu(theme, parent)
    menu.setToolTipsVisible(True)
    known = clusters.known()
    for place, cluster in enumerate(known):
        text = f"{cluster.name}  {address}".strip() if place == 0 else cluster.name
        tip = cluster.address if place == 0 else tr("{address}; with Ctrl in a window of its own", address=cluster.address)
        made = _add_choice(menu, text, tip, current=place == 0, run=partial(show_cluster, clusters, cluster))
        made.setIcon(colour_icon(cluster.colour))
    if not known:
        _add_choice(menu, f"{tr(clusters.title)}  {address}".strip(), "", current=True, run=None)
    menu.addSeparator()
    tokens = theme.tokens
    other = menu.addAction(icon("folder-open", tokens.text_2), tr("Open another store…"))
    other.triggered.connect(lambda _checked=False: ask_for_store(clusters, theme, parent))
    attach = menu.addAction(icon("globe", tokens.text_2), tr("Connect to a cluster…"))
    attach.triggered.connect(lambda _checked=False: ask_for_cluster(clusters, theme, parent))
    if known:
        _fill_beside(menu.addMenu(tr("In a window of its own")), clusters, theme, parent)
    _add_connection_entries(menu, clusters, theme, parent)
    menu.addSeparator()
    for action in _known_actions(registry, CLUSTER_ACTIONS):
        add_action(menu, action, registry, theme)
    return menu


def beside_menu(clusters: Clusters, theme: ThemeManager, parent: QWidget) -> QMenu:
    """Clusters for a window of their own: all known except the current one, and a new connection."""
    menu = window_menu(theme, parent)
    _fill_beside(menu, clusters, theme, parent)
    return menu


def _fill_beside(menu: QMenu, clusters: Clusters, theme: ThemeManager, parent: QWidget) -> None:
    menu.setToolTipsVisible(True)
    for cluster in clusters.known()[1:]:
        show = partial(clusters.open_beside, cluster, "")
        made = _add_choice(menu, cluster.name, cluster.address, current=False, run=show)
        made.setCheckable(False)
        made.setIcon(colour_icon(cluster.colour))
    menu.addSeparator()
    attach = menu.addAction(icon("globe", theme.tokens.text_2), tr("Connect to a cluster…"))
    attach.triggered.connect(lambda _checked=False: ask_for_cluster(clusters, theme, parent, beside=True))


def _add_connection_entries(menu: QMenu, clusters: Clusters, theme: ThemeManager, parent: QWidget) -> None:
    shown = clusters.attached
    if shown is not None:
        edit = menu.addAction(icon("gear-six", theme.tokens.text_2), tr("Change this connection…"))
        edit.triggered.connect(lambda _checked=False: ask_for_cluster(clusters, theme, parent, shown))
    others = [cluster for cluster in clusters.known()[1:] if cluster.kind == ATTACHED]
    if others:
        forgotten = menu.addMenu(tr("Forget a connection"))
        for cluster in others:
            ask = partial(ask_to_forget, clusters, theme, parent, cluster)
            _add_choice(forgotten, f"{cluster.name}…", cluster.address, current=False, run=ask)


def ask_for_store(clusters: Clusters, theme: ThemeManager, parent: QWidget) -> None:
    """Ask for the directory of a store and open it."""
    title = tr("Folder of a store; an empty one begins a new store")
    theme.dress(ask_folder(parent, title, lambda path: clusters.switch(Cluster(EMBEDDED, path))))


def ask_to_look(theme: ThemeManager, parent: QWidget) -> None:
    """Ask for the directory of any store and show it read-only in a window of its own."""
    from gui.processes.program import start_window

    theme.dress(ask_folder(parent, tr("Folder of a store"), lambda path: start_window(["--open-store", path])))


def window_menu(theme: ThemeManager, parent: QWidget) -> QMenu:
    """An empty menu of a window, deleted when it closes."""
    menu = new_menu(parent)
    theme.dress(menu)
    return menu


def _add_choice(menu: QMenu, text: str, tip: str, *, current: bool, run: Callable[[], object] | None) -> QAction:
    made = menu.addAction(menu_name(text))
    made.setToolTip(tip_text(tip))
    made.setCheckable(True)
    made.setChecked(current)
    if run is not None and not current:
        made.triggered.connect(lambda _checked=False: run())
    return made


def _known_actions(registry: ActionRegistry, ids: Sequence[str]) -> list[Action]:
    return [action for action in map(registry.get, ids) if action is not None]
