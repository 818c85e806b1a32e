"""`DemoController`: plays the demo shop against the broker, in a child process of its own."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import QObject, Signal

from gui.processes.child_process import ChildEnd, ChildProcess


class DemoPace(Enum):
    """How fast the demo sends, in messages/s."""

    SLOW = 50
    NORMAL = 1_200
    FAST = 10_000


def demo_arguments(name_server: str, pace: DemoPace) -> list[str]:
    """Command line of the demo behind ``main.py``; it ends when the window's end of its input is closed."""
    return ["demo", "--ns", name_server, "--rate", str(pace.value), "--parent-pipe"]


class DemoController(QObject):
    """Starts and stops the demo. One demo at a time; GUI thread only.

    Signals:
        changed: It started, is stopping, or ended.
        ended: It is gone; carries how (`ChildEnd`). Comes after `changed`.
        line_read: One line of what it reports (str).
    """

    changed = Signal()
    ended = Signal(object)
    line_read = Signal(str)

    def __init__(self, parent: QObject | None = None, *, process: ChildProcess | None = None) -> None:
        """Create an idle controller.

        Args:
            parent: Qt's owner.
            process: What runs the child; given by tests.
        """
        super().__init__(parent)
        self._process = process or ChildProcess(self)
        self._process.ended.connect(self._ended)
        self._process.line_read.connect(self.line_read)
        self._pace: DemoPace | None = None
        self._stopping = False

    @property
    def is_running(self) -> bool:
        """Whether the demo plays, or is still ending."""
        return self._process.is_running

    @property
    def is_stopping(self) -> bool:
        """Whether it was told to end and has not yet."""
        return self._stopping

    @property
    def pace(self) -> DemoPace | None:
        """Pace of the running demo."""
        return self._pace if self.is_running else None

    def start(self, name_server: str, pace: DemoPace) -> None:
        """Play against the name server at ``host:port``; nothing happens when the demo already plays."""
        if self.is_running:
            return
        self._pace = pace
        self._stopping = False
        self._process.start(demo_arguments(name_server, pace))
        self.changed.emit()

    def stop(self) -> None:
        """Ask the demo to end; `changed` says when it has."""
        if not self.is_running or self._stopping:
            return
        self._stopping = True
        self._process.cancel()
        self.changed.emit()

    def _ended(self, end: ChildEnd) -> None:
        self._stopping = False
        self.changed.emit()
        self.ended.emit(end)
