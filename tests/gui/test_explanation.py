"""Each column, tile and chart says what it is, its unit, where it is from and how old it is."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QContextMenuEvent
from PySide6.QtWidgets import QApplication, QMenu

from broker_core.api import StoreError
from gui.operations.reports import ReportRunner
from gui.operations.tasks import TaskList
from gui.plots.chart_series import ChartSeries
from gui.plots.time_chart import TimeChart
from gui.views.chart_table import show_table
from gui.views.clients.view import ClientsView
from gui.views.consumers.view import ConsumersView
from gui.views.dead_letters.groups import GroupsPanel
from gui.views.dead_letters.view import DeadLettersView
from gui.views.explanation import (
    ExplanationCard,
    explained_at,
    explained_chart,
    explained_column,
    term_of,
    term_of_column,
)
from gui.views.overview.view import OverviewView
from gui.views.reports.view import ReportsView
from gui.views.store.brokers_panel import broker_columns
from gui.views.topics.tag_chart import TagChart
from gui.views.topics.topic_view import TopicView
from gui.widgets.data_grid import DataGrid
from gui.words.report_terms import RESULT_COLUMNS, RESULT_UNITS, result_term
from gui.words.term_origins import Origin
from gui.words.term_texts import TERMS
from gui.words.text import TimeZoneChoice, load_catalogue
from spark_reports.vocabulary import COLUMNS
from tests.support.fake_child import FakeChild
from tests.support.fake_page_context import deliver_background_calls
from tests.support.fake_source import TAKEN_MS, FakeSource
from tests.support.report_results import leave_result


def test_terms_and_origins_are_told_in_chinese():
    known = load_catalogue("zh")
    said = {term.text for term in TERMS.values()} | {term.unit for term in TERMS.values() if term.unit}
    said |= {origin.value for origin in Origin} | set(RESULT_COLUMNS.values()) | set(RESULT_UNITS.values())
    assert sorted(text for text in said if text not in known) == []


def test_bars_by_tag_and_the_note_on_a_group_say_what_they_are(show_page):
    topic = show_page(TopicView, FakeSource())
    topic.open({"topic": "orders"})
    chart = topic.findChild(TagChart) or TagChart(topic.context)
    assert explained_at("topic", chart.bars).terms[0][0] == "Messages in by tag"
    dead = show_page(DeadLettersView, FakeSource())
    (title, term) = explained_at("dead_letters", dead.findChild(GroupsPanel).note).terms[0]
    assert (title, term.origin) == ("Note on the group", Origin.SAVED)


def test_every_origin_is_that_of_some_term():
    assert {term.origin for term in TERMS.values()} | {result_term("topic").origin} == set(Origin)


def test_every_column_of_results_says_what_it_is_and_how_it_is_counted():
    assert set(RESULT_COLUMNS) == set(COLUMNS)
    assert result_term("lag_max").unit == "a count"
    assert result_term("topic").unit == ""
    assert result_term("a column of a query") is None


def test_a_column_of_a_result_is_as_old_as_the_report(show_page, qtbot, tmp_path):
    tasks = TaskList()
    leave_result(tmp_path / "reports" / "throughput-20261121-100211")
    runner = ReportRunner(tasks, folder=tmp_path / "reports", process=FakeChild())
    view = show_page(ReportsView, FakeSource(), reports=runner)
    qtbot.waitUntil(lambda: bool(view.history.model.rows))
    view.history.grid.select_first()
    view.show_part("result")
    qtbot.waitUntil(lambda: view.result.make().grid is not None)
    grid = view.result.make().grid
    told = explained_column("reports", grid, 1)
    assert told.terms == (("Messages", result_term("messages")),)
    assert told.read_ms == view.result.make().run.created_ms > 0
    own = replace(grid.model.columns[1], term="result/a column of a query")
    assert "a figure of the result" in term_of_column("reports", own).text.casefold()


def test_tables_of_dialogs_are_explained(show_page, qtbot):
    view = show_page(ConsumersView, FakeSource())
    view.open({"group": "payment-settle", "tab": "members"})
    deliver_background_calls()
    reset = view.dialogs.reset(view.group_grid.selected_row)
    client = view.dialogs.client("payment-settle", view.members.rows[0])
    figures = show_table(view.lag.chart.make(), view.context.theme, view.context.times)
    for dialog in (reset, client, figures):
        (grid,) = dialog.findChildren(DataGrid)
        assert [column.title for column in grid.model.columns if term_of_column("consumers", column) is None] == []
    (grid,) = reset.findChildren(DataGrid)
    qtbot.keyClick(grid.view, Qt.Key.Key_F1)
    (card,) = reset.findChildren(ExplanationCard)
    assert card.words.startswith("Queue\n")
    assert card.parent() is reset, "the dialog keeps keys and mouse from all windows but its own"
    card.close()
    for dialog in (reset, client, figures):
        dialog.close()


def test_a_title_that_means_something_else_on_a_page_has_a_term_there():
    assert term_of("store", "Behind") is not term_of("consumers", "Behind") is not None
    assert term_of("store", "No such column") is None


def test_brokers_of_an_attached_cluster_are_explained_as_brokers():
    terms = [term_of("store", column.title) for column in broker_columns()]
    assert None not in terms
    assert {term.origin for term in terms} == {Origin.LIVE}


def test_what_a_report_and_a_group_draw_is_not_taken_for_a_figure_of_another_page(theme, qtbot):
    chart = TimeChart(theme, TimeZoneChoice(), (ChartSeries("lag", "Lag"), ChartSeries("0", "orders 0")))
    qtbot.addWidget(chart)
    for page, origin, unit in (("reports", Origin.RESULTS, ""), ("consumers", Origin.HISTORY, "messages, s or messages/s")):
        ((_title, term),) = explained_chart(page, chart).terms
        assert (term.origin, term.unit) == (origin, unit)
    ((title, _term),) = explained_chart("overview", chart).terms
    assert title == "Lag", "a line that nobody knows is left out"
    assert term_of("reports", "Topic").origin is Origin.RESULTS
    assert term_of("reports", "Report").text.startswith("Which report")


def test_a_column_is_explained_by_key_with_its_unit_and_age(show_page):
    view = show_page(ConsumersView, FakeSource())
    grid = view.position_grid
    place = [column.key for column in grid.model.columns].index("lag")
    grid.view.setCurrentIndex(grid.model.index(0, place))
    assert view.explain_part(grid.view)
    (card,) = view.findChildren(ExplanationCard)
    assert card.words.startswith("Lag\n")
    assert "messages" in card.words
    assert Origin.LIVE.value in card.words
    assert view.context.times.seconds(TAKEN_MS) in card.age, "live figures are as old as the newest state"
    card.close()


def test_a_list_is_as_old_as_its_read(show_page):
    source = FakeSource()
    view = show_page(ClientsView, source)
    found = explained_column("clients", view.grid, 0)
    assert found is not None
    assert found.read_ms == view.grid.read_ms > 0
    source.fail_with = StoreError("closed")
    before = view.grid.read_ms
    view.refresh()
    assert view.grid.read_ms == before, "a read that failed does not make it younger"


def test_a_tile_is_explained_by_its_menu(show_page):
    view = show_page(OverviewView, FakeSource())
    tile = view.tiles.tiles["lag"]
    at = tile.mapTo(view, QPoint(10, 10))
    QApplication.sendEvent(view, QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, view.mapToGlobal(at)))
    menu = next(one for one in view.findChildren(QMenu) if one.actions() and "Consumer lag" in one.actions()[0].text())
    menu.actions()[0].trigger()
    card = next(one for one in view.findChildren(ExplanationCard))
    assert "messages" in card.words
    card.close()
    menu.close()


def test_the_menu_of_a_head_explains_its_column(show_page, qtbot):
    view = show_page(ConsumersView, FakeSource())
    grid = view.group_grid
    place = [column.key for column in grid.model.columns].index("lag")
    menu = grid.columns.menu(grid, place)
    assert menu.actions()[0].text() == "What is “Lag”?"
    menu.actions()[0].trigger()
    (card,) = view.findChildren(ExplanationCard)
    assert card.words.startswith("Lag\n")
    qtbot.keyClick(card, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: not view.findChildren(ExplanationCard))
    assert "What is" not in grid.columns.menu(grid).actions()[0].text()


def test_what_shows_no_figure_is_not_explained(show_page):
    view = show_page(ClientsView, FakeSource())
    assert explained_at("clients", view.header) is None
    assert not view.explain_part(view.header)
