"""What the Consumers page does with one group: lag by queue, owners, resets, snapshots, settings, clients."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QKeySequence, QShortcut

from broker_core.api import MessageQueue, RemoteError, RequestCode, ResponseCode
from broker_core.protocol.json_body import emit
from broker_core.worker.questions.abilities import Ability
from broker_core.worker.questions.administration import AskBroker, BrokerAnswer
from broker_core.worker.questions.history import ReadOwnership
from broker_core.worker.questions.stored_messages import FindOffset
from gui.models.offset_moves import offset_at, scale_low, shares_of
from gui.theme.tokens import State
from gui.views.consumers.columns import members_text
from gui.views.consumers.group_actions import stacks_text
from gui.views.consumers.reset_dialog import KIND_NAMES
from gui.views.consumers.view import ConsumersView
from gui.words.text import UNKNOWN
from monitoring.admin.offsets import QueueMove, ResetKind
from monitoring.state import MEMBERS_UNREAD, ClusterState
from tests.support.drags import drag
from tests.support.fake_broker import FOUND_OFFSET, JSTACK, reset_answer
from tests.support.fake_source import PAYMENT_SHARES, TAKEN_MS, FakeSource, fake_state
from tests.support.model_rules import hold_to_rules
from tests.support.shown_parts import segment

STATE = fake_state()
END = 273_846
"""Of most queues of payments."""


@pytest.fixture
def make_view(show_page):
    return partial(show_page, ConsumersView)


def requests(source: FakeSource, code: RequestCode) -> list[dict[str, str]]:
    asked = source.asked_for(AskBroker)
    return [request.fields for request in asked if request.code == code]


def reset(view: ConsumersView, kind: str, group: str = "payment-settle"):
    view.open({"group": group})
    dialog = view.dialogs.reset(view.group_grid.selected_row)
    segment(dialog.kind, KIND_NAMES[ResetKind(kind)]).click()
    return dialog


def accept(dialog, typed: str = "payment-settle") -> None:
    dialog.typed.setText(typed)
    assert dialog.is_ready, dialog.go.toolTip()
    dialog.go.click()


def stats_of(offset: int) -> BrokerAnswer:
    """GET_CONSUME_STATS: the group stands at ``offset`` in all queues of payments."""
    wrapper = {"brokerOffset": END, "consumerOffset": offset, "lastTimestamp": 0}
    return BrokerAnswer(body=emit({"offsetTable": {MessageQueue("payments", "broker-a", q): wrapper for q in range(8)}}))


def as_system_group(state: ClusterState, name: str) -> ClusterState:
    is_system = [group == name for group in state.catalog.groups]
    return replace(state, catalog=replace(state.catalog, group_is_system=is_system))


# ---- which group ----


def test_a_group_that_is_not_there_is_no_other_one_and_is_shown_when_it_comes(make_view):
    source = FakeSource()
    view = make_view(source)
    whole = source.state
    view.open({"group": "nope"})
    view.state_changed(whole)
    assert view.group_grid.selected_row is None
    assert view.position_grid.placeholder.text == "There is no group nope."
    assert not view.reset_button.isEnabled()

    groups = ["nope" if name == "payment-settle" else name for name in whole.catalog.groups]
    view.state_changed(replace(whole, catalog=replace(whole.catalog, groups=groups)))
    assert view.group_grid.selected_row.name == "nope"


def test_a_group_of_a_folded_section_is_shown(make_view):
    source = FakeSource()
    source.state = as_system_group(source.state, "payment-settle")
    view = make_view(source)
    assert "payment-settle" not in [row.name for row in view.groups.shown_rows]
    view.open({"group": "payment-settle"})
    view.state_changed(source.state)
    assert view.group_grid.selected_row.name == "payment-settle"


def test_members_and_subscriptions_that_were_not_read_are_not_none(make_view):
    source = FakeSource()
    source.hold = True
    view = make_view(source)
    unread = np.full(len(source.state.catalog.groups), MEMBERS_UNREAD)
    view.state_changed(replace(source.state, group_members=unread))
    assert [view.tabs.tabText(place) for place in (1, 2)] == ["Members —", "Subscriptions —"]


# ---- lag ----


def test_lag_by_queue_has_a_line_for_each_of_the_worst_and_one_for_the_others(make_view):
    view = make_view(FakeSource())

    segment(view.lag.parts, "By queue").click()

    chart = view.lag.by_queue.chart
    assert view.lag.by_queue.isVisible()
    assert view.lag.chart.make().isHidden()
    assert [series.title for series in chart.series] == ["Queue 6", "Queue 5", "Queue 2", "Queue 7", "Queue 4", "The others"]
    assert chart.last_value("others") == pytest.approx(3 * chart.last_value("0"))


def test_the_chart_of_the_lag_comes_by_itself_where_it_was_and_keeps_its_place_for_the_keyboard(make_view, qtbot):
    view = make_view(FakeSource())
    qtbot.waitUntil(lambda: view.lag.chart.made is not None)
    qtbot.waitUntil(lambda: not math.isnan(view.lag.chart.make().last_value("lag")))
    assert view.lag.chart.make().isVisible()
    after = segment(view.lag.parts, "By queue").nextInFocusChain()
    while not after.isVisible() or after.focusPolicy() is Qt.FocusPolicy.NoFocus:
        after = after.nextInFocusChain()
    assert after is view.lag.chart.make().plot


def test_the_heat_map_has_a_row_for_each_queue(make_view):
    view = make_view(FakeSource())

    assert view.heat.make().heat.matrix.values.shape[0] == len(PAYMENT_SHARES)
    view.heat.make().heat.row_chosen.emit(2)
    assert view.position_grid.selected_row.queue_id == 2


def test_a_stretch_is_chosen_with_the_mouse_and_left_by_a_double_click(make_view, qtbot):
    view = make_view(FakeSource())
    whole = view.lag.window_ms()
    port = view.lag.chart.make().plot.viewport()
    middle = port.height() // 3  # beside the threshold of the alert

    drag(port, QPoint(port.width() // 3, middle), QPoint(port.width() // 2, middle))
    qtbot.keyClick(view.lag.chart.make().plot, Qt.Key.Key_Return)

    begin, end = view.lag.window_ms()
    assert whole[0] < begin < end < whole[1]
    assert view.context.time_range.is_zoomed
    assert view.heat.make().lags.matrix.from_ms <= begin
    view.state_changed(fake_state(TAKEN_MS + 10_000))
    assert view.lag.window_ms() == (begin, end), "a chosen stretch stands still"
    qtbot.mouseDClick(port, Qt.MouseButton.LeftButton, pos=QPoint(port.width() // 2, middle))
    assert view.context.time_range.between is None


def test_a_stretch_stays_chosen_for_another_group(make_view):
    """As all charts of the window show one time range, two groups can be compared over a stretch."""
    view = make_view(FakeSource())
    stretch = (TAKEN_MS - 300_000, TAKEN_MS - 100_000)
    view.context.time_range.zoom(*stretch)

    view.open({"group": "stock-worker"})

    assert view.lag.window_ms() == stretch


# ---- owners ----


def test_owners_are_a_strip_with_the_rebalances(make_view):
    view = make_view(FakeSource())

    view.open({"tab": "ownership"})

    picture = view.ownership.make().strip.picture
    assert picture.rows == tuple(str(queue) for queue in range(8))
    assert picture.clients == ["c1@10.23.4.11", "c2@10.23.4.12", "c3@10.23.4.13"]
    assert len(picture.stretches) == 16
    assert picture.marks == (TAKEN_MS - 300_000,)
    assert "c3@10.23.4.13" in view.ownership.make().strip.stretch_text(picture.stretches[14])
    (rebalance,) = view.ownership.make().model.rows
    assert "payment-settle" in rebalance.text


def test_owners_of_a_record_that_gets_longer_are_not_asked_for_with_every_figure(make_view):
    source = FakeSource()
    panel = make_view(source).ownership.make()
    source.asked.clear()
    for second in range(5):
        panel.show_group("payment-settle", TAKEN_MS - 60_000, TAKEN_MS + second * 1_000)
    assert len(source.asked_for(ReadOwnership)) == 1
    panel.show_group("payment-settle", TAKEN_MS - 60_000, TAKEN_MS + 5_000)
    panel.show_group("payment-settle", TAKEN_MS - 50_000, TAKEN_MS + 5_000)
    assert len(source.asked_for(ReadOwnership)) == 3


def test_owners_that_were_not_read_say_why(make_view):
    source = FakeSource()
    view = make_view(source)
    source.fail_with = RemoteError("no history is kept", code=1)

    view.open({"tab": "ownership"})

    assert "no history is kept" in view.ownership.make().fault.text


# ---- reset ----


def test_a_reset_to_the_end_says_what_is_skipped_and_tells_the_members_once(make_view, window):
    source = FakeSource()
    view = make_view(source)
    dialog = reset(view, "latest")

    assert dialog.sums.text() == "0 messages are delivered again, 16,870 are skipped. Lag becomes 0."
    assert dialog.go.text() == "Reset 8 queues"
    assert not dialog.is_ready, "the name must be typed"
    accept(dialog)

    (sent,) = requests(source, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET)
    assert sent == {"topic": "payments", "group": "payment-settle", "isForce": "true", "timestamp": "-1"}
    assert window.notices[0][0].startswith("The members of payment-settle were notified")


def test_a_reset_to_a_time_shows_where_the_queues_stood_then(make_view):
    source = FakeSource()
    view = make_view(source)
    dialog = reset(view, "time")

    dialog.time.setText("02:00")

    assert {one.timestamp_ms for one in source.asked_for(FindOffset)[-8:]} == {TAKEN_MS - 15 * 60_000 - 2_640}
    assert {move.after for move in dialog.model.rows} == {FOUND_OFFSET}
    repeated = sum(move.now - FOUND_OFFSET for move in dialog.model.rows)
    assert dialog.sums.text().startswith(f"{repeated:,} messages are delivered again, 0 are skipped.")
    accept(dialog)
    (sent,) = requests(source, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET)
    assert sent["timestamp"] == str(TAKEN_MS - 15 * 60_000 - 2_640)


NEAREST = FOUND_OFFSET + 45
"""What a broker of 4.x answers for a millisecond with a hundred messages."""


def nearest_answers(source: FakeSource, *, but: set[int]) -> None:
    """Have the broker answer every time with `NEAREST`, but for these milliseconds with the first message of the time."""
    answer = source.answers[AskBroker]

    def told(request):
        if request.code != RequestCode.SEARCH_OFFSET_BY_TIMESTAMP:
            return answer(request)
        return BrokerAnswer({"offset": str(FOUND_OFFSET if int(request.fields["timestamp"]) in but else NEAREST)})

    source.answers[AskBroker] = told


AT_MS = 1_795_000_000_000


def test_a_broker_that_goes_to_the_nearest_message_is_asked_for_the_time_before(make_view):
    source = FakeSource()
    nearest_answers(source, but={AT_MS - 1})
    dialog = reset(make_view(source), "time")

    dialog.time.setText(str(AT_MS))

    assert {move.after for move in dialog.model.rows} == {FOUND_OFFSET}, "the first of the hundred, not the nearest"
    accept(dialog)
    (sent,) = requests(source, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET)
    assert sent["timestamp"] == str(AT_MS - 1)


def test_queues_go_one_by_one_where_no_time_takes_them_all_to_the_first_message(make_view):
    source = FakeSource()
    nearest_answers(source, but=set())
    dialog = reset(make_view(source), "time")

    dialog.time.setText(str(AT_MS))

    accept(dialog)
    sent = requests(source, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET)
    assert [(one["queueId"], one["offset"]) for one in sent] == [(str(queue), str(FOUND_OFFSET)) for queue in range(8)]


def test_a_time_that_a_4_x_broker_cannot_reset_to_exactly_is_refused_while_members_are_online(make_view):
    cannot = {Ability.RESET_ONE_QUEUE: "broker a (4.9.4) would reset the whole topic"}
    source = FakeSource(replace(STATE, catalog=replace(STATE.catalog, cannot=cannot)))
    nearest_answers(source, but=set())
    dialog = reset(make_view(source), "time")

    dialog.time.setText(str(AT_MS))

    dialog.typed.setText("payment-settle")
    assert not dialog.is_ready
    assert dialog.go.toolTip().startswith("While members are online, this cluster goes to the nearest message")
    dialog.reject()


def test_members_that_were_told_another_offset_are_no_success(make_view, window):
    source = FakeSource()
    answer = source.answers[AskBroker]

    def told(request):
        if request.code == RequestCode.INVOKE_BROKER_TO_RESET_OFFSET:
            return reset_answer(request.fields | {"timestamp": str(AT_MS)})
        return answer(request)

    source.answers[AskBroker] = told
    dialog = reset(make_view(source), "earliest")
    accept(dialog)

    assert "8 of 8 went elsewhere: queue 0 is at 267,000, not at 0." in dialog.error.text
    assert window.notices == []
    dialog.reject()


def test_offsets_that_do_not_stay_as_they_were_set_are_no_success(make_view, window):
    members = STATE.group_members.copy()
    members[STATE.catalog.groups.index("payment-settle")] = -1
    source = FakeSource(replace(STATE, group_members=members))
    answer = source.answers[AskBroker]

    def told(request):
        changed = request.code == RequestCode.QUERY_CONSUMER_OFFSET and request.fields["queueId"] == "5"
        return BrokerAnswer({"offset": "267045"}) if changed else answer(request)

    source.answers[AskBroker] = told
    dialog = reset(make_view(source), "earliest")
    accept(dialog)

    assert "1 of 8 went elsewhere: queue 5 is at 267,045, not at 0." in dialog.error.text
    assert window.notices == []
    dialog.reject()


@pytest.mark.parametrize(
    ("kind", "field", "text"),
    [("time", "time", "tomorrow evening"), ("shift", "shift", "some"), ("offset", "offset", "-1"), ("shift", "shift", "0")],
)
def test_a_choice_that_makes_no_sense_holds_the_button_back(make_view, kind, field, text):
    dialog = reset(make_view(FakeSource()), kind)
    getattr(dialog, field).setText(text)
    dialog.typed.setText("payment-settle")

    assert not dialog.is_ready
    assert dialog.go.toolTip()
    dialog.reject()


def test_single_queues_go_their_own_way(make_view):
    source = FakeSource()
    dialog = reset(make_view(source), "shift")
    dialog.shift.setText("0")
    dialog.grid.select_key(6)

    dialog.own.setText("1000")
    dialog.own.textEdited.emit("1000")

    assert [move.queue_id for move in dialog.model.rows if move.moves] == [6]
    accept(dialog)
    (sent,) = requests(source, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET)
    assert (sent["queueId"], sent["offset"]) == ("6", "1000")


def test_a_position_is_dragged(make_view, qtbot):
    dialog = reset(make_view(FakeSource()), "latest")
    column = len(dialog.model.columns) - 1
    box = dialog.grid.view.visualRect(dialog.model.index(dialog.model.position_of(4), column))
    port = dialog.grid.view.viewport()

    qtbot.mousePress(port, Qt.MouseButton.LeftButton, pos=box.center())
    qtbot.mouseRelease(port, Qt.MouseButton.LeftButton, pos=box.center())

    move = next(one for one in dialog.model.rows if one.queue_id == 4)
    low = scale_low(replace(move, after=END))
    assert move.after == pytest.approx((low + END) / 2, rel=0.01)
    dialog.reject()


def test_the_line_of_a_move_ends_with_the_queue_and_a_place_on_it_is_an_offset():
    move = QueueMove(0, 0, 100_000, now=99_000, after=98_000)
    low = scale_low(move)
    shares = shares_of(move, low)
    assert (low, round(shares.after, 3)) == (94_000, round(4 / 6, 3))
    assert offset_at(move, low, shares.now) == 99_000
    assert offset_at(move, low, 7.0) == 100_000


def test_the_offsets_of_another_group_are_taken_over(make_view):
    source = FakeSource()
    view = make_view(source)
    view.open({"group": "stock-worker"})
    dialog = view.dialogs.reset(view.group_grid.selected_row)
    segment(dialog.kind, "Copy group").click()

    assert [dialog.other.itemText(i) for i in range(dialog.other.count())] == ["risk-scan"]
    assert all(move.lag_after == 0 for move in dialog.model.rows)
    assert dialog.sums.text().startswith("0 messages are delivered again, 903 are skipped.")
    dialog.reject()


def test_a_group_without_members_is_moved_in_the_broker(make_view, window):
    members = STATE.group_members.copy()
    members[STATE.catalog.groups.index("payment-settle")] = -1
    source = FakeSource(replace(STATE, group_members=members))
    dialog = reset(make_view(source), "earliest")
    accept(dialog)

    sent = requests(source, RequestCode.UPDATE_CONSUMER_OFFSET)
    assert [(fields["queueId"], fields["commitOffset"]) for fields in sent] == [(str(queue), "0") for queue in range(8)]
    assert len(requests(source, RequestCode.QUERY_CONSUMER_OFFSET)) == 8, "what was set is read back"
    assert requests(source, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET) == []
    assert window.notices[0][0] == "payment-settle starts at the new offsets when its next client comes"


def test_when_the_last_member_left_meanwhile_the_broker_is_asked_itself(make_view, monkeypatch):
    source = FakeSource()
    dialog = reset(make_view(source), "latest")
    answer = source.answers[AskBroker]

    def refusing(request):
        pending = answer(request)
        if request.code == RequestCode.INVOKE_BROKER_TO_RESET_OFFSET:
            return RemoteError("not online", code=int(ResponseCode.CONSUMER_NOT_ONLINE))
        return pending

    source.answers[AskBroker] = refusing
    accept(dialog)

    assert len(requests(source, RequestCode.UPDATE_CONSUMER_OFFSET)) == 8


def test_a_refusal_in_the_middle_says_how_many_were_done(make_view, monkeypatch):
    members = STATE.group_members.copy()
    members[STATE.catalog.groups.index("payment-settle")] = -1
    source = FakeSource(replace(STATE, group_members=members))
    dialog = reset(make_view(source), "earliest")
    answer, refused = source.answers[AskBroker], RemoteError("the disk is full", code=1)

    def refusing(request):
        pending = answer(request)
        return refused if request.fields.get("queueId") == "3" else pending

    source.answers[AskBroker] = refusing
    accept(dialog)

    assert "3 of 8 were done before: the disk is full" in dialog.error.text
    dialog.reject()


def test_over_a_read_only_connection_nothing_is_reset_or_deleted(make_view):
    source = FakeSource()
    source.read_only = True
    view = make_view(source)
    for dialog in (reset(view, "latest"), view.dialogs.delete(view.group_grid.selected_row)):
        dialog.typed.setText("payment-settle")
        assert not dialog.is_ready
        dialog.reject()


# ---- snapshots ----


def test_nothing_is_moved_while_a_part_of_the_offsets_is_missing(make_view, monkeypatch):
    source = FakeSource()
    answer = source.answers[AskBroker]
    missing = "Not all brokers answered, and what they hold is missing here. b: no answer: gone"

    def standing(request):
        partial_answer = replace(stats_of(270_000), notice=missing)
        return partial_answer if request.code == RequestCode.GET_CONSUME_STATS else answer(request)

    source.answers[AskBroker] = standing
    view = make_view(source)
    dialog = reset(view, "latest")
    accept(dialog)
    assert "Nothing was changed" in dialog.error.text
    assert "b: no answer: gone" in dialog.error.text
    assert requests(source, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET) == []
    assert view.snapshots.of("payment-settle") == []
    dialog.reject()


def test_where_the_group_stood_is_kept_before_and_put_back_after(make_view, window, monkeypatch):
    source = FakeSource()
    answer = source.answers[AskBroker]

    def standing(request):
        pending = answer(request)
        return stats_of(270_000) if request.code == RequestCode.GET_CONSUME_STATS else pending

    source.answers[AskBroker] = standing
    view = make_view(source)
    accept(reset(view, "latest"))
    view.open({"tab": "offsets"})

    (row,) = view.offsets.make().model.rows
    assert row.snapshot.offsets == tuple((queue, 270_000) for queue in range(8))
    action, undo = window.offers[-1]
    assert action == "Undo…"
    undo()
    dialog = view.findChildren(type(view.dialogs.undo(view.group_grid.selected_row, row.snapshot)))[-1]
    dialog.go.click()
    sent = requests(source, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET)[1:]
    assert {(fields["queueId"], fields["offset"]) for fields in sent} == {(str(queue), "270000") for queue in range(8)}
    assert [one.snapshot.reason for one in view.offsets.make().model.rows] == ["undo", "latest"]


def test_without_a_snapshot_the_tab_offers_a_reset(make_view):
    view = make_view(FakeSource())
    view.open({"tab": "offsets"})

    assert view.offsets.make().grid.placeholder.text.startswith("Nothing was reset from here yet.")
    assert view.offsets.make().newest is None


# ---- settings, end ----


def test_settings_of_a_group_are_changed_and_what_is_not_shown_stays(make_view):
    source = FakeSource()
    view = make_view(source)
    view.open({"tab": "settings"})
    view.settings.make().form.editor("retry_times_max").setValue(3)
    dialog = view.settings.make().ask_apply()
    dialog.go.click()

    bodies = [
        request.body
        for request in source.asked_for(AskBroker)
        if request.code == RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
    ]
    assert len(bodies) == 1
    assert b'"retryMaxTimes":3' in bodies[0]
    assert b'"groupRetryPolicy":{"type":"CUSTOMIZED"}' in bodies[0]


def test_undo_means_the_part_in_front(make_view, monkeypatch):
    view = make_view(FakeSource())
    undone = []
    view.open({"tab": "settings"})
    monkeypatch.setattr(view.settings.make(), "ask_undo", lambda: undone.append("settings"))
    monkeypatch.setattr(view.dialogs, "undo", lambda *_what: undone.append("offsets"))
    undo = next(one for one in view.findChildren(QShortcut) if one.key() == QKeySequence("Ctrl+Z"))
    undo.activated.emit()
    assert undone == ["settings"]
    view.open({"tab": "lag"})
    undo.activated.emit()
    assert undone == ["settings"], "there is no reset to undo"


def test_a_group_is_deleted_when_its_name_is_typed(make_view, window):
    source = FakeSource()
    view = make_view(source)
    dialog = view.dialogs.delete(view.group_grid.selected_row)

    accept(dialog)

    (sent,) = requests(source, RequestCode.DELETE_SUBSCRIPTIONGROUP)
    assert sent == {"groupName": "payment-settle", "removeOffset": "true", "cleanOffset": "true"}
    assert window.notices == [("Group payment-settle is deleted", State.HEALTHY)]


def test_a_group_of_the_broker_is_not_deleted(make_view, window):
    view = make_view(FakeSource())

    assert view.dialogs.delete(replace(view.group_grid.selected_row, is_system=True)) is None
    assert window.notices == [("The broker needs this group itself.", State.INFO)]


# ---- clients ----


def test_a_client_tells_its_threads_and_what_it_holds(make_view):
    view = make_view(FakeSource())
    view.open({"tab": "members"})

    row = view.members.rows[0]
    texts = {column.key: column.text(row) for column in view.members.columns}
    keys = ("threads", "time", "out", "failed", "held")
    assert [texts[key] for key in keys] == ["20", "20.8 ms", "190", "2.2", "12"]
    assert texts["language"] == "Java 4.9.8"


def test_what_clients_of_another_group_told_is_no_finding_here(make_view):
    source = FakeSource()
    view = make_view(source)
    view.open({"group": "notify-sms"})
    assert view.disagreement.isVisible()
    source.hold = True

    view.open({"group": "stock-worker"})
    view.clients.arrived.emit()  # the last client of notify-sms, late

    assert view.clients.group == "notify-sms"
    assert view.disagreement.isHidden()


def test_a_client_that_does_not_answer_is_unknown_with_its_reason(make_view, monkeypatch):
    source = FakeSource()
    answer = source.answers[AskBroker]

    def silent(request):
        pending = answer(request)
        asks = request.code == RequestCode.GET_CONSUMER_RUNNING_INFO
        return RemoteError("did not answer within 10,000 ms", code=1) if asks else pending

    source.answers[AskBroker] = silent
    view = make_view(source)

    row = view.members.rows[0]
    held = next(column for column in view.members.columns if column.key == "held")
    assert held.text(row) == UNKNOWN
    assert held.tip(row) == "did not answer within 10,000 ms"
    assert view.disagreement.isHidden()


def test_the_stacks_of_a_client_are_shown_equal_ones_once(make_view, qtbot):
    view = make_view(FakeSource())
    dialog = view.dialogs.client("payment-settle", view.members.rows[0])

    qtbot.waitUntil(lambda: bool(dialog.stacks.toPlainText()))
    text = dialog.stacks.toPlainText()
    assert text.startswith("2 × ConsumeMessageThread_1, ConsumeMessageThread_2  WAITING\n    sun.misc.Unsafe.park")
    assert text.count("sun.misc.Unsafe.park") == 1
    assert dict(dialog.facts.pairs())["Threads"] == "20"
    assert len(dialog.queues.rows) == 1
    assert stacks_text("") == ""
    assert stacks_text(JSTACK).count("\n\n") == 1
    dialog.accept()


def test_a_client_that_refuses_says_why_in_its_dialog(make_view):
    source = FakeSource()
    view = make_view(source)
    source.fail_with = RemoteError("the consumer is not online", code=1)

    dialog = view.dialogs.client("payment-settle", view.members.rows[0])

    assert "the consumer is not online" in dialog.fault.text
    assert dialog.refresh_button.isEnabled()
    dialog.accept()


def test_the_list_tells_clients_and_their_versions(make_view):
    view = make_view(FakeSource())
    for _ in range(2):
        view.versions.of(view.groups.rows[0])
        view.versions.tend()

    row = view.groups.rows[0]
    assert members_text(row, view.versions.of(row)) == "2 · 4.9.8"
    assert members_text(row, ("V4_9_8", "V5_3_3")) == "2 · 5.3.3…"
    assert members_text(view.groups.rows[-1], ()) == UNKNOWN


def test_models_keep_qts_rules(make_view):
    view = make_view(FakeSource())
    for model in (view.offsets.make().model, view.ownership.make().model, view.members):
        hold_to_rules(model)
    dialog = reset(view, "shift")
    hold_to_rules(dialog.model)

    dialog.shift.setText("-5")

    assert all(move.moves for move in dialog.model.rows)
    dialog.reject()
