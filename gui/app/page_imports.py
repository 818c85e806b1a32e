"""`PageImports`: imports the modules of pages before they are opened, one by one, in turns of the GUI thread's loop.

A separate thread must not import them. Making a class of Qt's changes tables of PySide's that Qt reads without Python's lock
while it paints: the program crashes now and then (PySide 6.11).
"""

from __future__ import annotations

import importlib
import pkgutil
import time
from collections.abc import Iterator

from PySide6.QtCore import QObject, QTimer, Signal

TURN_S = 0.005
"""Longest time of imports before the loop serves pending events."""
ROOMS = ("gui.models", "gui.operations", "gui.plots", "gui.widgets", "gui.views")
"""Packages of pages. A package comes after those that it needs, so that one import seldom loads many modules."""


class PageImports(QObject):
    """Imports all modules of `ROOMS` once.

    Signals:
        done: All are imported.
    """

    done = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._names = page_modules()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._take_turn)

    def start(self) -> None:
        self._timer.start(0)

    @property
    def is_running(self) -> bool:
        return self._timer.isActive()

    def stop(self) -> None:
        """Leave the rest to the pages."""
        self._timer.stop()

    def _take_turn(self) -> None:
        end = time.monotonic() + TURN_S
        for name in self._names:
            importlib.import_module(name)
            if time.monotonic() >= end:
                return
        self._timer.stop()
        self.done.emit()


def page_modules() -> Iterator[str]:
    """Names of all modules of `ROOMS`, in their order."""
    for room in ROOMS:
        path = importlib.import_module(room).__path__
        yield from (found.name for found in pkgutil.walk_packages(path, f"{room}."))
