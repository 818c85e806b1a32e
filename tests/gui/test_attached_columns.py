"""Columns, badges and owners of an attached cluster: what it can never fill is not shown, and what clients say is."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from PySide6.QtCore import QSettings

from gui.main_window.side_bar import SideBar, show_counts
from gui.models.favourites import Pins
from gui.models.topic_queues import topic_queue_rows
from gui.views.clients.view import ClientsView
from gui.views.delay.view import DelayView
from gui.views.overview.view import OverviewView
from gui.views.registry import PAGES
from gui.views.topics.topic_columns import topic_queue_columns
from gui.views.topics.topic_view import TopicView
from gui.views.topics.view import TopicsView
from gui.views.transactions.columns import columns_to_hide
from gui.views.transactions.view import TransactionsView
from gui.words.text import UNKNOWN, TimeZoneChoice
from tests.support.fake_source import FakeSource, fake_state

GROUP, TOPIC = "payment-settle", "payments"
WIDE = 2_400
"""Pixels that have room for all columns."""


def outside():
    state = fake_state()
    catalog = replace(state.catalog, brokers=["a"], broker_version=["V5_3_3"], broker_address=["h:1"], broker_slaves=[0])
    owners = np.full_like(state.position_owner, -2)
    totals = {key: value for key, value in state.totals.items() if key not in ("connections", "transactions_pending")}
    return replace(state, catalog=catalog, position_owner=owners, totals=totals, slave_lag_bytes=[0])


def titles(grid) -> list[str]:
    return [one.title for place, one in enumerate(grid.model.columns) if not grid.view.isColumnHidden(place)]


@pytest.mark.parametrize(
    ("page", "grid", "never"),
    [
        (TopicsView, lambda view: view.grid, {"Avg size", "On disk"}),
        (ClientsView, lambda view: view.grid, {"Req /s", "Bytes in", "Bytes out", "Connected"}),
        (TopicView, lambda view: view.queues.grid, {"Retained span", "On disk"}),
        (DelayView, lambda view: view.level_grid, {"Late p50", "p99 ms"}),
        (TransactionsView, lambda view: view.grid, {"Next"}),
    ],
)
def test_columns_that_a_cluster_never_fills_are_not_shown(show_page, page, grid, never):
    shown = {}
    for name, state in (("own", fake_state()), ("cluster", outside())):
        view = show_page(page, FakeSource(state))
        view.resize(WIDE, view.height())
        if page is TopicView:
            view.open({"topic": TOPIC})
        shown[name] = set(titles(grid(view)))
    assert never <= shown["own"]
    assert shown["own"] - shown["cluster"] == never


@pytest.mark.parametrize(
    ("page", "parts"),
    [
        (DelayView, lambda view: (view.lateness, view.tiles["late"])),
        (TransactionsView, lambda view: (view.strip_panel,)),
    ],
)
def test_panels_that_a_cluster_never_fills_are_not_shown(show_page, page, parts):
    shown = [[part.isVisible() for part in parts(show_page(page, FakeSource(state)))] for state in (fake_state(), outside())]
    assert all(shown[0])
    assert not any(shown[1])


@pytest.mark.parametrize(
    ("page", "facts", "never"),
    [
        (ClientsView, lambda view: view.facts, {"Requests", "Bytes in", "Bytes out", "Connected for"}),
        (TopicsView, lambda view: view.detail.settings, {"Kept since", "Avg size"}),
    ],
)
def test_facts_that_a_cluster_never_reports_are_not_shown(show_page, page, facts, never):
    shown = {}
    for name, state in (("own", fake_state()), ("cluster", outside())):
        view = show_page(page, FakeSource(state))
        view.resize(WIDE, WIDE)
        shown[name] = set(dict(facts(view).pairs()))
    assert shown["own"] - shown["cluster"] == never
    assert "Client" in shown["cluster"] or "Messages kept" in shown["cluster"]


def test_nobody_is_named_as_asked_where_a_cluster_does_not_tell_who_was(show_page):
    rows = show_page(TransactionsView, FakeSource(outside())).rows.rows
    assert columns_to_hide(rows, is_outside=True) == {"next"}, "one is known to have nobody to ask"
    rest = [row for row in rows if row.state != "waiting"]
    assert columns_to_hide(rest, is_outside=True) == {"next", "asked"}
    assert columns_to_hide(rest, is_outside=False) == set()


def test_meters_that_a_cluster_never_fills_are_not_shown(show_page):
    shown = {}
    for name, state in (("own", fake_state()), ("cluster", outside())):
        meters = show_page(OverviewView, FakeSource(state)).tables.make().meters
        shown[name] = [key for key, meter in meters.items() if not meter.isHidden()]
    assert shown == {"own": ["disk", "unflushed", "held", "cpu", "memory"], "cluster": ["disk"]}


def test_a_page_whose_number_a_cluster_never_reports_has_no_badge(qtbot, theme, tmp_path):
    bar = SideBar(theme, PAGES, Pins(QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)))
    qtbot.addWidget(bar)
    show_counts(bar, outside(), alerts_firing=0, lag_is_over=False, dead_are_alarming=False)
    assert [bar.items[page].count for page in ("clients", "transactions")] == ["", ""]


def test_owners_are_those_that_clients_name_where_brokers_name_none():
    told = {(TOPIC, 0): "c1@10.23.4.11"}
    rows = topic_queue_rows(outside(), TOPIC, {}, GROUP, told)
    column = next(one for one in topic_queue_columns(TimeZoneChoice(), str, lambda: 0, lambda _row: None) if one.key == "owner")
    assert column.text(rows[0]) == "c1@10.23.4.11"
    assert {column.text(row) for row in rows[1:]} == {UNKNOWN}
    none = replace(outside(), position_owner=np.full_like(fake_state().position_owner, -1))
    assert {column.text(row) for row in topic_queue_rows(none, TOPIC, {}, GROUP)} == {"nobody"}
