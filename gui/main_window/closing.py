"""`Closing`: whether the window may close or the broker restart, with a question if something would be lost."""

from __future__ import annotations

from gui.main_window.notices import raise_window
from gui.main_window.services import FrameServices
from gui.main_window.tray import Tray
from gui.widgets.popups import opened
from gui.words.text import tr
from monitoring.sources.base import SourceStatus


class Closing:
    def __init__(self, frame: FrameServices, tray: Tray) -> None:
        self._frame = frame
        self._tray = tray
        self._is_wanted = False

    def ask(self) -> None:
        if self.may_close():
            self._frame.host.close()

    def may_close(self) -> bool:
        """Whether the window may close now; if something would be lost, the question is on screen and the answer is False."""
        from gui.main_window.close_question import CloseQuestion, losses

        frame, backend = self._frame, self._frame.backend()
        if backend is None or self._is_wanted:
            return True
        running, demo_plays = frame.app.tasks.running, backend.demo.is_running
        lost = losses(frame.state, running, demo_plays=demo_plays, broker_runs=self._broker_runs)
        if not lost:
            return True
        raise_window(frame.host)
        stay = self._tray.stay if self._tray.is_offered else None
        question = CloseQuestion(lost, frame.host, close=self._close_anyway, stay=stay)
        frame.app.theme.dress(question)
        opened(question)
        return False

    @property
    def _broker_runs(self) -> bool:
        return self._frame.status is SourceStatus.READY and self._frame.app.clusters.attached is None

    def restart(self) -> None:
        """Restart the broker, with a question if clients would lose it."""
        from gui.main_window.close_question import LossQuestion, losses

        frame, backend = self._frame, self._frame.backend()
        if backend is None:
            return
        lost = losses(frame.state, (), demo_plays=backend.demo.is_running, broker_runs=self._broker_runs)
        if not lost:
            backend.restart_worker()
            return
        title, go = tr("Restart the broker"), tr("Restart the broker")
        question = LossQuestion(title, tr("Restart the broker now?"), lost, frame.host, keep=tr("Let it run"), go=go)
        question.accepted.connect(backend.restart_worker)
        frame.app.theme.dress(question)
        opened(question)

    def _close_anyway(self) -> None:
        self._is_wanted = True
        self._frame.host.close()
