"""`DemoController`: plays the demo shop against the broker, in a child process of its own."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QObject, Signal

from gui.processes.child_process import ChildEnd, ChildProcess


class DemoPace(Enum):
    """Rate of the demo in messages/s."""

    SLOW = 50
    NORMAL = 1_200
    FAST = 10_000


def demo_arguments(name_server: str, pace: DemoPace) -> list[str]:
    """Arguments of the demo for ``main.py``; it ends when the window closes its input."""
    return ["demo", "--ns", name_server, "--rate", str(pace.value), "--parent-pipe"]


class DemoController(QObject):
    """Starts and stops the demo. One demo at a time; GUI thread only.

    Signals:
        changed: It started, is stopping, or ended.
        ended: It is gone; carries its `ChildEnd`. Emitted after `changed`.
        line_read: One line of its progress (str).
    """

    changed = Signal()
    ended = Signal(object)
    line_read = Signal(str)

    def __init__(self, parent: QObject | None = None, *, process: ChildProcess | None = None) -> None:
        """Create an idle controller; tests pass a process."""
        super().__init__(parent)
        self._process = process or ChildProcess(self)
        self._process.ended.connect(self._ended)
        self._process.line_read.connect(self.line_read)
        self.is_stopping = False
        """Whether it was asked to end and has not yet."""

    @property
    def is_running(self) -> bool:
        """Whether the demo plays, or is still ending."""
        return self._process.is_running

    def start(self, name_server: str, pace: DemoPace) -> None:
        """Play against the name server at ``host:port``; does nothing when the demo already plays."""
        if self.is_running:
            return
        self.is_stopping = False
        self._process.start(demo_arguments(name_server, pace))
        self.changed.emit()

    def stop(self) -> None:
        """Ask the demo to end; emits `changed` when it has."""
        if not self.is_running or self.is_stopping:
            return
        self.is_stopping = True
        self._process.cancel()
        self.changed.emit()

    def _ended(self, end: ChildEnd) -> None:
        self.is_stopping = False
        self.changed.emit()
        self.ended.emit(end)
