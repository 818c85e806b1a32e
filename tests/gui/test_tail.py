"""The live tail: model, buffer, page over a fake source, and end to end with the real worker."""

from __future__ import annotations

from dataclasses import replace

import pytest
from PySide6.QtCore import QObject, QPoint, Qt
from PySide6.QtWidgets import QPushButton

from broker_core.api import FilterError, UsageError
from broker_core.worker.questions.searches import ContinueFollow, EndFollow, Followed, StartFollow
from broker_core.worker.questions.stored_messages import SendMessage
from gui.models.table import CELL_ROLE, CellKind, painted_text
from gui.models.tail import RATE_SECONDS, SECONDS_KEPT, Arrivals, ColourRule, TailBuffer, TailModel
from gui.models.tail_rows import TailRow, number_of, pack_followed, unpacked
from gui.plots.chart_pictures import figures_csv
from gui.processes.worker_options import WorkerArguments
from gui.processes.worker_process import WorkerProcess
from gui.theme.tokens import State
from gui.views.tail import filter_bar
from gui.views.tail.session import TailSession
from gui.views.tail.view import HIDDEN_ROWS_MAX, TailView, load_rules, save_rules, tail_columns
from gui.words.text import TimeZoneChoice
from monitoring.sources.base import SourceStatus
from tests.support.drags import drag
from tests.support.fake_source import FakeSource, fake_state
from tests.support.masks import nothing_masked

TIMEOUT_MS = 60_000
NOW_MS = fake_state().taken_ms
REFUNDS = ColourRule('tag = "REFUND"', State.WARNING)


def followed(
    count: int, *, first: int = 0, tag: str = "", rule: int = -1, left_out: int = 0, skipped: int = 0, step_ms: int = 0
) -> Followed:
    """Messages stored now, or ``step_ms`` after each other, the last one now."""
    offsets = list(range(first, first + count))
    return Followed(
        follow_id=1,
        topic=["orders"] * count,
        queue_id=[0] * count,
        queue_offset=offsets,
        physical_offset=[offset * 100 for offset in offsets],
        store_ms=[NOW_MS - place * step_ms for place in range(count)][::-1],
        born_ms=[NOW_MS - 3] * count,
        body_bytes=[7] * count,
        tag=[tag] * count,
        keys=[f"K-{offset}" for offset in offsets],
        unique_key=[f"U-{offset}" for offset in offsets],
        body_start=[b'{"a":1}'] * count,
        rule=[rule] * count,
        left_out=left_out,
        skipped_bytes=skipped,
        position=5_000,
    )


def offsets(view: TailView) -> list[int]:
    """Of the shown rows, in their order."""
    return [view.model.row_at(place).queue_offset for place in range(view.model.rowCount())]


def rows(count: int, *, first: int = 0):
    buffer = TailBuffer()
    buffer.take_in(followed(first + count), (), 0)
    taken = buffer.take_out()
    taken.drop_first(first)
    return taken


# ---- model and buffer ----


def test_the_ring_shows_the_newest_first_and_lets_the_oldest_go(qtmodeltester, qapp):
    model = TailModel(tail_columns(TimeZoneChoice(qapp, utc=True), str), nothing_masked, rows_max=100)
    model.add(rows(60))
    model.add(rows(70, first=60))
    assert [row.number for row in model.rows] == list(range(129, 29, -1))
    assert (model.position_of(129), model.position_of(30), model.position_of(29)) == (0, 99, -1)
    model.add(rows(500, first=130))
    assert [row.number for row in model.rows] == list(range(629, 529, -1))
    qtmodeltester.check(model)


def test_a_row_comes_out_as_it_went_in():
    page = followed(2, first=7, tag="退款", rule=0)
    page.keys[1], page.unique_key[1], page.body_start[1] = "", "\ud800", b"\x00\xff"
    first, second = (unpacked(row, nothing_masked) for row in pack_followed(page, 40, [State.CRITICAL]))
    assert first == TailRow(
        40, "orders", 0, 7, 700, NOW_MS, NOW_MS - 3, 7, "退款", "K-7", "U-7", b'{"a":1}', State.CRITICAL
    )  # fmt: skip
    assert (second.number, second.keys, second.unique_key, second.body_start) == (41, "", "\ud800", b"\x00\xff")
    assert [unpacked(row, nothing_masked).mark for row in pack_followed(followed(1, rule=3), 0, [State.INFO])] == [None]


