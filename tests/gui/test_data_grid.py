from __future__ import annotations

import json
from dataclasses import dataclass, replace

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QCursor, QEnterEvent, QFontMetricsF, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu, QWidget

from broker_core.api import read_csv
from gui.models.table import CellKind, Column, ColumnTableModel, first_word, painted_text
from gui.theme.manager import ThemeMode
from gui.theme.tokens import LIGHT, State
from gui.widgets.basic import column
from gui.widgets.data_grid import CopyFormat, DataGrid
from gui.widgets.panel import Panel, fitting_panel
from gui.widgets.row_painter import TEXT_KINDS, _shortened, _widest, cell_font
from gui.widgets.table_export import ROWS_A_TURN
from gui.words.text import said


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    lag: float


COLUMNS = (
    Column[Row]("name", "Topic", lambda row: row.name, kind=CellKind.STRONG, dot=lambda _row: State.HEALTHY),
    Column[Row]("lag", "Lag", lambda row: f"{row.lag:,.0f}", sort=lambda row: row.lag, right=True, width=90),
    Column[Row](
        "state",
        "State",
        lambda row: "Lagging" if row.lag > 1_000 else "Fine",
        kind=CellKind.CHIP,
        state=lambda _row: State.WARNING,
        width=100,
    ),
    Column[Row](
        "line",
        "15 min",
        lambda _row: "",
        kind=CellKind.SPARKLINE,
        value=lambda row: [1.0, row.lag, float("nan"), 2.0, 3.0],
        width=100,
    ),
    Column[Row]("share", "Share", lambda _row: "", kind=CellKind.BAR, value=lambda _row: 0.4, width=80),
)
ROWS = [Row("orders", 412), Row("payments", 16_870), Row("audit-log", 0)]


@pytest.fixture
def theme(theme):
    theme.set_mode(ThemeMode.LIGHT)
    return theme


@pytest.fixture
def grid(qtbot, theme):
    made = DataGrid(ColumnTableModel(COLUMNS, lambda row: row.name), theme, several=True)
    qtbot.addWidget(made)
    made.resize(700, 300)
    QCursor.setPos(3_000, 3_000)  # a mouse over the rows holds their order
    made.model.set_rows(ROWS)
    made.show()
    return made


def click(qtbot, grid: DataGrid[Row], position: int) -> None:
    at = grid.view.visualRect(grid.model.index(position, 0)).center()
    qtbot.mouseClick(grid.view.viewport(), Qt.MouseButton.LeftButton, pos=at)


def test_a_click_selects_and_tells_the_row(grid, qtbot):
    with qtbot.waitSignal(grid.selected) as told:
        click(qtbot, grid, 1)
    assert told.args == [ROWS[1]]
    assert grid.selected_key == "payments"


def test_the_selection_follows_the_key_over_sort_and_new_values(grid):
    grid.select_key("orders")
    grid.sort_by("lag", descending=True)
    grid.model.set_rows([replace(ROWS[0], lag=1_000_000), *ROWS[1:]])
    assert grid.selected_row == Row("orders", 1_000_000)
    assert [index.row() for index in grid.view.selectionModel().selectedRows()] == [0]


def test_a_selected_row_that_was_filtered_away_is_selected_again(grid, qtbot):
    click(qtbot, grid, 1)
    grid.model.set_filter(lambda row: row.name == "orders")
    assert grid.selected_row is None
    assert grid.selected_key == "payments"
    grid.model.set_filter(None)
    assert grid.selected_row == ROWS[1]


def test_a_key_can_be_selected_before_its_row_comes(grid):
    assert not grid.select_key("later")
    grid.model.set_rows([*ROWS, Row("later", 5)])
    assert grid.selected_row == Row("later", 5)


def test_header_clicks_sort_number_columns_from_the_top_and_the_third_ends_it(grid, qtbot):
    def press() -> list[str]:
        at = QPoint(grid.header.sectionViewportPosition(1) + 20, 10)
        qtbot.mouseClick(grid.header.viewport(), Qt.MouseButton.LeftButton, pos=at)
        return [row.name for row in grid.model.shown_rows]

    assert press() == ["payments", "orders", "audit-log"]
    assert press() == ["audit-log", "orders", "payments"]
    assert press() == ["orders", "payments", "audit-log"]


