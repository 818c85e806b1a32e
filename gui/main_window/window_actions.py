"""The actions of the frame; pages add their own to the registry."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gui.main_window.commands import FrameCommands
from gui.main_window.frame_parts import FrameParts
from gui.main_window.services import FrameServices
from gui.operations.actions import Action
from gui.theme.manager import ThemeMode
from gui.theme.tokens import Density
from gui.words.text import LANGUAGES, tr

if TYPE_CHECKING:
    from gui.operations.reports import ReportRunner
    from gui.processes.demo import DemoController

DENSITY_TITLES = {
    Density.COMPACT: "Rows: compact",
    Density.NORMAL: "Rows: standard",
    Density.ROOMY: "Rows: roomy",
}


def window_actions(frame: FrameServices, parts: FrameParts, commands: FrameCommands) -> list[Action]:
    return [
        *_go(frame, parts, commands),
        *_view(frame, parts, commands),
        *_look(frame, commands),
        *_broker(frame, commands),
        *_tabs(parts, commands),
        *_help(frame, commands),
    ]


def _go(frame: FrameServices, parts: FrameParts, commands: FrameCommands) -> list[Action]:
    pages = [entry for entry in frame.app.pages if entry.in_side_bar]
    made = [
        Action("file.palette", "Go to or run…", commands.show_palette, "File", "magnifying-glass", "Ctrl+K"),
        Action("file.back", "Back", parts.navigation.back, "File", "caret-left", "Alt+Left"),
        Action("file.forward", "Forward", parts.navigation.forward, "File", "caret-right", "Alt+Right"),
        Action("file.look_at_store", "Open store, read-only…", commands.look_at_store, "File", "folder-open", "Ctrl+Shift+O"),
        Action(
            "file.open_beside",
            "New window on connection…",
            commands.open_beside,
            "File",
            "arrow-square-out",
            "Ctrl+Alt+N",
            commands.no_window_beside,
        ),
        Action("file.quit", "Quit", commands.closing.ask, "File", "x", "Ctrl+Q"),
        Action("edit.filter", "Filter", commands.focus_filter, "Edit", "funnel", "Ctrl+F"),
        Action("file.find_page", "Find a page", commands.focus_navigation, "File", "sidebar-simple", "Ctrl+J"),
        Action("file.next_pane", "Next part of the window", partial(commands.next_pane, 1), "View", "arrow-right", "F6"),
        Action("file.previous_pane", "Previous part of the window", partial(commands.next_pane, -1), "View", "", "Shift+F6"),
    ]
    for place, entry in enumerate(pages[:9], start=1):
        made.append(
            Action(
                f"page.{entry.page_id}",
                entry.title,
                partial(frame.navigate, entry.page_id),
                "View",
                entry.icon,
                f"Ctrl+{place}",
            )
        )
    return made


def _view(frame: FrameServices, parts: FrameParts, commands: FrameCommands) -> list[Action]:
    return [
        Action("view.pause", "Pause or go on", parts.live.toggle, "View", "pause", "Space"),
        Action("view.refresh", "Refresh", commands.refresh, "View", "arrow-clockwise", "F5"),
        Action(
            "view.side_bar", "Collapse or expand the side bar", commands.toggle_side_bar, "View", "sidebar-simple", "Ctrl+B"
        ),
        Action("view.detail", "Show or hide the detail pane", commands.toggle_detail, "View", "sidebar-simple", "F4"),
        Action("view.utc", "Local time or UTC", frame.app.times.toggle, "View", "globe", "Ctrl+U"),
        Action("view.full_screen", "Full screen", commands.toggle_full_screen, "View", "monitor", "F11"),
        Action("view.larger", "Show everything larger", partial(commands.step_scale, 1), "View", "plus", "Ctrl++"),
        Action("view.smaller", "Show everything smaller", partial(commands.step_scale, -1), "View", "", "Ctrl+-"),
    ]


def _look(frame: FrameServices, commands: FrameCommands) -> list[Action]:
    themes = (
        (ThemeMode.SYSTEM, "Theme: follow the system", "monitor"),
        (ThemeMode.LIGHT, "Theme: light", "sun"),
        (ThemeMode.DARK, "Theme: dark", "moon"),
    )
    return [
        *(
            Action(f"view.theme.{mode.value}", title, partial(commands.set_theme_mode, mode), "View", glyph)
            for mode, title, glyph in themes
        ),
        *(
            Action(f"view.density.{density.name.lower()}", title, partial(commands.set_density, density), "View", "")
            for density, title in DENSITY_TITLES.items()
        ),
        *(
            Action(f"view.language.{code}", f"Language: {name}", partial(frame.app.set_language, code), "View", "translate")
            for code, name in LANGUAGES.items()
        ),
        Action("view.system_notices", "Warnings by the desktop too, or not", commands.toggle_system_notices, "Tools", "bell"),
        Action(
            "view.tray", "Stay in the tray when closed, or not", commands.toggle_tray, "Tools", "", blocked=commands.no_tray
        ),
    ]


def _not_running(frame: FrameServices) -> str:
    return "" if frame.address else tr("the broker is not running")


def _cannot_act(frame: FrameServices) -> str:
    backend = frame.backend()
    if backend is None:
        return _not_running(frame)
    from gui.views.action_dialog import read_only_reason

    return _not_running(frame) or read_only_reason(backend.source)


def _broker(frame: FrameServices, commands: FrameCommands) -> list[Action]:
    blocked, cannot_act = partial(_not_running, frame), partial(_cannot_act, frame)
    made = [
        Action("broker.copy_address", "Copy the name server address", commands.copy_address, "Broker", "copy", blocked=blocked),
        Action("broker.restart", "Restart the broker", commands.closing.restart, "Broker", "arrow-clockwise"),
        Action("broker.switch", "Choose another cluster", commands.choose_cluster, "Broker", "globe", "Ctrl+Shift+K"),
        Action("broker.copy", "Copy between clusters…", commands.copy_between, "Broker", "copy"),
        Action(
            "broker.connect", "Connect to a cluster…", commands.connect_to_cluster, "Broker", "share-network",
            blocked=commands.no_window_beside,
        ),
        Action("broker.open_store", "Open another store…", commands.open_store, "Broker", "folder-open", "Ctrl+O"),
    ]  # fmt: skip
    if frame.has_page("topics"):
        new = partial(frame.navigate, "topics", create=True)
        made.append(Action("topic.new", "New topic", new, "Topic", "plus", "Ctrl+Shift+N", cannot_act))
    if frame.has_page("messages"):
        send = partial(frame.navigate, "messages", send=True)
        made.append(Action("message.send", "Send message", send, "Message", "paper-plane-tilt", "Ctrl+N", cannot_act))
        search = partial(frame.navigate, "messages", show="search")
        made.append(Action("message.search", "Search messages", search, "Message", "magnifying-glass", "Ctrl+Shift+F"))
    if frame.has_page("delay"):
        timers = partial(frame.navigate, "delay", show="timers")
        made.append(Action("delay.timers", "Show messages with a time of their own", timers, "Message", "timer"))
    if frame.has_page("transactions"):
        for name, title in (("given up", "Show given-up transactions"), ("atomic", "Show atomic transactions")):
            show = partial(frame.navigate, "transactions", show=name)
            made.append(Action(f"transactions.{name.replace(' ', '_')}", title, show, "Message", "arrows-left-right"))
    return made


def backend_actions(frame: FrameServices, demo: DemoController, reports: ReportRunner) -> list[Action]:
    """Actions of the backend: the demo, and each report of the catalogue."""
    from gui.operations.demo import demo_refusal, play_demo
    from gui.processes.demo import DemoPace
    from spark_reports import catalog

    def play() -> None:
        backend = frame.backend()
        if backend is not None:
            play_demo(demo, frame.app.tasks, backend.source, DemoPace.NORMAL)

    def cannot_play() -> str:
        backend = frame.backend()
        refusal = _not_running(frame) if backend is None else demo_refusal(backend.source)
        return tr("the demo plays already") if demo.is_running else refusal

    def cannot_stop() -> str:
        return "" if demo.is_running and not demo.is_stopping else tr("the demo does not play")

    def cannot_report() -> str:
        return tr("too many reports wait") if reports.is_full else _not_running(frame)

    made = [
        Action("demo.play", "Play a demo", play, "Tools", "play", blocked=cannot_play),
        Action("demo.stop", "Stop the demo", demo.stop, "Tools", "stop", blocked=cannot_stop),
    ]
    if frame.has_page("reports"):
        for spec in catalog.reports():
            run = partial(frame.navigate, "reports", report=spec.name, run=True)
            made.append(
                Action(
                    f"report.{spec.name}", "Run report: {subject}", run, "Tools", "chart-bar",
                    blocked=cannot_report, subject=spec.title,
                )
            )  # fmt: skip
    return made


def _tabs(parts: FrameParts, commands: FrameCommands) -> list[Action]:
    go = parts.navigation
    return [
        Action("window.next_tab", "Next tab", partial(parts.area.step, 1), "Window", "caret-right", "Ctrl+Tab"),
        Action("window.previous_tab", "Previous tab", partial(parts.area.step, -1), "Window", "caret-left", "Ctrl+Shift+Tab"),
        Action("window.close_tab", "Close the tab", go.close_current, "Window", "x", "Ctrl+W"),
        Action("window.pin_tab", "Pin the tab, or release it", commands.toggle_pinned, "Window", "tag"),
        Action("window.close_others", "Close the other tabs", commands.close_other_tabs, "Window", "x-circle"),
        Action(
            "window.reopen_tab", "Open the closed tab again", go.reopen, "Window", "arrow-counter-clockwise", "Ctrl+Shift+T"
        ),
        Action(
            "window.detach",
            "Move the page to its own window, or back",
            go.detach_or_put_back,
            "Window",
            "arrow-square-out",
            "Ctrl+Shift+W",
        ),
        Action("window.copy_link", "Copy the link to this place", commands.copy_link, "Window", "link", "Ctrl+Shift+L"),
        Action("window.reset_layout", "Reset the layout", commands.reset_layout, "Window", "arrow-counter-clockwise"),
    ]


def _help(frame: FrameServices, commands: FrameCommands) -> list[Action]:
    made = [
        Action("help.explain", "What is this?", commands.explain, "Help", "info", "F1"),
        Action("help.shortcuts", "Keyboard shortcuts", commands.show_shortcuts, "Help", "keyboard", "?"),
    ]
    if frame.has_page("welcome"):
        made.insert(0, Action("help.welcome", "Welcome", partial(frame.navigate, "welcome"), "Help", "rocket-launch"))
    return made
