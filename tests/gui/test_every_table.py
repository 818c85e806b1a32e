"""Every table of the window is copied and exported by one mechanism; a view that is none is named here, with the reason."""

from __future__ import annotations

import ast
import csv
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication

from gui.widgets.data_grid import DataGrid
from gui.widgets.text_table import TextTable
from tests.unit.test_import_circles import ROOT, modules_of

VIEWS = {"QTableView", "QTableWidget", "QTreeView", "QTreeWidget", "QColumnView"}
EXPORTED = {"gui.widgets.data_grid": {"QTableView"}, "gui.widgets.text_table": {"QTableView"}}
NO_TABLES = {
    # A body as a tree; it is copied as JSON, and downloaded.
    "gui.views.messages.json_tree": {"QTreeView"},
    # Names of tables and columns, which are put into a query.
    "gui.views.reports.sql_editor": {"QTreeWidget"},
}


def made_views(module: ast.Module) -> Iterator[str]:
    """Qt's views that a module makes or derives from."""
    for node in ast.walk(module):
        names = [node.func] if isinstance(node, ast.Call) else node.bases if isinstance(node, ast.ClassDef) else []
        yield from (name.id for name in names if isinstance(name, ast.Name) and name.id in VIEWS)


def test_no_table_is_made_in_another_way():
    found = {name: set(made_views(module)) for name, module in modules_of(Path(ROOT), "Q(Table|Tree|Column)").items()}
    assert {name: views for name, views in found.items() if views} == EXPORTED | NO_TABLES


@pytest.mark.parametrize("kind", [DataGrid, TextTable])
def test_each_kind_of_table_copies_and_exports(kind):
    assert {"copy", "export", "keyPressEvent"} <= vars(kind).keys()


@pytest.fixture
def table(qtbot):
    made = TextTable()
    qtbot.addWidget(made)
    made.set_rows(["State", "字段"], [["=1+1", "值,1"], ["long " * 2_000, "two\nlines"], ["x", ""]])
    made.show()
    return made


def test_a_table_of_texts_is_exported_whole_and_as_it_stands(table, qtbot, tmp_path, chinese):
    """Headings are those of a body: one that is a word of the window, too, is not translated."""
    path = tmp_path / "body.csv"
    table.export().write(path)
    qtbot.waitUntil(lambda: path.is_file() and path.stat().st_size > 10_000)
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["State", "字段"]
    assert rows[1] == ["'=1+1", "值,1"]
    assert rows[2] == ["long " * 2_000, "two\nlines"]
    assert len(rows) == 4


def test_a_table_of_texts_is_copied_by_keys_and_menu(table, qtbot):
    table.selectRow(2)
    qtbot.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text().splitlines() == ["State\t字段", "x\t"]
    copy, export = table.menu().actions()
    copy.trigger()
    assert len(QGuiApplication.clipboard().text().splitlines()) >= 4
    assert export.text() == "Export the table as CSV…"


def test_a_table_of_texts_asks_for_a_file_by_its_key(table, qtbot, monkeypatch):
    asked = []
    monkeypatch.setattr("gui.widgets.table_export.ask_to_save", lambda *given: asked.append(given[1]))
    qtbot.keyClick(table, Qt.Key.Key_E, Qt.KeyboardModifier.ControlModifier)
    assert asked == ["Export the table"]