def test_rows_after_a_gap_are_found_by_their_number(qapp):
    model = TailModel(tail_columns(TimeZoneChoice(qapp, utc=True), str), nothing_masked)
    model.add(rows(10))
    model.add(rows(10, first=50))
    assert (model.position_of(59), model.position_of(50), model.position_of(9), model.position_of(0)) == (0, 9, 10, 19)
    assert (model.position_of(30), model.position_of(60)) == (-1, -1)


def test_the_selection_stays_with_its_row_while_others_come(qtbot, theme, qapp):
    from gui.widgets.data_grid import DataGrid

    model = TailModel(tail_columns(TimeZoneChoice(qapp, utc=True), str), nothing_masked)
    grid = DataGrid(model, theme)
    qtbot.addWidget(grid)
    model.add(rows(5))
    grid.select_key(3)
    model.add(rows(40, first=5))
    assert grid.selected_row is not None
    assert grid.selected_row.number == 3
    assert grid.view.selectionModel().selectedRows()[0].row() == model.position_of(3)


def test_a_marked_row_has_its_ground_and_says_it_with_a_chip(qapp):
    model = TailModel(tail_columns(TimeZoneChoice(qapp, utc=True), str), nothing_masked)
    buffer = TailBuffer()
    buffer.take_in(followed(1, tag="REFUND", rule=0), (REFUNDS,), 0)
    buffer.take_in(followed(1, tag="CHARGE", first=1), (REFUNDS,), 0)
    model.add(buffer.take_out())
    assert model.marked == 1
    tag = [column.key for column in model.columns].index("tag")
    plain, marked = (model.data(model.index(row, tag), CELL_ROLE) for row in (0, 1))
    assert plain.kind is CellKind.TEXT
    assert (marked.kind, marked.state) == (CellKind.CHIP, State.WARNING)
    assert [row.mark for row in model.rows] == [None, State.WARNING]
    model.clear()
    assert (model.marked, model.rowCount()) == (0, 0)


def test_a_held_buffer_keeps_what_a_running_tail_would_still_show(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("gui.models.tail.ROWS_MAX", 100)
    buffer = TailBuffer()
    buffer.hold(held=True)
    buffer.take_in(followed(150), (), 0)
    assert (len(buffer.take_out()), buffer.held_new) == (0, 150)
    buffer.hold(held=False)
    assert [number_of(row) for row in buffer.take_out()] == list(range(50, 150))


def test_what_was_left_out_is_counted_and_arrived_all_the_same():
    buffer = TailBuffer()
    buffer.take_in(followed(10, left_out=90, skipped=4_096), (), 7)
    assert (buffer.left_out, buffer.skipped_bytes) == (90, 4_096)
    second = NOW_MS // 1_000
    assert buffer.arrivals.rate(second + 1) == 100 / RATE_SECONDS
    buffer.take_in(followed(0, left_out=5), (), second + 2)
    assert buffer.left_out_at_s == second + 2


def test_arrivals_are_counted_by_second_and_forgotten_in_time():
    arrivals = Arrivals()
    for second in range(1_000):
        arrivals.add(second, 2, paused=second % 2 == 0)
    assert arrivals.window(997, 1_001) == ([2, 0, 2, 0], [0, 2, 0, 0])
    assert arrivals.since_s == 1_000 - SECONDS_KEPT
    assert arrivals.window(0, 1_000 - SECONDS_KEPT) == ([0] * (1_000 - SECONDS_KEPT),) * 2


def test_of_several_keys_the_first_is_shown_whole(qapp):
    (key,) = (one for one in tail_columns(TimeZoneChoice(qapp, utc=True), str) if one.key == "key")
    (row,) = (unpacked(packed, nothing_masked) for packed in rows(1))
    assert painted_text(key, replace(row, keys="ORD-2600076505 u-49881")) == "ORD-2600076505"


def test_rules_are_kept_and_what_cannot_be_read_is_none(tmp_path):
    from PySide6.QtCore import QSettings

    settings = QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat)
    assert load_rules(settings) == []
    save_rules(settings, [REFUNDS, ColourRule('body contains "退款"', State.CRITICAL)])
    assert load_rules(settings) == [REFUNDS, ColourRule('body contains "退款"', State.CRITICAL)]
    for broken in ("{", "7", '[["a"]]', '{"a": 1}'):
        settings.setValue("tail/rules", broken)
        assert load_rules(settings) == []


