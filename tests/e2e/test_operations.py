"""The pages that watch over the broker, over a real one with demo traffic: clients, store, settings, alerts, events."""

from __future__ import annotations

from gui.processes.demo import DemoPace
from monitoring.admin.connections import Role
from monitoring.admin.events import EventGroup
from monitoring.alert_rules import AlertRule
from monitoring.alert_watch import AlertState
from tests.e2e.conftest import App


def opened(app: App, page_id: str):
    app.window.navigate(page_id)
    page = app.window.area.page_of(page_id)
    assert page is not None
    return page


def test_the_broker_is_watched_and_changed(app: App):
    app.start()
    app.console.demo.start(app.name_server, DemoPace.SLOW)

    clients = opened(app, "clients")
    wanted = {Role.PRODUCER, Role.CONSUMER, Role.OUT}
    app.until(lambda: wanted <= {one.role for one in clients.clients.rows}, "not all kinds of connections are listed")
    app.until(
        lambda: any(one.traffic.bytes_in > 0 for one in clients.clients.rows if one.role is Role.PRODUCER),
        "no producer has traffic",
    )
    consumer = next(one for one in clients.clients.rows if one.role is Role.CONSUMER)
    clients.grid.select_key(consumer.key)
    clients.ask_close().go.click()
    app.until(lambda: consumer.key not in {one.key for one in clients.clients.rows}, "the connection is still listed")

    store = opened(app, "store")
    app.until(
        lambda: store.files.make().queues.rowCount() > 0 and store.files.make().index.rowCount() > 0, "the store is not shown"
    )
    app.until(lambda: "Last sync" in dict(store.files.make().runtime_facts.pairs()), "no sync is shown")

    settings = opened(app, "broker_settings")
    app.until(lambda: settings.model.rowCount() > 0, "the settings are not shown")
    settings.stage("deleteWhen", "05")
    settings.ask_change().go.click()

    def delete_when() -> str:
        return next(one.setting.value for one in settings.model.rows if one.setting.key == "deleteWhen")

    app.until(lambda: delete_when() == "05", "the setting was not changed")
    settings.ask_undo().go.click()
    app.until(lambda: delete_when() == "04", "the setting was not taken back")

    alerts = opened(app, "alerts")
    alerts.center.put(AlertRule("any", "Something is sent", "totals.put_rate", above=True, threshold=0, for_ms=0))
    app.until(
        lambda: any(one.rule.rule_id == "any" and one.state is AlertState.FIRING for one in alerts.rules.rows),
        "the rule does not fire",
    )

    events = opened(app, "events")
    expected = {EventGroup.ACTION, EventGroup.ALERT, EventGroup.RESTART, EventGroup.REBALANCE}
    app.until(lambda: expected <= {one.group for one in events.model.rows}, "not all events are in the history")
    actions = [one.text for one in events.model.rows if one.group is EventGroup.ACTION]
    assert any(text.startswith(f"connection.close: {consumer.address}") for text in actions)
    assert sum(text.startswith("console.update_broker_config") for text in actions) == 2

    connections = opened(app, "settings").section("connections")
    app.until(lambda: len(connections.doctor.hops) == 4 and connections.doctor.hops[3].is_tried, "the hops are not tried")
    assert [hop.fault for hop in connections.doctor.hops] == ["", "", "", ""]
    assert app.console.errors.count == 0
