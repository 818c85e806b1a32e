"""The actions of the frame itself; pages add their own to the registry."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gui.operations.actions import Action
from gui.text import LANGUAGES, tr
from gui.theme.manager import ThemeMode

if TYPE_CHECKING:
    from gui.bridge.demo import DemoController
    from gui.main_window.window import MainWindow
    from gui.operations.reports import ReportRunner

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


def _not_running(window: MainWindow) -> str:
    return "" if window.ready_address else tr("the broker is not running")


def _broker(window: MainWindow) -> list[Action]:
    blocked = partial(_not_running, window)
    made = [
        Action("broker.copy_address", "Copy the name server address", window.copy_address, "Broker", "copy", blocked=blocked),
        Action("broker.restart", "Restart the broker", window.restart_broker, "Broker", "arrow-clockwise"),
    ]
    if _has_page(window, "topics"):
        new = partial(window.navigate, "topics", create=True)
        made.append(Action("topic.new", "New topic", new, "Topic", "plus", "Ctrl+Shift+N", blocked))
    if _has_page(window, "messages"):
        send = partial(window.navigate, "messages", send=True)
        made.append(Action("message.send", "Send message", send, "Message", "paper-plane-tilt", "Ctrl+N", blocked))
    if _has_page(window, "delay"):
        timers = partial(window.navigate, "delay", show="timers")
        made.append(Action("delay.timers", "Show messages with a time of their own", timers, "Message", "timer"))
    if _has_page(window, "transactions"):
        for name, title in (("given up", "Show given-up transactions"), ("atomic", "Show atomic transactions")):
            show = partial(window.navigate, "transactions", show=name)
            made.append(Action(f"transactions.{name.replace(' ', '_')}", title, show, "Message", "arrows-left-right"))
    return made


def _has_page(window: MainWindow, page_id: str) -> bool:
    return any(entry.page_id == page_id for entry in window.page_entries)


def backend_actions(window: MainWindow, demo: DemoController, reports: ReportRunner) -> list[Action]:
    """What can be done once the window has its backend: the demo, and each report of the catalogue."""
    from gui.bridge.demo import DemoPace  # noqa: PLC0415  the frame is on screen before
    from gui.operations.demo import play_demo  # noqa: PLC0415  as above
    from spark_reports import catalog  # noqa: PLC0415  as above

    def play() -> None:
        play_demo(demo, window.tasks, window.ready_address, DemoPace.NORMAL)

    def cannot_play() -> str:
        return tr("the demo plays already") if demo.is_running else _not_running(window)

    def cannot_stop() -> str:
        return "" if demo.is_running and not demo.is_stopping else tr("the demo does not play")

    def cannot_report() -> str:
        return tr("another report is running") if reports.is_running else _not_running(window)

    made = [
        Action("demo.play", "Play a demo", play, "Tools", "play", blocked=cannot_play),
        Action("demo.stop", "Stop the demo", demo.stop, "Tools", "stop", blocked=cannot_stop),
    ]
    if _has_page(window, "reports"):
        for spec in catalog.reports():
            run = partial(window.navigate, "reports", report=spec.name, run=True)
            made.append(
                Action(
                    f"report.{spec.name}", "Run report: {subject}", run, "Tools", "chart-bar",
                    blocked=cannot_report, subject=spec.title,
                )
            )  # fmt: skip
    return made


def _tabs(window: MainWindow) -> list[Action]:
    return [
        Action("window.next_tab", "Next tab", partial(window.area.step, 1), "Window", "caret-right", "Ctrl+Tab"),
        Action("window.previous_tab", "Previous tab", partial(window.area.step, -1), "Window", "caret-left", "Ctrl+Shift+Tab"),
        Action("window.close_tab", "Close the tab", window.close_tab, "Window", "x", "Ctrl+W"),
    ]


def _help(window: MainWindow) -> list[Action]:
    made = [Action("help.shortcuts", "Keyboard shortcuts", window.show_shortcuts, "Help", "keyboard", "?")]
    if _has_page(window, "welcome"):
        made.insert(0, Action("help.welcome", "Welcome", partial(window.navigate, "welcome"), "Help", "rocket-launch"))
    return made
