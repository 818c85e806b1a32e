"""`Closing`: closes the window or restarts the broker, after a question where something would be lost (`losses`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from PySide6.QtWidgets import QPushButton, QWidget

from gui.main_window.notices import raise_window
from gui.main_window.services import FrameServices
from gui.main_window.tray import Tray
from gui.operations.tasks import Task
from gui.widgets.basic import label, row
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.popups import opened
from gui.words.plain_text import title_text
from gui.words.text import count_text, tr
from monitoring.sources.base import SourceStatus

if TYPE_CHECKING:
    from monitoring.state import ClusterState


def losses(state: ClusterState | None, tasks: Sequence[Task], *, demo_plays: bool, broker_runs: bool) -> list[str]:
    """Losses when the window closes now, in words; empty: none.

    The demo and its clients are no loss, because they end with the window. Stored messages are never lost.
    """
    text = "“{title}” is not finished and would be cancelled."
    found = [tr(text, title=task.title) for task in tasks if task.holds_window and not task.quiet]
    clients = 0 if state is None else _clients(state)
    if broker_runs and clients and not demo_plays:
        text = "{count} clients are connected to the broker and would lose it until it runs again."
        found.append(tr(text, count=count_text(clients)))
    return found


def _clients(state: ClusterState) -> int:
    counted = [state.totals.get(name, 0.0) for name in ("producers", "consumers")]
    return int(sum(count for count in counted if count > 0))


class LossQuestion(FittedDialog):
    """Lists the losses; the default button keeps everything."""

    def __init__(self, title: str, question: str, lost: Sequence[str], parent: QWidget, *, keep: str, go: str) -> None:
        """Create it; ``keep`` and ``go`` are the texts of the buttons that keep everything and accept the loss."""
        super().__init__(parent)
        self.setWindowTitle(title_text(title))
        self.setModal(True)
        self.lost = tuple(lost)
        lines = self.lay_out(spacing=10)
        lines.addWidget(label(question, "card-title"))
        for text in lost:
            lines.addWidget(label(text, wrap=True))
        lines.addWidget(label(tr("What was stored stays on disk and is there at the next start."), "secondary", wrap=True))
        self.stay = QPushButton(keep)
        self.go = QPushButton(go)
        self.go.setProperty("role", "danger")
        self.stay.setDefault(True)
        self.stay.clicked.connect(lambda _checked=False: self.reject())
        self.go.clicked.connect(lambda _checked=False: self.accept())
        lines.addSpacing(6)
        self.buttons = row(1, self.stay, self.go)
        self.set_foot(self.buttons)
        self.setMinimumWidth(460)


class CloseQuestion(LossQuestion):
    """Asks before the window is closed; it may stay in the tray instead."""

    def __init__(
        self, lost: Sequence[str], parent: QWidget, *, close: Callable[[], None], stay: Callable[[], None] | None = None
    ) -> None:
        """Create it; ``stay`` leaves Orbit in the tray, None: this is not offered."""
        go = tr("Stop the broker and close")
        question = tr("Stop the broker and close?")
        super().__init__(tr("Close Orbit"), question, lost, parent, keep=tr("Keep it open"), go=go)
        self.tray = QPushButton(tr("Stay in the tray"))
        self.tray.setToolTip(tr("The window goes; the broker, its history and its alerts go on."))
        self.buttons.insertWidget(self.buttons.indexOf(self.go), self.tray)
        self.tray.setVisible(stay is not None)  # has a parent now, without which it would be a window
        self.accepted.connect(close)
        if stay is not None:
            self.tray.clicked.connect(lambda _checked=False: self.reject())
            self.tray.clicked.connect(lambda _checked=False: stay())


class Closing:
    """Asks `CloseQuestion` or `LossQuestion` where there are losses; without any it acts at once."""

    def __init__(self, frame: FrameServices, tray: Tray) -> None:
        self._frame = frame
        self._tray = tray
        self._is_wanted = False

    def ask(self) -> None:
        if self.may_close():
            self._frame.host.close()

    def may_close(self) -> bool:
        """Whether the window may close now; if something would be lost, the question is on screen and the answer is False."""
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
