"""`ReportNotice`: says that a report has ended, on whatever page the window is and also while it is behind others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QApplication, QSystemTrayIcon, QWidget

from gui.models.reports import Run, RunState
from gui.text import count_text, tr
from gui.theme.tokens import State

if TYPE_CHECKING:
    from gui.operations.reports import ReportRunner
    from gui.views.page import Navigate, Notify

SHOWN_MS = 8_000


class ReportNotice(QObject):
    """A toast for each run that ended; while the window is not the active one a notification of the desktop too."""

    def __init__(self, runner: ReportRunner, notify: Notify, navigate: Navigate, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._window = parent
        self._notify, self._navigate = notify, navigate
        self._tray: QSystemTrayIcon | None = None
        runner.ended.connect(self._ended)

    def _ended(self, run: Run) -> None:
        title = tr(run.order.spec.title)
        if run.state in (RunState.COMPLETE, RunState.PARTIAL):
            words = tr("{title}: {count} messages read", title=title, count=count_text(run.rows))
            self._notify(words, state=State.HEALTHY, action=tr("Show"), on_action=self._show)
        elif run.state is RunState.FAILED:
            words = tr("{title} was not made: {reason}", title=title, reason=run.error)
            self._notify(words, state=State.CRITICAL)
        else:
            return
        if self._window is not None and not self._window.isActiveWindow():
            self._tell_desktop(words)

    def _show(self) -> None:
        self._navigate("reports")

    def _tell_desktop(self, words: str) -> None:
        assert self._window is not None
        QApplication.alert(self._window)
        if not QSystemTrayIcon.isSystemTrayAvailable():
            return
        if self._tray is None:
            self._tray = QSystemTrayIcon(self._window.windowIcon(), self)
            self._tray.messageClicked.connect(self._bring_forward)
        self._tray.show()  # without an icon there is nothing a message could belong to
        self._tray.showMessage("Orbit", words, self._window.windowIcon(), SHOWN_MS)

    def _bring_forward(self) -> None:
        if self._window is not None:
            self._window.activateWindow()
            self._show()
