"""The Clients page over a fake broker."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import pytest

from broker_core.api import WorkerError
from broker_core.worker.questions.administration import CloseConnection, ListConnections
from broker_core.worker.questions.in_flight import ListInFlight
from broker_core.worker.refusals import cluster_refusal
from gui.views.clients.view import NOTES, ClientsView
from gui.widgets.containers import ScrolledPart
from monitoring.admin.connections import Role
from monitoring.sources.base import SourceStatus
from tests.support.fake_operations import TAKEN_MS, fake_connections
from tests.support.fake_source import FakeSource
from tests.support.model_rules import hold_to_rules
from tests.support.shown_parts import chips_of, segment


@pytest.fixture
def make_view(show_page):
    return partial(show_page, ClientsView)


@pytest.fixture
def source():
    return FakeSource()


def listed(view):
    return [(client.client_id or client.address, client.group) for client in view.clients.shown_rows]


def test_every_connection_is_listed_with_its_groups(make_view, source):
    view = make_view(source)
    hold_to_rules(view.clients)
    hold_to_rules(view.mix)

    assert ("c2@10.23.4.12", "payment-settle") in listed(view)
    sides = "6 connected to the broker, 1 to the name server, 2 languages, 3 versions, 1 by the broker itself"
    assert view.header.facts == f"{sides}, read 02:15:02"
    assert [one.client for one in view.mix.rows] == ["Java 4.9.8", "Go 5.1.2", "Java 4.7.1"]


def test_rates_come_with_the_second_reading(make_view, source, monkeypatch):
    view = make_view(source)
    assert dict(view.facts.pairs())["Requests"] == "10,000"
    monkeypatch.setattr("tests.support.fake_source.fake_connections", lambda: fake_connections(TAKEN_MS + 1_000))
    view.refresh()
    assert dict(view.facts.pairs())["Requests"] == "100/s · 10,100"


def test_filters_leave_what_is_asked_for(make_view, source):
    view = make_view(source)
    view.filter.choice.choose(NOTES)
    view.filter.choice.chosen.emit(NOTES)
    assert {name for name, _group in listed(view)} == {"pay@10.23.4.21#991", "c1@10.23.4.40"}
    view.filter.search.setText("go 5.1.2 points")
    view.filter.search.searched.emit(view.filter.search.text())
    assert listed(view) == [("c1@10.23.4.40", "points-calc")]
    view.filter.search.searched.emit("nobody")
    assert view.grid.placeholder.text == "No client matches this filter."


def test_a_connection_is_closed_after_a_question(make_view, source, window):
    view = make_view(source)
    view.grid.select_key(("broker", "10.23.4.12:51322", "consumer", "payment-settle"))
    dialog = view.ask_close()
    assert CloseConnection("broker", "10.23.4.12:51322") not in source.asked
    dialog.go.click()
    assert CloseConnection("broker", "10.23.4.12:51322") in source.asked
    assert window.notices[-1][0] == "The connection of c2@10.23.4.12 was closed"


def test_clients_of_a_broker_that_does_not_answer_are_missed_aloud(make_view, source, monkeypatch):
    always, missing = "Brokers tell of groups only.", "Not all brokers answered, and a is missing here. a: no answer: gone"
    page = replace(fake_connections(), notice=f"{always} {missing}")
    monkeypatch.setattr("tests.support.fake_source.fake_connections", lambda: page)
    view = make_view(source)
    shown = {one.text(): one.property("role") for one in (view.notice, view.missing) if one.isVisible()}
    assert shown == {always: "secondary", missing: "warning"}, "only what a person may mend is amber"
    monkeypatch.setattr("tests.support.fake_source.fake_connections", lambda: replace(page, notice=missing))
    view.refresh()
    assert (view.notice.isVisible(), view.missing.text()) == (False, missing)


def grpc_connections():
    page = fake_connections()
    count = len(page.side)
    streams, leases = [-1] * count, [-1] * count
    streams[2], leases[2] = 3, 7
    protocol = ["remoting"] * count
    protocol[2] = "gRPC"
    return replace(page, protocol=protocol, streams=streams, leases=leases)


def test_a_client_of_grpc_shows_protocol_type_streams_and_leases(make_view, source):
    source.answers[ListConnections] = lambda _one: grpc_connections()
    view = make_view(source)
    view.grid.select_key(("broker", "10.23.4.11:51222", "consumer", "payment-settle"))
    shown = {column.key: column.text(view.grid.selected_row) for column in view.clients.columns}
    assert [shown[key] for key in ("protocol", "kind", "version", "streams", "leases")] == [
        "gRPC", "push", "Java 4.9.8", "3", "7",
    ]  # fmt: skip
    facts = dict(view.facts.pairs())
    assert (facts["Client"], facts["Open streams"], facts["Leases"]) == ("Java 4.9.8, gRPC, push consumer", "3", "7")
    assert facts["In flight in its group"] == "17, next due now"


def test_the_facts_of_a_consumer_of_remoting_fit_their_part(make_view, source):
    view = make_view(source)
    view.grid.select_key(("broker", "10.23.4.12:51322", "consumer", "payment-settle"))
    assert len(view.facts.pairs()) == 8
    assert view.facts.sizeHint().height() <= view.detail.findChild(ScrolledPart).height()


def test_a_client_of_remoting_has_no_streams(make_view, source):
    view = make_view(source)
    view.grid.select_key(("broker", "10.23.4.13:51422", "consumer", "notify-sms"))
    facts = dict(view.facts.pairs())
    assert (facts["Client"], facts["In flight in its group"]) == ("Go 5.1.2, remoting, push consumer", "none")
    assert "Open streams" not in facts


def test_what_is_in_flight_is_unknown_where_it_is_refused(make_view, source):
    source.answers[ListInFlight] = cluster_refusal
    view = make_view(source)
    view.grid.select_key(("broker", "10.23.4.12:51322", "consumer", "payment-settle"))
    assert dict(view.facts.pairs())["In flight in its group"] == "—"


def test_what_was_not_read_says_why(make_view, source):
    source.fail_with = WorkerError("the broker is busy")
    view = make_view(source)
    assert view.grid.placeholder.text == "The connections were not read."
    assert view.header.facts == ""


def test_what_is_not_read_any_more_is_not_known_any_more(make_view, source):
    view = make_view(source)
    source.fail_with = WorkerError("the broker is busy")
    view.refresh()
    assert segment(view.filter.choice, "All").text() == "All —"
    assert (view.header.facts, view.detail.title) == ("", "No client selected")
    assert not chips_of(view.header)
    source.fail_with = None
    view.refresh()
    assert view.grid.selected_row is not None
    assert segment(view.filter.choice, "All").text() != "All —"


def test_without_a_broker_nothing_is_asked(make_view):
    source = FakeSource(status=SourceStatus.STARTING)
    view = make_view(source)
    view.refresh()
    assert source.asked == []


def test_a_row_leads_to_its_group(make_view, source, window):
    view = make_view(source)
    view.grid.activated.emit(next(client for client in view.clients.rows if client.group == "notify-sms"))
    assert window.opened == [("consumers", {"group": "notify-sms"})]


# ---- who owned which queue ---------------------------------------------------------------------------------------------


def test_the_queues_of_the_selected_consumers_group_are_shown_over_time(make_view, source):
    view = make_view(source)
    view.grid.select_key(("broker", "10.23.4.12:51322", "consumer", "payment-settle"))
    assert view.ownership.title == "Who owned which queue: payment-settle"
    assert view.ownership.subtitle == "1 rebalance, recorded here once a second"
    picture = view.ownership.strip.picture
    assert len(picture.rows) == 8
    assert set(picture.clients) == {"c1@10.23.4.11", "c2@10.23.4.12", "c3@10.23.4.13"}
    assert len(picture.marks) == 1
    assert "c1@10.23.4.11" in view.ownership.strip.accessibleDescription()


def test_a_producer_owns_nothing_so_the_group_that_was_shown_stays(make_view, source):
    view = make_view(source)
    view.grid.select_key(("broker", "10.23.4.12:51322", "consumer", "payment-settle"))
    producer = next(row for row in view.clients.rows if row.role is Role.PRODUCER)
    view.grid.select_key(producer.key)
    assert view.ownership.group == "payment-settle"
    assert view.detail.title == producer.client_id


def test_a_history_that_is_not_read_says_so_beside_the_clients(make_view, source):
    view = make_view(source)
    source.fail_with = WorkerError("no history is kept")
    view.grid.select_key(("broker", "10.23.4.12:51322", "consumer", "payment-settle"))
    view.ownership.forget()
    view.state_changed(source.state)
    assert "no history is kept" in view.ownership.fault.text


@pytest.mark.parametrize("width", [1232, 1072])
def test_the_share_of_each_version_is_seen_in_windows_of_1440_and_1280_px(make_view, qtbot, width):
    view = make_view(FakeSource())
    view.resize(width, 795)
    place = next(place for place, column in enumerate(view.mix.columns) if column.key == "share")
    grid = view.mix_grid.view
    qtbot.waitUntil(lambda: not grid.isColumnHidden(place))
    assert sum(grid.columnWidth(one) for one in range(len(view.mix.columns))) <= grid.viewport().width()
