"""A panel that is too narrow for the words of its buttons shows their glyphs, and can be named all the same."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from gui.widgets.basic import IconButton
from gui.widgets.panel import FoldingPanel

WORDS = ("Run again", "Open the page", "Open the folder")


@pytest.fixture
def panel(qtbot, theme):
    holder = QWidget()
    lines = QVBoxLayout(holder)
    lines.setContentsMargins(0, 0, 0, 0)
    made = FoldingPanel("Result")
    for words in WORDS:
        button = IconButton(theme, "x", " ")
        made.add_action(button)
        made.set_words(button, words, tip="more of it" if words == WORDS[0] else "")
    lines.addWidget(made)
    qtbot.addWidget(holder)
    holder.resize(900, 200)
    holder.show()
    qtbot.waitExposed(holder)
    made.holder = holder
    return made


def texts(panel):
    return [button.text() for button in panel.findChildren(IconButton)]


def test_words_are_there_where_there_is_room(panel):
    assert texts(panel) == list(WORDS)
    assert not panel.is_folded


def test_the_least_width_is_that_of_glyphs_and_holds_them(panel, qtbot):
    whole = panel._head_width()
    least = panel.minimumSizeHint().width()
    assert least < whole - 100

    panel.holder.resize(least, 200)

    qtbot.waitUntil(lambda: panel.is_folded)
    assert panel.width() == least
    assert panel._line.minimumSize().width() <= least


def test_folded_buttons_say_their_words_as_tip_and_name(panel, qtbot):
    panel.holder.resize(panel.minimumSizeHint().width(), 200)
    qtbot.waitUntil(lambda: panel.is_folded)

    buttons = panel.findChildren(IconButton)

    assert texts(panel) == ["", "", ""]
    assert [button.accessibleName() for button in buttons] == list(WORDS)
    assert [button.toolTip() for button in buttons] == ["more of it", *WORDS[1:]]


def test_words_come_back_with_the_room(panel, qtbot):
    panel.holder.resize(panel.minimumSizeHint().width(), 200)
    qtbot.waitUntil(lambda: panel.is_folded)

    panel.holder.resize(900, 200)

    qtbot.waitUntil(lambda: not panel.is_folded)
    assert texts(panel) == list(WORDS)
    assert [button.toolTip() for button in panel.findChildren(IconButton)] == ["more of it", "", ""]


def test_what_lies_below_the_title_line_is_never_squeezed(panel, qtbot):
    below = QLabel("wide")
    below.setMinimumWidth(700)
    panel.content.addWidget(below)
    qtbot.waitUntil(lambda: panel.content.minimumSize().width() >= 700)
    assert panel.minimumSizeHint().width() >= 700
