"""An error that no code caught is shown in the window, and leaves no object of Qt behind."""

from __future__ import annotations

import weakref

import pytest
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget

from gui.app.uncaught_errors import UncaughtErrors


class _Frame:
    def __init__(self, host: QWidget) -> None:
        self.host = host
        self.shown: list[str] = []

    def notify(self, words, **_how) -> None:
        self.shown.append(words())


class _Broken(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.used: list[weakref.ref[QPainter]] = []

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802  Qt's name
        painter = QPainter(self)
        self.used.append(weakref.ref(painter))
        self._paint(painter)
        painter.end()

    def _paint(self, painter: QPainter) -> None:
        raise OverflowError(f"{type(painter).__name__} has no such number")


@pytest.fixture
def frame(qtbot):
    host = QWidget()
    qtbot.addWidget(host)
    made = _Frame(host)
    errors = UncaughtErrors(made)
    yield made
    errors.close()


def test_a_painter_goes_with_the_paint_event_that_failed(qtbot, frame):
    broken = _Broken()
    qtbot.addWidget(broken)
    broken.show()
    qtbot.waitUntil(lambda: frame.shown == ["Orbit made a mistake: OverflowError: QPainter has no such number"])
    assert [painter() for painter in broken.used] == [None]
