from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PySide6.QtCore import QPersistentModelIndex, Qt

from gui.models.table import CELL_ROLE, Cell, Column, ColumnTableModel, Section

DESCENDING = Qt.SortOrder.DescendingOrder


@dataclass(frozen=True, slots=True)
class Row:
    name: str
    lag: float
    system: bool = False


COLUMNS = (
    Column[Row]("name", "Topic", lambda row: row.name),
    Column[Row]("lag", "Lag", lambda row: f"{row.lag:,.0f}", sort=lambda row: row.lag, right=True),
)


def make_model(*, sections: bool = False) -> ColumnTableModel[Row]:
    if not sections:
        return ColumnTableModel(COLUMNS, lambda row: row.name)
    return ColumnTableModel(
        COLUMNS,
        lambda row: row.name,
        section=lambda row: "System topics" if row.system else "Your topics",
        sections=("Your topics", "System topics"),
    )


def names(model: ColumnTableModel[Row]) -> list[str]:
    return [row.name for row in model.shown_rows]


ORDERS, PAYMENTS, AUDIT = Row("orders", 412), Row("payments", 16_870), Row("audit", float("nan"))


@pytest.mark.parametrize("sections", [False, True])
def test_the_model_keeps_qts_rules(qtmodeltester, sections):
    model = make_model(sections=sections)
    qtmodeltester.check(model, force_py=True)
    model.set_rows([ORDERS, PAYMENTS, Row("%RETRY%x", 1, system=True)])
    model.set_rows([PAYMENTS, AUDIT])
    model.sort(1, DESCENDING)
    model.set_rows([])
    qtmodeltester.check(model, force_py=True)


def test_rows_sort_and_unknown_stays_last():
    model = make_model()
    model.set_rows([AUDIT, ORDERS, PAYMENTS])
    model.sort(1, DESCENDING)
    assert names(model) == ["payments", "orders", "audit"]
    model.sort(1)
    assert names(model) == ["orders", "payments", "audit"]
    model.sort(-1)
    assert names(model) == ["audit", "orders", "payments"]


def test_a_changed_row_is_told_without_reset(qtbot):
    model = make_model()
    model.set_rows([ORDERS, PAYMENTS])
    resets, changes = [], []
    model.modelReset.connect(lambda: resets.append(1))
    model.dataChanged.connect(lambda first, last: changes.append((first.row(), last.row())))
    model.set_rows([ORDERS, Row("payments", 1)])
    assert (resets, changes) == ([], [(1, 1)])
    model.set_rows([ORDERS, Row("payments", 1)])
    assert changes == [(1, 1)]


def test_removed_and_added_rows_are_told_exactly():
    model = make_model()
    model.set_rows([Row(name, 0) for name in "abcdef"])
    told: list[tuple[str, int, int]] = []
    model.rowsRemoved.connect(lambda _parent, first, last: told.append(("removed", first, last)))
    model.rowsInserted.connect(lambda _parent, first, last: told.append(("inserted", first, last)))
    model.set_rows([Row(name, 0) for name in "aefxy"])
    assert told == [("removed", 1, 3), ("inserted", 3, 4)]


def test_a_persistent_index_follows_its_row():
    model = make_model()
    model.set_rows([ORDERS, PAYMENTS, AUDIT])
    kept = QPersistentModelIndex(model.index(0, 0))
    model.sort(1, DESCENDING)
    assert kept.row() == 1
    model.set_rows([PAYMENTS, AUDIT])
    assert not kept.isValid()


def test_a_frozen_order_keeps_rows_in_place():
    model = make_model()
    model.sort(1, DESCENDING)
    model.set_rows([ORDERS, PAYMENTS])
    model.set_order_frozen(True)
    model.set_rows([Row("orders", 99_999), PAYMENTS, Row("new", 50_000)])
    assert names(model) == ["payments", "orders", "new"]
    model.set_order_frozen(False)
    assert names(model) == ["orders", "new", "payments"]


def test_a_filter_narrows_and_widens():
    model = make_model()
    model.set_rows([ORDERS, PAYMENTS])
    model.set_filter(lambda row: "pay" in row.name)
    assert names(model) == ["payments"]
    assert model.position_of("orders") == -1
    model.set_filter(None)
    assert names(model) == ["orders", "payments"]


def test_sections_count_fold_and_vanish_when_empty():
    model = make_model(sections=True)
    model.set_rows([ORDERS, Row("%RETRY%a", 1, system=True), PAYMENTS])
    assert model.rowCount() == 5
    assert model.data(model.index(0, 0), CELL_ROLE) == Section("Your topics", 2, folded=False)
    assert not model.flags(model.index(0, 0)) & Qt.ItemFlag.ItemIsSelectable
    model.toggle_section("Your topics")
    assert names(model) == ["%RETRY%a"]
    model.set_rows([Row("%RETRY%a", 1, system=True)])
    assert [model.section_at(i) for i in range(model.rowCount())] == ["System topics", None]


def test_rows_of_one_key_in_a_wrong_answer_are_all_shown(qtmodeltester):
    model = make_model()
    qtmodeltester.check(model)
    for rows in ([ORDERS, ORDERS], [PAYMENTS, ORDERS, PAYMENTS, ORDERS, ORDERS], [ORDERS, PAYMENTS], [PAYMENTS] * 3, []):
        model.set_rows(rows)
        assert names(model) == [row.name for row in rows]
        assert model.position_of("orders") == (rows.index(ORDERS) if ORDERS in rows else -1)


def test_a_cell_says_all_that_is_painted():
    model = make_model()
    model.set_rows([PAYMENTS])
    cell = model.data(model.index(0, 1), CELL_ROLE)
    assert isinstance(cell, Cell)
    assert (cell.text, cell.right) == ("16,870", True)


rows_of_any_keys = st.lists(st.tuples(st.sampled_from("abcdefghij"), st.integers(0, 3)), unique_by=lambda pair: pair[0])


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(rows_of_any_keys, min_size=1, max_size=6), sort=st.sampled_from([-1, 0, 1]))
def test_a_view_that_only_listens_sees_what_the_model_shows(qapp, steps, sort):
    model = make_model()
    model.sort(sort)
    mirror: list[str] = []

    def insert(_parent, first, last):
        mirror[first:first] = [model.key_at(i) for i in range(first, last + 1)]

    def remove(_parent, first, last):
        del mirror[first : last + 1]

    def reorder(*_):
        mirror[:] = [model.key_at(i) for i in range(model.rowCount())]

    model.rowsInserted.connect(insert)
    model.rowsRemoved.connect(remove)
    model.layoutChanged.connect(reorder)
    for step in steps:
        rows = [Row(name, lag) for name, lag in step]
        model.set_rows(rows)
        wanted = rows if sort < 0 else sorted(rows, key=lambda row: row.name if sort == 0 else row.lag)
        assert mirror == names(model) == [row.name for row in wanted]
