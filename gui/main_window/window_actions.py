"""The actions of the frame itself; pages add their own to the registry."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gui.operations.actions import Action
from gui.text import LANGUAGES, tr
from gui.theme.manager import ThemeMode

if TYPE_CHECKING:
    from gui.main_window.window import MainWindow

MENUS = ("File", "Edit", "View", "Broker", "Topic", "Message", "Tools", "Window", "Help")
"""English menu names in their order; one without actions is not shown."""


def window_actions(window: MainWindow) -> list[Action]:
    """Everything that the frame can do."""
    return [*_go(window), *_view(window), *_broker(window), *_tabs(window), *_help(window)]


def _go(window: MainWindow) -> list[Action]:
    pages = [entry for entry in window.page_entries if entry.in_side_bar]
    made = [
        Action("file.palette", "Go to or run…", window.show_palette, "File", "magnifying-glass", "Ctrl+K"),
        Action("file.back", "Back", window.go_back, "File", "caret-left", "Alt+Left"),
        Action("file.forward", "Forward", window.go_forward, "File", "caret-right", "Alt+Right"),
        Action("file.quit", "Quit", window.ask_close, "File", "x", "Ctrl+Q"),
        Action("edit.filter", "Filter", window.focus_filter, "Edit", "funnel", "Ctrl+F"),
    ]
    for place, entry in enumerate(pages[:9], start=1):
        made.append(
            Action(
                f"page.{entry.page_id}",
                entry.title,
                partial(window.navigate, entry.page_id),
                "View",
                entry.icon,
                f"Ctrl+{place}",
            )
        )
    return made


def _view(window: MainWindow) -> list[Action]:
    themes = (
        (ThemeMode.SYSTEM, "Theme: follow the system", "monitor"),
        (ThemeMode.LIGHT, "Theme: light", "sun"),
        (ThemeMode.DARK, "Theme: dark", "moon"),
    )
    return [
        Action("view.pause", "Pause or go on", window.live.toggle, "View", "pause", "Space"),
        Action("view.refresh", "Refresh", window.refresh, "View", "arrow-clockwise", "F5"),
        Action("view.side_bar", "Collapse or expand the side bar", window.toggle_side_bar, "View", "sidebar-simple", "Ctrl+B"),
        Action("view.utc", "Local time or UTC", window.toggle_utc, "View", "globe", "Ctrl+U"),
        Action("view.full_screen", "Full screen", window.toggle_full_screen, "View", "monitor", "F11"),
        *(
            Action(f"view.theme.{mode.value}", title, partial(window.set_theme_mode, mode), "View", glyph)
            for mode, title, glyph in themes
        ),
        *(
            Action(f"view.language.{code}", f"Language: {name}", partial(window.ask_language, code), "View", "translate")
            for code, name in LANGUAGES.items()
        ),
    ]


def _broker(window: MainWindow) -> list[Action]:
    def not_running() -> str:
        return "" if window.ready_address else tr("the broker is not running")

    return [
        Action(
            "broker.copy_address", "Copy the name server address", window.copy_address, "Broker", "copy", blocked=not_running
        ),
        Action("broker.restart", "Restart the broker", window.restart_broker, "Broker", "arrow-clockwise"),
    ]


def _tabs(window: MainWindow) -> list[Action]:
    return [
        Action("window.next_tab", "Next tab", partial(window.area.step, 1), "Window", "caret-right", "Ctrl+Tab"),
        Action("window.previous_tab", "Previous tab", partial(window.area.step, -1), "Window", "caret-left", "Ctrl+Shift+Tab"),
        Action("window.close_tab", "Close the tab", window.close_tab, "Window", "x", "Ctrl+W"),
    ]


def _help(window: MainWindow) -> list[Action]:
    made = [Action("help.shortcuts", "Keyboard shortcuts", window.show_shortcuts, "Help", "keyboard", "?")]
    if any(entry.page_id == "welcome" for entry in window.page_entries):
        made.insert(0, Action("help.welcome", "Welcome", partial(window.navigate, "welcome"), "Help", "rocket-launch"))
    return made
