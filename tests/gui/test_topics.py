"""The Topics page: table, filters, detail strip, new topic."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QMenu

from broker_core.api import RemoteError
from broker_core.worker.questions.administration import CreateTopic
from gui.models.topics import (
    QueueRow,
    TopicHealth,
    queue_rows,
    skew,
    topic_group_rows,
    topic_name_fault,
    topic_rows,
)
from gui.theme.tokens import State
from gui.views.topics.columns import SYSTEM_TOPICS, age_text
from gui.views.topics.detail import permission_text
from gui.views.topics.view import TopicsView
from gui.widgets.basic import ElidedLabel
from gui.words.text import UNKNOWN
from tests.support.fake_source import TAKEN_MS, TOPICS, FakeSource, fake_state
from tests.support.shown_parts import segment, segments_of

pytestmark = [
    pytest.mark.qt_log_level_fail("WARNING"),
    pytest.mark.qt_log_ignore("does not support propagateSizeHints"),  # the offscreen platform, of every dialog
]

NAN = float("nan")
OWN = [topic[0] for topic in TOPICS if not topic[0].startswith("%")]


@pytest.fixture
def make_view(show_page):
    return partial(show_page, TopicsView)


def row_of(state, name):
    return next(row for row in topic_rows(state) if row.name == name)


def names(view):
    return [row.name for row in view.model.shown_rows]


def cell_text(view, topic, key):
    column = next(column for column in view.model.columns if column.key == key)
    return column.text(next(row for row in view.model.rows if row.name == topic))


def empty_state():
    state = fake_state()
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    catalog = replace(
        state.catalog,
        topics=[], topic_read_queues=[], topic_write_queues=[], topic_permission=[], topic_is_system=[],
        queue_topic=[], queue_id=[], position_group=[], position_queue=[],
    )  # fmt: skip
    ints = dict.fromkeys(("queue_min_offset", "queue_max_offset", "queue_last_store_ms", "topic_put_messages"), none)
    more = dict.fromkeys(("topic_put_bytes", "topic_kept_messages", "topic_last_store_ms", "position_offset"), none)
    floats = dict.fromkeys(("queue_put_rate", "topic_put_rate", "topic_got_rate", "position_lag_messages"), nothing)
    return replace(state, catalog=catalog, position_behind_ms=nothing, position_owner=none, **ints, **more, **floats)


# ---- rows --------------------------------------------------------------------------------------------------------------


def test_a_row_names_the_slowest_group_and_its_lag():
    row = row_of(fake_state(), "inventory-reserve")
    assert (row.slowest_group, row.lag_messages) == ("stock-worker", 903)
    assert (row.write_queues, row.read_queues, row.put_rate, row.kept_messages) == (16, 16, 118.0, 822_640)
    assert row.average_bytes == 812
    assert row.age_ms == 300


def test_a_topic_without_a_known_position_has_no_lag():
    row = row_of(fake_state(), "audit-log")
    assert row.slowest_group == ""
    assert math.isnan(row.lag_messages)


def test_a_group_without_positions_is_not_the_slowest():
    row = row_of(fake_state(), "orders")
    assert (row.slowest_group, row.lag_messages) == ("order-service", 412)


def test_lag_known_in_part_counts_what_is_known():
    state = fake_state()
    lag = state.position_lag_messages.copy()
    first = next(i for i, group in enumerate(state.catalog.position_group) if state.catalog.groups[group] == "payment-settle")
    lag[first] = NAN
    assert row_of(replace(state, position_lag_messages=lag), "payments").lag_messages == 16_870 - 12


def test_health_follows_lag_and_last_write():
    state = fake_state()
    assert row_of(state, "payments").health is TopicHealth.LAGGING
    assert row_of(state, "orders").health is TopicHealth.ACTIVE
    assert row_of(state, "coupon-grant").health is TopicHealth.IDLE
    never = replace(state, topic_last_store_ms=np.full_like(state.topic_last_store_ms, -1))
    assert (row_of(never, "orders").health, row_of(never, "orders").age_ms) == (TopicHealth.IDLE, -1)


def test_rows_of_some_topics_come_in_the_asked_order():
    assert [row.name for row in topic_rows(fake_state(), [3, 0])] == ["inventory-reserve", "orders"]


def test_queue_rows_are_those_of_the_topic():
    rows = queue_rows(fake_state(), "audit-log")
    assert [row.queue_id for row in rows] == [0, 1]
    assert sum(row.messages for row in rows) == 50_211
    assert queue_rows(fake_state(), "no-such-topic") == []


def test_messages_of_a_queue_with_an_unknown_offset_are_unknown():
    state = fake_state()
    unknown = replace(state, queue_min_offset=np.full_like(state.queue_min_offset, -1))
    assert {row.messages for row in queue_rows(unknown, "orders")} == {-1}


def test_groups_of_a_topic_come_worst_first_and_unknown_last():
    rows = topic_group_rows(fake_state(), "orders")
    assert [row.name for row in rows] == ["order-service", "bi-export"]
    assert math.isnan(rows[1].lag_messages)
    assert rows[1].members == -1


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ([500, 500, 500, 500], 1.0),
        ([4_000, 0, 0, 0], 4.0),
        ([3_000, 1_000, -1], 1.5),
        ([999, 0], NAN),
        # 2,000 messages at random over 200 queues leave some queue with twice its share.
        ([10] * 199 + [24], 1.0),
        ([10] * 199 + [60], 60 * 200 / 2_050),
        ([5_000], NAN),
        ([], NAN),
    ],
)
def test_skew_is_the_largest_share_over_an_even_one(messages, expected):
    queues = [QueueRow(i, 0 if count >= 0 else -1, count, NAN, -1) for i, count in enumerate(messages)]
    assert skew(queues) == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize(
    ("name", "fault"),
    [
        ("", "empty"),
        ("orders-2_%|x", ""),
        ("a" * 127, ""),
        ("a" * 128, "long"),
        ("../orders", "character"),
        ("订单", "character"),
        ("with space", "character"),
        ("SCHEDULE_TOPIC_XXXX", "reserved"),
        ("rmq_sys_wheel_timer", "reserved"),
        ("%DLQ%group", ""),
        ("orders", "exists"),
    ],
)
def test_name_rules(name, fault):
    assert topic_name_fault(name, ["orders"]) == fault


@pytest.mark.parametrize(("permission", "text"), [(6, "read and write"), (7, "read and write"), (4, "read only"), (0, "none")])
def test_permission_is_said_in_words(permission, text):
    assert permission_text(permission) == text


# ---- table -------------------------------------------------------------------------------------------------------------


def test_the_table_shows_what_the_state_says(make_view):
    view = make_view(FakeSource())
    keys = ("topic", "queues", "in", "size", "kept", "groups", "lag", "last")
    assert [cell_text(view, "payments", key) for key in keys] == [
        "payments", "8 / 8", "311", "1.2 KiB", "2,190,774", "payment-settle 16.9k", "16,870", "0.2 s",
    ]  # fmt: skip
    assert view.header.facts == "9 yours, 4 system, 13.6 GiB on disk"


def test_unknown_figures_are_dashes(make_view):
    source = FakeSource()
    unknown = replace(
        source.state,
        topic_put_rate=np.full_like(source.state.topic_put_rate, NAN),
        topic_kept_messages=np.full_like(source.state.topic_kept_messages, -1),
        topic_last_store_ms=np.full_like(source.state.topic_last_store_ms, -1),
        topic_put_messages=np.zeros_like(source.state.topic_put_messages),
    )
    view = make_view(FakeSource(unknown))
    texts = {key: cell_text(view, "audit-log", key) for key in ("in", "spark", "size", "kept", "groups", "lag", "disk", "last")}
    assert set(texts.values()) == {UNKNOWN}


def test_system_topics_are_folded_until_asked_for(make_view):
    view = make_view(FakeSource())
    assert names(view) == OWN
    view.model.toggle_section(SYSTEM_TOPICS)
    assert len(names(view)) == len(TOPICS)


def test_retry_and_dead_letter_topics_stand_among_the_brokers_own(make_view):
    state = fake_state()
    catalog = replace(state.catalog, topic_is_system=[False] * len(TOPICS))
    view = make_view(FakeSource(replace(state, catalog=catalog)))
    assert names(view) == OWN


def test_a_topic_that_is_written_right_now_says_so():
    row = row_of(fake_state(), "orders")
    assert [age_text(replace(row, last_store_ms=row.taken_ms - age)) for age in (0, 99, 100, 131_000)] == [
        "now",
        "now",
        "0.1 s",
        "131 s",
    ]


def test_the_model_keeps_qts_rules_through_changes(make_view, qtmodeltester):
    source = FakeSource()
    view = make_view(source)
    qtmodeltester.check(view.model)
    rates = source.state.topic_put_rate[::-1].copy()
    view.state_changed(replace(source.state, topic_put_rate=rates))
    view.model.toggle_section(SYSTEM_TOPICS)
    view.filter.search.setText("pay")
    view.filter.search.edit.returnPressed.emit()
    qtmodeltester.check(view.model)


def test_the_search_field_filters_by_topic_and_by_group(make_view):
    view = make_view(FakeSource())
    view.filter.search.setText("PAY")
    view.filter.search.edit.returnPressed.emit()
    assert names(view) == ["payments", "pay-result"]
    view.filter.search.setText("stock-worker")
    view.filter.search.edit.returnPressed.emit()
    assert "inventory-reserve" in names(view)
    view.filter.search.setText("no such thing")
    view.filter.search.edit.returnPressed.emit()
    assert names(view) == []
    assert view.grid.placeholder.text == "No topic matches this filter."


def search(view, text):
    view.filter.search.setText(text)
    view.filter.search.edit.returnPressed.emit()
    return sorted(name for name in names(view) if not name.startswith("%"))


@pytest.fixture
def typed_view(make_view):
    """With the types and sizes that the broker told."""
    view = make_view(FakeSource())
    view.model.toggle_section(SYSTEM_TOPICS)
    view.state_changed(fake_state())
    return view


def test_topics_of_which_nothing_is_known_are_not_counted(make_view):
    state = fake_state()
    unknown = {name: np.full_like(getattr(state, name), -1) for name in ("topic_kept_messages", "topic_last_store_ms")}
    view = make_view(FakeSource(replace(state, **unknown)))
    assert "Idle —" in [one.text() for one in segments_of(view.filter.choice)]
    view = make_view(FakeSource(replace(state, position_lag_messages=np.full_like(state.position_lag_messages, np.nan))))
    assert "With lag —" in [one.text() for one in segments_of(view.filter.choice)]
    view.filter.choice.choose("lag")
    view.filter.apply()
    assert view.model.shown_rows == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("lag>1000", ["payments"]),
        ("lag:>1000", ["payments"]),
        ("group:stock-worker", ["inventory-reserve"]),
        ("idle>1h", ["coupon-grant"]),
        ("in>300", ["orders", "payments"]),
        ("queues>=16", ["inventory-reserve"]),
        ("kept>1m pay", ["payments"]),
        ("lag<500 -group:order-service group:notify", ["shipment-notify"]),
    ],
)
def test_conditions_ask_for_the_figures_of_the_columns(typed_view, text, found):
    assert search(typed_view, text) == found


def test_a_type_is_asked_for_by_its_word_and_the_menu_of_a_row_adds_it(typed_view):
    topics = {row.name: row for row in typed_view.model.rows}
    search(typed_view, "type:retry")
    assert {name.partition("%")[2].partition("%")[0] for name in names(typed_view)} == {"RETRY"}
    typed_view.filter.show_all()
    typed_view.grid.menu_asked.emit(topics["%DLQ%stock-worker"], QPoint(10, 10))
    menu = next(menu for menu in typed_view.findChildren(QMenu) if menu.isVisible())
    next(action for action in menu.actions() if action.text() == "Without Dead letter").trigger()
    menu.close()
    assert [chip.text() for chip in typed_view.filter.search.chips] == ['-type:"Dead letter"']
    assert not any(name.startswith("%DLQ%") for name in names(typed_view))


def test_a_condition_that_cannot_be_read_says_why_and_leaves_the_others_in_force(typed_view):
    assert search(typed_view, "lagg>7 pay lag>1000") == ["payments"]
    assert typed_view.filter.fault.isVisible()
    assert typed_view.filter.fault.whole_text().startswith("There is no lagg here. There are: name, type, ")
    assert typed_view.filter.search.property("valid") == "false"
    assert search(typed_view, "pay") == ["pay-result", "payments"]
    assert not typed_view.filter.fault.isVisible()


def test_favourites_stand_first_whatever_is_filtered(typed_view):
    typed_view.favourites.toggle("user-points")
    try:
        search(typed_view, "in>10")
        assert names(typed_view)[0] == "user-points"
        assert typed_view.model.section_at(0) == "Favourites"
    finally:
        typed_view.favourites.toggle("user-points")


def test_quick_filters_count_and_filter(make_view):
    view = make_view(FakeSource())
    assert [one.text() for one in segments_of(view.filter.choice)] == ["All 13", "Favourites 0", "Idle 3", "With lag 4"]
    segment(view.filter.choice, "With lag").click()
    assert names(view) == ["orders", "payments", "inventory-reserve", "shipment-notify"]
    segment(view.filter.choice, "Idle").click()
    assert names(view) == ["coupon-grant"]


@pytest.mark.parametrize(
    ("key", "first"),
    [("in", "orders"), ("kept", "orders"), ("lag", "payments"), ("last", "coupon-grant"), ("size", "audit-log")],
)
def test_columns_sort_by_their_figure_not_by_their_text(make_view, key, first):
    view = make_view(FakeSource())
    view.grid.sort_by(key, descending=True)
    assert names(view)[0] == first


def test_unknown_lag_sorts_last_in_both_directions(make_view):
    view = make_view(FakeSource())
    without = {"pay-result", "audit-log", "coupon-grant"}
    for descending in (True, False):
        view.grid.sort_by("lag", descending=descending)
        assert set(names(view)[-3:]) == without


def test_the_selection_stays_with_its_topic_when_the_order_changes(make_view):
    source = FakeSource()
    view = make_view(source)
    view.grid.select_key("shipment-notify")
    view.state_changed(replace(source.state, topic_put_rate=source.state.topic_put_rate[::-1].copy()))
    assert view.grid.selected_row.name == "shipment-notify"
    assert view.grid.selected_rows == [view.grid.selected_row]
    assert view.detail.settings_panel.title == "shipment-notify"


def test_a_topic_asked_for_before_the_figures_come_is_selected_then(make_view):
    source = FakeSource()
    state, source.state = source.state, None
    view = make_view(source)
    view.open({"topic": "user-points"})
    view.state_changed(state)
    assert view.grid.selected_rows[0].name == "user-points"


def test_an_empty_broker_offers_a_new_topic(make_view):
    view = make_view(FakeSource(empty_state()))
    assert view.grid.placeholder.text == "No topics yet. Create one or play the demo."
    assert not view.detail.isVisible()
    assert view.foot.text() == "0 topics · sum of lag of the slowest groups 0", "nothing is unknown"


def test_enter_opens_the_topic_and_m_its_messages(make_view, window, qtbot):
    view = make_view(FakeSource())
    view.grid.select_key("payments")
    view.activateWindow()
    view.grid.view.setFocus()
    qtbot.waitUntil(view.grid.view.hasFocus)
    qtbot.keyClick(view.grid.view, Qt.Key.Key_Return)
    assert len(window.opened) == 1
    qtbot.keyClick(view.grid.view, Qt.Key.Key_M)
    assert window.opened == [("topic", {"topic": "payments"}), ("messages", {"topic": "payments", "queue": -1})]


# ---- detail strip ------------------------------------------------------------------------------------------------------


def test_the_strip_shows_the_settings_of_the_selected_topic(make_view, window):
    view = make_view(FakeSource())
    view.grid.select_key("inventory-reserve")
    view.state_changed(fake_state(TAKEN_MS + 1_000))  # with what was asked for it since
    pairs = dict(view.detail.settings.pairs())
    assert list(pairs)[:4] == ["Type", "Queues", "Permission", "Kept since"]
    assert (pairs["Type"], pairs["Queues"], pairs["Permission"]) == ("FIFO", "16 queues", "Read and write (6)")
    assert (pairs["Messages kept"], pairs["Avg size"]) == ("822,640", "812 B")
    assert pairs["Kept since"].endswith(")")
    view.detail.change_button.click()
    assert window.opened == [("topic", {"topic": "inventory-reserve", "tab": "settings"})]


def test_what_is_not_known_of_the_selected_topic_is_a_dash(make_view):
    source = FakeSource()
    source.hold = True
    view = make_view(source)
    view.grid.select_key("orders")
    pairs = dict(view.detail.settings.pairs())
    assert (pairs["Type"], pairs["Kept since"]) == (UNKNOWN, UNKNOWN)


def test_the_name_of_a_topic_is_cut_in_its_middle_and_told_whole_by_the_tip(make_view, qtbot):
    source = FakeSource()
    name = "order-events-of-the-whole-of-the-northern-region-v2"
    topics = [name if topic == "orders" else topic for topic in source.state.catalog.topics]
    view = make_view(FakeSource(replace(source.state, catalog=replace(source.state.catalog, topics=topics))))
    view.grid.select_key(name)
    panel = view.detail.settings_panel
    shown = panel.findChild(ElidedLabel)
    qtbot.waitUntil(lambda: "…" in shown.text())
    assert shown.text().startswith("order-ev")
    assert shown.text().endswith("region-v2")
    assert (panel.title, shown.toolTip()) == (name, name)
    assert panel.width() < 420


def test_a_queue_that_holds_too_much_is_named(make_view):
    source = FakeSource()
    ends = source.state.queue_max_offset.copy()
    first = source.state.catalog.queue_topic.index(OWN.index("inventory-reserve"))
    ends[first + 5] = 3 * ends[first]
    view = make_view(FakeSource(replace(source.state, queue_max_offset=ends)))
    view.grid.select_key("inventory-reserve")
    assert (view.detail.skew_chip.text, view.detail.skew_chip.state) == ("Skew 2.7×", State.WARNING)
    assert view.detail.bars_note.text().startswith("Queue 5 holds 16.7\u00a0% of the messages")
    assert view.detail.bars._skewed == {5}
    view.grid.select_key("orders")
    assert (view.detail.skew_chip.text, view.detail.bars_note.text()) == (
        "",
        "The kept messages are spread evenly; the rates are of the last 4 s.",
    )
    view.grid.select_key("coupon-grant")
    assert view.detail.bars_note.text() == "Nothing is written now."


def test_a_low_strip_shows_the_first_settings_and_none_by_half(make_view, qtbot):
    view = make_view(FakeSource())
    view.resize(1_400, 795)
    qtbot.waitUntil(lambda: len(view.detail.settings.pairs()) == 6)
    view.resize(1_000, 600)
    qtbot.waitUntil(lambda: len(view.detail.settings.pairs()) == 5)
    assert view.detail.height() == 200
    assert view.detail.settings.minimumSizeHint().height() <= view.detail.settings.height()


def test_an_offline_group_is_a_dash(make_view):
    view = make_view(FakeSource())
    view.grid.select_key("orders")
    offline = view.detail.groups.shown_rows[1]
    assert [column.text(offline) for column in view.detail.groups.columns] == ["bi-export", UNKNOWN, UNKNOWN, "offline"]


def test_the_bar_of_a_queue_opens_its_messages_and_a_group_its_page(make_view, window, qtbot):
    view = make_view(FakeSource())
    view.grid.select_key("orders")
    bars = view.detail.bars
    qtbot.waitUntil(lambda: bars.bar_rect(3).height() > 0)
    qtbot.mouseClick(bars, Qt.MouseButton.LeftButton, pos=bars.bar_rect(3).center().toPoint())
    view.detail.group_grid.activated.emit(view.detail.groups.shown_rows[0])
    assert window.opened == [("messages", {"topic": "orders", "queue": 3}), ("consumers", {"group": "order-service"})]


@pytest.mark.parametrize(("queues", "width"), [(1, 300), (16, 300), (40, 300), (200, 420), (1_000, 420)])
def test_names_below_bars_do_not_touch(make_view, queues, width):
    bars = make_view(FakeSource()).detail.bars
    bars.resize(width, 200)
    bars.set_rates([(queue, 1.0) for queue in range(queues)])
    boxes = [box for _name, box in bars.labels()]
    assert all(left.right() <= right.left() for left, right in pairwise(boxes))
    assert bars.labels()[0][0] == "0"
    assert all(box.right() <= width for box in boxes) or len(boxes) == queues


# ---- new topic ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def dialog(make_view, qtbot):
    source = FakeSource()
    view = make_view(source)
    return source, view, view.ask_new_topic()


def test_over_a_read_only_connection_no_topic_is_made(make_view, qtbot):
    source = FakeSource()
    source.read_only = True
    made = make_view(source).ask_new_topic()
    made.name.setText("refunds")
    assert not made.create_button.isEnabled()
    assert "read-only" in made.error.text()
    qtbot.keyClick(made.name, Qt.Key.Key_Return)
    assert not source.asked_for(CreateTopic)


def test_name_rules_are_said_while_typing(dialog):
    _, _, made = dialog
    assert not made.create_button.isEnabled()
    made.name.setText("payments")
    assert made.rule.text() == "There is a topic of this name already"
    made.name.setText("a b")
    assert made.rule.text() == "A name has only letters, digits, _ - % and |"
    assert not made.create_button.isEnabled()
    made.name.setText("refunds")
    assert made.create_button.isEnabled()


def test_create_asks_the_broker_and_selects_the_topic(dialog, window, qtbot):
    source, view, made = dialog
    made.name.setText("refunds")
    made.write_queues.setValue(4)
    assert made.read_queues.value() == 4
    made.read_queues.setValue(16)
    made.permission.setCurrentIndex(1)
    made.message_type.setCurrentIndex(made.message_type.findData("FIFO"))
    qtbot.mouseClick(made.create_button, Qt.MouseButton.LeftButton)
    assert source.asked[-1:] == [CreateTopic("refunds", read_queues=16, write_queues=4, permission=4, message_type="FIFO")]
    assert view.grid.selected_key == "refunds"
    assert window.notices == [("Topic refunds created", State.HEALTHY)]


def test_a_refusal_stays_in_the_dialog_with_its_reason(dialog, qtbot):
    source, _, made = dialog
    source.fail_with = RemoteError("the topic[refunds] is conflict with system topic.", code=1)
    made.name.setText("refunds")
    qtbot.mouseClick(made.create_button, Qt.MouseButton.LeftButton)
    assert made.isVisible()
    assert made.error.text() == "The topic was not created: the topic[refunds] is conflict with system topic."
    assert made.create_button.isEnabled()


def test_one_topic_is_asked_for_while_the_answer_is_out(dialog, qtbot):
    source, _, made = dialog
    source.hold = True
    made.name.setText("refunds")
    for _ in range(2):
        qtbot.mouseClick(made.create_button, Qt.MouseButton.LeftButton)
    made.name.setText("refunds2")
    assert not made.create_button.isEnabled()
    assert len(source.asked_for(CreateTopic)) == 1
    source.held[0].release()
    assert not made.isVisible()
