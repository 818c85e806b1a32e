"""Figures that stand in two places of the window are the same, in one state."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QSettings

from gui.main_window.side_bar import COUNT_WORDS, SideBar, show_counts
from gui.main_window.status_bar import StatusBar
from gui.models.favourites import Pins
from gui.models.pin_rows import PinBook
from gui.operations.tasks import TaskList
from gui.views.alerts.view import AlertsView
from gui.views.clients.view import ClientsView
from gui.views.consumers.view import TABS, ConsumersView
from gui.views.dead_letters.view import DeadLettersView
from gui.views.delay.view import DelayView
from gui.views.overview.flow_picture import DEAD, DELAYED, READY
from gui.views.overview.flow_scene import FlowCard
from gui.views.overview.view import OverviewView
from gui.views.page import PageView
from gui.views.registry import PAGES
from gui.views.store.view import StoreView
from gui.views.topics.topic_view import TopicView
from gui.views.topics.view import TopicsView
from gui.views.transactions.view import TransactionsView
from gui.words.outlooks import outlook_text
from gui.words.text import TimeZoneChoice, count_text, rate_number, rate_text, short_count_text
from monitoring.admin.connections import BROKER
from monitoring.alert_readings import AlertReadings
from monitoring.alert_rules import DEFAULT_RULES
from monitoring.lag_limits import SHIPPED
from tests.support.fake_history import shop_history
from tests.support.fake_operations import fake_connections
from tests.support.fake_source import FakeSource
from tests.support.shown_parts import buttons_of, chips_of, segment, words_of

VIEWS: dict[str, type[PageView]] = {
    "topics": TopicsView,
    "consumers": ConsumersView,
    "dead_letters": DeadLettersView,
    "delay": DelayView,
    "transactions": TransactionsView,
    "clients": ClientsView,
    "alerts": AlertsView,
}


def link_count(tables, what: str) -> int:
    """How many there are as the link to all of them says."""
    [text] = [button.text() for button in buttons_of(tables) if re.fullmatch(rf"All [\d,]+ {what}", button.text())]
    return number(text)


def number(text: str) -> int:
    """The first number of a text."""
    found = re.search(r"\d[\d,]*", text)
    assert found is not None, text
    return int(found[0].replace(",", ""))


OPENS_WITH: dict[str, Callable[..., str]] = {
    "topics": lambda view: view.header.facts,
    "consumers": lambda view: view.foot.text(),
    "dead_letters": lambda view: chips_of(view.header)[0],
    "delay": lambda view: view.tiles["pending"].value_label.text(),
    "transactions": lambda view: chips_of(view.header)[0],
    "clients": lambda view: view.header.facts,
    "alerts": lambda view: chips_of(view.header)[0],
}
"""The number with which a page opens."""


@pytest.fixture
def bar(qtbot, theme, tmp_path):
    made = SideBar(theme, PAGES, Pins(QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)))
    qtbot.addWidget(made)
    return made


@pytest.fixture
def source() -> FakeSource:
    made = FakeSource()
    on_brokers = fake_connections().side.count(BROKER)
    made.state = replace(
        made.state,
        totals={**made.state.totals, "connections": float(on_brokers)},
        # Clients hold some of what they were sent.
        group_consumed_rate=made.state.group_got_rate * 0.75,
    )
    return made


def column(model, row, key: str) -> str:
    return next(one.text(row) for one in model.columns if one.key == key)


def row_of(model, name: str):
    return next(row for row in model.rows if row.name == name)


def test_every_badge_has_a_page():
    assert VIEWS.keys() == COUNT_WORDS.keys() == OPENS_WITH.keys()


@pytest.mark.parametrize("page_id", VIEWS)
def test_a_badge_is_the_number_with_which_its_page_opens(show_page, bar, source, page_id):
    view = show_page(VIEWS[page_id], source)
    firing = view.context.alerts.firing
    assert firing > 0
    show_counts(bar, source.state, alerts_firing=firing, lag_is_over=False, dead_are_alarming=False)
    assert number(bar.items[page_id].toolTip()) == number(OPENS_WITH[page_id](view))


def test_a_group_is_described_alike_on_all_pages(show_page, source, history):
    consumers = show_page(ConsumersView, source)
    overview = show_page(OverviewView, source)
    topics = {"payment-settle": "payments", "order-service": "orders"}
    pins = consumers.context.pins
    for group, topic in topics.items():
        pins.groups.toggle(group)
        listed = row_of(consumers.groups, group)
        tabled = row_of(overview.tables.make().groups, group)
        page = show_page(TopicView, source)
        page.open({"topic": topic, "tab": "consumers"})
        page.state_changed(source.state)
        out = column(consumers.groups, listed, "out")
        assert out == f"{column(page.consumers, row_of(page.consumers, group), 'out')}/s"
        assert out != rate_text(source.state.group_got_rate[source.state.catalog.groups.index(group)])
        consumers.open({"group": group})
        assert chips_of(consumers.header) == [column(page.consumers, row_of(page.consumers, group), "state")]
        for key, other in (("lag", "lag"), ("behind", "behind"), ("forecast", "drains")):
            assert column(consumers.groups, listed, key) == column(overview.tables.make().groups, tabled, other), key
        facts = consumers.lag.facts
        assert facts["lag"].value.text() == column(consumers.groups, listed, "lag")
        assert facts["in"].value.text() == column(consumers.groups, listed, "in").removesuffix("/s")
        assert facts["out"].value.text() == column(consumers.groups, listed, "out").removesuffix("/s")
        assert consumers.lag.outlook.forecast.outlook is tabled.outlook.forecast.outlook
    pinned = {row.name: row.value for row in PinBook(pins).rows(source.state, SHIPPED, 10) if row.is_group}
    assert pinned == {group: short_count_text(row_of(consumers.groups, group).lag_messages) for group in topics}


def test_page_and_alert_judge_alike_whether_an_attached_level_is_late(show_page, source):
    delays = source.state.delays
    overdue = np.where(delays.level == 3, 10_000, 0)
    never = np.full_like(delays.late_p99_ms, np.nan)
    catalog = replace(source.state.catalog, brokers=["a"], broker_version=["V5_3_3"])
    late = replace(delays, overdue_ms=overdue, late_p99_ms=never)
    outside = replace(source.state, catalog=catalog, delays=late, lateness=None)
    view = show_page(DelayView, FakeSource(outside))
    assert chips_of(view.header) == ["Level 3 late by 10 s"]
    [rule] = [rule for rule in DEFAULT_RULES if rule.rule_id == "late"]
    names, values = AlertReadings().of(rule, outside)
    assert [name for name, value in zip(names, values.tolist(), strict=True) if rule.holds(value)] == ["3"]


def test_list_and_panel_of_a_group_have_one_outlook_until_the_next_state(show_page, source):
    history = shop_history()
    view = show_page(ConsumersView, source, history=history)
    view.open({"group": "payment-settle"})
    listed = row_of(view.groups, "payment-settle")
    # The history goes on before the page gets the next state.
    for second in range(1, 40):
        history.record(source.state.taken_ms + second * 1_000, ["group:payment-settle.lag_messages"], [second * 5_000.0])
    assert column(view.groups, listed, "forecast") == outlook_text(view.lag.outlook, str)


def test_out_is_what_groups_consume_and_delivered_what_clients_were_sent(show_page, source, theme, qtbot):
    """The source delivers more than it consumes; each place that shows one of both calls it so."""
    status = StatusBar(theme, TaskList(), TimeZoneChoice())
    qtbot.addWidget(status)
    status.show_figures(source.state)
    overview, consumers = show_page(OverviewView, source), show_page(ConsumersView, source)
    delivered = rate_number(source.state.totals["got_rate"])
    assert status.figures["Delivered"] == delivered
    tile = overview.tiles.tiles["out"]
    assert (words_of(tile).splitlines()[0], tile.value_label.text()) == ("Delivered", delivered)
    assert [one.title for one in overview.panels.make().throughput.chart.series] == ["In", "Delivered"]
    [out] = [one for one in consumers.groups.columns if one.key == "out"]
    assert (out.title, consumers.lag.facts["out"].name.text()) == ("Out", "Out")
    assert "Out" not in status.figures


def test_a_topic_is_described_alike_on_all_pages(show_page, source):
    topics = show_page(TopicsView, source)
    overview = show_page(OverviewView, source)
    busiest = overview.tables.make().topics
    for row in busiest.rows:
        listed = row_of(topics.model, row.name)
        assert column(busiest, row, "in").removesuffix("/s") == column(topics.model, listed, "in").removesuffix("/s")
        assert listed.average_bytes == row.average_bytes


def test_totals_are_the_same_on_the_overview_the_status_bar_and_the_side_bar(show_page, bar, source, theme, qtbot):
    overview = show_page(OverviewView, source)
    status = StatusBar(theme, TaskList(), TimeZoneChoice())
    qtbot.addWidget(status)
    status.show_figures(source.state)
    tiles = overview.tiles.tiles
    assert status.figures["In"] == tiles["in"].value_label.text()
    assert status.figures["Delivered"] == tiles["out"].value_label.text()
    assert status.figures["Lag"] == tiles["lag"].value_label.text()
    chart = overview.panels.make().throughput.chart
    overview.state_changed(source.state)
    assert [chart.shown_value(key).removesuffix("/s") for key in ("in", "out")] == [
        status.figures[key] for key in ("In", "Delivered")
    ]
    alerts = overview.context.alerts
    show_counts(bar, source.state, alerts_firing=alerts.firing, lag_is_over=False, dead_are_alarming=False)
    assert number(bar.items["consumers"].toolTip()) == number(tiles["lag"].value_label.text())
    assert number(bar.items["dead_letters"].toolTip()) == number(tiles["dead"].value_label.text())
    assert number(bar.items["alerts"].toolTip()) == number(chips_of(overview.header)[0])
    assert number(bar.items["topics"].toolTip()) == link_count(overview.tables.make(), "topics")
    consumers = show_page(ConsumersView, source)
    groups = link_count(overview.tables.make(), "groups")
    assert consumers.foot.text().endswith(f"in {count_text(groups)} groups")


def test_the_transactions_of_chip_filter_and_foot_are_as_many(show_page, source):
    view = show_page(TransactionsView, source)
    undecided = number(chips_of(view.header)[0])
    assert number(segment(view.filters, "Undecided").text()) == undecided
    assert f"of {count_text(undecided)} undecided" in view.foot.text()


def test_the_clients_of_a_list_are_those_of_its_facts(show_page, source):
    view = show_page(ClientsView, source)
    parts = [number(part) for part in view.header.facts.split(", ") if re.search("connected|to the name server|itself", part)]
    assert sum(parts) == len({(row.side, row.address) for row in view.clients.rows})


def flow_card(overview: PageView, key: str) -> FlowCard:
    return next(card for card in overview.flow.picture.cards() if card.key == key)


def test_delayed_messages_are_as_many_in_lanes_tile_flow_and_badge(show_page, bar, source):
    delay, overview = show_page(DelayView, source), show_page(OverviewView, source)
    lanes = sum(number(column(delay.levels, row, "pending")) for row in delay.levels.rows)
    timers = number(segment(delay.waiting.switch, "Timers").text())
    pending = number(delay.tiles["pending"].value_label.text())
    assert pending == lanes + timers == number(flow_card(overview, DELAYED).value)
    show_counts(bar, source.state, alerts_firing=0, lag_is_over=False, dead_are_alarming=False)
    assert number(bar.items["delay"].toolTip()) == pending


def test_dead_letters_are_as_many_in_groups_chip_tile_and_flow(show_page, source):
    letters, overview = show_page(DeadLettersView, source), show_page(OverviewView, source)
    dead = sum(number(column(letters.groups, row, "dead")) for row in letters.groups.rows)
    assert dead == number(chips_of(letters.header)[0]) == number(overview.tiles.tiles["dead"].value_label.text())
    assert dead == number(flow_card(overview, DEAD).value)
    waiting = sum(number(column(letters.groups, row, "waiting")) for row in letters.groups.rows)
    assert waiting == number(chips_of(letters.header)[1])


def test_the_lag_of_all_groups_is_that_of_their_list_and_their_queues(show_page, source):
    consumers, overview = show_page(ConsumersView, source), show_page(OverviewView, source)
    lags = {row.name: row.lag_messages for row in consumers.groups.rows if not math.isnan(row.lag_messages)}
    assert sum(lags.values()) == number(flow_card(overview, READY).value) == number(consumers.foot.text())
    consumers.open({"group": "payment-settle"})
    assert sum(number(column(consumers.positions, row, "lag")) for row in consumers.positions.rows) == lags["payment-settle"]
    assert number(consumers.tabs.tabText(TABS.index("members"))) == number(consumers.lag.facts["members"].value.text())


def test_a_topic_holds_as_much_as_its_queues(show_page, source):
    topics, page = show_page(TopicsView, source), show_page(TopicView, source)
    page.open({"topic": "orders"})
    topics.grid.select_key("orders")
    listed = row_of(topics.model, "orders")
    kept = number(column(topics.model, listed, "kept"))
    queues = page.queues.model
    assert sum(number(column(queues, row, "messages")) for row in queues.rows) == kept
    facts = page.header.facts.split(", ")
    assert (number(facts[0]), number(facts[1])) == (len(queues.rows), kept)
    assert sum(row.put_rate for row in queues.rows) == pytest.approx(listed.put_rate)
    page.open({"tab": "consumers"})
    assert number(page.tabs.tabText(1)) == len(page.consumers.rows) == len(topics.detail.groups.rows)


def test_alerts_are_as_many_in_chip_panel_and_page(show_page, source):
    overview, alerts = show_page(OverviewView, source), show_page(AlertsView, source)
    open_alerts = number(chips_of(overview.header)[0])
    assert number(overview.panels.make().attention.subtitle) == open_alerts == number(chips_of(alerts.header)[0])


def test_the_disk_is_as_full_on_the_overview_as_on_the_store_page(show_page, source):
    overview, store = show_page(OverviewView, source), show_page(StoreView, source)
    tile = overview.tiles.tiles["disk"].value_label.text()
    assert f"\n{tile} of " in words_of(overview.tables.make().meters["disk"])
    assert tile in words_of(store.disk)
