"""The shared time range: lengths up to now, and a range of one's own between two moments."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QDateTime
from PySide6.QtWidgets import QWidget

from gui.main_window.range_dialog import RangeDialog
from gui.views.time_range import CUSTOM, SHORTEST_MS, ZOOM_MIN_MS, TimeRangeChoice
from gui.words.text import TimeZoneChoice

NOW_MS = 1_790_000_000_000
HOUR_MS = 3_600_000


@pytest.fixture
def choice(qapp):
    made = TimeRangeChoice(HOUR_MS)
    yield made
    made.deleteLater()


@pytest.fixture
def parent(qtbot):
    made = QWidget()
    qtbot.addWidget(made)
    return made


@pytest.fixture
def dialog(parent, choice):
    choice.set_between(NOW_MS - 3 * HOUR_MS, NOW_MS - 2 * HOUR_MS)
    return RangeDialog(choice, TimeZoneChoice(utc=True, parent=parent), parent)


def test_a_range_of_ones_own_stands_still_until_a_length_is_chosen(choice, qtbot):
    choice.set_begin(NOW_MS - HOUR_MS // 2)
    with qtbot.waitSignal(choice.changed):
        choice.set_between(NOW_MS - 3 * HOUR_MS, NOW_MS - 2 * HOUR_MS)
    assert choice.name == CUSTOM
    for now_ms in (NOW_MS, NOW_MS + 5_000):
        assert choice.window_ms(now_ms) == (NOW_MS - 3 * HOUR_MS, NOW_MS - 2 * HOUR_MS)
    with qtbot.waitSignal(choice.changed):
        choice.set_length(HOUR_MS)  # the one that was chosen before
    assert choice.between is None
    assert choice.window_ms(NOW_MS) == (NOW_MS - HOUR_MS // 2, NOW_MS)
    assert choice.asked_ms(NOW_MS) == (NOW_MS - HOUR_MS, NOW_MS)


def test_a_zoom_goes_back_to_where_it_began(choice, qtbot):
    choice.zoom(NOW_MS - 60_000, NOW_MS - 30_000)
    choice.zoom(NOW_MS - 50_000, NOW_MS - 40_000)
    choice.zoom(NOW_MS - 50_000, NOW_MS - 50_000 + ZOOM_MIN_MS - 1)  # too short to be meant
    assert choice.between == (NOW_MS - 50_000, NOW_MS - 40_000)
    choice.zoom_out()
    assert choice.between == (NOW_MS - 60_000, NOW_MS - 30_000)
    choice.zoom_out()
    choice.zoom_out()
    assert (choice.between, choice.is_zoomed) == (None, False)


def test_another_range_ends_a_zoom(choice):
    choice.zoom(NOW_MS - 60_000, NOW_MS - 30_000)
    choice.set_length(HOUR_MS)
    assert (choice.between, choice.is_zoomed) == (None, False)
    choice.zoom_out()
    assert choice.between is None


def test_a_range_too_short_is_refused(choice):
    with pytest.raises(ValueError, match="59999 ms is shorter than 60000 ms"):
        choice.set_between(NOW_MS, NOW_MS + SHORTEST_MS - 1)


def test_the_dialog_begins_with_what_is_shown_and_sets_the_range(dialog, choice):
    assert dialog.begin.text() == "2026-09-21 11:13:20"
    dialog.end.setDateTime(QDateTime.fromMSecsSinceEpoch(NOW_MS, dialog.end.timeZone()))
    dialog.go.click()
    assert choice.between == (NOW_MS - 3 * HOUR_MS, NOW_MS)


def test_the_dialog_says_why_a_range_cannot_be_shown(dialog, choice):
    dialog.end.setDateTime(dialog.begin.dateTime())
    assert not dialog.go.isEnabled()
    assert "1 min" in dialog.fault.text()
    assert choice.between == (NOW_MS - 3 * HOUR_MS, NOW_MS - 2 * HOUR_MS)
