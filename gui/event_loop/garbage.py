"""`GarbageTurns`: the GUI thread collects cyclic garbage in turns of its loop.

Python collects in whichever thread makes an object, in the middle of its work. A widget or timer that is freed on another
thread, or while Qt paints, crashes the program now and then; one that is freed while Qt connects or disconnects another
object waits for ever for a lock that this thread already holds (PySide 6.11).
"""

from __future__ import annotations

import gc
from types import TracebackType
from typing import Self

from PySide6.QtCore import QTimer

TURN_MS = 250
GROWN_SHARE = 0.25
"""Growth of the surviving objects that starts a full collection, as in Python itself."""


class GarbageTurns:
    """A context manager around the loop of the GUI thread; made, entered and left on that thread."""

    def __init__(self) -> None:
        self._timer = QTimer(interval=TURN_MS)
        self._timer.timeout.connect(self._take_turn)
        self._stayed = 0
        """Old objects after the last full collection."""
        self._by_itself = True
        """Whether Python collected by itself before."""

    def __enter__(self) -> Self:
        self._by_itself = gc.isenabled()
        gc.disable()
        self._timer.start()
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self._timer.stop()
        if self._by_itself:
            gc.enable()

    def _take_turn(self) -> None:
        """Collect what Python would have collected since the last turn."""
        (new, young, old), (new_max, young_max, old_max) = gc.get_count(), gc.get_threshold()
        if new <= new_max:
            return
        if young <= young_max:
            gc.collect(0)
        elif old <= old_max or _old_objects() <= self._stayed * (1 + GROWN_SHARE):
            gc.collect(1)
        else:
            gc.collect()
            self._stayed = _old_objects()


def _old_objects() -> int:
    return len(gc.get_objects(generation=2))