# ---- the page ----


@pytest.fixture
def source() -> FakeSource:
    return FakeSource()


@pytest.fixture
def view(show_page, source) -> TailView:
    return show_page(TailView, source)


def started(source: FakeSource) -> list[StartFollow]:
    return source.asked_for(StartFollow)


def test_the_busiest_topic_is_followed_at_once_and_each_batch_asks_for_the_next(view, source):
    assert [query.topics for query in started(source)] == [view.bar.topics]
    assert len(view.bar.topics) == 1
    source.feed_follow(followed(3))
    source.feed_follow(followed(2, first=3))
    assert [row.queue_offset for row in view.model.rows] == [4, 3, 2, 1, 0]
    assert source.asked.count(ContinueFollow(1)) == 3


def test_topics_come_and_go_and_the_tail_goes_on_from_its_place(view, source):
    source.feed_follow(followed(1))
    view.bar.topic_text.setText("payments")
    view.bar.add_topic("payments")
    newest = started(source)[-1]
    assert (newest.topics[-1], newest.position) == ("payments", 5_000)
    assert EndFollow(1) in source.asked
    view.bar.remove_topic("payments")
    assert "payments" not in started(source)[-1].topics
    count = len(started(source))
    view.bar.add_topic("no such topic")
    assert len(started(source)) == count


def test_no_more_topics_than_fit_are_taken(view, source, monkeypatch):
    monkeypatch.setattr(filter_bar, "TOPICS_MAX", 2)
    for topic in ("payments", "orders", "pay-result"):
        view.bar.add_topic(topic)
    assert len(view.bar.topics) == 2


def test_a_filter_that_cannot_be_read_says_where_and_what_runs_goes_on(view, source):
    count = len(started(source))
    view.bar.filter.set_text("tag =")
    view.bar.filter.submit()
    assert view.bar.filter.fault.whole_text() == "at character 6: expected a value, found the end"
    assert view.session.is_running
    assert len(started(source)) == count
    source.fail_with = FilterError("at character 1: not here", position=0, length=3)
    view.bar.filter.set_text('tag = "b"')
    assert view.bar.filter.fault.whole_text() == "at character 1: not here"
    assert view.session.is_running
    source.fail_with = None
    view.bar.filter.set_text('tag = "a"')
    view.bar.filter.submit()
    assert view.bar.filter.fault.isHidden()
    assert started(source)[-1].filter == 'tag = "a"'


def test_what_is_followed_can_be_searched_in_what_is_stored(view, window):
    view.open({"topics": ["orders", "payments"], "filter": 'tag = "a" or key = "b"'})
    view.search_button.click()
    expected = 'topic in ("orders", "payments") and (tag = "a" or key = "b")'
    assert window.opened[-1] == ("messages", {"filter": expected})
    view.bar.filter.submit(plan_only=True)
    assert window.opened[-1] == ("messages", {"plan": expected})
    view.open({"topics": [], "filter": ""})
    view.search_button.click()
    assert window.opened[-1] == ("messages", {"filter": "body_bytes >= 0"})


def test_tags_that_arrived_complete_the_filter(view, source):
    source.feed_follow(followed(2, tag="REFUND"))
    assert "REFUND" in view.bar.filter.edit.vocabulary.tags
    assert "orders" in view.bar.filter.edit.vocabulary.topics


def test_a_pause_holds_the_rows_and_goes_on_collecting(view, source):
    source.feed_follow(followed(3))
    view.pause_button.click()
    source.feed_follow(followed(4, first=3))
    assert offsets(view) == [2, 1, 0]
    assert view.status.text == "Paused, still collecting"
    assert view.pause_button.text() == "Continue 4"
    view.pause_button.click()
    assert offsets(view) == [6, 5, 4, 3, 2, 1, 0]
    assert (view.status.text, view.pause_button.text()) == ("Following", "Pause")


def test_space_pauses(view, source, qtbot):
    view.activateWindow()
    view.grid.view.setFocus()
    source.feed_follow(followed(2))
    qtbot.keyClick(view.grid.view, Qt.Key.Key_Space)
    assert view.buffer.is_held


