"""What an attached cluster cannot do is grey with the reason."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from PySide6.QtGui import QFontMetrics

from broker_core.api import ProcessQueueInfo, read_running_info
from broker_core.worker.questions.abilities import Ability
from broker_core.worker.questions.administration import Members
from broker_core.worker.questions.delays import ListTimers
from gui.models.consumers import member_rows, position_rows, reported_owners, with_reported_owners
from gui.theme.fonts import text_font
from gui.theme.tokens import Size
from gui.views.action_dialog import cannot_reason
from gui.views.clients.view import ClientsView
from gui.views.consumers.columns import member_columns
from gui.views.delay.view import DelayView
from gui.views.messages.compose_dialog import ComposeDialog
from gui.views.store.brokers_panel import BROKER_ABILITIES, broker_rows
from gui.views.store.view import StoreView
from gui.views.transactions.actions import CHECK, COMMIT, RESUME, ROLL_BACK
from gui.views.transactions.view import TransactionsView
from gui.words.broker_words import broker_text, faults_text, reasons_text
from gui.words.text import UNKNOWN, TimeZoneChoice
from monitoring.compose.delivery import When
from tests.support.fake_operations import fake_connections
from tests.support.fake_source import FakeSource, fake_state

OLD = "broker a (V4_9_4) has no timers, only delay levels: they need 5.0 or later"
FAULT = "no answer for 12 s: cannot connect to h:1"


def state_with(*, faults: dict[str, str] | None = None, **cannot: str):
    """Figures of two brokers, of which the first is the one that cannot."""
    state = fake_state()
    catalog = replace(
        state.catalog,
        brokers=["a", "b"],
        broker_version=["V4_9_4", ""],
        broker_address=["h:1", "h:2"],
        broker_slaves=[1, 0],
        broker_cannot=[{Ability.TIMERS.value: OLD}, {}],
        cannot=cannot,
    )
    return replace(state, catalog=catalog, faults=faults or {})


def test_what_is_not_known_is_no_reason():
    source = FakeSource()
    assert cannot_reason(source, Ability.TIMERS) == ""
    source.state = None
    assert cannot_reason(source, Ability.TIMERS) == ""


def test_waiting_messages_cannot_be_touched_from_outside(show_page):
    source = FakeSource(state_with(change_waiting="the protocol cannot change a message that waits"))
    view = show_page(DelayView, source)
    panel = view.waiting
    panel.grid.view.selectAll()
    buttons = (panel.deliver, panel.move_to, panel.cancel)
    assert panel.grid.selected_rows
    assert [(one.isEnabled(), one.toolTip()) for one in buttons] == [
        (False, "the protocol cannot change a message that waits")
    ] * 3
    dialog = panel.ask("deliver")
    assert not dialog.go.isEnabled()
    dialog.reject()


def test_transactions_cannot_be_decided_from_outside_but_taken_up_again(show_page):
    reason = "the protocol lets only the producer of a transaction end it"
    source = FakeSource(state_with(decide_transactions=reason, check_transactions="brokers check by themselves"))
    view = show_page(TransactionsView, source)
    view.grid.select_first()
    found = {action: (button.isEnabled(), button.toolTip()) for action, button in view.detail.buttons.items()}
    assert found[COMMIT] == found[ROLL_BACK] == (False, reason)
    assert found[CHECK] == (False, "brokers check by themselves")
    assert found[RESUME][1] == ""


def test_the_composer_offers_what_the_cluster_takes(qtbot, theme):
    source = FakeSource(state_with(timers=OLD, send_in_transaction="through the embedded broker alone"))
    dialog = ComposeDialog(source, theme, source.state, topic="orders")
    qtbot.addWidget(dialog)
    options = dialog.options
    assert (options.transaction.isEnabled(), options.transaction.toolTip()) == (False, "through the embedded broker alone")
    items = options.when.model()
    assert [items.item(row).isEnabled() for row in range(4)] == [True, True, False, False]
    assert items.item(2).toolTip() == OLD
    dialog.form.body.setPlainText("x")
    assert dialog.send_button.isEnabled()
    options.when.setCurrentIndex([When.NOW, When.LEVEL, When.AFTER, When.AT].index(When.AFTER))
    options.when_text.setText("5m")
    assert (dialog.send_button.isEnabled(), dialog.send_button.toolTip()) == (False, OLD)


def test_the_brokers_of_a_cluster_stand_on_the_store_page(show_page):
    state = replace(state_with(faults={"b": FAULT}), slave_lag_bytes=[1_536, -1])
    view = show_page(StoreView, FakeSource(state))
    rows = view.brokers.rows
    shown = [[rows.index(row, column).data() for column in range(rows.columnCount())] for row in range(rows.rowCount())]
    assert shown == [["a", "h:1", "V4_9_4", "1, 1.5 KiB behind", "yes", "Timers"], ["b", "h:2", UNKNOWN, "0", FAULT, ""]]
    assert Ability.TIMERS in broker_rows(state)[0].cannot


def test_what_a_broker_of_4_x_cannot_do_is_whole(show_page, qtbot):
    state = state_with()
    cannot = [{ability.value: OLD for ability in BROKER_ABILITIES}, {}]
    view = show_page(StoreView, FakeSource(replace(state, catalog=replace(state.catalog, broker_cannot=cannot))))
    grid, font = view.brokers.grid, text_font(Size.BODY)
    text = ", ".join(BROKER_ABILITIES.values())
    place = [column.key for column in grid.model.columns].index("cannot")
    qtbot.waitUntil(lambda: grid.view.columnWidth(place) >= QFontMetrics(font).horizontalAdvance(text) + 30)


def test_an_embedded_broker_has_no_table_of_brokers(show_page):
    assert show_page(StoreView, FakeSource()).brokers is None


def test_reasons_are_told_in_the_language_of_the_window(chinese):
    assert reasons_text(f"{OLD}; more brokers: 2") == (
        "Broker a（V4_9_4）没有定时消息，只有延时级别：需要 5.0 或更高版本; 另有 Broker：2"
    )
    notice = f"Not all brokers answered, and what they hold is missing here. a: {FAULT}; b: for 3 s: {FAULT}"
    assert broker_text(notice).endswith(
        "a: 已 12 秒无响应：cannot connect to h:1; b: 已持续 3 秒：已 12 秒无响应：cannot connect to h:1"
    )
    assert faults_text({"name server": FAULT}) == "NameServer: 已 12 秒无响应：cannot connect to h:1"


def test_timers_of_a_broker_that_has_none_are_not_asked_for(show_page):
    source = FakeSource(replace(state_with(timers=OLD), timers={}))
    view = show_page(DelayView, source)
    view.open({"show": "timers"})
    assert view.waiting.grid.placeholder.text == OLD
    assert not source.asked_for(ListTimers)


def test_lateness_that_a_cluster_never_reports_is_hidden(show_page):
    state = state_with()
    late = np.full_like(state.delays.late_p99_ms, np.nan)
    view = show_page(DelayView, FakeSource(replace(state, delays=replace(state.delays, late_p99_ms=late), timers={})))
    assert view.tiles["late"].isHidden()
    assert view.lateness.isHidden()


def test_connections_of_a_cluster_cannot_be_closed_and_what_is_not_reported_is_left_out(show_page, monkeypatch):
    reason = "the protocol has no request that ends a connection"
    page = fake_connections()
    unknown = [-1] * len(page.side)
    page = replace(page, bytes_in=unknown, requests=unknown, connected_ms=unknown, notice="Brokers tell of groups only.")
    monkeypatch.setattr("tests.support.fake_source.fake_connections", lambda: page)
    view = show_page(ClientsView, FakeSource(state_with(close_connections=reason)))
    assert (view.close_button.isEnabled(), view.close_button.toolTip()) == (False, reason)
    assert view.notice.text() == "Brokers tell of groups only."
    known = dict(view.facts.pairs())
    assert "Client" in known
    assert not {"Requests", "Bytes in", "Bytes out", "Connected for"} & set(known)
    dialog = view.ask_close()
    assert not dialog.go.isEnabled()
    dialog.reject()


def test_owners_that_brokers_do_not_tell_are_those_that_clients_tell():
    state = state_with()
    state = replace(state, position_owner=np.full_like(state.position_owner, -2))
    rows = position_rows(state, "payment-settle")
    assert {row.owner for row in rows} == {None}
    first = rows[0]
    queue = ProcessQueueInfo(first.topic, "a", first.queue_id, 0, 0, 0, 0, 0, is_locked=False, is_dropped=False)
    infos = {"c9": replace(read_running_info("c9", b"{}"), queues=(queue, replace(queue, broker_name="moon")))}
    owners = {(row.topic, row.queue_id): row.owner for row in with_reported_owners(rows, state.catalog.brokers, infos)}
    assert owners.pop((first.topic, first.queue_id)) == "c9"
    assert set(owners.values()) == {None}
    second = replace(queue, broker_name="b", queue_id=10_000)  # as the worker numbers it
    assert reported_owners(["a", "b"], {"c9": replace(infos["c9"], queues=(queue, second))}) == {
        (first.topic, first.queue_id): "c9",
        (first.topic, 10_000): "c9",
    }
    members = Members(["c9"], ["h:1"], ["JAVA"], ["V5"], [-1], [{}])
    assert [row.queues for row in member_rows(members, rows, state.taken_ms)] == [-1]
    owned = with_reported_owners(rows, state.catalog.brokers, infos)
    assert [row.queues for row in member_rows(members, owned, state.taken_ms, infos)] == [1], "it has named all of its own"
    shown = {column.key: column.text for column in member_columns(TimeZoneChoice(utc=True))}
    (member,) = member_rows(members, rows, state.taken_ms)
    assert (shown["queues"](member), shown["heartbeat"](member)) == (UNKNOWN, UNKNOWN)
