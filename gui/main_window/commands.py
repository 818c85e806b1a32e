"""`FrameCommands`: what the user can ask of the frame, once each; menus, keys, palette and buttons all come here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from gui.main_window import layout
from gui.main_window.clusters import attached_cluster
from gui.main_window.links import on_cluster
from gui.main_window.notices import SYSTEM_KEY
from gui.main_window.panes import next_pane, toggle_detail
from gui.main_window.services import is_on, whole_number
from gui.processes.saved_options import default_store, read_saved
from gui.theme.manager import ThemeMode
from gui.theme.tokens import Density
from gui.words.text import tr

if TYPE_CHECKING:
    from gui.main_window.window import MainWindow
    from gui.views.page import PageView

DENSITY_KEY = "density"
SCALE_KEY = "scale_percent"
SCALES_PERCENT = (100, 125, 150, 175, 200)
TAB_ACTIONS = ("window.detach", "window.copy_link", "window.close_tab", "window.close_others", "window.reopen_tab")


class FrameCommands:
    """Acts on one window."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window

    # ---- pages -----------------------------------------------------------------------------------------------------

    def refresh(self) -> None:
        """Read the current page anew."""
        self._window.live.once()
        page = self._window.navigation.current
        if page is not None:
            page.refresh()

    def focus_filter(self) -> None:
        """Put the focus into the filter of the current page."""
        page = self._window.navigation.current
        if page is not None:
            page.focus_filter()

    def focus_navigation(self) -> None:
        """Put the focus into the search of the side bar."""
        bar = self._window.side_bar
        bar.set_collapsed(False)
        bar.search.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def next_pane(self, by: int) -> None:
        """Move the focus to the next part of the window, or the one before."""
        window = self._window
        parts = (window.tool_bar, window.side_bar, window.area.tabs, window.status_bar)
        next_pane(window.navigation.current, parts, by)

    def toggle_detail(self) -> None:
        """Show or hide the detail pane of the current page."""
        page = self._window.navigation.current
        if page is not None:
            toggle_detail(page)

    def explain(self) -> None:
        """Say what the figure is that the keyboard stands on."""
        page = self._window.navigation.current
        focus = QApplication.focusWidget()
        if page is None or focus is None or not page.isAncestorOf(focus) or not page.explain_part(focus):
            self._window.notify(lambda: tr("Put the keyboard on a column, a tile or a chart first, or open the menu of one."))

    def close_other_tabs(self) -> None:
        """Close all tabs but the current one."""
        page = self._window.area.current
        if page is not None:
            self._window.area.close_others(page)

    def copy_link(self) -> None:
        """Put the link to what is shown on the clipboard."""
        shown = attached_cluster(self._window.services.clusters)
        self._copy(on_cluster(self._window.navigation.link_here(), "" if shown is None else shown.address))

    def show_shortcuts(self) -> None:
        """Open the shortcut sheet."""
        from gui.main_window.shortcut_sheet import ShortcutSheet  # noqa: PLC0415  the frame is on screen before

        sheet = ShortcutSheet(self._window.actions_known.actions(), self._window)
        self._window.services.theme.dress(sheet)
        sheet.open()

    # ---- broker ----------------------------------------------------------------------------------------------------

    def copy_address(self) -> None:
        """Put the name server address on the clipboard."""
        self._copy(self._window.ready_address)

    def open_beside(self) -> None:
        """Let the user choose what a window of its own shows."""
        from gui.main_window.menus import beside_menu  # noqa: PLC0415  as in show_shortcuts

        window, services = self._window, self._window.services
        services.settings.sync()
        button = window.tool_bar.cluster_button
        beside_menu(services.clusters, services.theme, window).popup(button.mapToGlobal(button.rect().bottomLeft()))

    def no_window_beside(self) -> str:
        """Why no other cluster can be opened from here; empty where one can."""
        looks = self._window.services.store_folder is not None
        return tr("this window looks at a store; open connections from a window that runs a broker") if looks else ""

    def choose_cluster(self) -> None:
        """Open the cluster switcher."""
        self._window.tool_bar.cluster_button.click()

    def connect_to_cluster(self) -> None:
        """Ask for a cluster that runs elsewhere."""
        from gui.main_window.menus import ask_for_cluster  # noqa: PLC0415  as in show_shortcuts

        ask_for_cluster(self._window.services.clusters, self._window.services.theme, self._window)

    def open_store(self) -> None:
        """Ask for the store of another embedded broker."""
        from gui.main_window.menus import ask_for_store  # noqa: PLC0415  as in show_shortcuts

        ask_for_store(self._window.services.clusters, self._window.services.theme, self._window)

    def look_at_store(self) -> None:
        """Ask for a store directory, to look at it in a window of its own; no broker is started on it."""
        from gui.main_window.menus import ask_to_look  # noqa: PLC0415  as in show_shortcuts

        ask_to_look(self._window.services.theme, self._window)

    def copy_between(self) -> None:
        """Open the dialog that copies topics of one cluster to another, with the topic that is looked at."""
        window, services = self._window, self._window.services
        if window.backend is None:
            return
        from gui.main_window.copy_dialog import CopyDialog  # noqa: PLC0415  brings QProcess, which the frame does without
        from gui.main_window.copy_ends import ends_of  # noqa: PLC0415  as above
        from gui.operations.message_job import MessageJob  # noqa: PLC0415  as above

        place = window.navigation.places.current
        topic = place.arguments.get("topic", "") if place is not None else ""
        ends = ends_of(services.clusters, window.backend.source, str(read_saved(services.settings).store or default_store()))
        job = MessageJob(services.tasks, lambda: tr("Copy between clusters"), window)
        dialog = CopyDialog(ends, services.theme, services.settings, job, window, topics=str(topic))
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()

    # ---- look ------------------------------------------------------------------------------------------------------

    def toggle_side_bar(self) -> None:
        """Show the side bar as icons, or whole."""
        bar = self._window.side_bar
        bar.set_collapsed(not bar.collapsed)

    def toggle_full_screen(self) -> None:
        """Fill the screen, or not."""
        self._window.setWindowState(self._window.windowState() ^ Qt.WindowState.WindowFullScreen)

    def toggle_utc(self) -> None:
        """Show local time or UTC."""
        self._window.services.times.toggle()

    def set_theme_mode(self, mode: ThemeMode) -> None:
        """Change the theme and remember it."""
        services = self._window.services
        services.theme.set_mode(mode)
        services.settings.setValue("theme", mode.value)
        self._window.tool_bar.write()

    def set_density(self, density: Density) -> None:
        """Change how high the rows of tables are, and remember it."""
        services = self._window.services
        services.theme.set_density(density)
        services.settings.setValue(DENSITY_KEY, density.name.lower())

    def step_scale(self, by: int) -> None:
        """Show everything larger or smaller; Qt takes it at the start of the program only."""
        settings = self._window.services.settings
        percent = whole_number(settings, SCALE_KEY, SCALES_PERCENT[0])
        place = SCALES_PERCENT.index(percent) if percent in SCALES_PERCENT else 0
        percent = SCALES_PERCENT[max(0, min(place + by, len(SCALES_PERCENT) - 1))]
        settings.setValue(SCALE_KEY, percent)
        self._window.notify(lambda: tr("Everything is shown at {percent} % from the next start on.", percent=percent))

    def ask_language(self, language: str) -> None:
        """Change the language."""
        self._window.services.set_language(language)

    def toggle_system_notices(self) -> None:
        """Let the desktop tell of warnings too, or not."""
        settings = self._window.services.settings
        on = not is_on(settings, SYSTEM_KEY, default=True)
        settings.setValue(SYSTEM_KEY, on)
        self._window.notify(lambda: tr("The desktop tells of warnings too.") if on else tr("Warnings stay in this window."))

    def toggle_tray(self) -> None:
        """Stay in the tray when the window is closed, or end."""
        tray = self._window.tray
        tray.want(stay=not tray.is_wanted)
        stays = tray.is_wanted
        self._window.notify(
            lambda: tr("Closing the window leaves Orbit in the tray.") if stays else tr("Closing the window ends Orbit.")
        )

    def no_tray(self) -> str:
        """Why Orbit cannot stay in the tray; empty where it can."""
        return "" if self._window.tray.is_offered else tr("this desktop has no tray")

    def reset_layout(self) -> None:
        """Forget the layout, and show the window as at its first start."""
        window = self._window
        window.navigation.close_all()
        layout.forget(window.services.settings, window.settings_group)
        window.showNormal()
        window.side_bar.set_collapsed(False)
        layout.restore_geometry(window, window.services.settings, window.settings_group)
        window.restore_layout()

    # ---- menus -----------------------------------------------------------------------------------------------------

    def popup_menu(self, at: QPoint) -> None:
        """Open the menu of all actions."""
        from gui.main_window.menus import action_menu  # noqa: PLC0415  as in show_shortcuts

        action_menu(self._window.actions_known, self._window.services.theme, self._window).popup(at)

    def popup_cluster_menu(self, at: QPoint) -> None:
        """Open the cluster switcher at a place."""
        from gui.main_window.menus import cluster_menu  # noqa: PLC0415  as in show_shortcuts

        window, services = self._window, self._window.services
        services.settings.sync()  # other windows add connections
        cluster_menu(services.clusters, window.ready_address, window.actions_known, services.theme, window).popup(at)

    def popup_tab_menu(self, page: PageView, at: QPoint) -> None:
        """Open the menu of a tab, which comes to the front."""
        from gui.main_window.menus import add_action, window_menu  # noqa: PLC0415  as in show_shortcuts

        window = self._window
        window.area.show_page(page)
        menu = window_menu(window.services.theme, window)
        for action_id in TAB_ACTIONS:
            action = window.actions_known.get(action_id)
            if action is not None:
                add_action(menu, action, window.actions_known, window.services.theme)
        menu.popup(at)

    def _copy(self, text: str) -> None:
        if text:
            QGuiApplication.clipboard().setText(text)
            self._window.notify(lambda: tr("{address} copied", address=text))
