"""The Settings page, and what it keeps."""

from __future__ import annotations

import socket
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtGui import QFontMetrics, QKeySequence
from PySide6.QtWidgets import QLabel

from broker_core.api import WorkerError
from gui.connections.cluster import ATTACHED, EMBEDDED, Cluster
from gui.models.hops import ConnectionHop
from gui.operations.actions import Action
from gui.operations.clusters import Clusters
from gui.operations.requests import BegunLater
from gui.processes.saved_options import SavedBroker, default_store, read_saved, with_saved, write_saved
from gui.processes.worker_options import WorkerArguments
from gui.settings.values import SCALE_KEY, SYSTEM_NOTICES_KEY, is_on
from gui.theme.fonts import mono_font
from gui.views.connections.asking import ConnectDialog
from gui.views.settings import connection_doctor
from gui.views.settings.connection_doctor import reach_by_tcp
from gui.views.settings.view import SettingsView
from gui.widgets.containers import LaterPart
from gui.words.text import UNKNOWN
from monitoring.sources.base import SourceStatus
from tests.support.calm_cluster import calm_outside
from tests.support.fake_source import FakeSource, fake_state
from tests.support.model_rules import hold_to_rules
from tests.support.shown_parts import search_for


@pytest.fixture
def make_view(show_page, monkeypatch):
    monkeypatch.setattr(connection_doctor, "reach_by_tcp", lambda _address, done, _failed, _parent: done())
    return partial(show_page, SettingsView)


@pytest.fixture
def source():
    return FakeSource()


@pytest.fixture
def settings(tmp_path):
    return QSettings(str(tmp_path / "kept.ini"), QSettings.Format.IniFormat)


# ---- what is kept ----


def test_what_is_kept_is_read_back(settings):
    saved = SavedBroker(Path("/data/orbit"), 9877, 0, 512)
    write_saved(settings, saved)
    assert read_saved(settings) == saved
    write_saved(settings, SavedBroker())
    assert read_saved(settings) == SavedBroker()


@pytest.mark.parametrize(
    ("key", "value"),
    [("broker/store", "relative/path"), ("broker/ns_port", "65536"), ("broker/port", "²"), ("broker/history_mib", "1")],
)
def test_what_cannot_be_used_is_left_out(settings, key, value):
    settings.setValue(key, value)
    assert read_saved(settings) == SavedBroker()


def test_the_command_line_comes_before_what_is_kept(tmp_path):
    saved = SavedBroker(Path("/data/orbit"), 9877, 10912, 512)
    plain = with_saved(WorkerArguments(default_store()), saved)
    assert (plain.store, plain.name_server_port, plain.broker_port, plain.history_mib) == (
        Path("/data/orbit"),
        9877,
        10912,
        512,
    )
    given = WorkerArguments(tmp_path, name_server_port=1, broker_port=2, history_mib=3)
    assert with_saved(given, saved) == given


def test_the_worker_is_told_the_size_of_the_history(tmp_path):
    assert "--history-mib" not in WorkerArguments(tmp_path).arguments()
    words = WorkerArguments(tmp_path, history_mib=64).arguments()
    assert words[words.index("--history-mib") + 1] == "64"


# ---- the page ----


def test_every_hop_of_the_connection_is_tried(make_view, source):
    view = make_view(source)
    section = view.section("connections")
    hold_to_rules(section.hops)
    hold_to_rules(section.connections)

    assert [section.hops.index(row, 3).data() for row in range(3)] == ["OK", "OK", "OK"]
    assert section.connections.index(0, 2).data() == "Running"
    assert ("Reachable", "from this machine only") in section.facts.pairs()
    assert dict(section.facts.pairs())["Version"].startswith("Orbit ")


@pytest.mark.parametrize(
    ("note", "address"),
    [
        ("no keys", "broker-a: 127.0.0.1:31363"),
        ("serves plain text, TLS", "127.0.0.1:8081"),
        ("broker-a, broker-b", "127.0.0.1:30902"),
    ],
)
def test_what_a_hop_found_is_whole(make_view, source, qtbot, note, address):
    section = make_view(source).section("connections")
    section.hops.set_rows([ConnectionHop("Credentials", address, 123.4, is_tried=True, note=note)])
    wanted = QFontMetrics(mono_font()).horizontalAdvance(f"{note}  {address}") + 20
    qtbot.waitUntil(lambda: section.hop_grid.view.columnWidth(1) >= wanted, timeout=20_000)


def test_a_cluster_that_runs_elsewhere_has_versions_of_its_own(make_view):
    state = fake_state()
    catalog = replace(state.catalog, brokers=["a", "b", "c"], broker_version=["V5_3_3", "", "V4_9_4"])
    view = make_view(FakeSource(replace(state, catalog=catalog)))
    assert dict(view.section("connections").facts.pairs())["Version"] == "V4_9_4, V5_3_3"


