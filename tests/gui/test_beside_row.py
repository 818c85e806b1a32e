"""Three parts side by side, of which the last one goes below."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtWidgets import QApplication, QLabel, QVBoxLayout, QWidget

from gui.theme.tokens import Size
from gui.widgets.containers import TURN_HYSTERESIS_PX, BesideRow


@pytest.fixture
def row(qtbot):
    parts = []
    for width, height in ((300, 100), (200, 150), (250, 120)):
        part = QWidget()
        part.setMinimumSize(width, height)
        parts.append((part, 1))
    made = BesideRow(*parts)
    qtbot.addWidget(made)
    made.resize(1_000, 400)
    made.show()
    return made


def parts_of(row):
    """The parts from left to right."""
    return row.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)


def test_the_last_part_goes_below_where_there_is_no_room_and_comes_back(row):
    needed = 300 + 200 + 250 + 2 * Size.GAP
    told = []
    row.turned.connect(told.append)
    last = parts_of(row)[-1]
    assert last.y() == 0
    row.resize(needed - 1, 400)
    row.layout().activate()
    assert (row.is_turned, last.x()) == (True, 0)
    assert last.y() > 150
    row.resize(needed + TURN_HYSTERESIS_PX - 1, 400)
    assert row.is_turned
    row.resize(1_000, 400)
    row.layout().activate()
    assert (row.is_turned, last.y()) == (False, 0)
    assert told == [True, False]


def test_it_may_be_as_narrow_as_two_parts_and_says_how_high_it_must_be(row):
    least = row.minimumSizeHint()
    assert (least.width(), least.height()) == (300 + 200 + Size.GAP, 150)
    row.resize(least.width(), 400)
    assert row.minimumSizeHint().height() == 150 + Size.GAP + 120


def test_it_is_not_turned_before_it_was_given_a_width(qtbot):
    page = QWidget()
    qtbot.addWidget(page)
    page.resize(1_000, 400)
    parts = [QWidget() for _ in range(3)]
    for part in parts:
        part.setMinimumSize(300, 100)  # more than a widget is wide before it is laid out
    made, told = BesideRow(*((part, 1) for part in parts)), []
    made.turned.connect(told.append)
    QVBoxLayout(page).addWidget(made)
    QApplication.sendEvent(made, QEvent(QEvent.Type.LayoutRequest))
    assert told == []
    page.show()
    assert (made.is_turned, told) == (False, [])


def test_what_is_left_out_leaves_its_width_to_the_others(row):
    first, second, third = parts_of(row)
    row.leave_out(third)
    row.layout().activate()
    assert third.isHidden()
    assert second.x() + second.width() == first.width() + Size.GAP + second.width() == row.width()
    row.resize(300 + 200 + Size.GAP - 1, 400)
    row.layout().activate()
    assert (row.is_turned, second.x()) == (True, 0)


class Sized(QWidget):
    """Says how high it likes to be, and must be."""

    def __init__(self, wanted: int, least: int) -> None:
        super().__init__()
        self.sizeHint = lambda: QSize(200, wanted)
        self.minimumSizeHint = lambda: QSize(100, least)


def test_wrapped_words_in_it_do_not_cut_what_stands_above(qtbot):
    page, above, chart, wrapped = QWidget(), Sized(220, 220), QWidget(), QWidget()
    qtbot.addWidget(page)
    QVBoxLayout(chart).addWidget(Sized(500, 60))
    words = QLabel("No value is known in this time range.")
    words.setWordWrap(True)
    QVBoxLayout(wrapped).addWidget(words)
    lines = QVBoxLayout(page)
    lines.addWidget(above)
    lines.addWidget(BesideRow((chart, 1), (wrapped, 1), (QWidget(), 1)), 1)
    page.resize(1_000, 400)
    page.show()
    assert wrapped.hasHeightForWidth()
    assert above.height() == 220
