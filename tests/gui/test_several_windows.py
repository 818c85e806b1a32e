"""Several connections side by side: a window for each, with settings, layout and schedules that are never mixed."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import keyring.errors
import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QGuiApplication

from broker_core.api import UsageError
from gui.app.console import Console
from gui.app.window_options import WindowOptions, first_cluster
from gui.connections.cluster import (
    ATTACHED,
    EMBEDDED,
    STORES_KEY,
    Cluster,
    changed_to,
    group_of_source,
    kept_cluster,
    kept_text,
)
from gui.connections.secret_file import FILE_NAME, SecretFile
from gui.connections.secret_store import SERVICE
from gui.main_window import menus
from gui.main_window.links import cluster_of, on_cluster, place_of
from gui.main_window.palette_entries import palette_entries
from gui.models.schedules import Schedule
from gui.operations.clusters import Clusters
from gui.operations.report_schedules import ReportSchedules
from gui.operations.snapshots import OffsetSnapshots
from gui.processes.worker_options import WorkerArguments
from gui.processes.worker_process import WorkerProcess
from gui.settings.values import text_list
from gui.views.connections.asking import ConnectDialog
from gui.words.text import UNKNOWN
from monitoring.admin.offsets import OffsetSnapshot
from monitoring.sources.base import SourceStatus
from tests.support.fake_frame import Frame
from tests.support.fake_source import FakeSource
from tests.support.key_stores import LockedKeyStore, MemoryKeyStore

HOME = Cluster(EMBEDDED, "/data/home/store")
STAGE = Cluster(ATTACHED, "s:9876", title="Stage", colour="#0f6e42")
PROD = Cluster(ATTACHED, "p:9876;q:9876", title="Prod", production=True, colour="#c0273a")
WAIT_MS = 90_000


@pytest.fixture
def opened():
    return []


@pytest.fixture
def make_frame(make_frame, opened):
    def make(*known):
        return make_frame(clusters=Clusters(known=lambda: known, open_beside=lambda *given: opened.append(given)))

    return make


@pytest.fixture
def console(qapp, qtbot, tmp_path, monkeypatch):
    monkeypatch.setattr(qapp, "quit", lambda: None)
    worker = WorkerArguments(tmp_path / "store", name_server_port=0, broker_port=0)
    made = []

    def make(**given):
        options = WindowOptions(worker, language="en", theme="dark", settings_file=tmp_path / "window.ini", **given)
        made.append(Console(qapp, options))
        return made[0]

    yield make
    if made:
        made[0].window.close()
        qtbot.waitUntil(lambda: not made[0].children_processes.any_running, timeout=WAIT_MS)
        made[0].window.deleteLater()
        made[0].deleteLater()


@pytest.fixture
def started(monkeypatch):
    """What other windows are started with, instead of starting them."""
    found = []
    monkeypatch.setattr("gui.processes.program.start_window", lambda words: found.append(list(words)) is None)
    return found


def keep(tmp_path, *clusters):
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    settings.setValue(STORES_KEY, [kept_text(cluster) for cluster in clusters])
    settings.sync()


def known(console):
    """The connections that a window offers: the one that it shows, then the others."""
    return list(console.window.services.clusters.known())


def kept_secrets(tmp_path):
    """The secrets that the windows keep where no key store is found."""
    return SecretFile(tmp_path / FILE_NAME)


def forget(console, cluster):
    """Delete a connection that is not shown; returns what is told at the end, once it is."""
    told = []
    console.forget(cluster).then(told.append, told.append)
    return told


# ---- opening one ----


def test_the_switcher_opens_windows_beside_this_one(make_frame, theme, opened, monkeypatch):
    frame = make_frame(HOME, STAGE, PROD)
    clusters = frame.window.services.clusters
    menu = menus.beside_menu(clusters, theme, frame.window)
    assert [action.text() for action in menu.actions() if action.text()] == ["Stage", "Prod", "Connect to a cluster…"]
    menu.actions()[1].trigger()
    assert opened == [(PROD, "")]
    monkeypatch.setattr(QGuiApplication, "keyboardModifiers", lambda: Qt.KeyboardModifier.ControlModifier)
    switcher = menus.cluster_menu(clusters, "", frame.window.actions_known, theme, frame.window)
    switcher.actions()[1].trigger()
    assert opened == [(PROD, ""), (STAGE, "")]


def test_the_palette_offers_the_other_clusters(make_frame, opened):
    window = make_frame(STAGE, HOME, PROD).window
    found = {entry.title: entry for entry in palette_entries("", window.frame) if "window of its own" in entry.title}
    assert list(found) == ["Open home in a window of its own", "Open Prod in a window of its own"]
    found["Open Prod in a window of its own"].run()
    assert opened == [(PROD, "")]


def test_a_new_connection_may_have_a_window_of_its_own(make_frame, theme, opened, qtbot):
    frame = make_frame(HOME)
    menus.ask_for_cluster(frame.window.services.clusters, theme, frame.window, beside=True)
    dialog = frame.window.findChild(ConnectDialog)
    dialog.fields.show_cluster(STAGE)
    assert dialog.beside.isChecked()
    dialog.go.click()
    assert [(cluster.address, link) for cluster, link in opened] == [("s:9876", "")]


def test_a_window_is_started_with_the_connection_and_never_with_its_keys(console, started, tmp_path):
    keep(tmp_path, HOME)
    made = console()
    made.open_beside(STAGE, "orbit://topic/orders?cluster=s%3A9876")
    made.open_beside(Cluster(EMBEDDED, "/data/other"), "")
    assert started == [["--connection", "s:9876", "orbit://topic/orders?cluster=s%3A9876"], ["--store", "/data/other"]]
    kept = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    assert [kept_cluster(text) for text in text_list(kept, STORES_KEY)][:2] == [known(made)[0], STAGE]


def test_connections_that_other_windows_added_stay(console, tmp_path):
    made = console()
    assert len(known(made)) == 1
    keep(tmp_path, PROD)
    made.kept.remember(STAGE)
    kept = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    assert [kept_cluster(text) for text in text_list(kept, STORES_KEY)] == [STAGE, PROD]


def test_a_start_shows_the_connection_that_it_or_its_link_names(tmp_path):
    keep(tmp_path, HOME, STAGE, PROD)
    plain = WindowOptions(WorkerArguments(tmp_path / "store"), settings_file=tmp_path / "window.ini")

    def shown(**given):
        return first_cluster(WindowOptions(plain.worker, settings_file=plain.settings_file, **given))

    assert shown() == Cluster(EMBEDDED, str(tmp_path / "store"))
    assert shown(connection="stage") == shown(connection="s:9876") == STAGE
    assert shown(link=on_cluster("orbit://topic/orders", PROD.address)) == PROD
    assert shown(connection="Stage", link=on_cluster("orbit://topic/orders", PROD.address)) == STAGE
    looks = replace(plain, worker=replace(plain.worker, files_only=True), link=on_cluster("orbit://overview", PROD.address))
    assert first_cluster(looks) == shown(), "a store that is looked at stays the one that was named"
    with pytest.raises(UsageError, match=r"no connection is called “moon”\. There are: “Stage”, “Prod”"):
        shown(connection="moon")


def test_connections_that_are_not_shown_are_changed_and_deleted(console, tmp_path, qtbot):
    other = Cluster(EMBEDDED, "/data/other")
    keep(tmp_path, HOME, STAGE, other, PROD)
    made = console(find_key_store=lambda: None)
    kept_secrets(tmp_path).keep(STAGE.address, {"ann": "hidden"})
    shown, *beside = known(made)
    assert beside == [HOME, STAGE, other, PROD]
    moved = changed_to(STAGE, replace(STAGE, address="t:9876", title="Moved"))
    made.kept.replace(STAGE, moved)
    assert known(made) == [shown, HOME, moved, other, PROD]
    renamed = replace(moved, title="Renamed")
    made.kept.replace(moved, renamed)
    assert kept_secrets(tmp_path).read(renamed.kept_under) == {"ann": "hidden"}
    keep(tmp_path, HOME, other, PROD)
    made.settings.sync()
    made.kept.replace(renamed, moved)
    assert moved in known(made), "another window dropped it meanwhile"
    forget(made, other)
    assert other not in known(made)
    kept_secrets(tmp_path).keep(PROD.address, {"ann": "hidden"})
    told = forget(made, PROD)
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    assert (told, PROD in known(made), kept_secrets(tmp_path).read(PROD.address)) == ([None], False, {})


def test_a_connection_stays_while_its_secrets_cannot_be_taken_out_of_the_key_store(console, tmp_path, qtbot, theme):
    keep(tmp_path, HOME, STAGE)
    made = console(find_key_store=LockedKeyStore)
    dialog = menus.ask_to_forget(made.window.services.clusters, theme, made.window, STAGE)
    dialog.go.click()
    assert not dialog.go.isEnabled(), "it is under way, and not told as done"
    qtbot.waitUntil(lambda: "unlock it" in dialog.error.text, timeout=WAIT_MS)
    assert dialog.isVisible()
    assert STAGE in known(made)
    dialog.reject()


def test_a_connection_whose_secret_is_gone_is_told_and_tried_again(console, tmp_path, qtbot):
    keep(tmp_path, Cluster(ATTACHED, "127.0.0.1:1", access_key="ann"))
    made = console(connection="127.0.0.1:1", find_key_store=lambda: None)
    made.window.show()
    qtbot.waitUntil(lambda: made.window.backend is not None and made.worker.source.status is SourceStatus.LOST, timeout=WAIT_MS)
    assert "No secret key is kept" in made.window.banner.text
    assert not made.worker.is_running
    kept_secrets(tmp_path).keep("127.0.0.1:1", {"ann": "hidden"})
    made.window.banner.button.click()
    qtbot.waitUntil(lambda: made.worker.is_running, timeout=WAIT_MS)
    assert '"secretKey": "hidden"' in made.worker.options.connect_details


class HeldKeyStore(MemoryKeyStore):
    """Holds secrets of connections; from `hold` on its user answers once `answered` is set, and keeps some locked."""

    def __init__(self, *clusters):
        super().__init__()
        self.asked, self.answered = threading.Event(), threading.Event()
        self.answered.set()
        self._locked = ()
        for cluster in clusters:
            self.keep(cluster)

    def keep(self, cluster):
        secrets = json.dumps({cluster.access_key: "hidden"})
        self.set_password(SERVICE, cluster.kept_under, secrets)

    def hold(self, *, locked=()):
        self.asked.clear()
        self.answered.clear()
        self._locked = locked

    def get_password(self, service, username):
        self.asked.set()
        assert self.answered.wait(WAIT_MS / 1_000)
        if username in self._locked:
            raise keyring.errors.KeyringLocked("locked")
        return super().get_password(service, username)


def let_answer(store, qapp):
    """Let the user of the key store answer, until the window has what all reads found."""
    store.answered.set()
    for thread in threading.enumerate():
        if thread.name == "connection-secrets":
            thread.join(WAIT_MS / 1_000)
            assert not thread.is_alive()
    qapp.processEvents()


@pytest.fixture
def idle_workers(monkeypatch):
    """Workers that are never started."""
    monkeypatch.setattr(WorkerProcess, "start", lambda _worker: None)


SECRET = Cluster(ATTACHED, "127.0.0.1:1", access_key="ann")
PLAIN = Cluster(ATTACHED, "127.0.0.1:2")


def stays_at(made, shown, cluster):
    """The window shows a cluster as before, and its next worker gets no secret of another one."""
    assert (known(made)[0], made.window.backend is shown) == (cluster, True)
    shown.restart_worker()
    return "hidden" not in made.worker.options.connect_details and made.worker.source.name == cluster.address


@pytest.mark.parametrize("locked", [(), (SECRET.address,)], ids=["unlocked", "locked"])
@pytest.mark.usefixtures("idle_workers")
def test_secrets_that_come_after_the_user_went_on_are_given_to_nobody(console, tmp_path, qtbot, qapp, locked):
    keep(tmp_path, SECRET)
    store = HeldKeyStore(SECRET)
    store.hold(locked=locked)
    made = console(connection=SECRET.address, find_key_store=lambda: store)
    made.begin()
    made.switch(PLAIN)
    qtbot.waitUntil(lambda: made.window.backend is not None, timeout=WAIT_MS)
    shown = made.window.backend
    let_answer(store, qapp)
    assert stays_at(made, shown, PLAIN)


@pytest.mark.usefixtures("idle_workers")
def test_secrets_that_are_read_again_after_the_user_went_on_are_given_to_nobody(console, tmp_path, qtbot, qapp):
    keep(tmp_path, SECRET)
    store = HeldKeyStore()
    made = console(connection=SECRET.address, find_key_store=lambda: store)
    made.begin()
    qtbot.waitUntil(lambda: made.window.backend is not None, timeout=WAIT_MS)
    store.keep(SECRET)
    store.hold()
    first = made.window.backend
    first.restart_worker()
    made.switch(PLAIN)
    qtbot.waitUntil(lambda: made.window.backend is not first, timeout=WAIT_MS)
    shown = made.window.backend
    let_answer(store, qapp)
    assert stays_at(made, shown, PLAIN)


@pytest.mark.usefixtures("idle_workers")
def test_of_two_clusters_the_one_that_was_wanted_last_is_shown_though_the_other_is_locked(console, tmp_path, qtbot, qapp):
    keep(tmp_path, PLAIN)
    last = Cluster(ATTACHED, "127.0.0.1:3", access_key="ben")
    store = HeldKeyStore(SECRET, last)
    store.hold(locked=(SECRET.address,))
    made = console(connection=PLAIN.address, find_key_store=lambda: store)
    made.begin()
    made.switch(SECRET)
    qtbot.waitUntil(store.asked.is_set, timeout=WAIT_MS)
    made.switch(last)
    let_answer(store, qapp)
    qtbot.waitUntil(lambda: made.worker.source.name == last.address, timeout=WAIT_MS)
    assert known(made)[0] == last


def test_the_connection_that_is_shown_keeps_what_belongs_to_it_under_other_name_servers(console, tmp_path, qtbot):
    first = Cluster(ATTACHED, "127.0.0.1:1", access_key="ann", title="Stage")
    keep(tmp_path, first)
    made = console(connection="Stage", find_key_store=lambda: None)
    kept_secrets(tmp_path).keep(first.kept_under, {"ann": "hidden"})
    made.window.show()
    qtbot.waitUntil(lambda: made.window.backend is not None and made.worker.is_running, timeout=WAIT_MS)
    snapshots = OffsetSnapshots(made.settings, own_group=group_of_source(made.worker.source))
    snapshots.add(OffsetSnapshot("billing", "orders", 1_000, ((0, 5),), "undo"))
    folder = made.worker.source.kept_under

    def shows(address):
        return (made.worker.is_running, made.window.backend.source.name, made.worker.source.name) == (True, address, address)

    moved = changed_to(first, replace(first, address="127.0.0.1:2"))
    made.switch(moved)
    qtbot.waitUntil(lambda: shows("127.0.0.1:2"), timeout=WAIT_MS)
    assert [one for one in known(made) if one.kind == ATTACHED] == [moved]
    assert made.worker.source.kept_under == folder == "127.0.0.1:1"
    assert '"keptAs": "127.0.0.1:1"' in made.worker.options.connect_details
    assert '"secretKey": "hidden"' in made.worker.options.connect_details
    again = OffsetSnapshots(made.settings, own_group=group_of_source(made.worker.source))
    assert len(again.of("billing")) == 1

    # Another window changes it: this one, which shows it too, goes on with it as it is now.
    elsewhere = changed_to(moved, replace(moved, address="127.0.0.1:3"))
    in_another_process(tmp_path, f"s.setValue('{STORES_KEY}', [{kept_text(elsewhere)!r}])")
    qtbot.waitUntil(lambda: shows("127.0.0.1:3"), timeout=WAIT_MS)
    assert [one for one in known(made) if one.kind == ATTACHED] == [elsewhere]


# ---- which is which ----


def test_each_window_carries_its_connection_in_colour_and_titles(make_frame):
    window = make_frame(STAGE, HOME).window
    assert (window.stripe.isVisible(), window.stripe.colour) == (True, "#0f6e42")
    window.navigation.detach(window.area.current)
    (torn_off,) = window.navigation.windows
    assert torn_off.stripe.colour == "#0f6e42"
    assert torn_off.windowTitle().endswith(" — Orbit · Stage")
    assert window.broker.short_title == "Orbit · Stage"
    torn_off.close()
    assert not make_frame(HOME).window.stripe.isVisible()


def test_a_link_names_its_cluster_and_is_followed_there(make_frame, opened, qapp):
    window = make_frame(STAGE, HOME, PROD).window
    window.navigate("topics")
    window.commands.copy_link()
    link = qapp.clipboard().text()
    assert (cluster_of(link), place_of(link).arguments) == ("s:9876", {})
    window.navigate("overview")
    window.open_link(link)
    assert (window.area.current.page_id, opened) == ("topics", [])
    other = on_cluster("orbit://topic/orders?queue=3", PROD.address)
    window.open_link(other)
    assert opened == [(PROD, other)]
    window.open_link(f" {other.replace('orbit:', 'Orbit:')}")
    assert opened == [(PROD, other)] * 2
    assert window.area.current.page_id == "topics"
    window.open_link(f"orbit://connection/{PROD.title}")
    assert opened.pop() == (PROD, on_cluster("orbit://overview", PROD.title))
    window.open_link(on_cluster("orbit://overview", "moon:1"))
    assert window.area.current.page_id == "topics"
    assert "to which there is no connection" in window.notices.toasts.kept[0].text
    assert place_of(other).arguments == {"topic": "orders", "queue": 3}
    assert (cluster_of("orbit://topics"), cluster_of("http://x/?cluster=a"), cluster_of("orbit://[")) == ("", "", "")


def test_figures_of_the_cluster_before_go_with_it(make_frame):
    frame = make_frame(STAGE)
    window = frame.window
    window.broker.refresh_figures()
    assert window.side_bar.items["topics"].count
    assert window.status_bar.figures["Lag"] != UNKNOWN
    window.attach(frame.backend(FakeSource(status=SourceStatus.STARTING)))
    assert (window.side_bar.items["topics"].count, window.status_bar.figures["Lag"]) == ("", UNKNOWN)


# ---- what is kept ----


def test_each_connection_has_its_layout(make_frame, theme):
    first = make_frame(STAGE)
    first.window.navigate("topics")
    first.window.save_layout()
    home = make_frame(HOME)
    assert [home.window.area.current.page_id, home.window.area.tabs.count()] == ["overview", 1]
    assert make_frame(PROD).window.area.current.page_id == "overview"
    again = make_frame(STAGE)
    assert again.window.area.current.page_id == "topics"
    again.window.commands.reset_layout()
    assert again.window.area.current.page_id == "overview"
    assert not [key for key in again.settings.allKeys() if key.endswith("layout/tabs") and "connections" in key]


def test_a_window_that_ends_on_its_way_to_another_cluster_leaves_the_layout_of_that_one(make_frame):
    make_frame(PROD).window.save_layout()
    window = make_frame(STAGE).window
    window.navigate("topics")
    object.__setattr__(window.services.clusters, "known", lambda: [PROD])
    window.save_layout()
    assert [make_frame(cluster).window.area.current.page_id for cluster in (STAGE, PROD)] == ["topics", "overview"]


def test_a_window_that_ends_before_it_has_its_pages_leaves_the_layout(make_frame, tmp_path, theme, qtbot):
    first = make_frame(STAGE)
    first.window.navigate("topics")
    first.window.save_layout()
    early = Frame(tmp_path / "window.ini", theme, clusters=Clusters(known=lambda: (STAGE,)), attached=False)
    qtbot.addWidget(early.window)
    early.window.close()
    assert make_frame(STAGE).window.area.current.page_id == "topics"


def in_another_process(tmp_path, code):
    """Change the settings as another window does, which is another process."""
    made = "from PySide6.QtCore import QSettings; import sys; s = QSettings(sys.argv[1], QSettings.Format.IniFormat); "
    subprocess.run([sys.executable, "-c", made + code, str(tmp_path / "window.ini")], check=True)


def test_keys_that_another_window_changes_count_here_at_once(make_frame, tmp_path, qtbot):
    frame = make_frame(HOME)
    actions = frame.window.actions_known

    def bound():
        return {made.shortcut().toString() for made in frame.window.actions()}

    assert "F5" in bound()
    in_another_process(tmp_path, "s.setValue('keys/view.refresh', 'Ctrl+Alt+R')")
    qtbot.waitUntil(lambda: "Ctrl+Alt+R" in bound(), timeout=WAIT_MS)
    assert (actions.get("view.refresh").shortcut, "F5" in bound()) == ("Ctrl+Alt+R", False)
    # The file is another one now, which took the place of the first.
    in_another_process(tmp_path, "s.setValue('keys/view.refresh', '')")
    qtbot.waitUntil(lambda: actions.get("view.refresh").shortcut == "", timeout=WAIT_MS)
    in_another_process(tmp_path, "s.remove('keys')")
    qtbot.waitUntil(lambda: "F5" in bound(), timeout=WAIT_MS)


def test_each_connection_has_its_favourites(make_frame):
    stage = make_frame(STAGE).window
    stage.pins.topics.toggle("orders")
    assert [list(make_frame(cluster).window.pins.topics) for cluster in (STAGE, PROD, HOME)] == [["orders"], [], []]
    object.__setattr__(stage.services.clusters, "known", lambda: [PROD])
    stage.attach(stage.backend)
    assert list(stage.pins.topics) == [], "the same window, on another cluster"


def test_where_groups_stood_is_known_of_their_own_cluster_alone(tmp_path, qapp):
    settings = QSettings(str(tmp_path / "w.ini"), QSettings.Format.IniFormat)
    stage, prod = FakeSource(), FakeSource()
    stage.kept_under, prod.kept_under = STAGE.address, PROD.address
    of = {source: OffsetSnapshots(settings, own_group=group_of_source(source)) for source in (stage, prod, FakeSource())}
    of[stage].add(OffsetSnapshot("billing", "orders", 1_000, ((0, 5),), "undo"))
    assert [len(one.of("billing")) for one in of.values()] == [1, 0, 0]


def test_a_schedule_is_run_by_one_of_the_windows(tmp_path, qapp):
    now = [datetime(2026, 1, 5, 8, 0, tzinfo=UTC)]

    def window():
        return ReportSchedules(QSettings(str(tmp_path / "s.ini"), QSettings.Format.IniFormat), now=lambda: now[0])

    first, second = window(), window()
    told = []
    for one in (first, second):
        one.due.connect(told.append)
    assert second.add(Schedule("keys", ("/data/store",), minute=8 * 60 + 30))
    first.look()
    assert first.all == second.all, "it is known in the other window, too"
    now[0] += timedelta(hours=1)
    for one in (first, second, first, second):
        one.look()
    assert len(told) == 1
    assert sys.modules[ReportSchedules.__module__].LOCK_FILE in {path.name for path in tmp_path.iterdir()}