def test_the_order_holds_while_the_mouse_is_over_the_rows(grid):
    grid.sort_by("lag", descending=True)
    QApplication.sendEvent(grid.view, QEnterEvent(QPointF(5, 5), QPointF(5, 5), QPointF(5, 5)))
    grid.model.set_rows([replace(ROWS[2], lag=99_999), *ROWS[:2]])
    assert [row.name for row in grid.model.shown_rows] == ["payments", "orders", "audit-log"]
    QApplication.sendEvent(grid.view, QEvent(QEvent.Type.Leave))
    assert [row.name for row in grid.model.shown_rows] == ["audit-log", "payments", "orders"]


def test_selected_rows_are_copied_as_table_and_as_json(grid):
    grid.view.selectAll()
    lines = grid.copied_text(CopyFormat.TSV).splitlines()
    assert lines[0].split("\t")[:2] == ["Topic", "Lag"]
    assert lines[2].split("\t")[:2] == ["payments", "16,870"]
    assert [row["name"] for row in json.loads(grid.copied_text(CopyFormat.JSON))] == ["orders", "payments", "audit-log"]
    head, rule, *rows = grid.copied_text(CopyFormat.MARKDOWN).splitlines()
    assert head.startswith("| Topic | Lag |")
    assert rule == f"|{' --- |' * head.count(' | ')} --- |"
    assert rows[1].startswith("| payments | 16,870 |")


def test_a_copied_name_is_no_formula_of_a_spreadsheet(grid):
    grid.model.set_rows([Row("=cmd|' /C calc'!A0", 1), Row("\t＝1", 2)])
    grid.view.selectAll()
    lines = grid.copied_text(CopyFormat.TSV).split("\n")
    assert [line.split("\t")[0] for line in lines[1:]] == ["'=cmd|' /C calc'!A0", "\"'"]
    assert lines[2].startswith('"\'\t＝1"\t2')
    assert json.loads(grid.copied_text(CopyFormat.JSON))[0]["name"] == "=cmd|' /C calc'!A0"


