"""Where pages stand: what needs more room than there is is scrolled, and only then."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gui.main_window.page_room import PageRoom


@pytest.fixture
def room(theme, qtbot):
    made = PageRoom()
    made.dress(theme)
    qtbot.addWidget(made)
    made.resize(400, 300)
    made.show()
    return made


def page(width: int, height: int) -> QWidget:
    made = QWidget()
    made.setMinimumSize(width, height)
    return made


def scrolls(room) -> tuple[bool, bool]:
    return room.horizontalScrollBar().maximum() > 0, room.verticalScrollBar().maximum() > 0


def test_a_page_that_fits_fills_the_room_and_does_not_scroll(room, qtbot):
    small = page(100, 100)
    room.stack.addWidget(small)
    qtbot.waitUntil(lambda: small.size() == room.size())
    assert scrolls(room) == (False, False)


def test_only_the_page_in_front_counts(room, qtbot):
    small, large = page(100, 100), page(900, 700)
    room.stack.addWidget(small)
    room.stack.addWidget(large)
    qtbot.waitUntil(lambda: small.size() == room.size())
    room.stack.setCurrentWidget(large)
    qtbot.waitUntil(lambda: scrolls(room) == (True, True))
    assert (large.width(), large.height()) == (900, 700)
    room.stack.setCurrentWidget(small)
    qtbot.waitUntil(lambda: scrolls(room) == (False, False))


def test_a_page_that_grows_is_followed(room, qtbot):
    growing = QWidget()
    words = QLabel("short")
    QVBoxLayout(growing).addWidget(words)
    room.stack.addWidget(growing)
    qtbot.waitUntil(lambda: growing.size() == room.size())
    words.setText("a text that takes far more room than there is " * 4)
    qtbot.waitUntil(lambda: scrolls(room) == (True, False))
    words.setText("short")
    qtbot.waitUntil(lambda: scrolls(room) == (False, False))


def test_the_room_is_as_small_as_it_must_be(room):
    room.stack.addWidget(page(900, 700))
    assert room.minimumSizeHint().width() < 200
    assert room.minimumSizeHint().height() < 200
