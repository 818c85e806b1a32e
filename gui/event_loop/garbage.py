"""`GarbageTurns`: what only refers to itself is freed by the GUI thread, in turns of its loop.

Python frees it in whichever thread happens to make an object, and in the middle of whatever that thread does. A widget or a
timer that goes beside the GUI thread, or while Qt paints, ends the program, now and then and anywhere; one that goes while Qt
connects or disconnects another object waits for a lock that this thread already has, for ever (PySide 6.11).
"""

from __future__ import annotations

import gc
from types import TracebackType
from typing import Self

from PySide6.QtCore import QTimer

TURN_MS = 250
GROWN_SHARE = 0.25
"""All objects are looked at when those that stayed have become so many more, as Python does by itself."""


class GarbageTurns:
    """A context manager for the time in which the loop of the GUI thread runs; made, entered and left on that thread."""

    def __init__(self) -> None:
        self._timer = QTimer()
        self._timer.setInterval(TURN_MS)
        self._timer.timeout.connect(self._take_turn)
        self._stayed = 0
        """Old objects after all were looked at."""
        self._by_itself = True
        """Whether Python looked for garbage before."""

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
        """Do what Python would have done by itself since the last turn."""
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
