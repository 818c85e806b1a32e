"""`Closing`: whether the window may close, or the broker be restarted, and the question where that would cost something."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gui.main_window.clusters import attached_cluster
from gui.main_window.notices import raise_window
from gui.words.text import tr
from monitoring.sources.base import SourceStatus

if TYPE_CHECKING:
    from gui.main_window.window import MainWindow


class Closing:
    """Acts on one window."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._is_wanted = False

    def ask(self) -> None:
        """Close the window, with a question if something would be lost."""
        if self.may_close():
            self._window.close()

    def may_close(self) -> bool:
        """Whether closing costs nothing, or the user wants it nevertheless; else the question is on screen."""
        from gui.main_window.close_question import CloseQuestion, losses  # noqa: PLC0415  the frame is on screen before

        window = self._window
        backend = window.backend
        if backend is None or self._is_wanted:
            return True
        runs = self._broker_runs
        lost = losses(window.newest_state, window.tasks.running, demo_plays=backend.demo.is_running, broker_runs=runs)
        if not lost:
            return True
        raise_window(window)
        stay = window.tray.stay if window.tray.is_offered else None
        question = CloseQuestion(lost, window, close=self._close_anyway, stay=stay)
        window.services.theme.dress(question)
        question.open()
        return False

    @property
    def _broker_runs(self) -> bool:
        window = self._window
        return window.source_status is SourceStatus.READY and attached_cluster(window.services.clusters) is None

    def restart(self) -> None:
        """Stop and start the broker, with a question if clients would lose it."""
        from gui.main_window.close_question import LossQuestion, losses  # noqa: PLC0415  the frame is on screen before

        window = self._window
        backend = window.backend
        if backend is None:
            return
        lost = losses(window.newest_state, (), demo_plays=backend.demo.is_running, broker_runs=self._broker_runs)
        if not lost:
            backend.restart_worker()
            return
        title, go = tr("Restart the broker"), tr("Restart the broker")
        question = LossQuestion(title, tr("Restart the broker now?"), lost, window, keep=tr("Let it run"), go=go)
        question.accepted.connect(backend.restart_worker)
        window.services.theme.dress(question)
        question.open()

    def _close_anyway(self) -> None:
        self._is_wanted = True
        self._window.close()