def test_a_cluster_runs_for_as_long_as_its_overview_says(make_view):
    source = FakeSource(calm_outside())
    source.state = replace(source.state, totals={**source.state.totals, "started_ms": source.state.taken_ms - 20_000.0})
    facts = make_view(source).section("connections").facts
    assert dict(facts.pairs())["Running for"] == "20 s"
    untold = FakeSource(calm_outside())
    untold.state = replace(untold.state, totals={})
    assert dict(make_view(untold).section("connections").facts.pairs())["Running for"] == UNKNOWN


def test_a_port_is_reached_as_a_client_reaches_it(qapp, qtbot, monkeypatch):
    monkeypatch.setattr(connection_doctor, "REACH_MS", 60_000)
    told: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"127.0.0.1:{server.getsockname()[1]}"
        reach_by_tcp(address, lambda: told.append("reached"), told.append, qapp)
        qtbot.waitUntil(lambda: bool(told), timeout=60_000)
    reach_by_tcp(address, lambda: told.append("reached"), told.append, qapp)
    qtbot.waitUntil(lambda: len(told) == 2, timeout=60_000)
    assert told[0] == "reached"
    assert "refused" in told[1].lower()


def test_what_lies_behind_a_fault_is_not_tried(make_view, source):
    view = make_view(source)
    section = view.section("connections")
    source.fail_with = WorkerError("no answer in 15 s")
    section.test_button.click()
    assert [section.hops.index(row, 3).data() for row in range(3)] == ["Failed", "Not tried", "Not tried"]
    assert section.fault.text == "Broker process does not answer no answer in 15 s"


def test_the_hops_are_tested_again_when_a_part_is_lost_or_is_back(make_view, source, monkeypatch):
    view = make_view(source)
    tested: list[int] = []
    monkeypatch.setattr(view.section("connections").doctor, "run", lambda: tested.append(1))
    state = source.state
    for faults, count in (({}, 0), ({"b": "no answer for 3 s"}, 1), ({"b": "no answer for 4 s"}, 1), ({}, 2)):
        source.state = replace(state, faults=faults)
        view.state_changed(source.state)
        assert len(tested) == count


def test_a_broker_that_is_gone_says_why(make_view, source):
    view = make_view(source)
    source.status, source.ready, source.reason = SourceStatus.LOST, None, WorkerError("it crashed")
    view.status_changed(SourceStatus.LOST)
    section = view.section("connections")
    section.test_button.click()
    assert section.connections.index(0, 2).data() == "Lost"
    assert "it crashed" in section.fault.text


def test_ports_and_folder_are_kept_for_the_next_start(make_view, source, window):
    view = make_view(source)
    view.open({"show": "broker"})
    section = view.section("broker")
    section.store.setText("/data/orbit")
    section.name_server.setText("9877")
    section.name_server.textEdited.emit("9877")
    section.save.click()
    assert read_saved(view.context.settings) == SavedBroker(Path("/data/orbit"), 9877)
    assert not section.save.isEnabled()
    section.restart.click()
    assert window.restarts == 1


def test_the_ports_in_use_are_those_that_clients_connect_to(make_view, source):
    source.ready = replace(source.ready, grpc="127.0.0.1:8081")
    view = make_view(source)
    view.open({"show": "broker"})
    assert dict(view.section("broker").facts.pairs())["Ports in use"] == "127.0.0.1:9876, 127.0.0.1:10911, 127.0.0.1:8081"


@pytest.mark.parametrize(
    ("field", "text", "fault"),
    [
        ("store", "here", "The folder is no whole path; it begins with /"),
        ("broker", "70000", "Ports are numbers from 0 (any free one) to 65535"),
        ("history", "3", "The history takes 16 to 65,536 MiB"),
    ],
)
def test_what_cannot_be_is_not_kept(make_view, source, field, text, fault):
    view = make_view(source)
    view.open({"show": "broker"})
    section = view.section("broker")
    getattr(section, field).setText(text)
    getattr(section, field).textEdited.emit(text)
    assert section.fault.text() == fault
    section.keep()
    assert read_saved(view.context.settings) == SavedBroker()


def test_two_equal_ports_are_refused(make_view, source):
    view = make_view(source)
    view.open({"show": "broker"})
    section = view.section("broker")
    section.name_server.setText("9000")
    section.broker.setText("9000")
    section.broker.textEdited.emit("9000")
    assert section.fault.text() == "The two ports are the same"


