"""Queries of the Reports page: several in tabs, those that were run, both kept over a restart. No report is run."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtWidgets import QInputDialog

from gui.models.queries import OpenQuery, QueryRun
from gui.models.reports import RunState
from gui.operations.query_memory import RUNS_CHARACTERS_MAX, RUNS_MAX, TABS_MAX, TEXT_CHARACTERS_MAX, QueryMemory, QueryRecorder
from gui.operations.reports import ReportRunner
from gui.operations.tasks import TaskList
from gui.views.reports.query_tabs import QueryTabs
from gui.views.reports.view import CATALOG, EDITOR, ReportsView
from spark_reports import saved_queries
from spark_reports.catalog import find
from tests.support.fake_child import FakeChild
from tests.support.fake_source import FakeSource
from tests.support.languages import shown_in

SQL = find("sql")
TABLE = "topic,messages\norders,600\n"


@pytest.fixture
def settings(tmp_path):
    return QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def memory(settings):
    return QueryMemory(settings)


@pytest.fixture
def child():
    return FakeChild()


@pytest.fixture
def runner(qapp, child, tmp_path):
    return ReportRunner(TaskList(), folder=tmp_path / "reports", process=child, clock_ms=lambda: 0.0)


@pytest.fixture
def make_view(show_page, runner):
    def make() -> ReportsView:
        view = show_page(ReportsView, FakeSource(), reports=runner)
        view.form.show_broker_store("/data/store")
        view.choose(SQL)
        return view

    return make


def test_the_form_leaves_the_small_editor_out_in_another_language_too(make_view, qtbot):
    view = make_view()
    assert view.parts.current == EDITOR
    with shown_in("zh"):
        qtbot.waitUntil(lambda: view.form.own.fields["query"].saved.accessibleName() == "已保存的查询")
        assert view.form.own.fields["query"].editor.isHidden()


@pytest.fixture
def tabs(qtbot, theme, memory):
    made = QueryTabs(theme, memory)
    qtbot.addWidget(made)
    made.show()
    return made


def titles(tabs: QueryTabs) -> list[str]:
    return [tabs.bar.tabText(place) for place in range(tabs.bar.count())]


def texts(tabs: QueryTabs) -> list[str]:
    return [one.text for one in tabs.queries]


def run_of(text: str, ended_ms: int = 1, **changes) -> QueryRun:
    return QueryRun(**{"text": text, "ended_ms": ended_ms, "took_ms": 5, "rows": 1, "state": RunState.COMPLETE} | changes)


# ---- tabs --------------------------------------------------------------------------------------------------------------


def test_several_queries_are_open_and_the_form_has_the_one_in_front(make_view):
    view = make_view()
    tabs, field = view.editor.made.tabs, view.form.own.fields["query"]
    tabs.editor.setPlainText("SELECT 1")
    tabs.plus.click()
    assert titles(tabs) == ["Query 1", "Query 2"]
    assert field.text() == ""
    tabs.editor.setPlainText("SELECT 2")
    assert field.text() == "SELECT 2"
    tabs.bar.setCurrentIndex(0)
    assert field.text() == "SELECT 1"
    assert texts(tabs) == ["SELECT 1", "SELECT 2"]


def test_a_query_is_shown_once(make_view):
    view = make_view()
    assert view.form.own.fields["query"].editor.isHidden()
    view.show_part(CATALOG)
    assert not view.form.own.fields["query"].editor.isHidden()


def test_each_query_can_be_undone_by_itself(tabs):
    tabs.editor.insertPlainText("SELECT 1")
    tabs.add("SELECT 2")
    tabs.bar.setCurrentIndex(0)
    tabs.editor.undo()
    assert texts(tabs) == ["", "SELECT 2"]


def test_tabs_are_renamed_moved_and_closed(tabs, qtbot):
    tabs.editor.setPlainText("SELECT 1")
    tabs.add("SELECT 2")
    tabs.ask_name(0)
    dialog = tabs.findChild(QInputDialog)
    assert dialog.textValue() == "Query 1"
    dialog.setTextValue("by topic")
    dialog.accept()
    assert titles(tabs) == ["by topic", "Query 2"]
    tabs.bar.moveTab(0, 1)
    assert texts(tabs) == ["SELECT 2", "SELECT 1"]
    assert tabs.text == "SELECT 2"
    tabs.close_query(0)
    assert titles(tabs) == ["by topic"]
    tabs.close_query(0)
    assert texts(tabs) == [""], "one is always open"
    tabs.reopen()
    assert (titles(tabs)[-1], tabs.text) == ("by topic", "SELECT 1")


def test_a_tab_is_closed_by_the_middle_button_and_named_by_a_double_click(tabs, qtbot):
    tabs.add("SELECT 2")
    middle = tabs.bar.tabRect(1).center()
    qtbot.mouseDClick(tabs.bar, Qt.MouseButton.LeftButton, pos=QPoint(middle.x() - 12, middle.y()))
    assert tabs.findChild(QInputDialog).textValue() == "Query 2"
    qtbot.mouseClick(tabs.bar, Qt.MouseButton.MiddleButton, pos=middle)
    assert titles(tabs) == ["Query 1"]


def test_there_are_not_more_tabs_than_can_be_kept(make_view, window):
    view = make_view()
    tabs = view.editor.made.tabs
    for number in range(TABS_MAX + 3):
        tabs.add(f"SELECT {number}")
    assert tabs.bar.count() == TABS_MAX
    assert window.notices[-1][0].startswith("20 queries are open")


def test_titles_follow_the_language_and_names_do_not(tabs, qtbot):
    tabs.take("SELECT 1", "by topic")
    tabs.add("SELECT 2")
    with shown_in("zh"):
        qtbot.waitUntil(lambda: titles(tabs) == ["by topic", "查询 2"])


def test_a_saved_query_replaces_no_other(make_view):
    view = make_view()
    tabs = view.editor.made.tabs
    tabs.editor.setPlainText("SELECT 1")
    view.form.own.query_loaded.emit("hosts", "SELECT 2")
    assert texts(tabs) == ["SELECT 1", "SELECT 2"]
    assert titles(tabs)[1] == "hosts"
    view.form.own.query_loaded.emit("hosts", "SELECT 2")
    assert len(texts(tabs)) == 2, "it is open already"


# ---- kept --------------------------------------------------------------------------------------------------------------


def test_tabs_are_kept_over_a_restart(make_view, qtbot):
    view = make_view()
    tabs = view.editor.made.tabs
    qtbot.waitUntil(tabs.isVisible)
    tabs.editor.setPlainText("SELECT '主题'")
    tabs.add("SELECT 2", "second")
    tabs.editor.setPlainText("SELECT 2 -- typed")
    view.close()
    again = make_view().editor.made.tabs
    assert texts(again) == ["SELECT '主题'", "SELECT 2 -- typed"]
    assert titles(again) == ["Query 1", "second"]
    assert again.text == "SELECT 2 -- typed"


def test_connections_have_tabs_of_their_own(settings):
    QueryMemory(settings, "cluster/").keep_tabs([OpenQuery(1, "SELECT 1")], 0)
    assert QueryMemory(settings).tabs == []
    assert QueryMemory(settings, "cluster/").tabs == [OpenQuery(1, "SELECT 1")]


def test_what_cannot_be_edited_is_not_kept(memory):
    memory.keep_tabs([OpenQuery(1, "x" * (TEXT_CHARACTERS_MAX + 1), "long")], 0)
    assert memory.tabs == [OpenQuery(1, "", "long")]


@pytest.mark.parametrize("kept", ["", "{", "7", "[7]", '[["a", 1, 2]]', '[[0, "a", "b"]]', '[["q", 1, 2, 3, "unheard", ""]]'])
def test_a_file_that_somebody_edited_is_read_as_far_as_it_goes(settings, memory, tabs, kept):
    settings.setValue("reports/queries/tabs", kept)
    settings.setValue("reports/queries/runs", kept)
    settings.setValue("reports/queries/current", "many")
    assert memory.tabs == memory.runs == []
    tabs.load()
    assert tabs.bar.count() == 1


# ---- history -----------------------------------------------------------------------------------------------------------


def test_what_was_run_is_listed_with_rows_or_failure_newest_first(make_view, runner, child, memory, qtbot):
    recorder = QueryRecorder(runner, memory, now_ms=iter([1_000, 2_000]).__next__)
    view = make_view()
    editor = view.editor.made
    editor.editor.setPlainText("SELECT topic\nFROM messages")
    view.form.run()
    child.say(stage="first", title="Rows", rows=1_204, csv=TABLE)
    child.say(stage="done", state="complete", rows=5_000, html="")
    child.end()
    editor.tabs.add("SELECT nothing")
    view.form.run()
    child.say(stage="failed", error="UsageError", message="there is no column nothing")
    child.end(2)
    model = editor.history.model
    qtbot.waitUntil(lambda: len(model.rows) == 2)
    assert [run.text for run in model.shown_rows] == ["SELECT nothing", "SELECT topic\nFROM messages"]
    shown = [[model.index(row, column).data() for column in range(2)] for row in range(2)]
    assert shown == [["SELECT nothing", "Failed"], ["SELECT topic FROM messages", "1,204 rows"]]
    assert "there is no column nothing" in model.index(0, 1).data(Qt.ItemDataRole.ToolTipRole)
    recorder.close()


def test_other_reports_are_no_queries(runner, child, memory):
    recorder = QueryRecorder(runner, memory)
    for order in (runner.order(find("throughput"), ("/a",)), runner.order(SQL, ("/a",), (("saved", "hosts"),))):
        runner.start(order)
        child.end(1)
    assert memory.runs == []
    recorder.close()


def test_a_click_puts_a_query_back_into_a_tab(make_view, memory, qtbot):
    memory.add_run(run_of("SELECT 7"))
    view = make_view()
    editor = view.editor.made
    editor.editor.setPlainText("SELECT 1")
    rect = editor.history.grid.view.visualRect(editor.history.model.index(0, 0))
    qtbot.mouseClick(editor.history.grid.view.viewport(), Qt.MouseButton.LeftButton, pos=rect.center())
    assert texts(editor.tabs) == ["SELECT 1", "SELECT 7"]
    assert view.parts.current == EDITOR
    assert view.form.own.fields["query"].text() == "SELECT 7"
    editor.history.wanted.emit(memory.runs[0])
    assert len(texts(editor.tabs)) == 2, "it is open already"


def test_the_history_is_searched_and_forgotten(make_view, memory):
    for run in (
        run_of("SELECT topic", 1),
        run_of("SELECT host", 2),
        run_of("SELECT x", 3, state=RunState.FAILED, fault="no column"),
    ):
        memory.add_run(run)
    history = make_view().editor.made.history
    history.search.searched.emit("select TOPIC")
    assert [run.text for run in history.model.shown_rows] == ["SELECT topic"]
    history.search.searched.emit("column")
    assert [run.text for run in history.model.shown_rows] == ["SELECT x"]
    menu = history.open_menu(memory.runs[0], QPoint())
    menu.actions()[3].trigger()
    history.search.searched.emit("")
    assert [run.text for run in history.model.shown_rows] == ["SELECT host", "SELECT topic"]
    menu.actions()[4].trigger()
    assert memory.runs == history.model.rows == []
    menu.close()


def test_the_history_is_bounded(memory):
    for number in range(RUNS_MAX + 5):
        memory.add_run(run_of(f"SELECT {number}", number))
    assert len(memory.runs) == RUNS_MAX
    assert memory.runs[0].text == f"SELECT {RUNS_MAX + 4}"
    long = "x" * TEXT_CHARACTERS_MAX
    for number in range(6):
        memory.add_run(run_of(long, 1_000 + number))
    assert len(memory.runs) == RUNS_CHARACTERS_MAX // TEXT_CHARACTERS_MAX
    memory.add_run(run_of(long + "y"))
    assert long + "y" not in [run.text for run in memory.runs], "it cannot be edited, so it is not kept"


def test_runs_are_kept_over_a_restart(settings, tmp_path):
    QueryMemory(settings).add_run(run_of("SELECT '主题'", 5, state=RunState.FAILED, rows=-1, fault="no"))
    settings.sync()
    again = QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat)
    assert QueryMemory(again).runs == [run_of("SELECT '主题'", 5, state=RunState.FAILED, rows=-1, fault="no")]
    assert json.loads(str(again.value("reports/queries/runs")))


def test_a_query_that_is_too_long_to_be_kept_stays_while_the_window_is_open(tabs):
    text = "SELECT 1 -- " + "x" * TEXT_CHARACTERS_MAX
    tabs.load()
    tabs.editor.setPlainText(text)
    tabs.keep()
    tabs.load()
    assert tabs.text == text


def test_a_saved_query_that_finds_no_tab_replaces_none(make_view, tmp_path, monkeypatch, qtbot):
    monkeypatch.setattr(saved_queries, "folder", lambda: tmp_path / "queries")
    saved_queries.save("mine", "SELECT 'mine'")
    view = make_view()
    view.show_part(EDITOR)
    tabs = view.editor.made.tabs
    while len(texts(tabs)) < TABS_MAX:
        tabs.add(f"SELECT {len(texts(tabs))}")
    before = texts(tabs)
    field = view.form.own.fields["query"]
    qtbot.waitUntil(lambda: field.saved.findData("mine") > 0)
    field.saved.setCurrentIndex(field.saved.findData("mine"))
    with qtbot.waitSignal(field.loaded):
        field.saved.activated.emit(field.saved.currentIndex())
    assert texts(tabs) == before
    assert field.text() == tabs.text
