"""`PageImports`: what pages need is imported before they are opened, module by module, in turns of the GUI thread's loop.

A thread of its own must not do it. To make a class of Qt's changes tables of PySide's that Qt reads, without Python's lock, to
find out what the widgets are that it paints at that moment: the program ends, now and then (PySide 6.11). What has nothing to
do with Qt is imported by a thread.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QTimer, Signal

from gui.operations.queries import BackgroundCall

TURN_S = 0.005
"""How long modules are imported before the loop serves what waits."""
_ROOT = Path(__file__).resolve().parents[2]
_OWN = "gui"
_OF_QT = ("PySide6", "shiboken6", "pyqtgraph")
# At the start of a line: what is imported under a condition or in a function may never be wanted.
_IMPORT = re.compile(r"^(?:from ([\w.]+) import|import ([\w.]+))", re.MULTILINE)


class PageImports(QObject):
    """Imports once.

    Args:
        modules: Of the pages; what they import comes before them.

    Signals:
        done: All are there.
    """

    done = Signal()

    def __init__(self, modules: Sequence[str], parent: QObject) -> None:
        super().__init__(parent)
        self._modules = modules
        self._waiting: Iterator[str] = iter(())
        self._is_over = False
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._take_turn)
        self._ordering = BackgroundCall(self)
        self._ordering.done.connect(self._begin)

    def start(self) -> None:
        """Begin with what has nothing to do with Qt."""
        self._ordering.start(partial(prepare, self._modules))

    def stop(self) -> None:
        """Leave the rest to the pages."""
        self._is_over = True
        self._timer.stop()

    def _begin(self, order: Sequence[str]) -> None:
        self._waiting = iter(order)
        if not self._is_over:
            self._timer.start(0)

    def _take_turn(self) -> None:
        end = time.monotonic() + TURN_S
        for module in self._waiting:
            importlib.import_module(module)
            if time.monotonic() >= end:
                return
        self._timer.stop()
        self.done.emit()


def prepare(modules: Iterable[str]) -> list[str]:
    """Import what the modules need beside Qt; returns what is left of the window's own modules, the needed ones first.

    May run on any thread.
    """
    order, others = import_order(modules)
    for name in others:
        if name.partition(".")[0] not in _OF_QT:
            # A line of a text may look like an import; whoever wants what is not there is told by its own.
            with contextlib.suppress(ImportError):
                importlib.import_module(name)
    return [name for name in order if name not in sys.modules]


def import_order(modules: Iterable[str]) -> tuple[list[str], list[str]]:
    """The window's own modules that some modules need, each behind those that it needs, and what these import beside them.

    Args:
        modules: Full names of modules of the window.
    """
    order: dict[str, None] = {}
    others: dict[str, None] = {}
    seen: set[str] = set()

    def follow(name: str) -> None:
        seen.add(name)
        for found in _imported_by(name):
            if found.partition(".")[0] != _OWN:
                others[found] = None
            elif found not in seen:
                follow(found)
        order[name] = None

    for name in modules:
        if name not in seen:
            follow(name)
    return list(order), list(others)


def _imported_by(name: str) -> list[str]:
    """Names behind ``from`` and ``import``; nothing of a module that is no file."""
    path = _ROOT.joinpath(*name.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        return []
    return [first or second for first, second in _IMPORT.findall(file.read_text(encoding="utf-8"))]
