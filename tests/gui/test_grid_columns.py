"""Columns that the user hides, widens and moves, and that are so again the next time."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFontMetricsF

from gui.main_window import layout
from gui.theme.tokens import Density
from gui.views.dead_letters.view import DeadLettersView
from gui.views.delay.view import DelayView
from gui.views.messages.view import MessagesView
from gui.views.page_names import COLUMNS_GROUP
from gui.views.topics.view import TopicsView
from gui.widgets.grid_columns import FLEXIBLE_WIDTH_WANTED, PRESETS_MAX
from gui.widgets.row_painter import CELL_PADDING, cell_font
from tests.support.fake_source import FakeSource


@pytest.fixture
def make_view(show_page):
    return partial(show_page, TopicsView)


def place(grid, key: str) -> int:
    return [column.key for column in grid.model.columns].index(key)


def shown(grid) -> list[str]:
    """Keys of the columns that are seen, from left to right."""
    order = [grid.header.logicalIndex(each) for each in range(len(grid.model.columns))]
    return [grid.model.columns[each].key for each in order if not grid.view.isColumnHidden(each)]


def kept(view) -> list[str]:
    return [key for key in view.context.settings.allKeys() if key.startswith(COLUMNS_GROUP)]


def write_over(view, text: str) -> None:
    """Write a text over the only one that a page keeps of its columns."""
    [key] = kept(view)
    view.context.settings.setValue(key, text)


def test_what_the_user_made_of_them_is_so_in_the_next_page(make_view):
    grid = make_view(FakeSource()).grid
    first = shown(grid)
    grid.columns.show_column("size", shown=False)
    grid.view.setColumnWidth(place(grid, "lag"), 133)
    grid.header.moveSection(grid.header.visualIndex(place(grid, "lag")), 1)
    again = make_view(FakeSource()).grid
    assert "size" in first
    assert "size" not in shown(again)
    assert shown(again)[1] == "lag"
    assert again.view.columnWidth(place(again, "lag")) == 133


def test_a_width_of_the_user_stays_when_rows_come(make_view):
    view = make_view(FakeSource())
    flexible = next(column.key for column in view.grid.model.columns if not column.width)
    view.grid.view.setColumnWidth(place(view.grid, flexible), 444)
    view.model.set_rows(view.model.rows[:3])
    view.grid.share_width()
    assert view.grid.view.columnWidth(place(view.grid, flexible)) == 444


@pytest.mark.parametrize("figure", [218_900.0, 233_512.0, 9_999_999_999_999.0])
def test_figures_that_do_not_fit_get_room_from_the_names(make_view, qtbot, figure):
    view = make_view(FakeSource())
    grid, lag = view.grid, place(view.grid, "lag")
    before, name = grid.view.columnWidth(lag), grid.view.columnWidth(place(grid, "topic"))
    view.model.set_rows(replace(row, lag_messages=figure) for row in view.model.rows)
    qtbot.waitUntil(lambda: grid.view.columnWidth(lag) > before)
    grown = grid.view.columnWidth(lag)
    grid.view.grab()
    assert grid.view._rows.cut == {}, "all of it is painted now"
    assert grid.view.columnWidth(place(grid, "topic")) == name - (grown - before)
    view.model.set_rows(replace(row, lag_messages=1.0) for row in view.model.rows)
    grid.share_width()
    assert grid.view.columnWidth(lag) == grown, "rows do not jump"


DAY_MS = 86_400_000


@pytest.mark.parametrize(
    ("page", "arguments", "where"),
    [
        (MessagesView, {"topic": "orders"}, (lambda view: view.grid, "stored")),
        (DelayView, {"level": 4}, (lambda view: view.waiting.grid, "due")),
        (DeadLettersView, {}, (lambda view: view.letter_grid, "died")),
    ],
    ids=["messages", "delay", "dead letters"],
)
def test_moments_of_another_day_are_whole(show_page, qtbot, page, arguments, where):
    grid_of, key = where
    source = FakeSource()
    view = show_page(page, source)
    view.open(arguments)
    source.state = replace(source.state, taken_ms=source.state.taken_ms + DAY_MS)
    view.state_changed(source.state)
    grid = grid_of(view)
    column = place(grid, key)
    shown = grid.model.columns[column]
    texts = [shown.text(row) for row in grid.model.rows]
    assert texts
    assert all("11-2" in text for text in texts)
    needed = max(map(QFontMetricsF(cell_font(shown.kind)).horizontalAdvance, texts)) + 2 * CELL_PADDING
    assert needed > shown.width, "a clock alone needs less"

    def is_whole():
        grid.view.grab()
        return grid.view.columnWidth(column) >= needed

    qtbot.waitUntil(is_whole)
    assert grid.view._rows.cut == {}


def test_a_figure_gets_no_room_that_names_need_or_that_the_user_took(make_view):
    grid = make_view(FakeSource()).grid
    first = shown(grid)
    grid.columns.widen({"lag": 9_000})
    assert shown(grid) == first, "no other column gives way to it"
    name = next(column.key for column in grid.model.columns if not column.width)
    assert grid.view.columnWidth(place(grid, name)) >= FLEXIBLE_WIDTH_WANTED
    assert sum(grid.view.columnWidth(each) for each in range(len(grid.model.columns))) == grid.view.viewport().width()
    grid.columns.reset()
    grid.view.setColumnWidth(place(grid, "lag"), 40)
    grid.columns.widen({"lag": 90})
    assert grid.view.columnWidth(place(grid, "lag")) == 40


def test_they_are_reset_from_the_menu_and_with_the_layout(make_view):
    view = make_view(FakeSource())
    grid, first = view.grid, shown(view.grid)
    grid.columns.show_column("size", shown=False)
    grid.header.moveSection(0, 2)
    assert kept(view)
    menu = grid.columns.menu(grid)
    next(action for action in menu.actions() if action.text() == "Reset the columns").trigger()
    assert shown(grid) == first
    assert kept(view) == []
    grid.columns.show_column("size", shown=False)
    layout.forget(view.context.settings)
    assert kept(view) == []


def test_sets_of_columns_are_kept_under_names_and_chosen(make_view):
    view = make_view(FakeSource())
    columns, first = view.grid.columns, shown(view.grid)
    columns.show_column("size", shown=False)
    view.grid.header.moveSection(view.grid.header.visualIndex(place(view.grid, "lag")), 1)
    made = shown(view.grid)
    dialog = columns.ask_name(view.grid)
    dialog.setTextValue("Traffic")
    dialog.accept()
    columns.reset()
    assert shown(view.grid) == first

    again = make_view(FakeSource()).grid
    actions = {action.text(): action for action in again.columns.menu(again).actions()}
    actions["Traffic"].trigger()
    assert shown(again) == made
    assert shown(make_view(FakeSource()).grid) == made, "what was chosen is so in the next page"
    again.columns.presets.forget("Traffic")
    assert "Traffic" not in {action.text() for action in again.columns.menu(again).actions()}
    assert shown(again) == made, "forgetting the name changes no table"


def test_sets_with_names_outlast_a_reset_of_the_layout(make_view):
    view = make_view(FakeSource())
    view.grid.columns.show_column("size", shown=False)
    view.grid.columns.save_preset("Traffic")
    layout.forget(view.context.settings)
    again = make_view(FakeSource()).grid
    assert "size" in shown(again)
    again.columns.choose_preset("Traffic")
    assert "size" not in shown(again)


def test_a_set_of_columns_as_at_first_can_be_kept_too(make_view):
    grid = make_view(FakeSource()).grid
    first = shown(grid)
    grid.columns.save_preset("All")
    grid.columns.show_column("size", shown=False)
    grid.columns.choose_preset("All")
    assert shown(grid) == first


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 3, "": "x"}'])
def test_sets_that_somebody_wrote_into_the_settings_harm_nothing(make_view, text):
    view = make_view(FakeSource())
    view.grid.columns.presets.save("mine", "{}")
    write_over(view, text)
    assert view.grid.columns.presets.known == {}


def test_there_are_so_many_sets_and_no_more(make_view):
    columns = make_view(FakeSource()).grid.columns
    for number in range(PRESETS_MAX + 1):
        columns.save_preset(f"set {number}")
    assert list(columns.presets.known) == [f"set {number}" for number in range(PRESETS_MAX)]
    columns.show_column("size", shown=False)
    columns.save_preset("set 0")
    assert "size" in columns.presets.known["set 0"], "one that exists can be replaced"


def test_the_last_column_stays(make_view):
    grid = make_view(FakeSource()).grid
    titled = [column for column in grid.model.columns if column.title]
    for column in grid.model.columns:
        if column is not titled[0]:
            grid.columns.show_column(column.key, shown=False)
    actions = [action for action in grid.columns.menu(grid).actions() if action.isCheckable()]
    assert [action.isEnabled() for action in actions] == [False] + [True] * (len(actions) - 1)


def test_the_menu_comes_by_mouse_and_by_keys(make_view, qtbot, monkeypatch):
    view = make_view(FakeSource())
    asked: list[QPoint] = []
    monkeypatch.setattr("PySide6.QtWidgets.QMenu.popup", lambda _menu, at: asked.append(at))
    view.grid.header.menu_asked.emit(QPoint(3, 4))
    qtbot.keyClick(view.grid.view, Qt.Key.Key_M, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert len(asked) == 2


@pytest.mark.parametrize(
    "text", ["{", "[]", '{"hidden": 3}', '{"widths": {"lag": -4, "size": "x"}, "order": ["lag"], "hidden": [[1], "no such"]}']
)
def test_what_somebody_wrote_into_the_settings_harms_nothing(make_view, text):
    view = make_view(FakeSource())
    first = shown(view.grid)
    view.grid.columns.show_column("size", shown=False)
    write_over(view, text)
    assert shown(make_view(FakeSource()).grid) == first


def test_not_all_columns_can_be_hidden_by_the_settings(make_view):
    view = make_view(FakeSource())
    keys = [column.key for column in view.grid.model.columns]
    view.grid.columns.show_column("size", shown=False)
    write_over(view, json.dumps({"hidden": keys}))
    assert shown(make_view(FakeSource()).grid) == keys


def test_a_narrow_table_leaves_out_what_gives_way_and_shows_it_again(make_view):
    view = make_view(FakeSource())
    grid, whole = view.grid, shown(view.grid)
    grid.resize(700, 300)
    narrow = shown(grid)
    assert {"topic", "in", "lag"} <= set(narrow) < set(whole)
    assert grid.view.columnWidth(place(grid, "topic")) >= 140
    assert "size" not in [action.text() for action in grid.columns.menu(grid).actions()]
    grid.columns.show_column("groups", shown=False)
    grid.resize(1_200, 300)
    assert set(whole) - set(shown(grid)) == {"groups"}


def test_rows_are_as_high_as_the_user_wants_them(make_view):
    view = make_view(FakeSource())
    theme = view.context.theme
    heights = []
    for density in (Density.ROOMY, Density.COMPACT, Density.NORMAL):
        theme.set_density(density)
        heights.append(view.grid.view.rowHeight(0))
    assert heights == [34, 24, 28]
