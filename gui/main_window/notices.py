"""`Notices`: toasts, the list under the bell, and messages of the desktop while the window is not active."""

from __future__ import annotations

import datetime as dt
import shutil
import time
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QSettings, Qt
from PySide6.QtWidgets import QApplication, QWidget

from gui.main_window.tool_bar import ToolBar
from gui.operations.tasks import Task, TaskState
from gui.settings.quiet_hours import read_quiet_hours
from gui.settings.values import SYSTEM_NOTICES_KEY, is_on
from gui.theme.manager import ThemeManager
from gui.theme.tokens import State
from gui.widgets.toast import Repeats, ToastRoom, ToastStack
from gui.words.plain_text import notice_text
from gui.words.text import Words, said, tr

LONG_TASK_S = 10.0
"""The desktop reports the end of a longer task."""
_ALARMING = frozenset({State.CRITICAL, State.WARNING})


class Notices(QObject):
    """Shows notices where the user will see them.

    Args:
        theme: Colours.
        window: Whose width limits the toasts.
        bar: Its bell counts.
        room: Where toasts stand.
        settings: Whether the desktop shows messages too.
        tell_tray: Shows (title, text) by the tray; returns whether there is one.
        tell_system: Shows (title, text) by the desktop; set by tests.
        local_time: Local time of day; set by tests.
        title: Of desktop messages, which several windows may show.
    """

    def __init__(
        self,
        theme: ThemeManager,
        window: QWidget,
        bar: ToolBar,
        settings: QSettings,
        *,
        room: ToastRoom,
        tell_tray: Callable[[str, str], bool] = lambda _title, _text: False,
        tell_system: Callable[[str, str], None] | None = None,
        local_time: Callable[[], dt.time] = lambda: dt.datetime.now().time(),  # noqa: DTZ005  as the clock on the wall
        title: Callable[[], str] = lambda: "Orbit",
    ) -> None:
        super().__init__(window)
        self.toasts = ToastStack(theme, window, room)
        self._bar = bar
        self._settings = settings
        self._window = window
        self._local_time = local_time
        self._title = title
        self._tell_system = tell_system or partial(_tell_desktop, tell_tray)
        self._began: dict[Task, float] = {}
        bar.notices_seen.connect(self._seen)

    def show(
        self, words: Words, *, state: State = State.INFO, action: Words = "", on_action: Callable[[], None] | None = None
    ) -> None:
        """Show a toast and keep it under the bell; the desktop shows warnings too while the window is not active."""
        self.toasts.show(words, state=state, action=action, on_action=on_action)
        self._changed()
        if state in _ALARMING:
            self._maybe_tell_system(said(words))

    def keep(self, words: Words, state: State, repeats: Repeats | None = None) -> None:
        """Keep a notice under the bell without a toast."""
        self.toasts.keep(words, state, repeats)
        self._changed()

    def tasks_changed(self, running: tuple[Task, ...]) -> None:
        """Record the start times of running tasks."""
        now = time.monotonic()
        self._began = {task: self._began.get(task, now) for task in running}

    def task_ended(self, task: Task) -> None:
        """Report a failed task, and by the desktop the end of a long one."""
        took_s = time.monotonic() - self._began.get(task, time.monotonic())
        if task.quiet:
            return
        if task.state is TaskState.FAILED:
            self.show(partial(_failure_words, task.title_words, task.text_words), state=State.CRITICAL)
        elif task.state is TaskState.DONE and took_s >= LONG_TASK_S:
            self._maybe_tell_system(tr("{title}: done", title=task.title))

    def _maybe_tell_system(self, text: str) -> None:
        looked_at = QApplication.applicationState() == Qt.ApplicationState.ApplicationActive
        if (looked_at and self._window.isVisible()) or read_quiet_hours(self._settings).covers(self._local_time()):
            return
        if is_on(self._settings, SYSTEM_NOTICES_KEY, default=True):
            self._tell_system(notice_text(self._title()), notice_text(text))

    def _changed(self) -> None:
        self._bar.notices = self.toasts.kept
        self._bar.bell.set_unread(self.toasts.unread)

    def _seen(self) -> None:
        self.toasts.mark_read()
        self._bar.bell.set_unread(0)


def _failure_words(title: Words, text: Words) -> str:
    return f"{said(title)}: {said(text)}"


def _tell_desktop(tell_tray: Callable[[str, str], bool], title: str, text: str) -> None:
    """Show a message of the desktop by its tray, else by ``notify-send``; without both it is only under the bell."""
    program = None if tell_tray(title, text) else shutil.which("notify-send")
    if program is not None:
        from gui.processes.program import start_detached

        start_detached([program, "--app-name=Orbit", "--", title, text])


def raise_window(window: QWidget) -> None:
    window.setWindowState(window.windowState() & ~Qt.WindowState.WindowMinimized)
    window.show()
    window.raise_()
    window.activateWindow()