def test_keys_copy(grid, qtbot):
    grid.select_key("orders")
    qtbot.keyClick(grid, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text().startswith("Topic\tLag")
    qtbot.keyClick(grid, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    assert json.loads(QApplication.clipboard().text())["name"] == "orders"


def test_enter_and_double_click_activate(grid, qtbot):
    grid.select_key("orders")
    with qtbot.waitSignal(grid.activated) as told:
        qtbot.keyClick(grid, Qt.Key.Key_Return)
    assert told.args == [ROWS[0]]


def test_no_rows_show_the_sentence_and_its_action(grid, qtbot):
    asked: list[int] = []
    grid.set_empty("No topics yet.", "New topic", lambda: asked.append(1))
    assert not grid.placeholder.isVisible()
    grid.model.set_rows([])
    assert grid.placeholder.isVisible()
    assert grid.placeholder.text == "No topics yet."
    grid.model.set_rows(ROWS)
    assert not grid.placeholder.isVisible()


def test_an_error_takes_the_place_of_the_rows_until_it_ends(grid):
    grid.set_error("The messages were not read.", "queue 9 does not exist", "Retry", lambda: None)
    assert grid.placeholder.isVisible()
    grid.model.set_rows(ROWS[:1])
    assert grid.placeholder.isVisible()
    grid.set_error("")
    assert grid.view.isVisible()


def test_columns_fill_the_view(grid):
    widths = [grid.view.columnWidth(i) for i in range(len(COLUMNS))]
    assert widths[1:] == [90, 100, 100, 80]
    assert sum(widths) == grid.view.viewport().width()


def test_every_kind_of_cell_is_painted_in_the_colours_of_the_theme(grid, theme):
    picture = grid.grab().toImage()
    colours = {picture.pixelColor(x, y).name().upper() for x in range(picture.width()) for y in range(picture.height())}
    assert QColor(LIGHT.healthy).name().upper() in colours
    assert QColor(LIGHT.accent).name().upper() in colours
    assert QColor(LIGHT.panel).name().upper() in colours


def test_only_the_rows_of_the_area_are_painted(qtbot, theme):
    asked: list[str] = []
    columns = (Column[Row]("name", "Topic", lambda row: asked.append(row.name) or row.name),)
    grid = DataGrid(ColumnTableModel(columns, lambda row: row.name), theme)
    qtbot.addWidget(grid)
    grid.resize(400, 300)
    grid.model.set_rows([Row(f"topic-{number}", 0) for number in range(1_000)])
    with qtbot.waitExposed(grid):
        grid.show()
    view = grid.view
    grid.grab()
    asked.clear()
    view.viewport().repaint(view.visualRect(grid.model.index(2, 0)).adjusted(0, 1, 0, -1))
    assert asked == ["topic-2"]


def test_a_selected_row_has_its_ground_across_all_columns(grid, theme):
    grid.select_key("payments")
    box = grid.view.visualRect(grid.model.index(1, 1))
    picture = grid.view.viewport().grab().toImage()
    grounds = {picture.pixelColor(x, box.top() + 2).name() for x in (2, box.left() + 2, box.right() - 2)}
    assert grounds == {QColor(theme.tokens.selected).name()}
    assert picture.pixelColor(2, box.top() - 4) != QColor(theme.tokens.selected)


def test_a_text_too_long_for_its_column_is_cut(grid):
    grid.model.set_rows([Row("w" * 200, 0)])
    grid.view.setColumnWidth(0, 120)
    right = grid.view.visualRect(grid.model.index(0, 0)).right()
    picture = grid.view.viewport().grab().toImage()
    middle = grid.view.rowHeight(0) // 2
    edge = {picture.pixelColor(x, y).name() for x in range(right - 8, right) for y in range(2, 2 * middle - 2)}
    assert len(edge) == 1  # the padding stays free


def test_selected_rows_are_counted_without_being_made(grid):
    assert grid.selected_count == 0
    grid.select_first()
    assert grid.selected_count == 1
    grid.view.selectAll()
    grid.view.setColumnHidden(1, True)
    assert grid.selected_count == len(grid.selected_rows) == 3
    selection = grid.view.selectionModel()
    selection.select(grid.model.index(1, 0), selection.SelectionFlag.Deselect | selection.SelectionFlag.Rows)
    assert grid.selected_count == len(grid.selected_rows) == 2


@pytest.mark.parametrize(("title", "has_line"), [("", False), ("Title", True)])
def test_headings_have_a_line_above_unless_the_edge_of_a_panel_is_there(qtbot, theme, grid, title, has_line):
    panel = Panel(title, flush=True)
    panel.content.addWidget(grid)
    qtbot.addWidget(panel)
    panel.resize(400, 200)
    panel.show()
    top = grid.header.viewport().grab().toImage().pixelColor(20, 0).name()
    grid.setParent(None)  # its own fixture closes it
    assert (top == theme.tokens.border.lower()) is has_line


def test_the_first_key_is_shown_whole_and_the_usual_is_no_chip():
    rows = [("ORD-2600187024 u-39448", None), ("", State.PENDING)]
    model = ColumnTableModel(
        [
            Column("keys", "Key", lambda row: row[0], kind=CellKind.KEYS),
            Column("flag", "Flag", lambda _row: "x", kind=CellKind.FLAG, state=lambda row: row[1]),
        ],
        lambda row: row[0],
    )
    model.set_rows(rows)
    assert [model.cell(row, model.columns[1]).kind for row in rows] == [CellKind.TEXT, CellKind.CHIP]
    assert model.cell(rows[0], model.columns[1]).dim
    assert painted_text(model.columns[0], rows[0]) == "ORD-2600187024"
    assert model.columns[0].text(rows[0]) == "ORD-2600187024 u-39448", "copies have all keys"
    assert first_word("ORD-2600187024 u-39448") == "ORD-2600187024"
    assert first_word("••• •••") == "••• •••"
    shown = _shortened(CellKind.KEYS, "ORD-2600187024", 60)
    assert shown.endswith("7024")
    assert not shown.startswith("ORD")


class ToldPage(QWidget):
    def __init__(self):
        super().__init__()
        self.told = []

    def tell(self, words, state):
        self.told.append((said(words), state))


def test_every_table_is_exported_as_csv_and_copied_as_a_whole(qtbot, theme, tmp_path):
    page = ToldPage()
    qtbot.addWidget(page)
    model = ColumnTableModel(
        [Column("name", "Name", lambda row: row), Column("size", "Size", lambda row: str(len(row))), Column("x", "", str)],
        lambda row: row,
    )
    names = [f"=n{number}" for number in range(1_000)]
    model.set_rows(names)
    grid = DataGrid(model, theme)
    grid.setParent(page)
    page.show()
    grid.set_hidden({"size"})
    grid.export().write(tmp_path / "t.csv")
    qtbot.waitUntil(lambda: bool(page.told))
    assert page.told == [(f"1,000 rows are exported to {tmp_path / 't.csv'}", State.HEALTHY)]
    with (tmp_path / "t.csv").open(encoding="utf-8-sig", newline="") as file:
        assert [cells for _line, cells in read_csv(file)] == [["Name"], *([name] for name in names)]
    grid.export().write(tmp_path / "none" / "t.csv")
    qtbot.waitUntil(lambda: len(page.told) == 2)
    assert page.told[1][1] is State.CRITICAL
    grid.copy_all()
    qtbot.waitUntil(lambda: len(QGuiApplication.clipboard().text().splitlines()) == 1_001)
    menu = QMenu(page)
    grid.add_table_actions(menu)
    assert [action.text() for action in menu.actions()] == ["Copy the table", "Export the table as CSV…"]


def test_selected_rows_can_be_dragged_into_other_programs(qtbot, theme):
    model = ColumnTableModel([Column("name", "Name", lambda row: row)], lambda row: row)
    model.set_rows(["a", "b"])
    grid = DataGrid(model, theme)
    qtbot.addWidget(grid)
    assert grid.dragged() is None
    grid.select_key("b")
    data = grid.dragged()
    assert data.text().splitlines() == ["Name", "b"]
    assert bytes(data.data("text/csv").data()).decode().split() == ["Name", "b"]


def test_many_rows_are_selected_without_a_call_for_each_cell(qtbot, theme):
    model = ColumnTableModel([Column(f"c{place}", "Name", str) for place in range(8)], lambda row: row)
    model.set_rows(range(5_000))
    grid = DataGrid(model, theme, several=True)
    qtbot.addWidget(grid)
    flags = model.flags
    asked: list[int] = []
    model.flags = lambda index: asked.append(index.row()) or flags(index)
    grid.view.selectAll()
    assert (grid.selected_count, len(grid.selected_rows), grid.selected_key) == (5_000, 5_000, 0)
    assert len(asked) < 500


def test_many_rows_are_copied_whole_some_in_each_turn_as_they_were(qtbot, theme):
    made: list[int] = []
    model = ColumnTableModel([Column("name", "Name", lambda row: made.append(row) or str(row))], lambda row: row)
    model.set_rows(range(3_000))
    grid = DataGrid(model, theme, several=True)
    qtbot.addWidget(grid)
    grid.view.selectAll()
    made.clear()
    grid.copy(CopyFormat.JSON)
    assert len(made) <= ROWS_A_TURN
    model.set_rows(range(10))
    text = json.dumps([{"name": str(number)} for number in range(3_000)], indent=2)
    qtbot.waitUntil(lambda: QGuiApplication.clipboard().text() == text)


def test_the_selection_follows_the_newest_row_and_headings_are_no_rows(qtbot, theme):
    model = ColumnTableModel([Column("name", "Name", str)], lambda row: row, section=lambda row: row[0], sections=["a", "b"])
    model.set_rows(["a1", "a2", "b1"])
    grid = DataGrid(model, theme, several=True)
    qtbot.addWidget(grid)
    emitted: list[object] = []
    grid.selected.connect(emitted.append)
    grid.view.selectAll()
    assert grid.selected_rows == ["a1", "a2", "b1"]
    assert emitted == ["a1"]
    grid.select_key("b1")
    assert (grid.selected_rows, emitted) == (["b1"], ["a1", "b1"])
    grid.view.clearSelection()
    assert emitted == ["a1", "b1", None]


def test_a_table_that_fits_its_rows_is_as_high_as_they_are(qtbot, theme):
    model = ColumnTableModel([Column("name", "Name", str)], lambda row: row)
    grid = DataGrid(model, theme)
    grid.set_empty("Nothing")
    page = QWidget()
    page.setLayout(column(fitting_panel(grid), 1))
    qtbot.addWidget(page)
    page.resize(400, 700)
    page.show()
    grid.fit_rows(4)
    row = theme.density.value
    heights = []
    for count in (0, 2, 3, 9):
        model.set_rows([str(number) for number in range(count)])
        qtbot.waitUntil(lambda: grid.height() == grid.sizeHint().height())
        heights.append(grid.height())
    assert heights[2] - heights[1] == row
    assert heights[3] - heights[2] == row, "it scrolls with more rows"
    assert heights[0] > heights[1], "there is room for the words"


@pytest.mark.parametrize("kind", sorted(TEXT_KINDS, key=lambda kind: kind.value))
def test_a_text_that_is_not_measured_fits(grid, kind):
    """A column of 12 px letters is 7.2 px a letter: rounded, 40 of them were painted over the edge without “…”."""
    metrics = QFontMetricsF(cell_font(kind))
    assert all(_widest(kind) * 40 >= metrics.horizontalAdvance(chr(code) * 40) - 1 for code in range(32, 127))