def test_scrolling_down_pauses_so_that_what_is_read_stays(view, source):
    source.feed_follow(followed(400))
    view.grid.view.verticalScrollBar().setValue(200)
    assert view.buffer.is_held
    view.pause_button.click()
    assert view.grid.view.verticalScrollBar().value() == 0
    assert not view.buffer.is_held


def test_a_page_that_is_not_shown_collects_and_shows_it_later(view, source):
    view.hide()
    source.feed_follow(followed(6))
    assert offsets(view) == []
    view.show()
    assert offsets(view) == [5, 4, 3, 2, 1, 0]


def test_what_a_page_that_is_not_shown_collects_is_not_kept_twice(view, source):
    view.hide()
    source.feed_follow(followed(HIDDEN_ROWS_MAX))
    assert (view.model.rowCount(), len(view.buffer.waiting)) == (HIDDEN_ROWS_MAX, 0)
    view.pause_button.click()
    source.feed_follow(followed(HIDDEN_ROWS_MAX, first=HIDDEN_ROWS_MAX))
    assert (view.model.rowCount(), len(view.buffer.waiting)) == (HIDDEN_ROWS_MAX, HIDDEN_ROWS_MAX)


def test_a_notice_says_what_was_left_out_and_goes_again(view, source):
    assert view.notice.isHidden()
    source.feed_follow(followed(500, left_out=1_234, skipped=1 << 20))
    assert "1,234 messages were left out." in view.notice.text
    assert "1.0 MB" in view.notice.text or "1.0 MiB" in view.notice.text
    assert "1,234 left out" in view.figures.whole_text()
    source.push_later(60_000)
    view.state_changed(source.state)
    assert view.notice.isHidden()


def test_clear_forgets_rows_and_counts(view, source):
    source.feed_follow(followed(5, left_out=3))
    view.clear_button.click()
    assert (view.model.rowCount(), view.buffer.left_out) == (0, 0)


# ---- bars: zoom, selection, figures ----


def bars_drag(qtbot, view: TailView, begin_s: float, end_s: float) -> None:
    """Select a time, in seconds from now."""
    inside, now_s = view.bars.inside(), NOW_MS // 1_000
    places = [QPoint(round(view.bars.x_of(now_s + at_s)), round(inside.center().y())) for at_s in (begin_s, end_s)]
    drag(view.bars, *places)


def test_a_selected_time_bounds_the_rows_and_pauses_until_it_is_cleared(view, source, qtbot):
    source.feed_follow(followed(30, step_ms=1_000))
    assert offsets(view) == list(range(30))[::-1]
    bars_drag(qtbot, view, -20.0, -10.0)
    first_ms, last_ms = view.time_filter.span_ms
    assert abs(first_ms - NOW_MS + 20_000) < 1_000
    assert abs(last_ms - NOW_MS + 10_000) < 1_000
    selected = [offset for offset in range(30) if first_ms <= NOW_MS - (29 - offset) * 1_000 <= last_ms][::-1]
    assert offsets(view) == selected
    assert (view.status.text, view.time_filter.chip.isVisible()) == ("Paused, still collecting", True)
    assert "buffer 30 of 100,000" in view.figures.whole_text()
    source.feed_follow(followed(5, first=30))
    assert offsets(view) == selected
    newest = view.model.row_at(0)
    assert view.model.position_of(newest.number) == 0
    assert view.model.position_of(0) == -1
    view.time_filter.chip.click()
    assert (offsets(view), view.status.text) == (list(range(35))[::-1], "Following")
    assert not view.time_filter.chip.isVisible()


def test_a_pause_of_the_user_outlasts_a_selection_which_shows_what_came_meanwhile(view, source, qtbot):
    source.feed_follow(followed(3, step_ms=10_000))
    view.pause_button.click()
    source.feed_follow(followed(4, first=3))
    bars_drag(qtbot, view, -4.0, 0.9)
    assert offsets(view) == [6, 5, 4, 3, 2]
    view.link.unselect()
    assert (offsets(view), view.buffer.is_held) == ([6, 5, 4, 3, 2, 1, 0], True)


def test_a_selection_does_not_begin_the_pause_of_the_user_again(view, source, qtbot):
    source.feed_follow(followed(3, step_ms=10_000))
    view.pause_button.click()
    since = view.context.times.seconds(NOW_MS)
    assert since in view.figures.whole_text()
    source.push_later(5_000)
    view.state_changed(source.state)
    bars_drag(qtbot, view, -4.0, 0.9)
    assert since in view.figures.whole_text()


