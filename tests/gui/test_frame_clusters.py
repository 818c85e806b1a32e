"""The frame and clusters: the switcher, what is missing of a cluster, another cluster in the window."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

from PySide6.QtCore import QObject
from PySide6.QtWidgets import QMenu
from shiboken6 import isValid

from broker_core.api import WorkerLostError
from gui.connections.cluster import ATTACHED, EMBEDDED, Cluster
from gui.main_window.detached import DetachedWindow
from gui.models.reports import RunState
from gui.operations.clusters import Clusters
from gui.operations.requests import BegunLater
from gui.views.action_dialog import ActionDialog
from gui.views.connections.asking import ConnectDialog
from gui.views.settings.connection_rows import connection_rows
from monitoring.sources.base import SourceStatus
from tests.support.fake_source import FakeSource, fake_state
from tests.support.shown_parts import words_of


def test_the_switcher_offers_what_is_known(make_frame, qtbot):
    went: list[Cluster] = []
    known = [Cluster(EMBEDDED, "/data/now"), Cluster(EMBEDDED, "/data/before")]
    frame = make_frame(clusters=Clusters(known=lambda: known, switch=went.append))
    frame.window.actions_known.run("broker.switch")
    (menu,) = [menu for menu in frame.window.findChildren(QMenu) if menu.isVisible()]
    texts = [action.text() for action in menu.actions()]
    assert texts[0].startswith("now")
    assert texts[1] == "before"
    menu.actions()[0].trigger()
    menu.actions()[1].trigger()
    assert went == [known[1]]
    menu.close()


class Desk(QObject):
    """Secrets that are kept at once."""

    file = "/s"
    kept = ()

    def find_key_store(self, _name_servers, tell):
        tell(("", False))

    def keep(self, cluster, typed, *, in_file, done, failed, **_before):
        if typed.get("secretKey") == "wrong":
            failed("The disk is full")
        else:
            self.kept = (cluster.access_key, typed, in_file)
            done(None)


def test_the_switcher_asks_for_a_cluster_that_runs_elsewhere(make_frame, qtbot):
    went: list[Cluster] = []
    frame = make_frame(clusters=Clusters(switch=went.append))
    frame.window.actions_known.run("broker.switch")
    (menu,) = [menu for menu in frame.window.findChildren(QMenu) if menu.isVisible()]
    (connect,) = [action for action in menu.actions() if action.text() == "Connect to a cluster…"]
    connect.trigger()
    menu.close()
    (dialog,) = frame.window.findChildren(ConnectDialog)
    assert not dialog.go.isEnabled()
    for wrong in ("orders", "host:", ":9876", "host:0", "host:70000", "a b:9876", "h:1;x"):
        dialog.fields.address.setText(wrong)
        assert not dialog.go.isEnabled(), wrong
        assert wrong.rpartition(";")[2] in dialog.fault.text()
    dialog.fields.address.setText(" h:9876 ; [::1]:9876;")
    assert dialog.fault.text() == ""
    dialog.go.click()
    assert went == [Cluster(ATTACHED, "h:9876;[::1]:9876", read_only=True)]


def test_a_connection_is_changed_where_it_is_shown(make_frame):
    went: list[Cluster] = []
    shown = Cluster(
        ATTACHED, "h:9876", title="Prod", colour="#c0273a", access_key="ann", tls=True, authority="/ca.pem",
        addresses=(("172.17.0.3:10911", "10.0.0.1:10911"),),
    )  # fmt: skip

    desk = Desk()
    frame = make_frame(clusters=Clusters(known=lambda: [shown], switch=went.append, secrets=desk))
    frame.window.actions_known.run("broker.switch")
    (menu,) = [menu for menu in frame.window.findChildren(QMenu) if menu.isVisible()]
    assert not menu.actions()[0].icon().isNull()
    (change,) = [action for action in menu.actions() if action.text() == "Change this connection…"]
    change.trigger()
    menu.close()
    (dialog,) = frame.window.findChildren(ConnectDialog)
    assert dialog.fields.cluster() == shown
    dialog.fields.access_key.clear()
    dialog.fields.secret_key.setText("wrong")
    assert dialog.fault.text() == "A secret key needs its access key."
    dialog.fields.access_key.setText("bob")
    for field, wrong in (
        (dialog.fields.addresses, "a:1"),
        (dialog.fields.addresses, "a=b:1"),
        (dialog.fields.authority, "ca.pem"),
    ):
        right = field.text()
        field.setText(wrong)
        assert not dialog.go.isEnabled(), wrong
        field.setText(right)
    dialog.go.click()
    assert (dialog.fault.text(), went) == ("The disk is full", [])
    dialog.fields.secret_key.setText("hidden")
    dialog.fields.unverified.setChecked(True)
    assert "pretend to be the cluster" in dialog.fault.text()
    dialog.go.click()
    assert desk.kept == ("bob", {"secretKey": "hidden"}, False)
    assert went == [replace(shown, access_key="bob", verify=False)]


def test_another_connection_is_forgotten_from_the_switcher(make_frame):
    gone: list[Cluster] = []
    known = [Cluster(EMBEDDED, "/data/now"), Cluster(ATTACHED, "h:9876", title="Old")]
    clusters = Clusters(known=lambda: known, forget=lambda one: BegunLater(lambda done, _failed: done(gone.append(one))))
    frame = make_frame(clusters=clusters)
    frame.window.actions_known.run("broker.switch")
    menu = next(menu for menu in frame.window.findChildren(QMenu) if menu.isVisible())
    (forget,) = [action.menu() for action in menu.actions() if action.text() == "Forget a connection"]
    assert [action.text() for action in forget.actions()] == ["Old…"]
    forget.actions()[0].trigger()
    menu.close()
    (dialog,) = frame.window.findChildren(ActionDialog)
    assert (gone, dialog.go.text()) == ([], "Delete 1 connection")
    dialog.go.click()
    assert gone == [known[1]]


def test_the_title_says_what_is_attached(make_frame):
    frame = make_frame(clusters=Clusters(known=lambda: [Cluster(ATTACHED, "h:9876", read_only=True)]))
    assert "h:9876" in frame.window.windowTitle()
    assert frame.window.tool_bar.cluster_button.accessibleName() == "Cluster: h:9876"
    frame.window.broker.status_changed(SourceStatus.LOST, None)
    assert frame.window.banner.text.startswith("The connection has ended.")


def test_a_missing_part_of_a_cluster_stands_over_all_pages_until_it_is_back(frame):
    fault = "no answer for 12 s: cannot connect to h:1"
    banner = frame.window.banner
    frame.source.push(replace(fake_state(), faults={"broker-b": fault}))
    frame.window.broker.refresh_figures()
    assert banner.text == f"A part of the cluster is missing. broker-b: {fault}"
    assert not banner.button.isVisibleTo(banner)
    frame.source.push_later(faults={})
    frame.window.broker.refresh_figures()
    assert not banner.isVisible()
    frame.source.push_later(faults={"broker-b": fault})
    frame.source.set_status(SourceStatus.LOST, WorkerLostError("gone"))
    frame.window.broker.refresh_figures()
    assert "gone" in banner.text
    assert banner.button.isVisibleTo(banner)


def test_the_status_bar_says_how_much_of_a_cluster_answers(make_frame):
    frame = make_frame(clusters=Clusters(known=lambda: [Cluster(ATTACHED, "h:9876")]))
    bar, state = frame.window.status_bar, fake_state()
    state = replace(state, catalog=replace(state.catalog, brokers=["a", "b"], broker_version=["V5_3_3", "V5_3_3"]))
    told = []
    for faults in ({}, {"a": "no answer for 3 s: gone"}, dict.fromkeys("ab", "no answer for 3 s: gone"), {}):
        frame.source.push(replace(state, faults=faults))
        frame.window.broker.refresh_figures()
        told.append((bar.state_text, connection_rows(frame.source, frame.window.services.clusters)[0].word))
    assert told == [
        ("Connected", "Running"),
        ("Connected in part", "In part"),
        ("Nothing answers", "No answer"),
        ("Connected", "Running"),
    ]


def test_all_of_the_window_stops_at_the_last_figures(frame):
    state, badge = fake_state(), frame.window.side_bar.items["topics"]
    fewer = replace(state.catalog, topics=["%RETRY%g", *state.catalog.topics[1:]])
    frame.source.push(replace(state, catalog=fewer))
    frame.window.broker.refresh_figures()
    assert badge.toolTip().startswith("8 topics of yours")
    frame.source.state = replace(state, totals={**state.totals, "lag_messages": 30_001.0})
    frame.source.set_status(SourceStatus.LOST, WorkerLostError("it is gone"))
    assert "30,001" in words_of(frame.window.status_bar)
    assert badge.toolTip().startswith("9 topics of yours")
    assert frame.area.current.states[-1] is frame.source.state


def test_a_page_in_a_window_of_its_own_says_what_is_missing_too(frame):
    fault = "no answer for 12 s: cannot connect to h:1"
    frame.source.push(replace(fake_state(), faults={"broker-b": fault}))
    frame.window.broker.refresh_figures()
    frame.window.navigate("topics")
    frame.window.actions_known.run("window.detach")
    (torn_off,) = frame.navigation.windows
    assert torn_off.banner.text == frame.window.banner.text
    assert torn_off.banner.isVisible()
    frame.source.push_later(faults={"broker-b": "no answer for 13 s: cannot connect to h:1"})
    frame.window.broker.refresh_figures()
    assert "13 s" in torn_off.banner.text
    frame.source.push_later(faults={})
    frame.window.broker.refresh_figures()
    assert not torn_off.banner.isVisible()
    frame.source.set_status(SourceStatus.LOST, WorkerLostError("gone"))
    assert "gone" in torn_off.banner.text
    assert not torn_off.banner.button.isVisibleTo(torn_off.banner), "the window of the tabs restarts it"
    frame.source.set_status(SourceStatus.READY, None)
    assert not torn_off.banner.isVisible()


def test_another_cluster_takes_the_window_over(frame, qtbot):
    frame.window.navigate("topics")
    old = frame.area.current
    other = FakeSource()
    frame.window.attach(frame.backend(other))
    frame.window.restore_layout()
    qtbot.waitUntil(lambda: not isValid(old))
    assert frame.source.listeners == []
    assert frame.window.broker in other.listeners
    other.push_later()
    frame.window.live.once()
    assert frame.area.current.states


def test_a_report_is_told_once_whatever_cluster_is_shown(frame):
    frame.window.attach(frame.backend(FakeSource()))
    spec = SimpleNamespace(name="throughput", title="Throughput over time", needs_samples=False)
    frame.reports.ended.emit(SimpleNamespace(state=RunState.COMPLETE, order=SimpleNamespace(spec=spec), rows=5))
    assert [notice.text for notice in frame.window.notices.toasts.kept] == ["Throughput over time: 5 messages read"]


def test_detached_windows_end_with_the_main_window(frame, qtbot):
    frame.window.navigate("topics")
    frame.window.actions_known.run("window.detach")
    (window,) = frame.navigation.windows
    assert isinstance(window, DetachedWindow)
    frame.window.close()
    qtbot.waitUntil(lambda: not isValid(window))


def test_a_range_of_ones_own_is_named_on_its_button(frame):
    frame.window.services.times.set_utc(True)
    frame.window.time_range.set_between(1_790_000_000_000, 1_790_003_600_000)
    assert frame.window.tool_bar.range_button.text() == "2026-09-21 14:13 – 15:13"
    dialog = frame.window.tool_bar.ask_range()
    assert dialog.isVisible()
    dialog.reject()
