"""The window as a program, with its real worker."""

from __future__ import annotations

import os
import signal
import sys
import threading
from functools import partial

import pytest
from PySide6.QtCore import QSettings

from broker_core.worker.questions.administration import CreateTopic
from gui.app.console import Console, set_scale
from gui.app.window_options import WindowOptions
from gui.connections.cluster import ATTACHED, EMBEDDED, Cluster
from gui.processes.worker_options import WorkerArguments
from gui.settings.values import SCALE_KEY
from monitoring.sources.base import SourceStatus
from spark_reports.catalog import reports
from tests.support.process_family import descendants, left_running
from tests.support.worker_driver import WorkerDriver

WAIT_MS = 90_000


class _Events:
    """Listens for what occurs."""

    def __init__(self, told):
        self.occurred = told.append

    def status_changed(self, status, reason): ...

    def stage_changed(self, text, done, total): ...

    def state_changed(self, state): ...


@pytest.fixture
def console(qapp, qtbot, tmp_path, monkeypatch):
    monkeypatch.setattr(qapp, "quit", lambda: None)
    hook = sys.excepthook
    worker = WorkerArguments(tmp_path / "store", name_server_port=0, broker_port=0)
    made = Console(qapp, WindowOptions(worker, language="en", theme="dark", settings_file=tmp_path / "window.ini"))
    yield made
    made.window.close()
    qtbot.waitUntil(lambda: not made.children_processes.any_running, timeout=WAIT_MS)
    assert sys.excepthook is hook
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    made.window.deleteLater()
    made.deleteLater()


def test_the_window_comes_first_and_the_broker_after(console, qtbot):
    console.window.show()
    qtbot.waitUntil(lambda: console.worker.source.status is SourceStatus.READY, timeout=WAIT_MS)
    assert console.window.area.current is not None
    assert console.window.area.current.page_id == "welcome"
    assert console.window.status_bar.address_button.text() == console.worker.source.ready.name_server


def test_a_killed_worker_is_told_and_the_banners_button_brings_it_back(console, qtbot):
    console.window.show()
    source = console.worker.source
    qtbot.waitUntil(lambda: source.status is SourceStatus.READY, timeout=WAIT_MS)
    os.kill(console.worker.pid, signal.SIGKILL)
    qtbot.waitUntil(console.window.banner.isVisible, timeout=WAIT_MS)
    assert "SIGKILL" in console.window.banner.text
    console.window.banner.button.click()
    qtbot.waitUntil(lambda: source.status is SourceStatus.READY, timeout=WAIT_MS)
    assert not console.window.banner.isVisible()


def test_pages_are_imported_before_they_are_opened(console, qtbot):
    console.begin()
    # They may all be there before anybody could wait for a signal: other tests have imported them.
    modules = {entry.module for entry in console.window.services.pages}
    qtbot.waitUntil(lambda: modules <= sys.modules.keys(), timeout=WAIT_MS)


def asked(qtbot, ask):
    """What the desk of secrets tells, which it does later."""
    told, threads = [], set()

    def tell(how, answer):
        threads.add(threading.current_thread())
        told.append((how, answer))

    ask(partial(tell, "done"), partial(tell, "failed"))
    qtbot.waitUntil(lambda: bool(told), timeout=WAIT_MS)
    assert threads == {threading.main_thread()}
    return told[0]


def kept(console, qtbot, cluster, secret):
    typed = {"secretKey": secret} if secret else {}
    return asked(qtbot, lambda done, failed: console.secrets.keep(cluster, typed, in_file=False, done=done, failed=failed))


def test_a_connections_secret_is_kept_beside_the_settings_and_never_in_them(console, qtbot, tmp_path):
    cluster = Cluster(ATTACHED, "h:9876", access_key="ann")
    assert "write it again" in kept(console, qtbot, cluster, "")[1]
    assert kept(console, qtbot, cluster, "hidden") == ("done", None)
    assert kept(console, qtbot, cluster, "") == ("done", None), "an empty one leaves what is kept"
    console.kept.remember(cluster)
    assert "ann" in (tmp_path / "window.ini").read_text()
    assert "hidden" not in (tmp_path / "window.ini").read_text()
    known = console.window.services.clusters.known()[1]
    details = asked(qtbot, lambda done, failed: console.secrets.details(known, {}, done, failed))
    assert '"secretKey": "hidden"' in details[1]
    assert asked(qtbot, console.forget(known).then) == ("done", None)
    assert [one.kind for one in console.window.services.clusters.known()] == [EMBEDDED]
    assert "hidden" not in (tmp_path / "connection-secrets.json").read_text()


def test_a_damaged_file_of_secrets_is_told_and_kept(console, qtbot, tmp_path):
    (tmp_path / "connection-secrets.json").write_text("{")
    cluster = Cluster(ATTACHED, "h:9876", access_key="ann")
    how, fault = kept(console, qtbot, cluster, "hidden")
    assert (how, "cannot be used" in fault) == ("failed", True)
    assert (tmp_path / "connection-secrets.json").read_text() == "{"
    console.begin()
    shown = console.window.backend
    console.switch(cluster)
    qtbot.waitUntil(lambda: bool(console.window.notices.toasts.shown_texts), timeout=WAIT_MS)
    assert "cannot be used" in console.window.notices.toasts.shown_texts[0]
    assert console.window.services.clusters.known()[0].kind == EMBEDDED
    assert console.window.backend is shown


