"""`next_turn`: something is done when the loop of the GUI thread has served what waits now."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QObject, QTimer


def next_turn(owner: QObject, act: Callable[[], object]) -> None:
    """Call ``act`` once, a turn of the loop later; never, where ``owner`` goes before.

    ``QTimer.singleShot(0, owner, act)`` would keep ``act``, and all that it knows, for ever where the owner goes before its
    turn (PySide 6.11): a page that is closed while it is still being made would stay in memory as a whole. A timer lets go
    what it was given when it goes with its owner.

    Args:
        owner: An object of the GUI thread, alive.
        act: What is done; on the GUI thread.
    """
    _Turn(owner, act).start(0)


class _Turn(QTimer):
    def __init__(self, owner: QObject, act: Callable[[], object]) -> None:
        super().__init__(owner)
        self.setSingleShot(True)
        self.timeout.connect(act)
        # A method of ours: a connection to Qt's own `deleteLater` leaves 60 bytes of PySide's each time.
        self.timeout.connect(self._end)

    def _end(self) -> None:
        self.deleteLater()