def test_bars_end_ten_minutes_ago_also_where_nothing_came_since(view, source):
    source.feed_follow(followed(1))
    source.push_later(3_600_000)
    view.state_changed(source.state)
    view.link.pan(view.bars, -1_000_000)
    view.link.settle()
    assert view.bars.span_s()[0] >= NOW_MS // 1_000 + 3_600 + 1 - SECONDS_KEPT


def test_continue_clears_the_selection(view, source, qtbot):
    source.feed_follow(followed(30, step_ms=1_000))
    bars_drag(qtbot, view, -20.0, -10.0)
    view.pause_button.click()
    assert (offsets(view), view.buffer.is_held, view.link.selection) == (list(range(30))[::-1], False, None)


def test_a_selected_time_without_rows_is_searched_in_what_is_stored(view, source, window, qtbot):
    source.feed_follow(followed(1))
    bars_drag(qtbot, view, -50.0, -40.0)
    assert view.grid.placeholder.text == "No message of the selected time is in the buffer."
    first_ms, last_ms = view.time_filter.span_ms
    view.grid.placeholder.findChild(QPushButton).click()
    wanted = f'topic in ("{view.bar.topics[0]}") and stored >= {first_ms} and stored < {last_ms + 1}'
    assert window.opened[-1] == ("messages", {"filter": wanted})


def test_bars_zoom_stand_still_and_go_back_to_live(view, source):
    source.feed_follow(followed(90, step_ms=1_000))
    now_s = NOW_MS // 1_000
    assert view.bars.span_s() == (now_s - 59, now_s + 1)
    view.link.zoom_about(view.bars, now_s - 30, 0.5)
    view.link.settle()
    zoomed = view.bars.span_s()
    assert zoomed[1] - zoomed[0] == pytest.approx(30)
    assert sum(value for _name, _at_s, value in view.bars.points()) in (30, 31)
    source.push_later(5_000)
    view.state_changed(source.state)
    assert view.bars.span_s() == zoomed
    view.link.pan(view.bars, -1_000)
    view.link.settle()
    assert view.bars.span_s()[0] == now_s - 89, "as far as arrivals are kept"
    view.link.show_whole()
    assert view.bars.span_s() == (now_s - 54, now_s + 6)


def test_bars_are_copied_as_csv(view, source):
    source.feed_follow(followed(2, step_ms=1_000))
    lines = figures_csv(view.bars, view.context.times).splitlines()
    assert lines[0] == "series,time,value"
    assert [line.split(",")[0] for line in lines[1:]] == ["Shown"] * 60 + ["Came during the pause"] * 60
    assert [line.rpartition(",")[2] for line in lines[58:61]] == ["0", "1", "1"]


def test_rules_are_taken_by_the_broker_process_before_they_are_used(view, source):
    dialog = view.ask_rules()
    (line,) = dialog.lines
    line.filter.setText("tag =")
    source.fail_with = FilterError("rule 1: a value is missing", position=5, length=1, rule=0)
    dialog.use_button.click()
    assert dialog.error.text() == "rule 1: a value is missing"
    assert view.rules == []
    source.fail_with = None
    line.filter.setText(REFUNDS.filter)
    dialog.use_button.click()
    assert view.rules == [REFUNDS]
    assert started(source)[-1].rules == [REFUNDS.filter]
    assert load_rules(view.context.settings) == [REFUNDS]
    source.feed_follow(followed(1, tag="REFUND", rule=0))
    assert view.foot.text() == '1 marked in the buffer by tag = "REFUND"'


def test_lines_of_the_rules_come_and_go(view):
    dialog = view.ask_rules()
    dialog.add_button.click()
    dialog.lines[1].filter.setText("size > 10KB")
    dialog.lines[0].remove.click()
    assert dialog.rules() == [ColourRule("size > 10KB", State.CRITICAL)]
    for _ in range(20):
        if dialog.add_button.isEnabled():
            dialog.add_button.click()
    assert len(dialog.lines) == 8


def test_an_end_by_the_broker_process_is_told_and_can_be_undone(view, source):
    source.follow.release(error=UsageError("there is no live tail 1: it was ended; start it again"))
    assert view.grid.placeholder.text == "The live tail has ended."
    assert view.status.text == "Not following"
    view.refresh()
    assert view.session.is_running
    assert view.status.text == "Following"


