"""The Delay page: levels, lanes, what is ahead, waiting messages and what is done to them; over a fake broker."""

from __future__ import annotations

import re
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtWidgets import QApplication, QPushButton

from broker_core.api import StoreError
from broker_core.worker.questions.delays import ActOnDelayed, ActOnTimers, DelayedActed, ListDelayed
from gui.models.delay import (
    DENSITY_PARTS,
    DOTS_MAX,
    PAGE_MESSAGES,
    WaitingPage,
    ahead_of,
    due_between,
    lane_of,
    latest,
    level_rows,
    next_due,
    sample_of,
    waiting_rows,
)
from gui.theme.tokens import State
from gui.views.delay.actions import CANCEL, DELIVER, MOVE, result_text
from gui.views.delay.columns import countdown_text
from gui.views.delay.lane_reader import KEPT_MS, POINTS
from gui.views.delay.view import DelayView
from gui.widgets.basic import ElidedLabel
from gui.widgets.chip import Chip
from gui.words.text import UNKNOWN
from monitoring.delay import Lateness, no_delays
from monitoring.sources.base import SourceStatus
from tests.support.fake_source import DELAY_PENDING, TAKEN_MS, FakeSource, fake_delayed, fake_delays, fake_state
from tests.support.languages import shown_in
from tests.support.masks import nothing_masked
from tests.support.model_rules import hold_to_rules
from tests.support.shown_parts import chips_of

STATE = fake_state()


@pytest.fixture
def make_view(show_page):
    return partial(show_page, DelayView)


@pytest.fixture
def source():
    return FakeSource()


def column(model, key):
    place = [one.key for one in model.columns].index(key)
    return [model.index(row, place).data() for row in range(model.rowCount())]


# ---- rows and pictures ----


def test_a_level_and_the_page_name_a_rate_alike(make_view, source):
    view = make_view(source)
    titles = [one.title for one in view.levels.columns]
    assert "Delivered /s" in titles
    assert "Out /s" not in titles


def test_level_rows_follow_the_brokers_table():
    rows = level_rows(STATE)

    assert [row.level for row in rows] == list(range(1, 19))
    assert [row.pending for row in rows] == list(DELAY_PENDING)
    assert [row.level for row in rows if row.is_late] == [16]
    assert latest(rows).level == 16
    assert next_due(rows).next_due_ms == min(row.next_due_ms for row in rows)


def test_a_level_that_is_behind_is_late_also_before_anything_is_delivered():
    delays = fake_delays(TAKEN_MS)
    overdue = delays.overdue_ms.copy()
    overdue[2] = 1_400
    rows = level_rows(replace(STATE, delays=replace(delays, overdue_ms=overdue, late_p99_ms=np.full(18, np.nan))))

    assert [row.level for row in rows if row.is_late] == [3]
    assert latest(rows) is None


def test_a_few_messages_are_dots_on_their_way():
    sample = sample_of([(1_000, 0), (500, 1), (2_000, 2)], is_whole=True)

    assert lane_of(sample, 1_000, 500).dots == (0.0, 0.5, 1.0)
    assert lane_of(None, 1_000, 0).dots == ()


