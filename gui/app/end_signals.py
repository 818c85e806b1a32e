"""`EndSignals`: SIGINT and SIGTERM as a Qt signal."""

from __future__ import annotations

import signal
import socket
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier, Signal


class EndSignals(QObject):
    """Listens to SIGINT and SIGTERM until it is closed; the signal wakes Qt's loop through a socket.

    Signals:
        arrived: The program is asked to end.
    """

    arrived = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._reader, self._writer = socket.socketpair()
        self._reader.setblocking(False)
        self._writer.setblocking(False)
        signal.set_wakeup_fd(self._writer.fileno(), warn_on_full_buffer=False)
        self._before = {number: signal.signal(number, self._noted) for number in (signal.SIGINT, signal.SIGTERM)}
        self._notifier = QSocketNotifier(self._reader.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._wake)

    def close(self) -> None:
        """Restore the signal handlers of before."""
        if self._reader.fileno() < 0:
            return
        self._notifier.setEnabled(False)
        signal.set_wakeup_fd(-1)
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._reader.close()
        self._writer.close()

    def _noted(self, _number: int, _frame: FrameType | None) -> None:
        """Nothing to do: the byte on the socket makes the loop call `_wake`."""

    def _wake(self) -> None:
        self._reader.recv(64)
        self.arrived.emit()