def test_the_look_is_changed_by_the_actions_of_the_window(make_view, source, window):
    view = make_view(source)
    ran = []
    for name in ("view.theme.light", "window.reset_layout", "help.shortcuts"):
        view.context.actions.add(Action(name, "Close", partial(ran.append, name)))
    view.open({"show": "appearance"})
    appearance = view.section("appearance").appearance
    appearance.theme.chosen.emit("light")
    appearance.reset.click()
    appearance.scale.activated.emit(3)
    view.open({"show": "keyboard"})
    view.section("keyboard").sheet.click()
    assert ran == ["view.theme.light", "window.reset_layout", "help.shortcuts"]
    assert view.context.settings.value(SCALE_KEY) == 175

    view.open({"show": "language"})
    view.section("appearance").language.language.chosen.emit("zh")
    view.section("appearance").language.zone.chosen.emit("local")
    assert window.languages == ["zh"]
    assert not view.context.times.utc


def test_alerts_are_told_through_the_desktop_or_not(make_view, source, window):
    view = make_view(source)
    view.open({"show": "notifications"})
    section = view.section("notifications")
    section.desktop.setChecked(False)
    assert not is_on(view.context.settings, SYSTEM_NOTICES_KEY, default=True)
    section.rules.click()
    assert window.opened == [("alerts", {})]


def test_sections_are_made_when_they_are_shown(make_view, source):
    view = make_view(source)
    assert len(view.findChildren(LaterPart)) == 1
    for key in view.buttons:
        view.show_section(key)
        assert view.section(key) in [part.made for part in view.findChildren(LaterPart)]
    assert len(view.findChildren(LaterPart)) == len(view.buttons)


def test_the_first_section_comes_by_itself_a_turn_after_the_page(make_view, source, qtbot):
    view = make_view(source)
    [first] = view.findChildren(LaterPart)
    assert first.made is None
    qtbot.waitUntil(lambda: first.made is not None and first.made.isVisible())
    assert view.section("connections") is first.made


def test_keys_are_changed_where_they_are_listed(make_view, window):
    view = make_view(FakeSource())
    for action_id, title, key in (("a.go", "Go", "Ctrl+G"), ("a.stop", "Stop", "Ctrl+Shift+G")):
        view.context.actions.add(Action(action_id, title, lambda: None, shortcut=key))
    view.show_section("keyboard")
    panel = view.section("keyboard")
    assert [row.action_id for row in panel.rows.rows] == ["a.go", "a.stop"]
    panel.grid.select_key("a.go")
    panel.field.setKeySequence(QKeySequence("Ctrl+Shift+G"))
    assert "“Stop”" in panel.fault.text()
    assert not panel.change_button.isEnabled()

    panel.field.setKeySequence(QKeySequence("Ctrl+Alt+G"))
    assert panel.fault.text() == ""
    panel.change_button.click()
    assert view.context.actions.get("a.go").shortcut == "Ctrl+Alt+G"
    assert (panel.grid.selected_row.key, panel.grid.selected_row.is_changed) == ("Ctrl+Alt+G", True)
    assert panel.field.keySequence().isEmpty()

    panel.clear_button.click()
    assert view.context.actions.get("a.go").shortcut == ""
    panel.reset_button.click()
    assert view.context.actions.get("a.go").shortcut == "Ctrl+G"
    assert not panel.reset_button.isEnabled()
    search_for(panel.search, "stop")
    assert [row.text for row in panel.rows.shown_rows] == ["Stop"]


# ---- connections ----


class KnownClusters:
    """A shown cluster, a connection and a store beside it; records what is asked of them."""

    def __init__(self) -> None:
        self.attached = Cluster(ATTACHED, "mq.test:9876", title="Staging", tls=True, access_key="who", production=True)
        self.store = Cluster(EMBEDDED, "/data/other/store")
        self.clusters = [Cluster(EMBEDDED, "/data/shown/store"), self.attached, self.store]
        self.asked: list[tuple[str, Cluster]] = []
        self.secrets = SimpleNamespace(details=self.details, keep=self.keep, find_key_store=lambda _name, _tell: None)
        self.fault = ""

    def made(self) -> Clusters:
        return Clusters(
            known=lambda: self.clusters,
            switch=lambda one: self.asked.append(("switch", one)),
            open_beside=lambda one, _link: self.asked.append(("beside", one)),
            forget=self.forget,
            keep=lambda before, after: self.asked.append((f"keep {before.name}", after)),
            secrets=self.secrets,
        )

    def forget(self, cluster: Cluster) -> BegunLater[None]:
        return BegunLater(lambda done, _failed: done(self.forgotten(cluster)))

    def forgotten(self, cluster: Cluster) -> None:
        self.asked.append(("forget", cluster))
        self.clusters.remove(cluster)

    @staticmethod
    def keep(_cluster, _typed, *, done, **_given) -> None:
        done(None)

    def details(self, cluster, _typed, done, failed, **_before) -> None:
        (failed if self.fault else done)(self.fault or f"details of {cluster.name}")