def test_many_messages_are_a_density_that_adds_up():
    sample = sample_of([(0, 0), (500, 900), (1_000, 1_000)], is_whole=False)

    density = lane_of(sample, 1_000, 0).density

    assert len(density) == DENSITY_PARTS
    assert sum(density) == pytest.approx(1_000)
    assert sum(density[: DENSITY_PARTS // 2]) == pytest.approx(900)


def test_overdue_messages_are_due_in_the_first_part():
    sample = sample_of([(10, 0), (20, 1), (150, 2), (250, 3)], is_whole=True)

    assert due_between(sample, np.array([100.0, 200.0, 300.0])).tolist() == [3.0, 1.0]


def test_what_is_ahead_has_levels_and_timers():
    ahead = ahead_of([sample_of([(50, 0), (150, 1)], is_whole=True)], [4], 0, 100, 3)

    assert ahead.levels == (1.0, 1.0, 0.0)
    assert ahead.timers == (4.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("left_ms", "shown"),
    [(0, "00:00.0"), (4_260, "00:04.2"), (599_900, "09:59.9"), (750_000, "12:30"), (3_750_000, "1:02:30"), (-1, UNKNOWN)],
)
def test_time_left_counts_down(left_ms, shown):
    assert countdown_text(left_ms) == shown


# ---- the page ----


def test_models_keep_the_rules_of_qt(make_view, source, qtbot):
    view = make_view(source)
    for model in (view.levels, view.waiting.model):
        hold_to_rules(model)

    source.state = replace(STATE, taken_ms=STATE.taken_ms + 5_000, delays=no_delays())
    view.state_changed(source.state)
    view.state_changed(STATE)
    view.waiting.model.set_rows(waiting_rows(fake_delayed(3, 0, 7), nothing_masked))
    view.waiting.model.sort(1, Qt.SortOrder.DescendingOrder)

    assert view.waiting.model.rowCount() == 7


def test_the_page_shows_every_level_and_its_figures(make_view, source):
    view = make_view(source)

    assert column(view.levels, "pending")[15] == "1,288"
    assert column(view.levels, "p99")[15] == "1,212"
    assert view.tiles["pending"].value_label.text() == "4,216"
    assert [chip.text for chip in view.header.findChildren(Chip)] == ["Level 16 late by 1.2 s"]


def test_every_level_is_looked_at_and_long_ones_at_few_places(make_view, source):
    view = make_view(source)

    asked = source.asked_for(ListDelayed)
    of_16 = [one for one in asked if one.level == 16]
    assert set(view.reader.samples) == set(range(1, 19))
    assert view.reader.samples[1].is_whole
    assert len(view.reader.samples[1].due_ms) == DELAY_PENDING[0]
    assert ListDelayed(1, 0, DOTS_MAX) in asked
    assert not view.reader.samples[16].is_whole
    assert len([one for one in of_16 if one.count == 1]) <= POINTS + 2


def test_lanes_are_read_again_when_they_are_old(make_view, source):
    view = make_view(source)
    source.asked.clear()

    view.state_changed(replace(STATE, taken_ms=STATE.taken_ms + KEPT_MS // 2))
    assert ListDelayed(1, 0, DOTS_MAX) not in source.asked
    view.state_changed(replace(STATE, taken_ms=STATE.taken_ms + KEPT_MS))
    assert ListDelayed(1, 0, DOTS_MAX) in source.asked


def test_a_level_that_ran_empty_loses_its_lane(make_view, source):
    view = make_view(source)
    delays = fake_delays(TAKEN_MS)
    pending = delays.pending.copy()
    pending[0] = 0

    view.state_changed(replace(STATE, delays=replace(delays, pending=pending)))

    assert 1 not in view.reader.samples


def test_the_list_shows_the_chosen_level_with_real_topics_and_pages(make_view, source):
    view = make_view(source)
    view.open({"level": 16})

    assert view.waiting.model.rowCount() == PAGE_MESSAGES
    assert set(column(view.waiting.model, "topic")) == {"order-timeout", "coupon-grant"}
    assert not view.waiting.back.isEnabled()
    view.waiting.forward.click()
    assert source.asked[-1] == ListDelayed(16, 1_000 + PAGE_MESSAGES, PAGE_MESSAGES)
    view.waiting.back.click()
    assert source.asked[-1] == ListDelayed(16, 0, PAGE_MESSAGES)


def choose(view, count):
    view.waiting.grid.view.clearSelection()
    for number in range(count):
        index = view.waiting.model.index(number, 0)
        flags = view.waiting.grid.view.selectionModel().SelectionFlag
        view.waiting.grid.view.selectionModel().select(index, flags.Select | flags.Rows)


def test_nothing_can_be_done_without_a_selection(make_view, source):
    view = make_view(source)
    view.waiting.grid.view.clearSelection()

    assert view.waiting.ask(DELIVER) is None
    assert not view.waiting.deliver.isEnabled()


def test_messages_are_delivered_now_after_a_confirmation(make_view, source, window):
    view = make_view(source)
    view.open({"level": 4})
    choose(view, 2)

    dialog = view.waiting.ask(DELIVER)
    assert not source.asked_for(ActOnDelayed)
    dialog.go.click()

    acted = source.asked_for(ActOnDelayed)
    first = fake_delayed(4, 0, 2)
    assert acted == [ActOnDelayed("deliver", 4, first.queue_offset, first.physical_offset)]
    assert window.notices[-1] == ("2 delivered now", State.HEALTHY)


def test_a_cancel_needs_the_topic_typed(make_view, source):
    view = make_view(source)
    view.open({"level": 4})
    choose(view, 1)

    dialog = view.waiting.ask(CANCEL)

    assert not dialog.go.isEnabled()
    dialog.typed.setText("order-timeou")
    assert not dialog.go.isEnabled()
    dialog.typed.setText("order-timeout")
    dialog.go.click()
    assert source.asked[-2].action == "cancel"


def test_a_move_reads_a_time_and_says_what_it_means(make_view, source, qtbot):
    from PySide6.QtWidgets import QLineEdit

    view = make_view(source)
    view.open({"level": 4})
    choose(view, 1)

    dialog = view.waiting.ask(MOVE)
    entry = next(field for field in dialog.findChildren(QLineEdit) if field is not dialog.typed)
    entry.setText("soon")
    assert not dialog.go.isEnabled()
    entry.setText("+5m")
    dialog.go.click()

    acted = source.asked_for(ActOnDelayed)[0]
    assert (acted.action, acted.due_ms) == ("move", TAKEN_MS + 300_000)


def test_a_refused_action_says_why_and_can_be_tried_again(make_view, source):
    view = make_view(source)
    view.open({"level": 4})
    choose(view, 1)
    dialog = view.waiting.ask(DELIVER)

    source.fail_with = StoreError("the disk is full: 0 of 1 messages are done")
    dialog.go.click()

    assert dialog.isVisible()
    assert "the disk is full" in dialog.error.text
    assert dialog.go.isEnabled()


def test_timers_have_a_list_of_their_own_and_stand_in_the_bars(make_view, source):
    view = make_view(source)

    view.waiting.switch.choose("timers")
    view.waiting.switch.chosen.emit("timers")

    assert column(view.waiting.model, "topic") == ["order-timeout", "coupon-grant", "user-points"]
    assert column(view.waiting.model, "in")[2] == "cancelled"
    assert "Timers: 1" in view.ahead.bars.text_of(7)
    view.level_grid.select_key(9)
    assert not view.waiting.is_timers


@pytest.mark.parametrize(
    ("zone", "begin"), [("Asia/Kathmandu", r"11-\d\d 05:45"), ("America/St_Johns", r"11-\d\d 20:30"), ("UTC", r"11-\d\d")]
)
def test_bars_of_days_name_the_hour_at_which_a_day_of_utc_begins(make_view, source, monkeypatch, zone, begin):
    view = make_view(source)
    view.ahead.switch.choose("month")
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    view.context.times.set_utc(False)
    shown = view.ahead.bars.text_of(0).split("\n")[0]
    monkeypatch.undo()
    time.tzset()
    assert re.fullmatch(begin, shown)


def test_a_timer_is_acted_on_by_its_second_and_place(make_view, source):
    view = make_view(source)
    view.open({"show": "timers"})
    choose(view, 1)

    dialog = view.waiting.ask(DELIVER)
    dialog.go.click()

    acted = source.asked_for(ActOnTimers)
    assert acted == [ActOnTimers("deliver", [TAKEN_MS + 5_938_000], [0])]


def test_a_broker_without_timers_says_how_to_get_them(make_view):
    view = make_view(FakeSource(replace(STATE, timers={})))
    view.waiting.choose("timers")
    view.waiting.model.set_rows([])

    assert "timerWheelEnable" in view.waiting.grid.placeholder.text


def from_outside(state, **timers):
    """The same figures as an attached cluster tells them."""
    catalog = replace(state.catalog, brokers=["broker-a"])
    return replace(state, catalog=catalog, timers=timers)


def test_timers_of_a_cluster_are_counted_and_what_is_not_told_says_so(make_view):
    levels = f"{sum(DELAY_PENDING):,} by level"
    told = from_outside(STATE, pending=7.0, next_due_ms=-2.0, overdue_ms=0.0, not_yet_in_wheel=0.0)
    view = make_view(FakeSource(told))
    assert view.tiles["pending"].accessibleDescription() == f"{sum(DELAY_PENDING) + 7:,} messages {levels}, 7 timers"
    assert view.tiles["next"].accessibleDescription().endswith(", timers not reported")
    view.waiting.choose("timers")
    assert "Timers 7" in [button.text() for button in view.waiting.switch.findChildren(QPushButton)]

    unread = make_view(FakeSource(from_outside(STATE)))
    assert unread.tiles["pending"].accessibleDescription() == f"{UNKNOWN} messages {levels}, — timers"
    unread.waiting.choose("timers")
    assert "timerWheelEnable" not in unread.waiting.grid.placeholder.text


def test_a_cluster_that_cannot_have_timers_counts_its_levels_alone(make_view):
    state = from_outside(STATE)
    state = replace(state, catalog=replace(state.catalog, cannot={"timers": "broker a (V4_9_4) has none"}))
    view = make_view(FakeSource(state))
    count = f"{sum(DELAY_PENDING):,}"
    assert view.tiles["pending"].accessibleDescription() == f"{count} messages {count} by level, no timers here"


def test_messages_that_were_gone_are_told():
    assert result_text(CANCEL, 3, 2) == "3 cancelled; 2 no longer waited"
    assert DelayedActed(3, []).done == 3


def test_a_list_that_cannot_be_read_says_so_and_offers_to_retry(make_view, source):
    view = make_view(source)
    source.fail_with = StoreError("segment 0 is gone")

    view.waiting.read()

    assert view.waiting.grid.placeholder.isVisible()
    assert "not read" in view.waiting.grid.placeholder.text


def test_pictures_that_cannot_be_read_any_more_are_taken_away_and_said_to_be_missing(make_view, source):
    view = make_view(source)
    source.fail_with = StoreError("segment 0 is gone")
    for _turn in range(40):
        source.push_later(120_000)
        view.state_changed(source.state)
    assert view.reader.samples == {}
    waiting = sum(row.pending > 0 for row in view.levels.rows)
    assert view.ahead.subtitle == f"per minute, partial: {waiting} levels not read, partial: timers not read"


def test_a_sum_with_a_level_that_is_not_known_is_not_known(make_view):
    pending = STATE.delays.pending.copy()
    pending[3] = -1
    view = make_view(FakeSource(replace(STATE, delays=replace(STATE.delays, pending=pending))))
    assert view.tiles["pending"].value_label.text() == UNKNOWN


def fact_of(tile) -> str:
    """The words below the number of a tile."""
    return tile.findChild(ElidedLabel).whole_text()


def test_levels_of_which_a_broker_does_not_tell_are_not_empty(make_view):
    state = fake_state()
    unknown = np.full(len(state.delays.level), -1, np.int64)
    delays = replace(state.delays, pending=unknown, next_due_ms=unknown, overdue_ms=unknown, delivered=unknown)
    view = make_view(FakeSource(replace(state, delays=delays, timers={})))
    first = view.level_grid.model.index(0, 0).siblingAtColumn
    assert [first(column).data() for column in (2, 3, 4)] == [UNKNOWN] * 3
    assert first(3).data(Qt.ItemDataRole.ToolTipRole) == "not known while a broker does not answer"
    assert fact_of(view.tiles["next"]) == "not known while a broker does not answer"
    assert view.tiles["pending"].value_label.text() == UNKNOWN
    assert fact_of(view.tiles["delivered"]) == f"{UNKNOWN} by level since the start"


def test_a_level_of_which_a_broker_did_not_tell_is_not_called_empty(make_view):
    view = make_view(FakeSource())
    nothing = "Nothing waits in this level"
    for notice, words in (("b: no answer", f"{nothing} on the brokers that answered."), ("", f"{nothing}.")):
        view.waiting._show_page(WaitingPage([], None, notice))
        assert view.waiting.grid.placeholder.text == words


def test_the_topic_of_timers_is_named_where_there_are_some(make_view):
    for timers, facts in ((STATE.timers, "SCHEDULE_TOPIC_XXXX, rmq_sys_wheel_timer"), ({}, "SCHEDULE_TOPIC_XXXX")):
        view = make_view(FakeSource(replace(STATE, timers=timers)))
        assert facts in {one.whole_text() for one in view.header.findChildren(ElidedLabel)}


def test_levels_that_are_unknown_are_not_without_messages_ahead(make_view):
    unknown = np.full(len(STATE.delays.level), -1, np.int64)
    view = make_view(FakeSource(replace(STATE, delays=replace(STATE.delays, pending=unknown))))
    assert view.ahead.subtitle.startswith("per minute, partial: 18 levels not read")


def page_of_two_brokers(query):
    """What waits of a level on two brokers with 300 and 100 messages: a second apart on the first, four on the other."""
    step = 1 << 48
    offsets = [*range(300), *range(step, step + 100)]
    due = [TAKEN_MS + 1_000 * (offset + 1) if offset < step else TAKEN_MS + 4_000 * (offset - step + 1) for offset in offsets]
    rows = [row for row, offset in enumerate(offsets) if offset >= query.start_offset][: query.count]
    page = fake_delayed(query.level, 0, len(rows))
    return replace(
        page,
        queue_offset=[offsets[row] for row in rows],
        due_ms=[due[row] for row in rows],
        next_offset=offsets[rows[-1]] + 1,
        max_offset=2 * step,
        part_first=[0, step],
        part_end=[300, step + 100],
    )


def test_a_long_level_of_two_brokers_is_looked_at_in_the_queues_of_both(make_view, source, monkeypatch):
    monkeypatch.setattr("tests.support.fake_source.fake_delayed", lambda *query: page_of_two_brokers(ListDelayed(*query)))
    view = make_view(source)
    sample = view.reader.samples[16]
    assert not sample.is_whole
    edges = TAKEN_MS + np.array([0.0, 100_000, 200_000, 300_000, 400_000])
    assert due_between(sample, edges).tolist() == pytest.approx([125, 125, 125, 25], abs=3)


def test_levels_are_on_time_only_where_that_is_known(make_view):
    unread = np.full(len(STATE.delays.level), -1, np.int64)
    never = np.full(len(unread), np.nan)
    calm = replace(STATE.delays, late_p99_ms=never)
    assert chips_of(make_view(FakeSource(replace(STATE, delays=calm))).header) == ["On time"]
    unknown = replace(STATE, delays=replace(calm, overdue_ms=unread, next_due_ms=unread))
    view = make_view(FakeSource(unknown))
    assert chips_of(view.header) == []
    tip = view.level_grid.model.index(0, 3).data(Qt.ItemDataRole.ToolTipRole)
    assert tip == "The oldest message was not read yet"


def test_the_level_with_most_messages_is_selected_once_there_are_some(make_view):
    nothing = np.zeros(len(STATE.delays.level), np.int64)
    view = make_view(FakeSource(replace(STATE, delays=replace(STATE.delays, pending=nothing))))
    assert view.level_grid.selected_key == 1
    some = nothing.copy()
    some[3:5] = 2, 7
    on_time = np.full(len(nothing), np.nan)
    view.state_changed(replace(STATE, delays=replace(STATE.delays, pending=some, late_p99_ms=on_time)))
    assert view.level_grid.selected_key == 5
    view.state_changed(replace(STATE, delays=replace(STATE.delays, pending=some[::-1].copy(), late_p99_ms=on_time)))
    assert view.level_grid.selected_key == 5, "it stays"


def test_timers_that_are_listed_stay_when_a_level_gets_messages(make_view):
    nothing = np.zeros(len(STATE.delays.level), np.int64)
    view = make_view(FakeSource(replace(STATE, delays=replace(STATE.delays, pending=nothing))))
    view.open({"show": "timers"})
    view.state_changed(STATE)
    assert view.waiting.is_timers


def test_a_broker_without_levels_is_unknown_not_zero(make_view):
    view = make_view(FakeSource(replace(STATE, delays=no_delays(), timers={})))

    assert view.tiles["pending"].value_label.text() == UNKNOWN
    assert view.tiles["late"].value_label.text() == UNKNOWN
    assert view.level_grid.placeholder.isVisible()


def test_a_page_before_the_first_figures_is_empty(make_view):
    view = make_view(FakeSource(status=SourceStatus.STARTING))

    assert view.levels.rowCount() == 0
    assert view.tiles["pending"].value_label.text() == UNKNOWN


def test_the_page_is_told_in_chinese(make_view, source, qapp, qtbot):
    view = make_view(source)
    with shown_in("zh"):
        with qtbot.waitSignal(view.title_changed):
            QApplication.sendEvent(view, QEvent(QEvent.Type.LanguageChange))
        assert view.header.title == "延时"
        assert view.waiting.deliver.text() == "立即投递…"
        assert view.levels.headerData(2, Qt.Orientation.Horizontal) == "等待中"


# ---- lateness ----


def test_lateness_is_a_histogram_of_the_last_hour(make_view, source):
    panel = make_view(source).lateness

    assert panel.bars.isVisible()
    assert panel.subtitle == "ms after the due time, last 25 min, 14 of 1,500 late"
    assert [(bar.label, bar.count) for bar in panel.bars._bars if bar.state is State.WARNING] == [
        ("1k", 10), ("2k", 3), ("5k", 1), ("10k", 0),
    ]  # fmt: skip
    told = panel.bars.accessibleDescription()
    assert "100 to 199 ms: 700" in told
    assert "5,000 to 9,999 ms (1 timer): 1" in told
    assert "from 10,000 ms on" not in told, "nothing was that late"


def test_lateness_that_is_not_told_is_unknown_and_never_an_empty_histogram(make_view, source):
    panel = make_view(source).lateness
    panel.show_state(replace(STATE, lateness=None))

    assert not panel.bars.isVisible()
    assert panel.none.text() == "This broker does not report it."
    assert panel.subtitle == ""


def test_an_hour_without_deliveries_says_so(make_view, source):
    panel = make_view(source).lateness
    panel.show_state(replace(STATE, lateness=Lateness((0, 10), (0, 0), (0, 0), 3_600)))

    assert panel.none.text() == "Nothing was delivered in this time."
    assert panel.subtitle == "ms after the due time, last hour"
