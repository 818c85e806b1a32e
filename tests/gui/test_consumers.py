"""The Consumers page: groups, trend of the lag, queues, clients; the page over a fake broker."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import QEvent
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QApplication

from broker_core.api import RunningInfo, WorkerError, read_running_info
from broker_core.protocol.json_body import emit
from broker_core.worker.questions.administration import ListMembers, Members
from broker_core.worker.questions.in_flight import ListInFlight
from broker_core.worker.refusals import cluster_refusal
from gui.models.consumers import (
    GroupHealth,
    GroupRow,
    SubscriptionRow,
    by_urgency,
    group_health,
    group_rows,
    member_rows,
    position_rows,
    subscription_rows,
    topics_of,
)
from gui.operations.group_facts import GroupVersions
from gui.theme.fonts import text_font
from gui.theme.tokens import Size, State
from gui.views.consumers.columns import (
    SYSTEM_GROUPS,
    columns_to_hide,
    group_dot,
    health_chip,
    member_columns,
    position_columns,
    standing_state,
    standing_text,
)
from gui.views.consumers.in_flight_panel import READ_AGAIN_MS
from gui.views.consumers.lag_panel import BEHIND
from gui.views.consumers.view import MEMBERS_AGAIN_MS, TABS, ConsumersView
from gui.views.overview.figures import lagging_groups
from gui.words.amounts import online_text
from gui.words.outlooks import change_text, help_text, outlook_text
from gui.words.text import UNKNOWN, TimeZoneChoice, tr
from monitoring.group_outlook import GroupOutlook, Help, HelpKind
from monitoring.lag import Forecast, LagOutlook
from monitoring.sources.base import SourceStatus
from monitoring.state import MEMBERS_UNREAD, ClusterState
from tests.support.fake_source import (
    PAYMENT_SHARES,
    FakeSource,
    fake_members,
    fake_state,
)
from tests.support.languages import shown_in
from tests.support.model_rules import hold_to_rules
from tests.support.shown_parts import search_for, segments_of

STATE = fake_state()
NAN = float("nan")


@pytest.fixture
def make_view(show_page):
    return partial(show_page, ConsumersView)


def cells(model):
    return [[model.index(row, column).data() for column in range(model.columnCount())] for row in range(model.rowCount())]


# ---- rows ----


def test_groups_stand_by_lag_with_unknown_last():
    rows = by_urgency(group_rows(STATE))

    assert [row.name for row in rows[:3]] == ["payment-settle", "stock-worker", "order-service"]
    assert rows[-1].name == "bi-export"
    assert math.isnan(rows[-1].lag_messages)


def with_offset(state: ClusterState, row: int, offset: int) -> ClusterState:
    """The group of a position stands there, by the rules of the collector."""
    offsets, group = state.position_offset.copy(), state.catalog.position_group[row]
    offsets[row] = offset
    moved = replace(state, position_offset=offsets)
    lag = state.group_lag_messages.copy()
    lag[group] = moved.group_standings.waiting[group]
    return replace(moved, position_lag_messages=moved.position_standings.waiting, group_lag_messages=lag)


def test_a_group_beyond_the_end_is_first_critical_and_no_group_without_lag():
    row = STATE.catalog.groups.index("risk-scan")
    place = STATE.catalog.position_group.index(row)
    state = with_offset(STATE, place, 928_803_233_967_072_000)

    first, *_others = by_urgency(group_rows(state))
    assert (first.name, first.beyond_messages > 9e17) == ("risk-scan", True)
    assert math.isnan(first.lag_messages)
    assert group_dot(first) is State.CRITICAL
    assert health_chip(first, Forecast(NAN, NAN, NAN, NAN)) == ("Beyond the end", State.CRITICAL)
    assert health_chip(replace(first, members=-1), Forecast(NAN, NAN, NAN, NAN)) == ("Beyond the end", State.CRITICAL)
    worst = position_rows(state, "risk-scan")[0]
    assert standing_text(worst).endswith(" beyond the end")
    assert standing_state(worst) is State.CRITICAL
    sort = next(column.sort for column in position_columns(str) if column.key == "lag")
    last = max(position_rows(state, "risk-scan"), key=sort)
    assert last.beyond_messages > 0, "the list would hide it below positions without a lag"
    assert state.catalog.groups[lagging_groups(state, 1)[0]] == "risk-scan"


def test_messages_that_were_deleted_unread_are_lost_and_do_not_wait():
    row = STATE.catalog.groups.index("risk-scan")
    place = STATE.catalog.position_group.index(row)
    queue = STATE.catalog.position_queue[place]
    low = STATE.queue_min_offset.copy()
    low[queue] = STATE.queue_max_offset[queue]
    state = with_offset(replace(STATE, queue_min_offset=low), place, int(low[queue]) - 150)

    (group,) = [one for one in group_rows(state) if one.name == "risk-scan"]
    assert (group.lag_messages, group.lost_messages, standing_text(group)) == (0, 150, "150 lost unread")
    assert health_chip(group, Forecast(0, 0, 0, 0)) == ("Messages lost unread", State.WARNING)


def test_dot_of_a_group_says_offline_over_the_limit_or_healthy():
    dots = {row.name: group_dot(row) for row in group_rows(STATE)}

    assert dots["bi-export"] is State.IDLE
    assert dots["payment-settle"] is State.WARNING
    assert dots["order-service"] is State.HEALTHY


def test_positions_of_a_group_add_up_to_its_lag():
    rows = position_rows(STATE, "payment-settle")

    assert sorted(row.lag_messages for row in rows) == sorted(PAYMENT_SHARES)
    assert rows[0].lag_messages == max(PAYMENT_SHARES)
    assert all(row.broker_offset - row.group_offset == row.lag_messages for row in rows)
    assert position_rows(STATE, "nobody") == []


def test_what_comes_in_is_the_rate_of_the_queues_of_the_group():
    rates = {row.name: row.in_rate for row in group_rows(STATE)}
    assert rates["payment-settle"] == pytest.approx(311, rel=0.01)
    assert topics_of(STATE, "payment-settle") == ["payments"]


@pytest.mark.parametrize(
    ("members", "lag", "slope", "health"),
    [
        (2, 10_000, -50, GroupHealth.DRAINING),
        (2, 10_000, 50, GroupHealth.GROWING),
        (2, 500, 0, GroupHealth.STEADY),
        (2, 500, NAN, GroupHealth.TURNED),
        (2, 0, 0, GroupHealth.CAUGHT_UP),
        (2, NAN, NAN, GroupHealth.UNKNOWN),
        (-1, 10_000, 50, GroupHealth.OFFLINE),
        (MEMBERS_UNREAD, 10_000, 50, GroupHealth.GROWING),
    ],
)
def test_health_follows_the_forecast_of_the_lag(members, lag, slope, health):
    group = GroupRow("g", is_system=False, members=members, lag_messages=lag, behind_ms=0.0, out_rate=0.0)

    assert group_health(group, Forecast(lag, slope, slope, slope)) is health


@pytest.mark.parametrize(("positions", "faults", "health"), [
    ((0,), {}, GroupHealth.UNKNOWN),
    ((), {}, GroupHealth.NO_POSITION),
    ((), {"broker-a": "no answer"}, GroupHealth.UNKNOWN),
])  # fmt: skip
def test_only_a_group_that_cannot_have_one_has_no_position_yet(positions, faults, health):
    catalog = replace(STATE.catalog, position_group=positions, position_queue=positions)
    unknown = {"group_lag_messages": np.full(len(catalog.groups), NAN), "position_offset": np.full(len(positions), -1)}
    rows = group_rows(replace(STATE, catalog=catalog, faults=faults, **unknown))
    row = next(row for row in rows if not row.offline and row.name == catalog.groups[0])

    assert group_health(row, Forecast(NAN, NAN, NAN, NAN)) is health


@pytest.mark.parametrize(("members", "words"), [(2, "2"), (0, "offline"), (-1, "offline"), (MEMBERS_UNREAD, UNKNOWN)])
def test_a_group_whose_members_were_not_read_is_not_called_offline(members, words):
    group = GroupRow("g", is_system=False, members=members, lag_messages=5.0, behind_ms=0.0, out_rate=0.0)
    assert online_text(members) == words
    assert group.offline == (words == "offline"), "an offset reset would pass over members that are there"


@pytest.mark.parametrize(
    ("lag", "slope", "word", "state"),
    [
        (500, 0, "Keeping up", State.HEALTHY),
        (501, 0, "Above its limit", State.WARNING),
        (501, NAN, "Above its limit", State.WARNING),
        (501, -50, "Draining", State.WARNING),
        (500, -50, "Draining", State.PENDING),
    ],
)
def test_a_group_is_not_well_that_its_alert_fires_at(lag, slope, word, state):
    group = GroupRow("g", False, 2, lag, 0.0, 0.0, lag_limit=500)
    assert health_chip(group, Forecast(lag, slope, slope, slope)) == (word, state)


@pytest.mark.parametrize(
    ("lag", "slope", "words"),
    [
        (36_000, -50, "drains in 12 min"),
        (5_000, 20, "grows 1,200/min"),
        (500, 0, "steady"),
        (0, 0, "no lag"),
        (500, NAN, "unknown"),
        (NAN, NAN, "unknown"),
    ],
)
def test_a_forecast_is_told_in_words(lag, slope, words):
    assert outlook_text(GroupOutlook(Forecast(lag, slope, slope, slope)), str) == words


def test_members_own_the_queues_that_name_them():
    rows = member_rows(fake_members("payment-settle"), position_rows(STATE, "payment-settle"), STATE.taken_ms)

    assert [row.client_id for row in rows] == ["c1@10.23.4.11", "c2@10.23.4.12"]
    assert sum(row.queues for row in rows) == len(PAYMENT_SHARES)


def test_members_over_grpc_own_no_queues_and_name_their_protocol():
    members = replace(fake_members("payment-settle"), protocol=["remoting", "gRPC"])
    rows = member_rows(members, position_rows(STATE, "payment-settle"), STATE.taken_ms)
    assert [row.protocol for row in rows] == ["remoting", "gRPC"]
    assert (rows[0].queues, rows[1].queues) == (4, -1)


def test_members_over_grpc_are_counted_in_the_list_of_groups(make_view):
    source = FakeSource()
    source.answers[ListMembers] = lambda one: replace(fake_members(one.group), protocol=["gRPC"] * 2)
    view = make_view(source)
    column = next(column for column in view.groups.columns if column.key == "members")
    row = next(row for row in view.groups.rows if row.name == "payment-settle")
    view.versions.of(row)
    view.versions.tend()
    assert column.text(row) == "2 · 4.9.8"
    assert column.tip(row) == "4.9.8\n2 over gRPC"


# ---- messages in flight ----


def in_flight_panel(view):
    view.tabs.setCurrentIndex(TABS.index("in flight"))
    return view.in_flight.make()


def test_what_a_member_consumed_has_another_name_than_what_its_group_gives_out(qapp):
    """A client counts over a minute, and a group over seconds: the figures differ after each turn."""
    del qapp
    titles = [column.title for column in member_columns(TimeZoneChoice(utc=True))]
    assert {"OK /s", "Failed /s"} <= set(titles)
    assert not {"Out", "Out /s"} & set(titles)
    column = next(one for one in member_columns(TimeZoneChoice(utc=True)) if one.title == "OK /s")
    with shown_in("zh"):
        assert QFontMetrics(text_font(Size.SECONDARY)).horizontalAdvance(tr(column.title)) + 24 <= column.width


def test_messages_in_flight_are_listed_with_their_next_due_time(make_view):
    view = make_view(FakeSource())
    view.group_grid.select_key("payment-settle")
    panel = in_flight_panel(view)
    hold_to_rules(panel.model)
    texts = [[column.text(row) for column in panel.model.columns] for row in panel.model.rows]
    assert texts == [
        ["payments", "0", "4", "due", "60 s", "any order"],
        ["payments", "1", "12", "in 9.0 s", "51 s", "any order"],
        ["payments", "2", "1", "in 41 s", "19 s", "in order"],
    ]
    assert panel.panel.subtitle == "17 received by POP and not acknowledged yet"


def test_messages_in_flight_are_read_again_each_second(make_view):
    source = FakeSource()
    view = make_view(source)
    in_flight_panel(view)
    before = len(source.asked_for(ListInFlight))
    for later_ms in (100, 900, READ_AGAIN_MS, READ_AGAIN_MS + 100):
        view.state_changed(replace(STATE, taken_ms=STATE.taken_ms + later_ms))
    assert len(source.asked_for(ListInFlight)) == before + 1


def test_a_group_without_messages_in_flight_says_so(make_view):
    view = make_view(FakeSource())
    view.group_grid.select_key("notify-sms")
    panel = in_flight_panel(view)
    assert panel.model.rows == []
    assert panel.grid.placeholder.text == "No message of this group is in flight."


def test_messages_in_flight_of_a_cluster_say_why_they_are_not_known(make_view):
    source = FakeSource()
    source.answers[ListInFlight] = cluster_refusal
    panel = in_flight_panel(make_view(source))
    assert panel.grid.placeholder.text == "The messages in flight were not read."
    assert panel.panel.subtitle == "received by POP and not acknowledged yet"


def two_members(first: dict[str, str], second: dict[str, str]) -> Members:
    return Members(["a", "b"], ["x", "y"], ["JAVA"] * 2, ["V5"] * 2, [STATE.taken_ms] * 2, [first, second])


def told(**said: dict[str, str]) -> dict[str, RunningInfo]:
    """What clients tell of their subscriptions, by client id."""
    infos = {}
    for client, topics in said.items():
        subscriptions = [{"topic": topic, "subString": expression} for topic, expression in topics.items()]
        infos[client] = read_running_info(client, emit({"subscriptionSet": subscriptions}))
    return infos


def rows_told(first: dict[str, str], second: dict[str, str]) -> list[SubscriptionRow]:
    members = two_members({"t": "*"}, {"t": "*"})
    return subscription_rows(member_rows(members, [], 0, told(a=first, b=second)))


def test_what_the_broker_keeps_for_all_members_is_not_compared():
    rows = subscription_rows(member_rows(two_members({"t": "A"}, {"t": "B"}), [], 0))

    assert [(row.differs, row.told) for row in rows] == [(False, False)] * 2


def test_subscriptions_that_differ_are_marked_also_where_one_is_missing():
    other = rows_told({"t": "A"}, {"t": "A || B", "u": "*"})

    assert [row.differs for row in rows_told({"t": "*"}, {"t": "*"})] == [False, False]
    assert [row.differs for row in rows_told({"t": "A || B"}, {"t": "B||A"})] == [False, False]
    assert [(row.topic, row.client_id, row.expression, row.differs) for row in other] == [
        ("t", "a", "A", True), ("t", "b", "A || B", True), ("u", "a", "", True), ("u", "b", "*", True),
    ]  # fmt: skip


# ---- the page ----


def test_the_page_shows_the_most_urgent_group(make_view):
    view = make_view(FakeSource())

    assert view.header.title == "payment-settle"
    assert view.header.facts == "payments"
    assert view.lag.facts["lag"].value.text() == "16,870"
    assert (view.lag.facts["in"].value.text(), view.lag.facts["out"].value.text()) == (
        "311",
        "373",
    )  # its lag falls by 62 messages a second
    assert len(view.positions.rows) == 8
    assert view.tab_title() == "payment-settle"
    assert [view.tabs.tabText(i) for i in range(3)] == ["Lag", "Members 2", "Subscriptions 2"]


def test_unknown_lag_is_a_dash_and_the_group_offline(make_view):
    view = make_view(FakeSource())

    view.open({"group": "bi-export"})

    assert view.groups.row_at(view.groups.position_of("bi-export")).offline
    assert [view.lag.facts[key].value.text() for key in ("lag", "behind", "members")] == [UNKNOWN, UNKNOWN, "offline"]
    shown = cells(view.groups)[view.groups.position_of("bi-export")][1:]
    assert shown == [UNKNOWN, UNKNOWN, "612/s", "0/s", "offline", "unknown", UNKNOWN]
    assert view.member_tab.make().grid.placeholder.text == "No client of this group is online."


def test_draining_says_how_long(make_view):
    view = make_view(FakeSource())

    assert view.lag.outlook.forecast.outlook is LagOutlook.DRAINING
    assert "net" in view.lag.facts["drains"].unit.text()


def test_what_would_help_says_how_many_consumers_can_read(qapp):
    del qapp
    advice = Help(HelpKind.MORE_CONSUMERS, more=2, queues=8)
    assert help_text(advice) == "2 more consumers would drain it; at most 8 in all, one for each queue"
    with shown_in("zh"):
        assert help_text(advice) == "再加 2 个消费者即可消化；总共最多 8 个，每个队列一个"


def test_the_queues_of_a_group_keep_their_room_beside_what_would_help(make_view, qtbot):
    view = make_view(FakeSource())
    qtbot.waitUntil(lambda: view.lag.chart.made is not None and view.heat.made is not None)
    view.lag.advice.hide()
    qtbot.wait(50)
    before = view.position_grid.height()
    view.lag.advice.setText("2 more consumers would drain it; at most 8 in all, one for each queue")
    view.lag.advice.show()
    qtbot.wait(50)
    assert view.position_grid.height() > before - 30 > 100


def test_a_group_beyond_the_end_has_a_standing_in_place_of_a_drain(make_view):
    source = FakeSource()
    place = STATE.catalog.position_group.index(STATE.catalog.groups.index("risk-scan"))
    source.state = with_offset(STATE, place, 928_803_233_967_072_000)
    view = make_view(source)
    view.open({"group": "risk-scan"})
    facts = view.lag.facts
    assert facts["standing"].value.text().endswith(" beyond the end")
    assert (facts["standing"].isHidden(), facts["drains"].isHidden()) == (False, True)
    assert columns_to_hide(view.positions.rows) & {"standing"} == set()
    view.open({"group": "order-service"})
    assert (facts["standing"].isHidden(), facts["drains"].isHidden()) == (True, False)
    assert "standing" in columns_to_hide(view.positions.rows)


def test_chart_shows_the_group_and_what_is_chosen(make_view):
    view = make_view(FakeSource())

    lag = view.lag.chart.make().last_value("lag")
    segments_of(view.lag.switch)[1].click()
    assert view.lag.switch.current == BEHIND

    assert lag == pytest.approx(view.context.history.series("group:payment-settle.lag_messages").last)
    assert view.lag.chart.make().last_value("lag") == pytest.approx(
        view.context.history.series("group:payment-settle.behind_ms").last / 1_000, nan_ok=True
    )


def test_the_selected_group_stays_selected_when_the_order_changes(make_view):
    source = FakeSource()
    view = make_view(source)
    view.open({"group": "order-service"})
    lag = STATE.group_lag_messages.copy()
    lag[STATE.catalog.groups.index("order-service")] = 99_999.0

    view.state_changed(replace(STATE, group_lag_messages=lag))

    assert view.groups.shown_rows[0].name == "order-service"
    assert view.group_grid.selected_row.name == "order-service"
    assert view.lag.facts["lag"].value.text() == "99,999"


def test_members_are_asked_once_and_again_when_their_number_changes(make_view, monkeypatch):
    monkeypatch.setattr(GroupVersions, "tend", lambda _self: None)  # the list asks as well, for what it paints
    source = FakeSource()
    view = make_view(source)
    view.state_changed(STATE)
    members = STATE.group_members.copy()
    members[STATE.catalog.groups.index("payment-settle")] = 3

    view.state_changed(replace(STATE, group_members=members))

    assert source.asked_for(ListMembers) == [ListMembers("payment-settle")] * 2


def test_members_that_are_looked_at_are_asked_for_now_and_then(make_view, monkeypatch):
    monkeypatch.setattr(GroupVersions, "tend", lambda _self: None)  # the list asks as well, for what it paints
    source = FakeSource()
    view = make_view(source)
    view.tabs.setCurrentIndex(TABS.index("members"))
    asked = lambda: len(source.asked_for(ListMembers))  # noqa: E731
    before = asked()
    for later_ms in (0, MEMBERS_AGAIN_MS, MEMBERS_AGAIN_MS + 1, 2 * MEMBERS_AGAIN_MS):
        view.state_changed(replace(STATE, taken_ms=STATE.taken_ms + later_ms))
    assert asked() == before + 2
    view.tabs.setCurrentIndex(TABS.index("lag"))
    before = asked()
    for turn in (3, 4, 5):
        view.state_changed(replace(STATE, taken_ms=STATE.taken_ms + turn * MEMBERS_AGAIN_MS))
    assert asked() <= before + 1


def test_the_answer_for_another_group_is_dropped(make_view):
    source = FakeSource()
    source.hold = True
    view = make_view(source)

    view.open({"group": "stock-worker"})
    for pending in source.held:
        pending.release()

    assert source.held[0].was_cancelled
    assert len(view.members.rows) == 4


def test_members_that_cannot_be_read_are_an_error_in_place(make_view):
    source = FakeSource()
    source.fail_with = WorkerError("the worker does not answer")

    view = make_view(source)

    assert view.member_tab.make().grid.placeholder.text == "The clients of payment-settle were not read."
    source.fail_with = None
    view.refresh()
    assert len(view.members.rows) == 2


def test_tabs_of_clients_are_made_when_they_are_looked_at_and_show_what_is_known(make_view):
    source = FakeSource()
    view = make_view(source)
    view.open({"group": "notify-sms"})
    tabs = view.member_tab, view.subscription_tab
    assert [tab.made for tab in tabs] == [None, None]
    assert view.members.rows

    view.tabs.setCurrentIndex(1)
    assert tabs[0].made.grid.model.rowCount() == len(view.members.rows)
    assert tabs[1].made is None
    view.tabs.setCurrentIndex(2)
    assert "c2@10.23.4.12: PAID || REFUND" in tabs[1].made.findings[0].text


def test_members_that_disagree_are_named_with_the_consequence(make_view):
    view = make_view(FakeSource())

    view.open({"group": "notify-sms", "tab": "subscriptions"})

    assert "notify-sms: Members filter differently: payments" in view.disagreement.text
    assert "c2@10.23.4.12: PAID || REFUND" in view.subscription_tab.make().findings[0].text
    assert "messages are skipped" in view.subscription_tab.make().findings[0].text
    assert [notice.isHidden() for notice in view.subscription_tab.make().findings] == [False, True, True, True]
    view.open({"group": "payment-settle"})
    assert view.disagreement.isHidden()
    assert view.subscription_tab.make().findings[0].isHidden()


def test_system_groups_are_folded(make_view):
    source = FakeSource()
    system = [name == "risk-scan" for name in STATE.catalog.groups]
    source.state = replace(STATE, catalog=replace(STATE.catalog, group_is_system=system))

    view = make_view(source)

    titles = [view.groups.section_at(row) for row in range(view.groups.rowCount())]
    assert SYSTEM_GROUPS in titles
    assert view.groups.position_of("risk-scan") == -1


def test_filter_and_empty_states(make_view):
    source = FakeSource(status=SourceStatus.STARTING)
    view = make_view(source)
    assert view.group_grid.placeholder.text == "No group has consumed here yet."

    view.state_changed(STATE)
    search_for(view.search, "settle")

    assert [row.name for row in view.groups.shown_rows] == ["payment-settle"]


def test_a_queue_opens_its_messages_at_the_position_of_the_group(make_view, window):
    view = make_view(FakeSource())
    row = view.positions.rows[0]

    view.position_grid.activated.emit(row)

    assert window.opened == [("messages", {"topic": "payments", "queue": row.queue_id, "offset": row.group_offset})]


def test_models_keep_qts_rules(make_view):
    view = make_view(FakeSource())
    for model in (view.groups, view.positions, view.members, view.subscriptions):
        hold_to_rules(model)

    view.open({"group": "stock-worker"})
    view.state_changed(fake_state(STATE.taken_ms + 1_000))

    assert view.positions.rowCount() == len(position_rows(STATE, "stock-worker"))


def test_texts_follow_the_language(make_view, qapp, qtbot):
    view = make_view(FakeSource())
    with shown_in("zh"):
        with qtbot.waitSignal(view.title_changed):
            QApplication.sendEvent(view, QEvent(QEvent.Type.LanguageChange))

        assert view.header.title == "payment-settle"  # names are never translated
        assert [view.tabs.tabText(i) for i in range(3)] == ["堆积", "成员 2", "订阅 2"]
        assert view.lag.facts["drains"].name.text() == "预计消化"


def test_a_broker_that_is_away_is_named_beside_the_members_and_they_are_asked_for_when_it_is_back(make_view):
    source = FakeSource()
    source.hold = True
    view = make_view(source)
    (held,) = [one for one in source.held if one.answers_with is Members]
    held.release(
        replace(fake_members("billing"), notice="Not all brokers answered, and what they hold is missing here. b: away")
    )
    assert view.member_tab.make().notice.isVisibleTo(view.tabs.widget(1))
    source.held.clear()
    view.state_changed(replace(source.state, faults={"broker b": "no answer for 3 s: away"}))
    asked = [one for one in source.held if one.answers_with is Members]
    asked[-1].release(fake_members("billing"))
    assert not view.member_tab.make().notice.isVisibleTo(view.tabs.widget(1))
    before = len(source.asked)
    view.state_changed(replace(source.state, faults={"broker b": "no answer for 9 s: away"}))
    assert [one for one in source.asked[before:] if isinstance(one, ListMembers)] == []
    view.state_changed(replace(source.state, faults={}))
    assert len([one for one in source.asked[before:] if isinstance(one, ListMembers)]) == 1


def test_a_pinned_page_says_that_its_group_is_gone_and_goes_to_no_other(make_view):
    view = make_view(FakeSource())
    view.open({"group": "stock-worker"})
    view.state_changed(STATE)
    without = replace(
        STATE,
        catalog=replace(STATE.catalog, groups=["another" if one == "stock-worker" else one for one in STATE.catalog.groups]),
    )
    assert view.gone() == ""
    view.is_pinned = True
    view.state_changed(without)
    assert view.gone() == "Group stock-worker is gone."
    assert view.tab_title() == "stock-worker"
    view.state_changed(replace(without, faults={"broker-b": "no answer"}))
    assert view.gone() == "", "the broker that does not answer may have it"
    view.state_changed(STATE)
    assert view.gone() == ""
    assert view.header.title == "stock-worker"


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("width", [1_072, 1_232])
def test_names_of_groups_and_parts_are_whole_beside_each_other(make_view, qtbot, width, language):
    with shown_in(language):
        view = make_view(FakeSource())
        view.resize(width, 700)
        qtbot.waitUntil(lambda: view.width() == width and view.group_grid.view.viewport().width() > 300)
        cells = view.group_grid.view
        fonts = QFontMetrics(text_font(Size.BODY, QFont.Weight.DemiBold))
        qtbot.waitUntil(lambda: cells.horizontalScrollBar().maximum() == 0)
        assert cells.columnWidth(0) >= fonts.horizontalAdvance("payment-settle") + 36
        bar = view.tabs.tabBar()
        assert bar.tabRect(bar.count() - 1).right() < bar.width()
        units = [fact.unit for key, fact in view.lag.facts.items() if fact.isVisible() and key != "drains"]
        assert all(unit.width() >= unit.sizeHint().width() for unit in units if unit.isVisible())


def test_a_group_that_is_gone_leaves_nothing_behind(make_view, qtbot):
    view = make_view(FakeSource())
    heat = view.heat.make()
    view.state_changed(STATE)
    assert heat._places
    none = replace(STATE.catalog, groups=[], group_is_system=[], position_group=[], position_queue=[])
    nothing, no_numbers = np.zeros(0), np.zeros(0, np.int64)
    view.state_changed(
        replace(
            STATE, catalog=none, group_members=no_numbers, group_lag_messages=nothing, group_behind_ms=nothing,
            group_got_rate=nothing, group_consumed_rate=nothing, position_offset=no_numbers, position_lag_messages=nothing,
            position_behind_ms=nothing, position_owner=no_numbers,
        )
    )  # fmt: skip
    assert (heat._places, heat.lags.matrix.is_empty) == ([], True)
    assert view.header.title == "Consumers"


@pytest.mark.parametrize(("lag", "slope", "shown"), [(NAN, 0.0, UNKNOWN), (5.0, 0.0, "0/s"), (500.0, 12.0, "+12/s")])
def test_the_change_of_an_unknown_lag_is_unknown(lag, slope, shown):
    assert change_text(Forecast(lag, slope, slope, slope)) == shown
