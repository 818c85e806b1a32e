"""How figures and tables of a result are written in the window."""

from __future__ import annotations

import time

import pytest
from PySide6.QtGui import QFontMetrics

from gui.models.reports import ReportUnit, column_unit, read_result_table
from gui.models.table import CellKind, ColumnTableModel
from gui.views.reports.columns import WIDTH_MAX, cell_text, figure_text, result_columns
from gui.widgets.data_grid import DataGrid
from gui.widgets.row_painter import CELL_PADDING, cell_font
from gui.words.text import UNKNOWN, TimeZoneChoice


@pytest.mark.parametrize(
    ("text", "unit", "shown"),
    [
        ("600", ReportUnit.COUNT, "600"),
        ("0.6", ReportUnit.SHARE, "60.0 %"),
        ("61440", ReportUnit.BYTES, "60.0 KiB"),
        ("", ReportUnit.BYTES, UNKNOWN),
        ("abc", ReportUnit.COUNT, UNKNOWN),
        ("2026-11-21T08:01:00Z", ReportUnit.TIME, "2026-11-21 08:01:00.000"),
        ("orders", ReportUnit.TEXT, "orders"),
    ],
)
def test_cells_of_a_result_are_written_with_their_unit(qapp, text, unit, shown):
    assert cell_text(text, unit, TimeZoneChoice(utc=True)) == shown


@pytest.mark.parametrize("zone", ["Asia/Kathmandu", "America/St_Johns", "America/Sao_Paulo"])
@pytest.mark.parametrize("utc", [False, True])
def test_a_day_of_a_result_is_the_same_in_each_zone(monkeypatch, qapp, zone, utc):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    shown = cell_text("2018-11-04", column_unit("day"), TimeZoneChoice(utc=utc))
    monkeypatch.undo()
    time.tzset()
    assert shown == "2018-11-04"


@pytest.mark.parametrize(
    ("cells", "ordered"),
    [
        (["10", "9", "-1.5", ""], ["-1.5", "9", "10", UNKNOWN]),
        (["10", "9", "b"], ["10", "9", "b"]),
        (["nan", "9"], ["9", "nan"]),
    ],
)
def test_a_column_of_numbers_is_sorted_by_them_whatever_its_name(qapp, cells, ordered):
    result = read_result_table("Rows", ["hour,n", *(f"{cell},1" for cell in cells)])
    model: ColumnTableModel = ColumnTableModel(result_columns(result, TimeZoneChoice(utc=True), "sql"), lambda row: row.number)
    model.set_rows(result.rows)
    model.sort(0)
    assert [model.index(row, 0).data() for row in range(model.rowCount())] == ordered


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0, ReportUnit.DURATION, "0 ms"),
        (0.4, ReportUnit.DURATION, "0.4 ms"),
        (12.34, ReportUnit.DURATION, "12.3 ms"),
        (999.6, ReportUnit.DURATION, "1.0 s"),
        (1_500, ReportUnit.DURATION, "1.5 s"),
        (-30, ReportUnit.DURATION, "−30 ms"),
        (-7_200_000, ReportUnit.DURATION, "−2 h"),
        (-1_250, ReportUnit.COUNT, "−1,250"),
        (-2_048, ReportUnit.BYTES, "−2.0 KiB"),
        (-0.25, ReportUnit.SHARE, "−25.0 %"),
        (float("nan"), ReportUnit.COUNT, UNKNOWN),
    ],
)
def test_a_figure_of_a_result_is_told_also_below_zero_and_below_a_second(value, unit, shown):
    assert figure_text(value, unit) == shown


def test_a_topic_with_fewer_messages_than_before_shows_how_many_fewer():
    assert cell_text("-120", column_unit("messages_change"), TimeZoneChoice(utc=True)) == "−120"
    assert cell_text("", column_unit("messages_change"), TimeZoneChoice(utc=True)) == UNKNOWN


LONG = "inventory-reservation-requests"


def test_a_column_of_a_result_is_as_wide_as_what_stands_in_it(qapp, qtbot, theme):
    lines = ["store,topic,messages,last_time", f"/s,{LONG},5,2026-11-21T08:01:00Z", "/s,a,7,2026-11-21T08:01:00Z"]
    columns = result_columns(read_result_table("By topic", lines), TimeZoneChoice(utc=True), "throughput")
    assert [column.key for column in columns] == ["topic", "messages", "last_time"], "one store tells nothing"
    model: ColumnTableModel = ColumnTableModel(columns, lambda row: row.number)
    grid = DataGrid(model, theme)
    qtbot.addWidget(grid)
    model.set_rows(read_result_table("By topic", lines).rows)
    grid.resize(240, 200)
    grid.show()
    metrics = QFontMetrics(cell_font(CellKind.STRONG))
    qtbot.waitUntil(lambda: grid.view.columnWidth(0) >= metrics.horizontalAdvance(LONG) + 2 * CELL_PADDING)
    assert grid.view.columnWidth(1) < 104 < grid.view.columnWidth(2)
    assert grid.view.horizontalScrollBar().maximum() > 0, "scrolled, not cut"


def test_the_stores_of_a_result_are_told_apart_and_as_wide_as_a_path_may_be(qapp):
    lines = ["store,topic", "/s,a", f"/{'t' * 300},a"]
    columns = result_columns(read_result_table("By topic", lines), TimeZoneChoice(utc=True), "throughput")
    assert [column.key for column in columns] == ["store", "topic"]
    assert columns[0].least == WIDTH_MAX
    free = result_columns(read_result_table("Rows", lines[:2]), TimeZoneChoice(utc=True), "sql")
    assert [column.key for column in free] == ["store", "topic"], "what somebody asked for"
