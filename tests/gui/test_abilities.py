"""What an attached cluster cannot do is grey with the reason."""

from __future__ import annotations

from dataclasses import replace

import pytest

from broker_core.api import Ability
from gui.broker_words import faults_text, reasons_text
from gui.models.brokers import broker_rows
from gui.text import UNKNOWN, CatalogueTranslator, load_catalogue
from gui.views.action_dialog import cannot_reason
from gui.views.delay.view import DelayView
from gui.views.messages.compose_dialog import ComposeDialog
from gui.views.store.view import StoreView
from gui.views.transactions.actions import CHECK, COMMIT, RESUME, ROLL_BACK
from gui.views.transactions.view import TransactionsView
from monitoring.compose.delivery import When
from tests.support.fake_source import FakeSource, fake_state

OLD = "broker a (V4_9_4) has no timers, only delay levels: they need 5.0 or later"
FAULT = "no answer since 12 s: cannot connect to h:1"


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


@pytest.fixture
def chinese(qapp):
    translator = CatalogueTranslator(load_catalogue("zh"))
    qapp.installTranslator(translator)
    yield
    qapp.removeTranslator(translator)


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
    assert Ability.TIMERS not in broker_rows(view._state)[0].can


def test_an_embedded_broker_has_no_table_of_brokers(show_page):
    assert show_page(StoreView, FakeSource()).brokers is None


def test_reasons_are_told_in_the_language_of_the_window(chinese):
    assert reasons_text(f"{OLD}; more brokers: 2") == (
        "Broker a（V4_9_4）没有定时消息，只有延时级别：需要 5.0 或更高版本; 另有 Broker：2"
    )
    assert faults_text({"name server": FAULT}) == "NameServer: 已 12 秒无响应：cannot connect to h:1"
