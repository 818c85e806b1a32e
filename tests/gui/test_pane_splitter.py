"""Panes that stand below each other where the window is narrow."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QVBoxLayout, QWidget

from gui.widgets.pane_splitter import NARROW, TURN_HYSTERESIS_PX, UPPER_MIN, PaneSplitter


def pane(width: int, height: int) -> QWidget:
    made = QWidget()
    made.setMinimumSize(width, height)
    return made


@pytest.fixture
def make(qtbot):
    def make(width: int) -> PaneSplitter:
        made = PaneSplitter((pane(width, 100), pane(300, 200)), (700, 300), grows=0)
        qtbot.addWidget(made)
        made.resize(1_200, 600)
        made.show()
        return made

    return make


def test_a_narrow_one_turns_and_a_wide_one_turns_back_with_its_widths(make):
    splitter = make(200)
    widths = splitter.splitter.sizes()
    assert not splitter.is_turned
    splitter.resize(NARROW - 1, 600)
    assert splitter.is_turned
    assert min(splitter.splitter.sizes()) >= 100
    splitter.resize(NARROW + TURN_HYSTERESIS_PX - 1, 600)
    assert splitter.is_turned
    splitter.resize(1_200, 600)
    assert not splitter.is_turned
    assert splitter.splitter.sizes() == widths


def test_it_turns_where_panes_would_not_fit_side_by_side(make):
    splitter = make(800)
    splitter.resize(1_100, 600)
    assert splitter.is_turned


def test_it_may_be_as_narrow_as_its_wider_pane_and_says_how_high_it_must_be(make):
    splitter = make(200)
    assert (splitter.minimumSizeHint().width(), splitter.minimumSizeHint().height()) == (300, 200)
    splitter.resize(600, 600)
    assert splitter.minimumSizeHint().height() == UPPER_MIN + 200 + splitter.splitter.handleWidth()
    splitter.resize(1_200, 600)
    assert splitter.minimumSizeHint().height() == 200


def test_an_upper_pane_is_as_high_as_its_parts_need(qtbot):
    upper = QWidget()
    parts = QVBoxLayout(upper)
    parts.addWidget(pane(200, 180))
    parts.addWidget(pane(200, 170))
    splitter = PaneSplitter((upper, pane(300, 200)), (700, 300), grows=0)
    qtbot.addWidget(splitter)
    splitter.resize(600, 300)
    splitter.show()
    assert splitter.is_turned
    assert splitter.minimumSizeHint().height() == parts.minimumSize().height() + 200 + splitter.splitter.handleWidth()
    assert upper.height() >= parts.minimumSize().height() > UPPER_MIN


def test_a_pane_that_is_hidden_takes_no_room(make):
    splitter = make(800)
    splitter.splitter.widget(1).hide()
    splitter.resize(NARROW + 1, 600)
    assert not splitter.is_turned


def test_one_that_was_narrow_last_time_fits_the_window_of_now(make):
    narrow, wide, again = make(200), make(200), make(200)
    narrow.resize(600, 600)
    kept = narrow.splitter.saveState()
    wide.splitter.restoreState(kept)
    wide.resize(1_100, 600)
    assert not wide.is_turned
    again.splitter.restoreState(kept)
    again.resize(600, 600)
    assert again.is_turned
    assert again.splitter.sizes()[0] >= UPPER_MIN