@pytest.fixture
def known():
    return KnownClusters()


@pytest.fixture
def connections(make_view, source, known):
    view = make_view(source, clusters=known.made())
    section = view.section("connections")
    section.probe.start = lambda address, details: known.asked.append((f"probe {address}", details))
    return section


def names(section):
    return [row.name for row in section.connections.rows]


def test_all_connections_are_listed_and_the_shown_one_first(connections, known):
    assert names(connections) == ["Embedded", "Staging", "other"]
    assert (connections.restart_button.isVisible(), connections.restart_button.text()) == (True, "Restart")
    assert not connections.delete_button.isVisible(), "what is shown stays"
    connections.list.select_key(known.attached.place)
    pairs = dict(connections.facts.pairs())
    assert (pairs["Name servers"], pairs["Access key"], pairs["Encryption"]) == ("mq.test:9876", "who", "with TLS")
    assert pairs["Marked as"] == "production"
    assert not connections.restart_button.isVisible(), "the shown broker is restarted, no other"
    connections.list.select_key(known.store.place)
    assert connections.facts.pairs() == [("Store", "/data/other/store")]
    assert not connections.test_button.isVisible()
    assert not connections.change_button.isVisible()


def test_an_attached_cluster_has_its_own_name_and_is_not_restarted(make_view, source, known):
    source.name, known.clusters = known.attached.address, [known.attached]
    section = make_view(source, clusters=known.made()).section("connections")
    assert names(section) == [section.detail.title] == ["Staging"]
    assert section.restart_button.text() == section.restart_button.accessibleName() == "Connect again"


def test_a_connection_is_opened_here_and_in_a_window_of_its_own(connections, known):
    connections.list.select_key(known.attached.place)
    connections.open_button.click()
    connections.beside_button.click()
    assert known.asked == [("switch", known.attached), ("beside", known.attached)]


def test_a_connection_that_is_not_shown_is_tested(connections, known):
    connections.list.select_key(known.attached.place)
    assert connections.hops.rows == [], "the hops of the shown one are not those of this one"
    assert connections.test_button.text() == "Test"
    connections.test_button.click()
    assert known.asked == [("probe mq.test:9876", "details of Staging")]
    connections.probe.hops = [ConnectionHop("Name server", "mq.test:9876", fault="connection refused", is_tried=True)]
    connections.probe.changed.emit()
    assert connections.hops.index(0, 3).data() == "Failed"
    assert "connection refused" in connections.fault.text
    connections.list.select_first()
    connections.list.select_key(connections.connections.rows[0].key)
    assert "refused" not in connections.fault.text
    known.fault = "No secret key is kept"
    connections.list.select_key(known.attached.place)
    connections.test_button.click()
    assert "No secret key is kept" in connections.fault.text
    connections.list.select_key(known.store.place)
    assert connections.fault.text == "", "it is not the fault of what is selected now"
    connections.list.select_key(known.attached.place)
    assert "No secret key is kept" in connections.fault.text


def test_a_connection_is_deleted_after_a_question(connections, known):
    connections.list.select_key(known.attached.place)
    dialog = connections.ask_delete()
    assert "secrets are forgotten" in " ".join(label.text() for label in dialog.findChildren(QLabel))
    assert known.asked == []
    dialog.go.click()
    assert known.asked == [("forget", known.attached)]
    assert names(connections) == ["Embedded", "other"]


def test_a_connection_is_changed_without_going_there(connections, known):
    connections.list.select_key(known.attached.place)
    connections.change_button.click()
    (dialog,) = connections.window().findChildren(ConnectDialog)
    assert dialog.go.text() == "Save"
    dialog.fields.name.setText("Pre-production")
    dialog.go.click()
    (asked,) = known.asked
    assert (asked[0], asked[1].title, asked[1].address) == ("keep Staging", "Pre-production", "mq.test:9876")


def test_a_connection_does_not_take_the_name_servers_of_another(connections, known):
    known.clusters.append(Cluster(ATTACHED, "other.test:9876", title="Live"))
    connections.list.select_key(known.attached.place)
    connections.change_button.click()
    (dialog,) = connections.window().findChildren(ConnectDialog)
    dialog.fields.address.setText(" other.test:9876")
    assert dialog.fault.text() == "“Live” has these name servers already."
    assert not dialog.go.isEnabled()
    dialog.fields.address.setText("mq.test:9876")
    assert dialog.go.isEnabled(), "its own are no others"
    dialog.reject()
