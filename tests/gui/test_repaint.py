"""Widgets that paint themselves follow theme and time zone, and leave nothing behind."""

from __future__ import annotations

import gc
import sys

from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QWidget

from gui.event_loop.turns import next_turn
from gui.widgets.repaint import repaint_with
from gui.words.text import TimeZoneChoice

ROUNDS = 200
BATCHES = 4
BLOCKS_MAX = ROUNDS // 4
"""Of Python's memory in a batch; a connection that stays takes one or more each time."""


class _Painted(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def paintEvent(self, event) -> None:  # noqa: ARG002, N802  Qt's signature
        self.count += 1


def blocks_left(act) -> int:
    """How many more blocks of memory Python has after ``act`` was done many times; what is made once is not counted."""
    left = []
    for _ in range(BATCHES):
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(ROUNDS):
            act()
        gc.collect()
        left.append(sys.getallocatedblocks() - before)
    return min(left)


def ended(widget: QWidget) -> None:
    widget.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


def test_it_is_painted_with_each_change(qtbot, theme):
    times, widget = TimeZoneChoice(utc=True), _Painted()
    qtbot.addWidget(widget)
    repaint_with(widget, theme, times)
    widget.resize(40, 40)
    widget.show()
    qtbot.waitUntil(lambda: widget.count > 0)

    for change in (times.changed.emit, lambda: theme.changed.emit(theme.tokens)):
        before = widget.count
        change()
        qtbot.waitUntil(lambda seen=before: widget.count > seen)


def test_widgets_that_go_leave_no_connection(qapp, theme):
    times = TimeZoneChoice(utc=True)

    def made_and_ended() -> None:
        widget = QWidget()
        repaint_with(widget, theme, times)
        ended(widget)

    assert blocks_left(made_and_ended) < BLOCKS_MAX


def test_a_turn_leaves_nothing(qapp):
    owner = QWidget()
    calls = [0]

    def act() -> None:
        calls[0] += 1

    def turned() -> None:
        before = calls[0]
        next_turn(owner, act)
        while calls[0] == before:
            QCoreApplication.processEvents()
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)

    assert blocks_left(turned) < BLOCKS_MAX
    ended(owner)
