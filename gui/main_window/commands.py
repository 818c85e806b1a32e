"""`FrameCommands`: the commands of the frame, shared by menus, keys, palette and buttons.

`Palettes`: the command palette of each window of the program, made when it is first wanted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget

from gui.main_window import layout
from gui.main_window.close_question import Closing
from gui.main_window.frame_parts import FrameParts
from gui.main_window.links import on_cluster
from gui.main_window.navigation import Navigation
from gui.main_window.page_area import PINNED_MAX
from gui.main_window.panes import next_pane, toggle_detail
from gui.main_window.services import FrameServices
from gui.main_window.tray import Tray
from gui.processes.saved_options import default_store, read_saved
from gui.settings.values import DENSITY_KEY, SCALE_KEY, SCALES_PERCENT, SYSTEM_NOTICES_KEY, is_on, whole_number
from gui.theme.manager import ThemeMode
from gui.theme.tokens import Density
from gui.widgets.popups import opened
from gui.words.text import tr

if TYPE_CHECKING:
    from gui.main_window.palette import CommandPalette, PaletteEntry
    from gui.views.page import PageView


class Palettes:
    """One for the main window and one for each torn-off window, because a palette covers its own window."""

    def __init__(self, frame: FrameServices, navigation: Navigation) -> None:
        self._frame = frame
        self._navigation = navigation
        self._known: dict[QWidget, CommandPalette] = {}

    @property
    def active(self) -> CommandPalette:
        front = QApplication.activeWindow()
        host: QWidget = next((window for window in self._navigation.windows if window is front), self._frame.host)
        if host not in self._known:
            from gui.main_window.palette import CommandPalette

            self._known[host] = CommandPalette(self._frame.app.theme, host, self._entries)
        return self._known[host]

    def forget_with(self, host: QWidget) -> None:
        host.destroyed.connect(lambda _gone=None: self._known.pop(host, None))

    def _entries(self, query: str) -> list[PaletteEntry]:
        from gui.main_window.palette_entries import palette_entries

        return palette_entries(query, self._frame)


TAB_ACTIONS = (
    "window.pin_tab",
    "window.detach",
    "window.copy_link",
    "window.close_tab",
    "window.close_others",
    "window.reopen_tab",
)


class FrameCommands:
    def __init__(self, frame: FrameServices, parts: FrameParts, tray: Tray, restore_layout: Callable[[], None]) -> None:
        self._frame = frame
        self._parts = parts
        self._tray = tray
        self._restore_layout = restore_layout
        self.palettes = Palettes(frame, parts.navigation)
        self.closing = Closing(frame, tray)

    # ---- the window ------------------------------------------------------------------------------------------------

    @property
    def palette(self) -> CommandPalette:
        """Command palette of the active window."""
        return self.palettes.active

    def show_palette(self, text: str = "") -> None:
        """Open the command palette with a text in its field."""
        self.palette.popup(text)

    # ---- pages -----------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        self._parts.live.once()
        page = self._parts.navigation.current
        if page is not None:
            page.refresh()

    def focus_filter(self) -> None:
        page = self._parts.navigation.current
        if page is not None:
            page.focus_filter()

    def focus_navigation(self) -> None:
        bar = self._parts.side_bar
        bar.set_collapsed(False)
        bar.search.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def next_pane(self, by: int) -> None:
        """Move the focus to the next part of the window, or to the previous one."""
        parts = self._parts
        bars = (parts.tool_bar, parts.side_bar, parts.area.tabs, parts.status_bar)
        next_pane(parts.navigation.current, bars, by)

    def toggle_detail(self) -> None:
        page = self._parts.navigation.current
        if page is not None:
            toggle_detail(page)

    def explain(self) -> None:
        """Explain the figure that has the focus."""
        page = self._parts.navigation.current
        focus = QApplication.focusWidget()
        if page is None or focus is None or not page.isAncestorOf(focus) or not page.explain_part(focus):
            self._frame.notify(lambda: tr("Put the keyboard on a column, a tile or a chart first, or open the menu of one."))

    def close_other_tabs(self) -> None:
        page = self._parts.area.current
        if page is not None:
            self._parts.area.close_others(page)

    def toggle_pinned(self) -> None:
        """Pin the tab in front, so that links open their subjects elsewhere; or release it."""
        page = self._parts.area.current
        if page is not None and not self._parts.area.toggle_pinned(page):
            self._frame.notify(lambda: tr("{count} tabs are pinned. Release one first.", count=PINNED_MAX))

    def copy_link(self) -> None:
        shown = self._frame.app.clusters.attached
        self._copy(on_cluster(self._parts.navigation.link_here(), "" if shown is None else shown.address))

    def show_shortcuts(self) -> None:
        from gui.main_window.shortcut_sheet import ShortcutSheet

        sheet = ShortcutSheet(self._frame.actions.actions(), self._frame.host)
        self._frame.app.theme.dress(sheet)
        opened(sheet)

    # ---- broker ----------------------------------------------------------------------------------------------------

    def copy_address(self) -> None:
        self._copy(self._frame.address)

    def open_beside(self) -> None:
        """Open the menu of clusters for a new window."""
        from gui.main_window.menus import beside_menu

        app, button = self._frame.app, self._parts.tool_bar.cluster_button
        app.settings.sync()
        beside_menu(app.clusters, app.theme, self._frame.host).popup(button.mapToGlobal(button.rect().bottomLeft()))

    def no_window_beside(self) -> str:
        """Why no other cluster can be opened from here; empty where it can."""
        looks = self._frame.app.store_folder is not None
        return tr("this window looks at a store; open connections from a window that runs a broker") if looks else ""

    def choose_cluster(self) -> None:
        self._parts.tool_bar.cluster_button.click()

    def connect_to_cluster(self) -> None:
        from gui.views.connections.asking import ask_for_cluster

        ask_for_cluster(self._frame.app.clusters, self._frame.app.theme, self._frame.host)

    def open_store(self) -> None:
        from gui.main_window.menus import ask_for_store

        ask_for_store(self._frame.app.clusters, self._frame.app.theme, self._frame.host)

    def look_at_store(self) -> None:
        """Ask for a store directory to show read-only in a window of its own; no broker is started on it."""
        from gui.main_window.menus import ask_to_look

        ask_to_look(self._frame.app.theme, self._frame.host)

    def copy_between(self) -> None:
        """Open the dialog that copies topics between clusters, with the current topic filled in."""
        frame, app, backend = self._frame, self._frame.app, self._frame.backend()
        if backend is None:
            return
        from gui.main_window.copy_dialog import CopyDialog
        from gui.main_window.copy_ends import ends_of
        from gui.operations.message_job import MessageJob

        place = self._parts.navigation.places.current
        topic = place.arguments.get("topic", "") if place is not None else ""
        ends = ends_of(app.clusters, backend.source, str(read_saved(app.settings).store or default_store()))
        job = MessageJob(app.tasks, lambda: tr("Copy between clusters"))
        opened(CopyDialog(ends, app.theme, app.settings, job, frame.host, topics=str(topic)))

    # ---- look ------------------------------------------------------------------------------------------------------

    def toggle_side_bar(self) -> None:
        bar = self._parts.side_bar
        bar.set_collapsed(not bar.collapsed)

    def toggle_full_screen(self) -> None:
        host = self._frame.host
        host.setWindowState(host.windowState() ^ Qt.WindowState.WindowFullScreen)

    def set_theme_mode(self, mode: ThemeMode) -> None:
        app = self._frame.app
        app.theme.set_mode(mode)
        app.settings.setValue("theme", mode.value)
        self._parts.tool_bar.write()

    def set_density(self, density: Density) -> None:
        app = self._frame.app
        app.theme.set_density(density)
        app.settings.setValue(DENSITY_KEY, density.name.lower())

    def step_scale(self, by: int) -> None:
        """Change the scale; Qt applies it only at the start of the program."""
        settings = self._frame.app.settings
        percent = whole_number(settings, SCALE_KEY, SCALES_PERCENT[0])
        place = SCALES_PERCENT.index(percent) if percent in SCALES_PERCENT else 0
        percent = SCALES_PERCENT[max(0, min(place + by, len(SCALES_PERCENT) - 1))]
        settings.setValue(SCALE_KEY, percent)
        self._frame.notify(lambda: tr("Everything is shown at {percent} % from the next start on.", percent=percent))

    def toggle_system_notices(self) -> None:
        """Switch notices of the desktop for warnings on or off."""
        settings = self._frame.app.settings
        on = not is_on(settings, SYSTEM_NOTICES_KEY, default=True)
        settings.setValue(SYSTEM_NOTICES_KEY, on)
        self._frame.notify(lambda: tr("The desktop shows warnings too.") if on else tr("Warnings stay in this window."))

    def toggle_tray(self) -> None:
        """Switch between staying in the tray and ending when the window is closed."""
        tray = self._tray
        tray.want(stay=not tray.is_wanted)
        stays = tray.is_wanted
        self._frame.notify(
            lambda: tr("Closing the window leaves Orbit in the tray.") if stays else tr("Closing the window ends Orbit.")
        )

    def no_tray(self) -> str:
        """Why Orbit cannot stay in the tray; empty where it can."""
        return "" if self._tray.is_offered else tr("this desktop has no tray")

    def reset_layout(self) -> None:
        """Forget the layout and show the window as at its first start."""
        host, settings, side_bar = self._frame.host, self._frame.app.settings, self._parts.side_bar
        group = self._frame.app.clusters.settings_group
        self._parts.navigation.close_all()
        layout.forget(settings, group)
        host.showNormal()
        side_bar.set_collapsed(False)
        layout.restore_geometry(host, side_bar, settings, group)
        self._restore_layout()

    # ---- menus -----------------------------------------------------------------------------------------------------

    def popup_menu(self, at: QPoint) -> None:
        from gui.main_window.menus import action_menu

        action_menu(self._frame.actions, self._frame.app.theme, self._frame.host).popup(at)

    def popup_cluster_menu(self, at: QPoint) -> None:
        from gui.main_window.menus import cluster_menu

        frame, app = self._frame, self._frame.app
        app.settings.sync()  # other windows add connections
        cluster_menu(app.clusters, frame.address, frame.actions, app.theme, frame.host).popup(at)

    def popup_tab_menu(self, page: PageView, at: QPoint) -> None:
        """Bring a tab to the front and open its menu."""
        from gui.main_window.menus import add_action, window_menu

        frame, theme = self._frame, self._frame.app.theme
        self._parts.area.show_page(page)
        menu = window_menu(theme, frame.host)
        for action_id in TAB_ACTIONS:
            action = frame.actions.get(action_id)
            if action is not None:
                add_action(menu, action, frame.actions, theme)
        menu.popup(at)

    def _copy(self, text: str) -> None:
        if text:
            QGuiApplication.clipboard().setText(text)
            self._frame.notify(lambda: tr("{address} copied", address=text))
