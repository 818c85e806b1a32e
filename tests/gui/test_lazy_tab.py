"""Parts of pages that are made later."""

from __future__ import annotations

from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gui.widgets.containers import LaterPart, LazyTab


def test_a_lazy_tab_is_made_once_when_it_is_asked_for(qtbot):
    made = []
    tab = LazyTab(lambda: made.append(1) or QLabel("part"))
    qtbot.addWidget(tab)
    tab.show()
    assert tab.made is None
    part = tab.make()
    assert tab.make() is part is tab.made
    assert made == [1]


def test_a_later_part_comes_by_itself_after_it_was_shown(qtbot):
    part = LaterPart(lambda: QLabel("part"))
    qtbot.addWidget(part)
    part.show()
    assert part.made is None  # not in the turn of the loop that shows it
    qtbot.waitUntil(lambda: part.made is not None)
    assert part.made.text() == "part"


def test_a_later_part_without_room_comes_too(qtbot):
    page = QWidget()
    qtbot.addWidget(page)
    lines = QVBoxLayout(page)
    above, part = QWidget(), LaterPart(lambda: QLabel("part"))
    above.setMinimumHeight(400)
    lines.addWidget(above, 1)
    lines.addWidget(part)
    page.resize(200, 400)
    page.show()
    assert part.height() == 0
    qtbot.waitUntil(lambda: part.made is not None)


def test_a_later_part_that_is_not_shown_is_not_made(qtbot):
    part = LaterPart(lambda: QLabel("part"))
    qtbot.addWidget(part)
    other = LaterPart(lambda: QLabel("other"))
    qtbot.addWidget(other)
    other.show()
    qtbot.waitUntil(lambda: other.made is not None)
    assert part.made is None


def test_a_later_part_that_was_asked_for_is_not_made_again(qtbot):
    made = []
    part = LaterPart(lambda: made.append(1) or QLabel("part"))
    other = LaterPart(lambda: QLabel("other"))
    for one in (part, other):
        qtbot.addWidget(one)
        one.show()  # whose turns come in this order
    first = part.make()
    qtbot.waitUntil(lambda: other.made is not None)
    assert part.made is first
    assert made == [1]


def test_parts_of_a_page_are_made_in_turns_of_their_own(qtbot):
    made = []
    later = LaterPart(lambda: made.append("later") or QLabel("later"), turns=3)
    sooner = LaterPart(lambda: made.append("sooner") or QLabel("sooner"))
    for one in (later, sooner):
        qtbot.addWidget(one)
        one.show()
    qtbot.waitUntil(lambda: later.made is not None)
    assert made == ["sooner", "later"]


def test_a_later_part_is_filled_a_turn_after_it_came_or_at_once_where_it_is_asked_for(qtbot):
    filled, before = [], []

    def make() -> QLabel:
        made = QLabel()
        QTimer.singleShot(0, made, lambda: before.append(made not in filled))
        return made

    by_itself, asked_for = (LaterPart(make, fill=filled.append) for _ in range(2))
    for one in (by_itself, asked_for):
        qtbot.addWidget(one)
    assert filled == [asked_for.make()]
    by_itself.show()
    qtbot.waitUntil(lambda: by_itself.made in filled)
    assert before == [False, True]
    assert by_itself.make() is by_itself.made
    assert len(filled) == 2
