"""Searching on the Messages page: plan, hits as they come, pause, cancel, and an end that says how complete it is."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu, QPushButton

from broker_core.api import FilterError, WorkerLostError
from broker_core.worker.questions.searches import ContinueSearch, EndSearch, FindBound, SearchHits, SearchStarted, StartSearch
from broker_core.worker.questions.stored_messages import BrowseQueue
from gui.operations.search import SearchRun, SearchState
from gui.operations.tasks import TaskList, TaskState
from gui.plots.value_scale import AXIS_WIDTH
from gui.views.messages.view import BROWSE, SEARCH, MessagesView
from monitoring.sources.base import SourceStatus
from tests.gui.test_hits import hits_of
from tests.support.drags import drag
from tests.support.fake_source import TAKEN_MS, FakeSource, fake_state


@pytest.fixture
def source():
    return FakeSource(fake_state())


@pytest.fixture
def view(show_page, source):
    made = partial(show_page, MessagesView)(source)
    made.open({"show": "search"})
    source.hold = True
    return made


def test_the_choice_of_messages_stands_beside_the_filter(view):
    bar = view.search.bar
    bar.line.activate()
    assert bar.line.indexOf(view.search.bound) > bar.line.indexOf(bar.edit)
    assert not view.search.bound.geometry().intersects(bar.edit.geometry())


def turn(places, *, scanned, total=1_000, found=None, is_over=False, reasons=(), notes=()):
    hits = hits_of(places)
    return replace(
        hits,
        scanned=scanned,
        total=total,
        found=len(places) if found is None else found,
        is_over=is_over,
        reasons=list(reasons),
        notes=list(notes),
    )


def answer(source, value):
    """Answer the oldest open question of a search with a value, or with an error."""
    kinds = (SearchStarted, SearchHits) if isinstance(value, Exception) else (type(value),)
    pending = next(one for one in source.held if one.answers_with in kinds and not one.was_cancelled)
    source.held.remove(pending)
    if isinstance(value, Exception):
        pending.release(error=value)
    else:
        pending.release(value)


def searching(source):
    """Open questions of a search."""
    return [one for one in source.held if one.answers_with is SearchHits and not one.was_cancelled]


def begin(view, source, text="queue >= 0", total=1_000):
    view.search.bar.set_text(text)
    source.held.clear()
    view.search.bar.submit()
    answer(source, SearchStarted(5, ["scan of 3 queues, 1,000 messages"], total))


def show_hits(qtbot, view, count):
    qtbot.waitUntil(lambda: view.search.model.rowCount() == count)


def test_the_plan_is_shown_before_anything_is_read(view, source):
    view.search.bar.set_text("queue >= 0")
    source.held.clear()
    view.search.bar.submit(plan_only=True)
    answer(source, SearchStarted(5, ["scan of 3 queues, 1,000 messages"], 1_000))
    run, progress = view.search.run, view.search.progress
    assert (run.state, searching(source)) == (SearchState.PAUSED, [])
    assert "1 scan of 3 queues, 1,000 messages" in progress.plan.whole_text()
    assert progress.pause_button.text() == "Go on"
    progress.pause_button.click()
    assert run.state is SearchState.RUNNING
    assert source.asked[-1] == ContinueSearch(5)


def test_hits_stream_in_and_the_end_says_complete(qtbot, view, source):
    begin(view, source)
    answer(source, turn([10, 20], scanned=400))
    show_hits(qtbot, view, 2)
    assert view.search.progress.counts.text() == "400 of 1,000 messages, 2 hits"
    assert view.search.progress.verdict.text == "Partial until done"
    assert view.search.foot.text() == "2 hits so far"
    answer(source, turn([30], scanned=1_000, found=3, is_over=True))
    show_hits(qtbot, view, 3)
    assert (view.search.run.state, view.search.progress.verdict.text) == (SearchState.COMPLETE, "Complete")
    assert view.search.foot.text() == "3 hits"
    assert not view.search.progress.reason.isVisible()


def test_a_partial_end_says_why(qtbot, view, source):
    begin(view, source)
    reason = "1 damaged place could not be read, the first in commitlog/0 at 7: torn"
    answer(source, turn([10], scanned=999, is_over=True, reasons=[reason]))
    show_hits(qtbot, view, 1)
    assert view.search.progress.verdict.text == "Partial"
    assert view.search.progress.reason.text() == f"Partial, because {reason}"


def test_what_is_not_certain_of_the_hits_is_said(qtbot, view, source):
    begin(view, source)
    note = "1 hit is in retry topic %RETRY%g_a_t, which fits several pairs of group and topic: g+a_t, g_a+t"
    answer(source, turn([10], scanned=1_000, is_over=True, notes=[note]))
    show_hits(qtbot, view, 1)
    assert view.search.progress.verdict.text == "Complete"
    assert view.search.progress.reason.text() == note
    begin(view, source)
    assert not view.search.progress.reason.isVisible()


def test_a_pause_asks_for_nothing_and_keeps_what_was_on_its_way(qtbot, view, source):
    begin(view, source)
    view.search.progress.pause_button.click()
    answer(source, turn([10], scanned=200))
    show_hits(qtbot, view, 1)
    assert (view.search.run.state, searching(source)) == (SearchState.PAUSED, [])
    view.search.progress.pause_button.click()
    assert len(searching(source)) == 1
    answer(source, turn([20], scanned=1_000, found=2, is_over=True))
    show_hits(qtbot, view, 2)


def test_a_cancelled_search_keeps_its_hits_and_says_that_it_is_partial(qtbot, view, source):
    begin(view, source)
    answer(source, turn([10], scanned=200))
    show_hits(qtbot, view, 1)
    view.search.progress.cancel_button.click()
    assert view.search.run.state is SearchState.PARTIAL
    assert view.search.progress.reason.text() == "Partial, because it was cancelled"
    assert EndSearch(5) in source.asked
    assert view.search.model.rowCount() == 1


def test_another_search_ends_the_one_before(qtbot, view, source):
    begin(view, source)
    answer(source, turn([10], scanned=200))
    show_hits(qtbot, view, 1)
    begin(view, source, "queue = 1")
    assert EndSearch(5) in source.asked
    assert view.search.model.rowCount() == 0


def test_a_broker_that_is_lost_leaves_a_partial_result(qtbot, view, source):
    begin(view, source)
    answer(source, turn([10], scanned=200))
    show_hits(qtbot, view, 1)
    answer(source, WorkerLostError("the broker process was killed"))
    assert view.search.run.state is SearchState.PARTIAL
    assert "the broker process was killed" in view.search.progress.reason.text()


def test_a_search_that_cannot_begin_says_why_and_can_be_repeated(view, source):
    source.hold = False
    source.set_status(SourceStatus.LOST)
    view.search.bar.set_text("queue = 1")
    view.search.bar.submit()
    assert view.search.run.state is SearchState.FAILED
    source.set_status(SourceStatus.READY)
    (retry,) = [button for button in view.search.grid.findChildren(QPushButton) if button.text() == "Retry"]
    retry.click()
    assert view.search.run.state is SearchState.COMPLETE


def test_a_filter_that_only_the_worker_refuses_is_marked(view, source):
    view.search.bar.set_text("queue = 1")
    source.held.clear()
    view.search.bar.submit()
    answer(source, FilterError("at character 1: no", position=0, length=5))
    assert view.search.bar.fault.whole_text() == "at character 1: no"


def test_hits_come_without_bodies(view, source):
    begin(view, source)
    assert StartSearch("queue >= 0", -1, False) in source.asked


def test_a_hit_is_read_when_it_is_selected_and_its_properties_are_offered(qtbot, view, source):
    source.hold = False
    source.held.clear()
    view.search.model.append(hits_of([2_560, 5_120]))
    view.search.grid.select_first()
    assert view.detail.detail.physical_offset == 2_560
    assert set(view.search.bar.edit.vocabulary.properties) >= set(view.detail.detail.properties)


def test_cells_make_conditions_for_and_against(view):
    view.search.model.append(hits_of([5], keys=['a"b c']))
    hit = view.search.model.row_at(0)
    conditions = {column: [text for _title, text in view.search.conditions(hit, column)] for column in ("topic", "keys", "tag")}
    assert conditions == {
        "topic": ['topic = "t2"', 'topic != "t2"'],
        "keys": ['key = "a\\"b"', 'key != "a\\"b"'],
        "tag": ['tag = "杭"', 'tag != "杭"'],
    }
    assert [text for _title, text in view.search.conditions(hit, "store_ms")] == [
        f"stored >= {hit.store_ms}",
        f"stored < {hit.store_ms}",
    ]
    assert view.search.conditions(hit, "body") == []


def test_columns_are_added_hidden_and_remembered(show_page, view, source):
    source.hold = False
    assert view.search.fields.add_field("prop.region")
    assert view.search.fields.add_field("body.items[0].sku")
    assert not view.search.fields.add_field("prop.region")
    assert not view.search.fields.add_field("no field")
    view.search.fields.show_column("topic", False)
    view.search.fields.remove_field("prop.region")
    again = show_page(MessagesView, FakeSource(fake_state()))
    keys = [column.key for column in again.search.model.columns]
    assert keys[-1] == "body.items[0].sku"
    assert "prop.region" not in keys
    assert again.search.grid.view.isColumnHidden(keys.index("topic"))


def test_the_queue_of_a_hit_can_be_browsed(view, source):
    source.hold = False
    view.search.model.append(hits_of([256 * 40]))
    hit = replace(view.search.model.row_at(0), topic="orders", queue_id=3)
    view.search.browse_wanted.emit(hit)
    assert view.tabs.currentIndex() == BROWSE
    asked = source.asked_for(BrowseQueue)
    assert (asked[-1].topic, asked[-1].queue_id) == ("orders", 3)


def test_the_page_opens_at_a_filter_and_the_tab_names_it(show_page):
    source = FakeSource(fake_state())
    view = show_page(MessagesView, source)
    assert view.tabs.currentIndex() == BROWSE
    view.open({"filter": 'topic = "orders"'})
    assert (view.tabs.currentIndex(), view.search.run.text) == (SEARCH, 'topic = "orders"')
    assert view.tab_title() == 'Messages: topic = "orders"'
    view.focus_filter()
    assert view.search.bar.edit.hasFocus() or view.focusWidget() is view.search.bar.edit


def test_a_running_search_is_a_task_that_can_be_cancelled(qtbot, view, source):
    begin(view, source)
    (task,) = view.context.tasks.running
    answer(source, turn([1], scanned=500))
    assert task.share == 0.5
    task.cancel()
    assert (task.state, view.search.run.state) == (TaskState.CANCELLED, SearchState.PARTIAL)


def test_the_rate_leaves_pauses_out(qtbot, source):
    now = [0.0]
    tasks = TaskList()
    source.hold = True
    run = SearchRun(source, tasks, tasks, now_s=lambda: now[0])
    run.start("queue = 1")
    answer(source, SearchStarted(1, [], 100))
    now[0] = 2.0
    answer(source, turn([1], scanned=20, total=100))
    assert (run.rate, run.seconds_left) == (10.0, 8.0)
    run.pause()
    now[0] = 50.0
    assert (run.rate, run.seconds_left) == (10.0, 8.0)
    (task,) = tasks.running
    assert task.is_paused
    task.toggle_pause()
    assert (run.state, task.is_paused) == (SearchState.RUNNING, False), "the list of tasks pauses it too"
    run.end()


def test_sorting_again_at_the_end_takes_in_what_came_last(qtbot, view, source):
    begin(view, source)
    answer(source, turn([10, 20], scanned=400))
    show_hits(qtbot, view, 2)
    view.search.grid.sort_by("queue_offset", descending=True)
    qtbot.waitUntil(lambda: view.search.model.key_at(0) == 20)
    answer(source, turn([30], scanned=1_000, found=3, is_over=True))
    qtbot.waitUntil(lambda: [view.search.model.key_at(row) for row in range(3)] == [30, 20, 10])


def test_hits_of_queues_that_answer_as_they_can_stand_as_they_were_stored(qtbot, view, source):
    begin(view, source)
    answer(source, turn([30, 10, 50], scanned=400))
    show_hits(qtbot, view, 3)
    grid = view.search.grid
    assert grid.selected_key == 10, "the first one"
    grid.select_key(30)
    answer(source, turn([40, 20], scanned=700, found=5))
    show_hits(qtbot, view, 5)
    assert [view.search.model.key_at(row) for row in range(5)] == [10, 20, 30, 40, 50]
    assert [(row.physical_offset, grid.view.currentIndex().row()) for row in grid.selected_rows] == [(30, 2)]
    view.search.model.set_order_frozen(True)  # the mouse is over the rows
    answer(source, turn([5], scanned=1_000, found=6, is_over=True))
    qtbot.waitUntil(lambda: [view.search.model.key_at(row) for row in range(6)] == [5, 10, 20, 30, 40, 50])
    assert grid.selected_row.physical_offset == 30


def test_rows_that_are_read_stay_where_they_are_while_hits_come_above_them(qtbot, view, source):
    begin(view, source)
    answer(source, turn(range(1_000, 3_000, 10), scanned=400))
    show_hits(qtbot, view, 200)
    grid, bar = view.search.grid, view.search.grid.view.verticalScrollBar()
    answer(source, turn(range(500, 510), scanned=500, found=210))
    show_hits(qtbot, view, 210)
    assert (bar.value(), view.search.model.key_at(grid.view.rowAt(0))) == (0, 500), "at the top those that come are seen"
    bar.setValue(35 * grid.view.rowHeight(0) + 7)
    top, y = view.search.model.key_at(grid.view.rowAt(0)), grid.view.rowViewportPosition(grid.view.rowAt(0))
    answer(source, turn([*range(100), *range(2_001, 2_009)], scanned=1_000, found=318, is_over=True))
    show_hits(qtbot, view, 318)
    assert (view.search.model.key_at(grid.view.rowAt(0)), grid.view.rowViewportPosition(grid.view.rowAt(0))) == (top, y)


def test_an_end_without_hits_says_so(view, source):
    begin(view, source)
    none = SearchHits(5, [], [], [], [], [], [], [], [], [], [], [], 1_000, 1_000, 0, is_over=True)
    answer(source, none)
    assert view.search.grid.placeholder.isVisible()
    assert view.search.progress.counts.text() == "1,000 of 1,000 messages, 0 hits"


def test_the_third_click_on_a_header_returns_to_the_order_of_the_log(qtbot, view):
    view.search.model.append(hits_of([10, 20, 30]))
    view.search.model.sort(3, Qt.SortOrder.DescendingOrder)
    qtbot.waitUntil(lambda: view.search.model.key_at(0) == 30)
    view.search.model.sort(-1)
    assert view.search.model.key_at(0) == 10


def test_hits_are_counted_by_time_and_a_time_is_dragged_out(qtbot, view, source):
    begin(view, source)
    hits = turn([10, 20, 30], scanned=400)
    answer(source, replace(hits, store_ms=[1_000, 61_000, 61_500]))
    show_hits(qtbot, view, 3)
    bars = view.search.hit_times.bars
    assert view.search.hit_times.isVisibleTo(view)
    histogram = view.search.hit_times.histogram
    assert (histogram.width_ms, int(histogram.counts.sum())) == (1_000, 3)
    source.held.clear()
    half = histogram.span_ms(len(histogram.counts) // 2, len(histogram.counts) - 1)
    width = bars.width() - AXIS_WIDTH
    middle = bars.height() // 2
    drag(bars, QPoint(AXIS_WIDTH + width - 2, middle), QPoint(AXIS_WIDTH + width // 2, middle))
    assert half == (31_000, 62_000)
    assert view.search.bar.text == "queue >= 0 and stored >= 31000 and stored < 62000"
    assert view.search.run.text == view.search.bar.text


def test_what_is_looked_for_is_marked_in_list_and_body(qtbot, view, source):
    source.hold = False
    view.search.bar.set_text('body contains "amount" and tag = "A"')
    view.search.bar.submit()
    panel = view.search
    assert [column.key for column in panel.model.columns if column.marks is not None and column.marks() is not None] == [
        "tag",
        "body",
    ]
    assert panel.reader.around == "amount"
    panel.model.append(hits_of([2_560]))
    panel.grid.select_first()
    view.detail.body.choose_view("text")
    (selection,) = view.detail.body.text.extraSelections()
    assert selection.cursor.selectedText() == "amount"
    panel.bar.set_text("queue >= 0")
    panel.bar.submit()
    assert panel.reader.around == ""
    view.tabs.setCurrentIndex(BROWSE)
    assert view.detail.body.text.extraSelections() == []


def test_the_columns_are_offered_in_a_menu(view):
    fields = view.search.fields
    assert fields.add_field("prop.region")
    fields.open_columns()
    (menu,) = fields.button.findChildren(QMenu, options=Qt.FindChildOption.FindDirectChildrenOnly)
    titles = [action.text() for action in menu.actions()]
    assert {"Stored", "Body", "prop.region", "Add a property or a JSON path…", "Remove"} <= set(titles)
    menu.actions()[titles.index("Tag")].trigger()
    places = {column.key: place for place, column in enumerate(view.search.model.columns)}
    assert fields.hidden == {"tag"}
    assert view.search.grid.view.isColumnHidden(places["tag"])
    menu.close()
    dialog = fields.ask_field()
    dialog.textValueSelected.emit("body.city")
    dialog.close()
    assert view.search.model.fields == ["prop.region", "body.city"]


def test_a_body_has_room_before_what_the_pane_says_and_what_gave_way_is_not_hidden_for_good(view, source, qtbot):
    begin(view, source)
    answer(source, turn([10, 20, 30], scanned=1_000, found=3, is_over=True))
    show_hits(qtbot, view, 3)
    grid, fields = view.search.grid, view.search.fields
    places = {column.key: place for place, column in enumerate(view.search.model.columns)}
    order = ["body_bytes", "queue_id", "queue_offset"]

    def left_out():
        return {key for key, place in places.items() if grid.view.isColumnHidden(place)}

    view.tabs.setCurrentIndex(SEARCH)
    for width, count, body in ((1_900, 0, 250), (1_232, 2, 140), (1_072, 3, 110)):
        view.resize(width, 795)
        qtbot.waitUntil(lambda count=count: left_out() == set(order[:count]))
        qtbot.waitUntil(lambda body=body: grid.view.columnWidth(places["body"]) >= body)
    assert fields.hidden == set()


def test_columns_that_were_kept_and_are_none_any_more_are_left_out(view, show_page, source):
    settings = view.context.settings
    settings.setValue("messages/search/fields", '["no field", "prop.region", 7]')
    again = show_page(MessagesView, source)
    assert again.search.model.fields == ["prop.region"]
    for broken in ("{", "7", "[" * 100_000):
        settings.setValue("messages/search/fields", broken)
        assert show_page(MessagesView, source).search.model.fields == []


def test_the_newest_messages_alone_are_searched_by_a_time_that_is_shown(show_page):
    source = FakeSource()
    view = show_page(MessagesView, source)
    view.open({"filter": 'tag = "PAID"'})
    panel = view.search
    assert panel.bound_note.isHidden()
    panel.bound.choose(10_000)
    found_ms = TAKEN_MS - 60_000
    assert source.asked_for(FindBound) == [FindBound('tag = "PAID"', 10_000, False)]
    assert source.asked_for(StartSearch)[-1].filter == f'tag = "PAID" and stored >= {found_ms}'
    assert panel.bound_note.whole_text().startswith("the newest 10,000 messages, stored from ")
    panel.bound.choose(1_000, oldest=True)
    assert source.asked_for(StartSearch)[-1].filter == f'tag = "PAID" and stored < {found_ms}'
    panel.bound.choose(0)
    assert source.asked_for(StartSearch)[-1].filter == 'tag = "PAID"'
    assert panel.bound_note.isHidden()
