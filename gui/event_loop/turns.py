"""`next_turn`: calls something after the loop of the GUI thread has served its pending events."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


def next_turn(owner: QObject, act: Callable[[], object]) -> None:
    """Call ``act`` once, one turn of the loop later; never if ``owner`` is deleted before.

    ``QTimer.singleShot(0, owner, act)`` would keep ``act`` and its references for ever if the owner is deleted first
    (PySide 6.11): a page that is closed while it is being made would leak as a whole. A child timer releases them.
    """
    _Turn(owner, act).start(0)


class _Turn(QTimer):
    def __init__(self, owner: QObject, act: Callable[[], object]) -> None:
        super().__init__(owner, singleShot=True)
        self.timeout.connect(act)
        # A method of ours: a connection to Qt's own `deleteLater` leaks 60 bytes of PySide's each time.
        self.timeout.connect(self._end)

    def _end(self) -> None:
        self.deleteLater()
