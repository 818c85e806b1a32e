"""Parts of pages that are made later."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel

from gui.widgets.lazy_tab import LaterPart, LazyTab


def test_a_lazy_tab_is_made_once_when_it_is_asked_for(qtbot):
    made = []
    tab = LazyTab(lambda: made.append(1) or QLabel("part"))
    qtbot.addWidget(tab)
    tab.show()
    assert tab.made is None
    part = tab.widget
    assert tab.make() is part is tab.made
    assert made == [1]


def test_a_later_part_comes_by_itself_after_the_first_painting(qtbot):
    part = LaterPart(lambda: QLabel("part"))
    qtbot.addWidget(part)
    part.resize(80, 40)
    part.grab()  # which paints it
    assert part.made is None  # not in the turn of the loop that paints
    qtbot.waitUntil(lambda: part.made is not None)
    assert part.made.text() == "part"


def test_a_later_part_that_was_asked_for_is_not_made_again(qtbot):
    made = []
    part = LaterPart(lambda: made.append(1) or QLabel("part"))
    qtbot.addWidget(part)
    part.resize(80, 40)
    part.grab()
    first = part.widget
    part.show()
    qtbot.waitUntil(first.isVisible)
    part.grab()
    assert part.made is first
    assert made == [1]