@pytest.mark.timeout(180)
def test_another_store_is_shown_in_the_same_window(console, qtbot, tmp_path):
    console.window.show()
    first = tmp_path / "store"
    qtbot.waitUntil(lambda: console.worker.source.status is SourceStatus.READY, timeout=WAIT_MS)
    console.window.navigate("overview")
    second = tmp_path / "second"
    console.switch(Cluster(EMBEDDED, str(second)))

    def runs_there() -> bool:
        ready = console.worker.source.ready
        return ready is not None and ready.store_directory == str(second) and console.window.frame.state is not None

    qtbot.waitUntil(runs_there, timeout=WAIT_MS)
    assert console.window.frame.state is console.worker.source.state
    assert console.window.area.current.page_id == "overview"
    assert [one.address for one in console.window.services.clusters.known()] == [str(second), str(first)]


@pytest.mark.timeout(180)
def test_a_cluster_that_runs_elsewhere_is_shown_in_the_same_window(console, qtbot, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    console.window.show()
    qtbot.waitUntil(lambda: console.worker.source.status is SourceStatus.READY, timeout=WAIT_MS)
    with WorkerDriver(tmp_path / "elsewhere") as elsewhere:
        ready = elsewhere.wait_ready()
        elsewhere.ask(CreateTopic("orders", 2, 2))
        # Nobody resolves the name: the worker has read the map from its input before the channel began.
        address_map = (("inside.invalid:9876", ready.name_server),)
        cluster = Cluster(ATTACHED, "inside.invalid:9876", read_only=True, title="Away", addresses=address_map)
        console.switch(cluster)

        def is_shown() -> bool:
            state = console.window.frame.state
            return console.worker.source.name == cluster.address and state is not None and "orders" in state.catalog.topics

        qtbot.waitUntil(is_shown, timeout=WAIT_MS)
        assert console.worker.source.read_only
        assert console.window.services.clusters.known()[0] == cluster
        assert console.window.windowTitle() == "Orbit — Away · Overview"
        console.worker.source.add_listener(_Events(told := []))
        assert elsewhere.end_input() == 0
    # What it showed is gone, the window is not.
    qtbot.waitUntil(lambda: any(event.kind == "broker_lost" for event in told), timeout=WAIT_MS)
    assert console.worker.source.status is SourceStatus.READY
    console.switch(Cluster(EMBEDDED, str(tmp_path / "store")))
    qtbot.waitUntil(lambda: console.worker.source.ready is not None and not console.worker.source.read_only, timeout=WAIT_MS)


@pytest.mark.timeout(180)
def test_closing_while_children_run_leaves_no_process_and_no_warning(qapp, qtbot, tmp_path, monkeypatch, qtlog):
    monkeypatch.setattr(qapp, "quit", lambda: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    options = WindowOptions(
        WorkerArguments(tmp_path / "store", name_server_port=0, broker_port=0),
        settings_file=tmp_path / "window.ini",
        reports_folder=tmp_path / "reports",
        prepare_reports=True,
    )
    others = descendants()
    console = Console(qapp, options)
    console.window.show()
    qtbot.waitUntil(lambda: console.worker.source.status is SourceStatus.READY, timeout=WAIT_MS)
    preparation = console.children_processes.preparation
    console.window.actions_known.run("demo.play")
    console.window.navigate("reports")
    qtbot.waitUntil(lambda: preparation.is_running, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: console.window.frame.state is not None, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: console.window.frame.state.totals["put_messages"] > 0, timeout=WAIT_MS)
    console.reports.start(console.reports.order(reports()[0], (console.worker.source.ready.store_directory,)))
    family = descendants() - others
    assert len(family) >= 4
    console.window.close()
    qtbot.waitUntil(lambda: not console.children_processes.any_running, timeout=WAIT_MS)
    assert left_running(family) == []
    console.window.deleteLater()
    console.deleteLater()
    qapp.processEvents()
    assert [record.message for record in qtlog.records if "QProcess" in record.message] == []
    assert not list((tmp_path / "reports").glob("*/*"))


def test_an_error_that_nothing_caught_is_shown(console):
    console.begin()
    sys.excepthook(ValueError, ValueError("no such queue"), None)
    assert console.errors.count == 1
    assert console.window.notices.toasts.shown_texts == ["Orbit made a mistake: ValueError: no such queue"]


def test_an_error_of_another_thread_is_shown_by_this_one(console, qtbot):
    console.begin()
    words = "Orbit made a mistake: ValueError: beside"
    beside = threading.Thread(target=lambda: sys.excepthook(ValueError, ValueError("beside"), None))
    beside.start()
    beside.join()
    assert words not in console.window.notices.toasts.shown_texts
    qtbot.waitUntil(lambda: words in console.window.notices.toasts.shown_texts, timeout=WAIT_MS)


@pytest.mark.parametrize(("percent", "factor"), [(150, "1.5"), (200, "2.0"), (100, None), (33, None)])
def test_the_chosen_size_is_taken_at_the_start(tmp_path, monkeypatch, percent, factor):
    monkeypatch.setenv("QT_SCALE_FACTOR", "")
    monkeypatch.delenv("QT_SCALE_FACTOR")
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    settings.setValue(SCALE_KEY, percent)
    settings.sync()
    set_scale(tmp_path / "window.ini")
    assert os.environ.get("QT_SCALE_FACTOR") == factor
