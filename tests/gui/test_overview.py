"""The Overview: figures, message flow, charts, tables, broker meters."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from PySide6.QtCore import QRectF, QSize, Qt
from PySide6.QtGui import QFont, QFontMetrics
from PySide6.QtWidgets import QScrollArea

from gui.processes.demo import DemoController
from gui.theme.fonts import text_font
from gui.theme.tokens import DARK, LIGHT, Size, State
from gui.views.overview.figures import (
    busiest_topics,
    disk_share,
    fan_out,
    lagging_groups,
    worst_group,
)
from gui.views.overview.flow_picture import (
    CONSUMED,
    CONSUMERS,
    DEAD,
    DELAYED,
    HALF,
    NORMAL,
    PRODUCERS,
    READY,
    RETRY,
    ROLLED_BACK,
    flow_picture,
    message_flow,
)
from gui.views.overview.flow_scene import BAND_WIDTH_MAX, BAND_WIDTH_MIN, FlowScene, band_width
from gui.views.overview.tables_part import GroupLagRow, drains_text
from gui.views.overview.tiles import dead_text, disk_text, lag_text, latency_text, out_text
from gui.views.overview.view import OverviewView
from gui.widgets.basic import ElidedLabel
from gui.words.outlooks import turned_text
from gui.words.text import UNKNOWN, TimeZoneChoice, rate_text
from monitoring.delay import LATE_MS, no_delays
from monitoring.group_outlook import GroupOutlook
from monitoring.lag import Forecast
from monitoring.lag_limits import LagLimits
from monitoring.series import History
from monitoring.sources.base import SourceStatus
from monitoring.state import MEMBERS_UNREAD
from tests.support.calm_cluster import calm_outside
from tests.support.fake_child import FakeChild
from tests.support.fake_source import FakeSource, fake_state
from tests.support.shown_parts import chips_of, segment, words_of

pytestmark = [
    pytest.mark.qt_log_level_fail("WARNING"),
    pytest.mark.qt_log_ignore("does not support propagateSizeHints"),  # the offscreen platform, of every dialog
]

NAN = float("nan")


@pytest.fixture
def child(qapp):
    return FakeChild()


@pytest.fixture
def make_view(show_page, child):
    return partial(show_page, OverviewView, demo=DemoController(process=child))


def knowing_nothing():
    """A state in which no figure is known."""
    state = fake_state()
    unknown = dict.fromkeys(state.totals, NAN)
    return replace(
        state,
        totals=unknown,
        queue_put_rate=np.full_like(state.queue_put_rate, NAN),
        position_lag_messages=np.full_like(state.position_lag_messages, NAN),
        delays=no_delays(),
        timers={},
        topic_put_rate=np.full_like(state.topic_put_rate, NAN),
        topic_kept_messages=np.full_like(state.topic_kept_messages, -1),
        topic_put_messages=np.full_like(state.topic_put_messages, -1),
        group_lag_messages=np.full_like(state.group_lag_messages, NAN),
        group_behind_ms=np.full_like(state.group_behind_ms, NAN),
        group_got_rate=np.full_like(state.group_got_rate, NAN),
    )


def tile_texts(view):
    return {key: (tile.value_label.text(), tile.accessibleDescription()) for key, tile in view.tiles.tiles.items()}


# ---- figures -----------------------------------------------------------------------------------------------------------


def test_the_worst_group_is_named_with_its_share():
    worst = worst_group(fake_state())
    assert (worst.name, worst.lag_messages) == ("payment-settle", 16_870)
    assert worst.share == pytest.approx(16_870 / 18_402)


def test_there_is_no_worst_group_of_a_lag_that_is_unknown():
    state = fake_state()
    assert worst_group(replace(state, totals={**state.totals, "lag_messages": math.nan})) is None


def test_there_is_no_worst_group_without_lag():
    state = fake_state()
    assert worst_group(replace(state, group_lag_messages=np.zeros_like(state.group_lag_messages))) is None
    assert worst_group(knowing_nothing()) is None


def test_fan_out_is_unknown_while_nothing_is_put():
    state = fake_state()
    assert fan_out(state) == pytest.approx(1_931 / 1_284)
    assert math.isnan(fan_out(replace(state, totals=state.totals | {"put_rate": 0.0})))


def test_disk_share_needs_a_size():
    state = fake_state()
    assert disk_share(state) == pytest.approx(0.418)
    assert math.isnan(disk_share(replace(state, totals=state.totals | {"disk_total_bytes": 0.0})))


def test_busiest_topics_leave_out_the_brokers_own():
    state = fake_state()
    rates = np.where(state.catalog.topic_is_system, 9_999.0, state.topic_put_rate)
    rows = busiest_topics(replace(state, topic_put_rate=rates), 3)
    assert [state.catalog.topics[row] for row in rows] == ["orders", "payments", "order-timeout"]


def test_a_part_of_the_ready_retries_is_not_taken_for_all():
    whole = calm_outside(topic_kept_messages=fake_state().topic_kept_messages)
    topics = list(whole.catalog.queue_topic)
    topics[whole.catalog.position_queue[0]] = whole.catalog.topics.index("%RETRY%stock-worker")
    whole = replace(whole, catalog=replace(whole.catalog, queue_topic=topics))
    assert message_flow(whole).retry_waiting >= 0
    assert np.isnan(message_flow(replace(whole, faults={"b": "no answer: gone"})).retry_waiting)


def test_the_put_latency_of_a_lost_broker_is_not_called_unreported():
    lost = calm_outside(totals={}, faults={"b": "no answer: gone"})
    assert latency_text(lost).fact == "a broker does not answer"
    assert latency_text(calm_outside(totals={})).fact == "not reported by the brokers"


@pytest.mark.parametrize(("lag", "words"), [(8.0, "turned 25 s ago"), (NAN, "")])
def test_a_lag_that_is_not_known_is_not_said_to_have_turned(lag, words):
    assert turned_text(Forecast(lag, NAN, turned_ms=25_000.0)) == words


def test_groups_with_unknown_lag_come_last():
    state = fake_state()
    names = [state.catalog.groups[row] for row in lagging_groups(state, 100)]
    assert names[:4] == ["payment-settle", "stock-worker", "order-service", "notify-sms"]
    assert names[-1] == "bi-export"


@pytest.mark.parametrize(
    ("lag", "change", "expected"),
    [
        (NAN, -1.0, "unknown"),
        (100.0, NAN, "unknown"),
        (0.0, 0.0, "no lag"),
        (16_870.0, -71.0, "drains in 3 min"),
        (16_870.0, 1.0, "steady"),
        (16_870.0, -20.0, "drains in 14 min"),
        (9.0, 0.4, "steady"),
        (100.0, 5.0, "grows 300/min"),
    ],
)
def test_draining_is_said_in_words(lag, change, expected):
    assert drains_text(GroupLagRow("g", lag, 0.0, GroupOutlook(Forecast(lag, change, change, change))), str) == expected


# ---- tiles -------------------------------------------------------------------------------------------------------------


def test_charts_take_the_room_there_is_and_no_more(make_view):
    view = make_view(FakeSource())
    scroll = view.findChild(QScrollArea)
    assert scroll.widget().height() <= max(scroll.height(), scroll.widget().minimumSizeHint().height())


FLAT = (QSize(1232, 795), QSize(1232, 755), QSize(1072, 695), QSize(1072, 655), QSize(1072, 500))
"""Of the page in windows of 1440 × 900 and 1280 × 800, without and with a banner above it, and in one that is lower still."""


@pytest.mark.parametrize("size", FLAT, ids=lambda size: f"{size.width()}x{size.height()}")
def test_nothing_is_cut_off_in_a_low_window(make_view, qtbot, size):
    view = make_view(FakeSource())
    panels = view.panels.make().throughput, view.panels.make().backlog.make(), view.panels.make().attention, view.tables.make()
    view.resize(size)

    def is_whole(widget):
        least = widget.minimumSizeHint().expandedTo(widget.minimumSize())
        return widget.height() >= least.height() and widget.parentWidget().rect().contains(widget.geometry())

    qtbot.waitUntil(lambda: all(map(is_whole, (view.flow, view.tiles, *panels))))
    cards = [view.flow.card_rect(card.key) for card in view.flow.picture.cards()]
    assert cards
    assert all(QRectF(view.flow.rect()).contains(rect) for rect in cards)


@pytest.mark.parametrize("size", FLAT[:3], ids=lambda size: f"{size.width()}x{size.height()}")
def test_only_a_banner_in_a_window_of_800_px_makes_the_page_scroll(make_view, qtbot, size):
    view = make_view(FakeSource())
    panels = view.panels.make().throughput, view.panels.make().backlog.make(), view.panels.make().attention, view.tables.make()
    view.resize(size)
    bar = view.findChild(QScrollArea).verticalScrollBar()
    qtbot.waitUntil(lambda: all(panel.isVisible() for panel in panels) and bar.maximum() == 0)


def test_as_many_alerts_are_listed_as_there_is_room_for(make_view, qtbot, monkeypatch):
    view = make_view(FakeSource())
    found = view.context.alerts.open_alerts() * 9
    assert found
    monkeypatch.setattr(view.context.alerts, "open_alerts", lambda: found[:4])
    view.state_changed(fake_state())
    rows = view.panels.make().attention.rows
    qtbot.waitUntil(lambda: all(row.isVisible() for row in rows))
    view.resize(QSize(1232, 640))
    qtbot.waitUntil(lambda: [row.isVisible() for row in rows] == [True, True, False, False])
    assert view.panels.make().attention.subtitle.startswith("4 open")
    view.resize(QSize(1232, 795))
    qtbot.waitUntil(lambda: all(row.isVisible() for row in rows))


def test_what_an_alert_says_is_whole_in_a_narrow_window(make_view, qtbot):
    """Chips then have a glyph only, because the figure is the news."""
    view = make_view(FakeSource())
    rows = view.panels.make().attention.rows
    for width, is_whole in ((1600, True), (1072, False), (1600, True)):
        view.resize(QSize(width, 695))
        qtbot.waitUntil(lambda is_whole=is_whole: [bool(line.chip.shown_text) for line in rows[:2]] == [is_whole] * 2)
        assert [line.title.text() for line in rows[:2]] == [line.title.whole_text() for line in rows[:2]]
    assert [line.chip.accessibleName() for line in rows[:2]] == ["Warning", "Warning"]


def test_a_subtitle_of_which_some_letters_would_be_left_is_left_out(make_view, qtbot):
    view = make_view(FakeSource())
    throughput = view.panels.make().throughput
    view.resize(QSize(1600, 695))
    subtitle = throughput.subtitle
    qtbot.waitUntil(lambda: subtitle in {label.text() for label in throughput.findChildren(ElidedLabel)})
    view.resize(QSize(1072, 695))
    qtbot.waitUntil(lambda: not any("…" in label.text() for label in throughput.findChildren(ElidedLabel)))
    assert throughput.subtitle == subtitle


def test_tiles_show_the_figures_of_the_state(make_view):
    texts = tile_texts(make_view(FakeSource()))
    assert {key: value for key, (value, _) in texts.items()} == {
        "in": "1,284",
        "out": "1,931",
        "lag": "18,402",
        "latency": "4.2",
        "dead": "33",
        "disk": "41.8",
    }
    assert "payment-settle 92 %" in texts["lag"][1]
    assert "fan-out 1.5×" in texts["out"][1]
    assert "peak" in texts["in"][1]


def test_what_is_written_is_unknown_while_a_part_of_a_topic_is():
    state = calm_outside()
    ends = state.queue_max_offset.copy()
    ends[state.catalog.queue_topic.index(state.catalog.topics.index("orders"))] = -1
    whole, part = (flow_picture(one) for one in (state, replace(state, faults={"b": "no answer"}, queue_max_offset=ends)))
    normal, unknown = (next(card for card in one.cards() if card.key == NORMAL) for one in (whole, part))
    assert UNKNOWN not in normal.value + normal.fact
    assert (unknown.value, unknown.fact) == (UNKNOWN, f"{UNKNOWN} topics")


def test_names_of_groups_are_whole_in_a_small_window(make_view, qtbot):
    view = make_view(FakeSource())
    view.resize(1_072, 720)
    grid = view.tables.make().group_grid
    wanted = QFontMetrics(text_font(Size.BODY, QFont.Weight.DemiBold)).horizontalAdvance("payment-settle")
    qtbot.waitUntil(lambda: view.width() == 1_072 and grid.view.columnWidth(0) >= wanted + 20)


def test_the_peak_is_not_below_the_rate_of_now(make_view):
    source = FakeSource()
    source.state = replace(source.state, totals={**source.state.totals, "put_rate": 9_870.0})
    at = TimeZoneChoice(utc=True).moment(source.state.taken_ms).strftime("%H:%M")
    assert tile_texts(make_view(source))["in"] == ("9,870", f"9,870 /s peak 9,870 at {at}")


def figure_of(meter) -> str:
    """What stands after the bar of a meter."""
    return words_of(meter).splitlines()[-1]


def test_unknown_figures_are_dashes_and_never_zero(make_view):
    view = make_view(FakeSource(knowing_nothing()), history=History())
    assert {value for value, _ in tile_texts(view).values()} == {UNKNOWN}
    assert {figure_of(view.tables.make().meters[key]) for key in ("disk", "unflushed", "cpu", "memory")} == {UNKNOWN}
    # How many groups have members is known as soon as anything is.
    assert {card.value for card in view.flow.picture.cards() if card.key != CONSUMERS} == {UNKNOWN}


def test_a_tile_warns_above_its_limit_only():
    state = fake_state()
    assert lag_text(state).state is State.WARNING
    # The limit is that of the group's alert rule: many groups that are each below theirs are nothing to warn of.
    assert lag_text(replace(state, group_lag_messages=np.minimum(state.group_lag_messages, 15_000.0))).state is None
    assert lag_text(state, LagLimits([])).state is None
    assert disk_text(state).state is None
    assert disk_text(replace(state, totals=state.totals | {"disk_used_bytes": 76e9})).state is State.WARNING


@pytest.mark.parametrize(
    ("counts", "fact", "colour"),
    [
        ([31.0, 33.0], "+2 in 60 s", State.CRITICAL),
        ([math.nan, 40.0], "−7 in 30 s", None),
        ([33.0, 33.0], "no new ones in 60 s", None),
        ([math.nan, math.nan], "", None),
    ],
)
def test_the_tile_of_dead_letters_says_how_many_are_new(qapp, counts, fact, colour):
    state = fake_state()
    seconds = np.array([state.taken_ms / 1_000 - 60, state.taken_ms / 1_000 - 30])
    text = dead_text(state, seconds, np.array(counts))
    assert (text.value, text.fact, text.state) == ("33", fact, colour)
    assert dead_text(replace(state, totals={}), seconds, np.array(counts)).value == UNKNOWN


def test_tiles_say_what_their_number_is():
    state = fake_state()
    assert (out_text(state).value, out_text(state).unit) == ("1,931", "/s")
    watched = replace(state, totals=state.totals | {"console_rate": 32.0})
    assert (out_text(watched).value, out_text(watched).fact) == ("1,931", "and 32/s by this console")
    assert (latency_text(state).value, latency_text(state).unit, latency_text(state).fact) == ("4.2", "ms", "p50 0.31 ms")
    idle = replace(state, totals=state.totals | {"put_p50_ms": NAN, "put_p99_ms": NAN})
    assert (latency_text(idle).value, latency_text(idle).fact) == (UNKNOWN, "nothing put in the last 10 s")


def test_a_click_on_a_tile_opens_its_page(make_view, window, qtbot):
    view = make_view(FakeSource())
    qtbot.mouseClick(view.tiles.tiles["lag"], Qt.MouseButton.LeftButton)
    assert window.opened == [("consumers", {})]


# ---- message flow ------------------------------------------------------------------------------------------------------


def with_system_topics(state):
    """The shop with what its broker keeps of delayed, timed and transactional messages."""
    catalog, extra = (
        state.catalog,
        {"SCHEDULE_TOPIC_XXXX": 120.0, "rmq_sys_wheel_timer": 25.0, "RMQ_SYS_TRANS_HALF_TOPIC": 24.0},
    )
    count = len(catalog.topics)
    nothing, none = np.zeros(3), np.zeros(3, np.int64)
    return replace(
        state,
        catalog=replace(
            catalog,
            topics=[*catalog.topics, *extra],
            topic_is_system=[*catalog.topic_is_system, True, True, True],
            queue_topic=[*catalog.queue_topic, count, count + 1, count + 2],
            queue_id=[*catalog.queue_id, 0, 0, 0],
        ),
        queue_put_rate=np.concatenate([state.queue_put_rate, list(extra.values())]),
        queue_min_offset=np.concatenate([state.queue_min_offset, none]),
        queue_max_offset=np.concatenate([state.queue_max_offset, none]),
        topic_put_rate=np.concatenate([state.topic_put_rate, nothing]),
        topic_put_messages=np.concatenate([state.topic_put_messages, none]),
        topic_kept_messages=np.concatenate([state.topic_kept_messages, none]),
        delays=replace(state.delays, delivered_rate=np.where(state.delays.level == 4, 118.0, 0.0)),
    )


def test_the_flow_counts_each_message_once():
    flow = message_flow(with_system_topics(fake_state()))
    stored = 612 + 311 + 142 + 118 + 54 + 24 + 14 + 7.2
    assert flow.retry_rate == pytest.approx(3.1)
    assert flow.due_rate == pytest.approx(118 + 0.1 - 3.1)
    assert flow.normal_rate == pytest.approx(stored - flow.due_rate - 21.8)
    assert (flow.delayed_rate, flow.half_rate) == (pytest.approx(145 - 3.1), 24.0)
    assert flow.sent_rate == pytest.approx(flow.normal_rate + flow.delayed_rate + flow.half_rate)
    assert (flow.delayed_pending, flow.half_open, flow.half_in_check) == (3_904 + 312, 3, 1)
    assert (flow.dead_messages, flow.dead_groups, flow.late_ms) == (33, 2, 1_212)


def test_what_waits_is_unknown_while_the_timers_of_a_broker_are():
    state = with_system_topics(fake_state())
    assert math.isnan(message_flow(replace(state, timers={**state.timers, "pending": -1.0})).delayed_pending)


def test_what_is_sent_is_unknown_where_commits_are_not_counted():
    state = with_system_topics(fake_state())
    uncounted = replace(
        state, totals={name: value for name, value in state.totals.items() if name != "transaction_commit_rate"}
    )
    flow = message_flow(uncounted)
    assert flow.half_rate == 24
    assert math.isnan(flow.normal_rate), "committed ones would be counted twice"
    assert math.isnan(flow.sent_rate)
    assert flow.sent_least == pytest.approx(message_flow(state).sent_rate, abs=24), "each half message may be committed"
    assert flow.sent_least >= 24
    assert flow_picture(uncounted).columns[0][0].value == f"≥ {rate_text(flow.sent_least)}"
    untold = replace(uncounted, queue_put_rate=np.full(state.queue_put_rate.shape, np.nan),
                     catalog=replace(state.catalog, brokers=["a"], broker_version=[""]))  # fmt: skip
    assert flow_picture(untold).columns[0][0].value == UNKNOWN
    quiet = replace(uncounted, queue_put_rate=np.where(uncounted.queue_put_rate == 24, 0.0, uncounted.queue_put_rate))
    assert message_flow(quiet).sent_rate > 0, "without transactions nothing is to be taken apart"


def test_what_was_not_read_yet_from_outside_is_unknown_and_not_nothing():
    state = with_system_topics(fake_state())
    state = replace(state, catalog=replace(state.catalog, brokers=["a"], broker_version=[""]))
    assert (message_flow(state).groups_online, message_flow(state).consumers) == (7, 14)
    members = np.array(state.group_members)
    members[0] = MEMBERS_UNREAD
    flow = message_flow(replace(state, group_members=members))
    assert math.isnan(flow.groups_online), "a part would be taken for all"
    assert math.isnan(flow.consumers)
    unread = message_flow(replace(state, queue_put_rate=np.full(state.queue_put_rate.shape, np.nan)))
    assert all(math.isnan(figure) for figure in (unread.normal_rate, unread.topics_written, unread.sent_rate))


def test_the_flow_shows_the_states_of_messages():
    picture = flow_picture(with_system_topics(fake_state()))
    assert [[card.key for card in column] for column in picture.columns] == [
        [PRODUCERS], [NORMAL, DELAYED, HALF], [READY, ROLLED_BACK], [CONSUMERS], [CONSUMED, RETRY, DEAD],
    ]  # fmt: skip
    texts = {card.key: (card.value, card.fact) for card in picture.cards()}
    assert texts[DELAYED] == ("4,216", "late 1.2 s")
    assert texts[HALF] == ("3", "1 in check")
    assert texts[READY] == ("18,402", "oldest 131 s")
    assert texts[CONSUMERS] == ("7 groups", "14 clients")
    assert texts[DEAD] == ("33", "2 groups")
    assert sum(band.rate for band in picture.bands if band.source == PRODUCERS) == pytest.approx(
        message_flow(with_system_topics(fake_state())).sent_rate
    )


def test_delayed_messages_are_late_where_the_delay_page_calls_them_so():
    state = with_system_topics(fake_state())
    for late_ms, fact in ((LATE_MS - 1, "pending"), (LATE_MS + 1, "late 1.0 s")):
        overdue = np.full_like(state.delays.overdue_ms, late_ms)
        delays = replace(state.delays, overdue_ms=overdue, late_p99_ms=np.full_like(state.delays.late_p99_ms, np.nan))
        late = replace(state, timers={}, delays=delays)
        assert {card.key: card.fact for card in flow_picture(late).cards()}[DELAYED] == fact


def test_an_empty_broker_has_a_flow_too():
    state = fake_state()
    nothing, none = np.zeros(0), np.zeros(0, np.int64)
    empty = replace(
        state,
        catalog=replace(
            state.catalog, topics=[], topic_is_system=[], queue_topic=[], queue_id=[], groups=[], group_is_system=[],
            position_group=[], position_queue=[],
        ),
        queue_put_rate=nothing,
        topic_put_rate=nothing,
        topic_put_messages=none,
        topic_kept_messages=none,
        position_lag_messages=nothing,
        group_lag_messages=nothing,
        group_behind_ms=nothing,
        group_got_rate=nothing,
        group_members=none,
        delays=no_delays(),
        timers={},
    )  # fmt: skip
    texts = {card.key: card.value for card in flow_picture(empty).cards()}
    assert (texts[DEAD], texts[CONSUMERS], texts[DELAYED]) == ("0", "0 groups", UNKNOWN)


def test_bands_widen_with_the_rate_within_their_bounds():
    widths = [band_width(rate) for rate in (0.2, 1, 10, 100, 1_000, 10_000, 1e6)]
    assert widths == sorted(widths)
    assert (widths[0], widths[-1]) == (BAND_WIDTH_MIN, BAND_WIDTH_MAX)
    assert band_width(0) == band_width(NAN) == 0


def test_a_click_on_a_stage_opens_it(make_view, window, qtbot):
    view = make_view(FakeSource())
    for key in (NORMAL, DELAYED, HALF, ROLLED_BACK, READY, PRODUCERS, RETRY):
        qtbot.mouseClick(view.flow, Qt.MouseButton.LeftButton, pos=view.flow.card_rect(key).center().toPoint())
    assert window.opened == [
        ("topics", {}),
        ("delay", {}),
        ("transactions", {}),
        ("transactions", {"show": "rolled back"}),
        ("consumers", {}),
        ("clients", {}),
        ("dead_letters", {}),
    ]


def test_stages_are_reached_by_keys(qtbot):
    scene = FlowScene(DARK)
    qtbot.addWidget(scene)
    scene.resize(1_160, 180)
    scene.set_picture(flow_picture(fake_state()))
    chosen = []
    scene.chosen.connect(chosen.append)
    for key in (Qt.Key.Key_Return, Qt.Key.Key_Right, Qt.Key.Key_Right, Qt.Key.Key_Return, Qt.Key.Key_Left, Qt.Key.Key_Return):
        qtbot.keyClick(scene, key)
    assert chosen == [NORMAL, PRODUCERS]


def test_the_flow_is_drawn_in_the_colours_of_its_theme(qtbot):
    scene = FlowScene(DARK)
    qtbot.addWidget(scene)
    scene.resize(1_160, 180)
    scene.set_picture(flow_picture(fake_state()))
    corner = scene.card_rect(NORMAL).center().toPoint() + scene.rect().topLeft()
    corner.setY(round(scene.card_rect(NORMAL).top()) + 3)
    assert scene.grab().toImage().pixelColor(corner).name().upper() == DARK.raised
    scene.set_tokens(LIGHT)
    assert scene.grab().toImage().pixelColor(corner).name().upper() == LIGHT.raised


# ---- page --------------------------------------------------------------------------------------------------------------


def test_the_header_of_an_attached_cluster_names_the_name_server_and_counts_brokers(make_view):
    source = FakeSource(calm_outside())
    source.name = source.ready.name_server
    booted = {**source.state.totals, "started_ms": source.state.taken_ms - 134 * 60_000.0}
    source.state = replace(source.state, totals=booted)
    view = make_view(source)
    assert view.header.facts == "2 brokers, all up for 2 h 14 min, known to the name server 127.0.0.1:9876"
    # Restarted while the window was connected, and then gone.
    view.state_changed(replace(source.state, totals=booted | {"started_ms": source.state.taken_ms - 20_000.0}))
    assert view.header.facts == "2 brokers, all up for 20 s, known to the name server 127.0.0.1:9876"
    view.state_changed(replace(source.state, totals={}))
    assert view.header.facts == "2 brokers, known to the name server 127.0.0.1:9876"


def test_the_header_says_how_long_the_broker_is_up_and_who_lags(make_view):
    header = make_view(FakeSource()).header
    assert header.facts == "Embedded broker, up 2 h 14 min"
    assert chips_of(header) == ["3 need attention"]


def test_the_tables_show_the_busiest_topics_and_the_worst_lag(make_view):
    view = make_view(FakeSource())
    assert [row.name for row in view.tables.make().topics.shown_rows] == [
        "orders",
        "payments",
        "order-timeout",
        "inventory-reserve",
    ]
    worst = view.tables.make().groups.shown_rows[0]
    assert (worst.name, worst.lag_messages, worst.behind_ms) == ("payment-settle", 16_870, 131_000)
    assert worst.outlook.forecast.slope < 0


def test_the_tables_follow_new_figures(make_view, qtmodeltester):
    source = FakeSource()
    view = make_view(source)
    rates = source.state.topic_put_rate.copy()
    rates[7] = 5_000.0
    view.state_changed(replace(source.state, topic_put_rate=rates))
    assert view.tables.make().topics.shown_rows[0].name == "audit-log"
    qtmodeltester.check(view.tables.make().topics)
    qtmodeltester.check(view.tables.make().groups)


def test_while_nothing_is_known_the_tables_keep_their_order(make_view):
    view = make_view(FakeSource())
    tables, state = view.tables.make(), fake_state()
    before = [[row.name for row in model.shown_rows] for model in (tables.topics, tables.groups)]
    view.state_changed(
        replace(
            state,
            topic_put_rate=np.full_like(state.topic_put_rate, np.nan),
            topic_kept_messages=np.full_like(state.topic_kept_messages, -1),
            group_lag_messages=np.full_like(state.group_lag_messages, np.nan),
        )
    )
    assert [[row.name for row in model.shown_rows] for model in (tables.topics, tables.groups)] == before
    assert before[0] != sorted(before[0])


def test_the_throughput_chart_changes_between_messages_and_bytes(make_view):
    view = make_view(FakeSource())
    chart = view.panels.make().throughput.chart
    messages = chart.last_value("in")
    assert chart.shown_value("in").endswith("/s")
    segment(view.panels.make().throughput.unit, "Bytes").click()
    assert chart.last_value("in") == pytest.approx(messages * 1_640, rel=0.2)
    assert "iB/s" in chart.shown_value("in")


def test_the_backlog_says_where_it_goes(make_view):
    assert make_view(FakeSource()).panels.make().backlog.make().subtitle.startswith("shrinking by ")


def test_the_cursor_of_one_chart_shows_the_value_of_the_other(make_view, qtbot):
    view = make_view(FakeSource())
    at_s = view.context.source.state.taken_ms / 1_000 - 60
    qtbot.waitUntil(view.panels.make().backlog.make().isVisible)  # it comes a turn later
    throughput, backlog = view.panels.make().throughput.chart, view.panels.make().backlog.make().chart
    view.link.move_cursor(at_s, throughput)
    for chart in (throughput, backlog):
        for one in chart.series:
            assert chart.shown_value(one.key) == chart.value_text(chart.value_at(one.key, at_s))
    assert backlog.tip_lines(at_s)[0][:2] == ("Lag", backlog.shown_value("lag"))


def test_meters_say_figure_and_share(make_view):
    view = make_view(FakeSource())
    texts = {key: figure_of(meter) for key, meter in view.tables.make().meters.items()}
    assert texts == {"disk": "41.8 of 75 %", "unflushed": "3.1 MiB", "held": "11 waiting", "cpu": "31 %", "memory": "177 MiB"}
    assert view.tables.make().broker_chip.text == "Healthy"


def test_a_lost_broker_is_not_called_up(make_view):
    source = FakeSource()
    view = make_view(source)
    source.status = SourceStatus.LOST
    view.status_changed(source.status)
    view.state_changed(source.state)
    assert view.header.facts == ""


def test_a_lost_broker_is_not_called_healthy(make_view, request, qtbot):
    source = FakeSource()
    view = make_view(source)
    source.set_status(SourceStatus.LOST)
    view.status_changed(SourceStatus.LOST)
    assert (view.tables.make().broker_chip.text, view.tables.make().broker_chip.state) == (
        "Stopped unexpectedly",
        State.CRITICAL,
    )
    assert not view.demo_button.isEnabled()
    assert not view.send_button.isEnabled()
    request.getfixturevalue("chinese")
    qtbot.waitUntil(lambda: view.tables.make().broker_chip.text == "意外停止")


def test_the_demo_button_plays_and_stops(make_view, child, qtbot):
    view = make_view(FakeSource())
    qtbot.mouseClick(view.demo_button, Qt.MouseButton.LeftButton)
    assert child.started == [["demo", "--ns", "127.0.0.1:9876", "--rate", "1200", "--parent-pipe"]]
    assert view.demo_button.text() == "Stop demo"
    qtbot.mouseClick(view.demo_button, Qt.MouseButton.LeftButton)
    assert child.cancels == 1
    child.end(cancelled=True)
    assert view.demo_button.text() == "Play a demo"


def test_send_opens_the_messages_page(make_view, window, qtbot):
    qtbot.mouseClick(make_view(FakeSource()).send_button, Qt.MouseButton.LeftButton)
    assert window.opened == [("messages", {"send": True})]