def test_a_lost_broker_ends_the_tail_and_its_return_begins_it_anew(view, source):
    source.feed_follow(followed(2))
    source.status = SourceStatus.LOST
    view.status_changed(SourceStatus.LOST)
    assert not view.session.is_running
    source.status = SourceStatus.READY
    view.status_changed(SourceStatus.READY)
    assert started(source)[-1].position == -1
    assert view.model.rowCount() == 2


def test_the_end_of_the_page_ends_the_tail(source, qtbot):
    page, came = QObject(), []
    session = TailSession(source, came.append, came.append, page)
    session.begin(StartFollow(["orders"]), lambda: None, came.append)
    assert session.is_running
    page.deleteLater()
    qtbot.waitUntil(lambda: source.asked[-1] == EndFollow(1), timeout=TIMEOUT_MS)
    assert came == []


def test_a_message_opens_on_its_page_and_arguments_choose_what_is_followed(view, source, window):
    source.feed_follow(followed(2))
    view.grid.activated.emit(view.model.rows[1])
    assert window.opened[-1] == ("messages", {"topic": "orders", "queue": 0, "offset": 0})
    view.open({"topics": ["orders", "payments"], "filter": "size > 100"})
    assert (started(source)[-1].topics, started(source)[-1].filter) == (["orders", "payments"], "size > 100")
    assert view.tab_title() == "Live tail, 2 topics"
    view.open({"topics": [], "filter": ""})
    assert view.tab_title() == "Live tail"


def test_the_filter_field_takes_the_focus(view):
    view.focus_filter()
    assert view.focusWidget() is view.bar.filter.edit


# ---- with the real worker ----


@pytest.mark.timeout(240)
def test_messages_of_the_real_broker_arrive_marked_filtered_and_through_a_pause(qtbot, tmp_path, monkeypatch, show_page):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    settings = {"mappedFileSizeCommitLog": "1048576", "maxHashSlotNum": "1000", "maxIndexNum": "4000"}
    worker = WorkerProcess(WorkerArguments(tmp_path / "store", 0, 0, settings=settings))
    worker.start()
    source = worker.source
    qtbot.waitUntil(lambda: source.status is not SourceStatus.STARTING and source.state is not None, timeout=TIMEOUT_MS)
    assert source.status is SourceStatus.READY, source.reason

    def send(topic: str, body: bytes, tag: str) -> None:
        answers: list[object] = []
        source.ask(SendMessage(topic, 0, body, {"TAGS": tag})).then(answers.append, answers.append)
        qtbot.waitUntil(lambda: bool(answers), timeout=TIMEOUT_MS)
        assert not isinstance(answers[0], Exception), answers

    try:
        for topic in ("orders", "payments", "stock"):
            send(topic, b"before", "old")
        view = show_page(TailView, source)
        view.rules = [REFUNDS]
        view.open({"topics": ["orders", "payments"], "filter": 'not tag = "noise"'})
        qtbot.waitUntil(lambda: view.session.is_running, timeout=TIMEOUT_MS)
        for number in range(20):
            send("orders", "订单 %d".encode() % number, "noise" if number % 4 == 0 else "new")
        send("stock", b"of no interest", "new")
        send("payments", b'{"amount": 3}', "REFUND")
        qtbot.waitUntil(lambda: view.model.rowCount() == 16, timeout=TIMEOUT_MS)
        assert (view.model.rows[0].tag, view.model.rows[0].mark) == ("REFUND", State.WARNING)
        assert view.model.rows[1].body_text == "订单 19"
        view.toggle_pause()
        send("orders", b"during the pause", "new")
        qtbot.waitUntil(lambda: view.buffer.held_new == 1, timeout=TIMEOUT_MS)
        assert view.model.rowCount() == 16
        view.toggle_pause()
        assert view.model.rows[0].body_text == "during the pause"
        view.bar.set_filter("tag =")
        view.follow()
        qtbot.waitUntil(lambda: not view.bar.filter.fault.isHidden(), timeout=TIMEOUT_MS)
        send("orders", b"still following", "new")
        qtbot.waitUntil(lambda: view.model.rows[0].body_text == "still following", timeout=TIMEOUT_MS)
    finally:
        if worker.is_running:
            with qtbot.waitSignal(worker.stopped, timeout=TIMEOUT_MS):
                worker.stop()
