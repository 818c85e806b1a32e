"""Grids of the history: put together from lines, asked for when they are due, drawn as a heat map."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QObject, Qt

from broker_core.api import RemoteError, WorkerError
from broker_core.worker.questions.history import HistoryLines
from gui.gallery.sources import REASON
from gui.models.matrix import NO_MATRIX, Matrix, matrix_of
from gui.operations.matrix import REFRESH_MIN_MS, HistoryMatrix
from gui.plots.heat_map import HeatMap
from gui.theme.tokens import State
from gui.words.text import TimeZoneChoice
from tests.support.fake_source import TAKEN_MS, FakeSource
from tests.support.languages import shown_in


def lines(*rows: dict[int, float], step_ms: int = 1_000) -> HistoryLines:
    times = [np.array(list(row), np.int64).tobytes() for row in rows]
    values = [np.array(list(row.values()), np.float64).tobytes() for row in rows]
    return HistoryLines(step_ms, 0, times, values, values, values)


def test_lines_of_different_times_stand_on_one_grid():
    matrix = matrix_of(lines({10_000: 1.0, 11_000: 2.0}, {12_000: 5.0}), 10_500, 12_000)

    assert (matrix.from_ms, matrix.to_ms) == (10_000, 13_000)
    assert matrix.values[0][:2].tolist() == [1.0, 2.0]
    assert np.isnan(matrix.values[0][2])
    assert np.isnan(matrix.values[1][:2]).all()
    assert matrix.top == 5.0
    assert matrix.seconds.tolist() == [10.0, 11.0, 12.0]


def test_a_step_between_two_samples_is_no_gap_and_a_marked_one_is():
    matrix = matrix_of(lines({10_000: 1.0, 12_000: 3.0, 13_000: np.nan, 16_000: 4.0}), 10_000, 17_000)
    assert matrix.values[0][:3].tolist() == [1.0, 1.0, 3.0], "a sample that comes late leaves no gap"
    assert np.isnan(matrix.values[0][3:6]).all(), "nothing was recorded"
    assert matrix.values[0][6] == 4.0
    assert np.isnan(matrix.values[0][7]), "nothing is recorded yet"


def test_nothing_recorded_is_an_unknown_grid():
    assert NO_MATRIX.top == 0.0
    assert np.isnan(matrix_of(lines({}), 0, 5_000).values).all()


def test_a_grid_is_asked_for_again_when_it_is_another_or_old(qapp):
    source, owner = FakeSource(), QObject()
    grid = HistoryMatrix(source, owner)
    for to_ms in (TAKEN_MS, TAKEN_MS + REFRESH_MIN_MS - 1):
        grid.show(["a:b.c"], to_ms - 60_000, to_ms)
    assert len(source.asked) == 1
    grid.show(["a:b.c"], TAKEN_MS - 50_000, TAKEN_MS + 10_000)
    grid.show(["a:b.c"], TAKEN_MS - 40_000, TAKEN_MS + 10_000)
    grid.show(["d:e.f"], TAKEN_MS - 40_000, TAKEN_MS + 10_000)
    assert len(source.asked) == 4
    owner.deleteLater()


def test_a_slow_answer_is_waited_for_instead_of_asked_for_again(qapp):
    source, owner = FakeSource(), QObject()
    source.hold = True
    grid = HistoryMatrix(source, owner)
    for to_ms in (TAKEN_MS, TAKEN_MS + 2 * REFRESH_MIN_MS, TAKEN_MS + 4 * REFRESH_MIN_MS):
        grid.show(["a:b.c"], to_ms - 60_000, to_ms)
    assert (len(source.asked), grid.waiting) == (1, True)
    source.held[0].release()
    assert not grid.waiting
    grid.show(["a:b.c"], TAKEN_MS - 50_000, TAKEN_MS + 10_000)
    assert len(source.asked) == 2
    owner.deleteLater()


def test_a_grid_of_a_record_that_gets_longer_is_not_asked_for_with_every_figure(qapp):
    source, owner = FakeSource(), QObject()
    source.hold = True
    grid = HistoryMatrix(source, owner)
    for second in range(30):
        grid.show(["a:b.c"], TAKEN_MS - 60_000, TAKEN_MS + second * 1_000)
    assert (len(source.asked), grid.waiting) == (1, True)
    source.held[0].release()
    grid.show(["a:b.c"], TAKEN_MS - 60_000, TAKEN_MS + 30_000)
    assert len(source.asked) == 2
    owner.deleteLater()


def test_a_grid_that_was_not_read_is_empty_and_says_why(qapp):
    source, owner = FakeSource(), QObject()
    source.fail_with = RemoteError("no history is kept", code=1)
    grid = HistoryMatrix(source, owner)
    grid.show(["a:b.c"], TAKEN_MS - 60_000, TAKEN_MS)
    assert (grid.matrix, grid.fault) == (NO_MATRIX, "no history is kept")
    owner.deleteLater()


def test_an_answer_for_what_is_no_longer_shown_is_dropped(qapp):
    source, owner = FakeSource(), QObject()
    source.hold = True
    grid = HistoryMatrix(source, owner)
    grid.show(["a:b.c"], TAKEN_MS - 60_000, TAKEN_MS)
    grid.show([], TAKEN_MS - 60_000, TAKEN_MS)
    source.held[0].release()
    assert (grid.matrix, grid.fault, grid.waiting) == (NO_MATRIX, "", False)
    owner.deleteLater()


@pytest.fixture
def heat(qtbot, theme) -> HeatMap:
    made = HeatMap(theme, TimeZoneChoice(utc=True), State.WARNING)
    qtbot.addWidget(made)
    made.resize(300, 100)
    return made


def test_the_largest_value_has_the_full_colour_and_zero_that_of_the_ground(heat, theme):
    heat.set_matrix(["0", "1"], Matrix(0, 1_000, np.array([[0.0, 9.0], [np.nan, 9.0]])))
    image = heat._image
    colours = [[image.pixelColor(x, y).name().upper() for x in range(2)] for y in range(2)]
    tokens = theme.tokens
    assert colours == [[tokens.inset, tokens.warning], [tokens.panel, tokens.warning]]


def test_a_cell_says_its_row_time_and_value(heat):
    heat.set_matrix(["0"], Matrix(60_000, 1_000, np.array([[1_234.0, np.nan]])), ["Queue 0"])
    assert heat.cell_text(0, 0) == "Queue 0\n00:01:00\n1,234"
    assert heat.cell_text(0, 1) == "Queue 0\n00:01:01\nnot recorded"
    assert heat.accessibleDescription() == "Queue 0: 1,234"
    heat.grab()


def shown(heat, qtbot, values) -> None:
    names = [f"Queue {row}" for row in range(len(values))]
    heat.set_matrix([str(row) for row in range(len(values))], Matrix(60_000, 1_000, np.array(values)), names)
    heat.show()
    heat.setFocus()
    qtbot.waitUntil(heat.hasFocus)


def test_keys_move_from_cell_to_cell_and_a_screen_reader_is_told(heat, qtbot):
    shown(heat, qtbot, [[1.0, 2.0, np.nan], [4.0, 5.0, 6.0]])
    assert heat.accessibleDescription() == "Queue 0, 00:01:02, not recorded"  # the newest first
    told = []
    for key in (Qt.Key.Key_Left, Qt.Key.Key_Down, Qt.Key.Key_Home, Qt.Key.Key_End, Qt.Key.Key_Up):
        qtbot.keyClick(heat, key)
        told.append(heat.accessibleDescription())
    assert told == [
        "Queue 0, 00:01:01, 2", "Queue 1, 00:01:01, 5", "Queue 1, 00:01:00, 4", "Queue 1, 00:01:02, 6",
        "Queue 0, 00:01:02, not recorded",
    ]  # fmt: skip
    for key in (Qt.Key.Key_Up, Qt.Key.Key_Right):  # the ends stay the ends
        qtbot.keyClick(heat, key)
    assert heat.current_cell == (0, 2)


def test_enter_chooses_the_row_of_the_cell(heat, qtbot):
    shown(heat, qtbot, [[1.0], [4.0]])
    qtbot.keyClick(heat, Qt.Key.Key_Down)
    with qtbot.waitSignal(heat.row_chosen) as chosen:
        qtbot.keyClick(heat, Qt.Key.Key_Return)
    assert chosen.args == [1]


def test_the_cell_keeps_its_distance_from_now_and_fits_a_smaller_grid(heat, qtbot):
    shown(heat, qtbot, [[1.0, 2.0], [3.0, 4.0]])
    qtbot.keyClick(heat, Qt.Key.Key_Down)
    heat.set_matrix(["0", "1"], Matrix(60_000, 1_000, np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])), ["Queue 0", "Queue 1"])
    assert heat.accessibleDescription() == "Queue 1, 00:01:02, 6"
    heat.set_matrix(["0"], Matrix(60_000, 1_000, np.array([[7.0]])), ["Queue 0"])
    assert heat.accessibleDescription() == "Queue 0, 00:01:00, 7"
    heat.set_matrix([], NO_MATRIX)
    heat.set_note("Reading the history…")
    assert heat.accessibleDescription() == "Reading the history…"
    qtbot.keyClick(heat, Qt.Key.Key_Return)
    assert heat.current_cell is None


def test_the_cell_of_the_keys_is_drawn_while_they_are_there(heat, qtbot):
    shown(heat, qtbot, [[1.0, 1.0], [1.0, 1.0]])
    with_focus = heat.grab().toImage()
    heat.clearFocus()
    assert with_focus != heat.grab().toImage()


def test_why_a_grid_was_not_read_is_told_in_the_language_that_is_chosen(qapp):
    source, owner = FakeSource(), QObject()
    source.fail_with = WorkerError(REASON)
    grid = HistoryMatrix(source, owner)
    grid.show(["a:b.c"], TAKEN_MS - 60_000, TAKEN_MS)
    assert grid.fault == REASON
    with shown_in("zh"):
        assert "10,000 毫秒" in grid.fault
    assert grid.fault == REASON
    owner.deleteLater()
