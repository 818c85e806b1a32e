"""Exports and replays from the window: what is asked of the command line, progress, cancel, and with the real program."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from PySide6.QtCore import QItemSelectionModel
from PySide6.QtWidgets import QApplication

from broker_core.worker.questions.stored_messages import SendMessage
from gui.connections.cluster import ATTACHED, STORES_KEY, Cluster, kept_text
from gui.main_window.status_bar import StatusBar
from gui.models.replay_order import Goal, ReplayOrder, Speed
from gui.operations.message_job import Chosen, JobState, MessageJob
from gui.operations.tasks import TaskList, TaskState
from gui.processes.worker_options import WorkerArguments
from gui.processes.worker_process import WorkerProcess
from gui.views.messages import job_view
from gui.views.messages.export_dialog import ExportDialog
from gui.views.messages.replay_dialog import ReplayDialog
from gui.views.messages.view import SEARCH, MessagesView
from gui.words import child_words
from gui.words.text import TimeZoneChoice
from monitoring.sources.base import SourceStatus
from tests.gui.test_hits import hits_of
from tests.support.fake_child import FakeChild
from tests.support.fake_page_context import fake_context
from tests.support.fake_shop import READY
from tests.support.fake_source import FakeSource
from tests.support.shown_parts import buttons_of, words_of

TIMEOUT_MS = 120_000
STORE = ["--store", READY.store_directory]


@pytest.fixture
def tasks(qapp):
    return TaskList()


@pytest.fixture
def child():
    return FakeChild()


@pytest.fixture
def job(tasks, child):
    return MessageJob(tasks, "Export", tasks, process=child)


@pytest.fixture
def opened(qtbot, theme, settings, job):
    def made(kind, source=None):
        chosen = Chosen('tag = "A"', 7, 1_000)
        dialog = kind(fake_context(source or FakeSource(), settings, theme=theme), chosen, job=job)
        qtbot.addWidget(dialog)
        dialog.show()
        return dialog

    return made


@pytest.fixture
def settings(tmp_path):
    from PySide6.QtCore import QSettings

    return QSettings(str(tmp_path / "orbit.ini"), QSettings.Format.IniFormat)


# ---- the job ----


def test_progress_of_a_search_is_a_share_and_a_task(job, child, tasks):
    job.start(["search"])
    child.error_read.emit("plan: scan of the log")
    child.error_read.emit("progress: scanned 3,200 of 12,800, 214 hits")
    (task,) = tasks.running
    assert (job.share, task.share, task.text) == (0.25, 0.25, "scanned 3,200 of 12,800, 214 hits")
    assert job.lines == ["plan: scan of the log"]
    child.error_read.emit("complete: 900 hits in 12,800 messages")
    child.end()
    assert (job.state, job.last, task.state) == (JobState.COMPLETE, "complete: 900 hits in 12,800 messages", TaskState.DONE)


def test_progress_of_a_replay_is_what_is_no_longer_left(job, child):
    job.start(["replay"])
    child.error_read.emit("journal: /data/r 1, 80 of 100 messages to send")
    child.error_read.emit("progress: 30 sent, 1 left out, 60 left")
    assert (job.folder, job.share) == ("/data/r 1", 0.4)
    job.pause()
    job.pause()
    job.resume()
    assert child.told == ["pause", "resume"]


def test_progress_of_a_replay_of_one_message(job, child):
    job.start(["replay"])
    child.error_read.emit("journal: /data/r, 1 of 1 message to send")
    child.error_read.emit("progress: 1 sent, 0 left")
    assert (job.folder, job.share) == ("/data/r", 1.0)


def test_a_replay_is_paused_from_the_list_of_tasks(qtbot, theme, job, child, tasks):
    job.start(["replay"], can_pause=True)
    (task,) = tasks.running
    bar = StatusBar(theme, tasks, TimeZoneChoice(utc=True))
    qtbot.addWidget(bar)
    bar.show()
    bar.tasks_button.click()
    listed = QApplication.activePopupWidget()
    pause = buttons_of(listed)[0]
    assert (task.can_pause, task.is_paused, pause.toolTip()) == (True, False, "Pause")
    pause.click()
    assert (job.state, task.is_paused, pause.toolTip()) == (JobState.PAUSED, True, "Go on")
    assert "Paused" in words_of(listed)
    job.resume()
    assert pause.toolTip() == "Pause", "where it is paused in its own window, the list says so"
    assert child.told == ["pause", "resume"]
    child.end()
    assert (task.can_pause, pause.isHidden()) == (False, True)
    listed.close()


def test_an_export_cannot_be_paused(job, tasks):
    job.start(["search"])
    (task,) = tasks.running
    task.toggle_pause()
    assert (task.can_pause, job.state) == (False, JobState.RUNNING)


def test_an_end_is_told_once(qtbot, theme, job, child):
    view = job_view.JobView(theme, job)
    qtbot.addWidget(view)
    job.start(["copy"])
    child.error_read.emit("complete: 248 copied; receipt: /r")
    child.end()
    assert view.outcome.text() == "Complete: 248 copied; receipt: /r"


def test_what_was_said_is_not_looked_at_anew_with_every_line(qtbot, theme, job, child, monkeypatch):
    looked_at = []
    monkeypatch.setattr(child_words, "_anew", lambda line, _depth: looked_at.append(line) or line)
    view = job_view.JobView(theme, job)
    qtbot.addWidget(view)
    job.start(["replay"])
    lines = [f"said as number {number}" for number in range(40)]
    for line in lines:
        child.error_read.emit(line)
    assert view.said.toPlainText().splitlines() == lines
    assert sorted(looked_at) == sorted(lines)


@pytest.mark.parametrize(
    ("code", "states"),
    [
        (1, (JobState.PARTIAL, TaskState.DONE)),
        (2, (JobState.FAILED, TaskState.FAILED)),
        (130, (JobState.CANCELLED, TaskState.CANCELLED)),
    ],
)
def test_a_job_ends_as_its_process_says(job, child, tasks, code, states):
    job.start(["search"])
    (task,) = tasks.running
    child.end(code, cancelled=code == 130, error="orbit search: no")
    assert ((job.state, task.state), job.is_running) == (states, False)


def test_a_job_is_given_up_from_the_list_of_tasks(job, child, tasks):
    job.start(["search"])
    tasks.running[0].cancel()
    assert child.cancels == 1


# ---- export ----


def test_an_export_runs_the_search_of_the_list_with_its_time(opened, child, tmp_path):
    dialog = opened(ExportDialog)
    dialog.format.choose("parquet")
    dialog.export(tmp_path / "a.parquet")
    assert child.started == [[
        "search", *STORE, "--format", "parquet", "--out", str(tmp_path / "a.parquet"), "--now", "1000", "--parent-pipe", "--",
        'tag = "A"',
    ]]  # fmt: skip
    assert (dialog.go.isEnabled(), dialog.close_button.text()) == (False, "Stop")
    dialog.reject()
    assert child.cancels == 1
    child.end(143, cancelled=True)
    assert (dialog.job.state, dialog.go.isEnabled(), dialog.show_button.isHidden()) == (JobState.CANCELLED, True, True)


def test_messages_of_an_attached_cluster_are_found_by_its_name_server(opened, child, tmp_path):
    source = FakeSource()
    source.ready = replace(READY, has_store=False)
    opened(ExportDialog, source=source).export(tmp_path / "a.jsonl")
    assert child.started[0][1:3] == ["--ns", READY.name_server]


# ---- attached clusters ----

DETAILS = '{"nameServers": "h:1", "accessKey": "ann", "secretKey": "hidden"}'


@pytest.fixture
def attached():
    source = FakeSource()
    source.ready = replace(READY, has_store=False, name_server="h:1")
    source.connect_details = DETAILS
    return source


def test_keys_of_a_connection_go_to_the_input_of_its_commands_and_not_onto_their_line(opened, child, attached, tmp_path):
    opened(ExportDialog, source=attached).export(tmp_path / "a.jsonl")
    assert child.started[0][1:4] == ["--ns", "h:1", "--connection-details"]
    child.end()
    dialog = opened(ReplayDialog, source=attached)
    dialog.topic_text.setText("orders")
    dialog.go.click()
    child.end()
    dialog.resume("/data/r")
    assert child.started[1][1:4] == ["--ns", "h:1", "--connection-details"]
    assert child.started[2] == ["replay", "--resume", "/data/r", "--control", "--connection-details"]
    assert child.told == [DETAILS] * 3
    assert "hidden" not in str(child.started)


def test_a_saved_connection_is_a_goal_by_its_name_and_a_production_one_asks_for_it(opened, child, attached, settings):
    kept = [Cluster(ATTACHED, "p:1", title="Prod", production=True), Cluster(ATTACHED, "t:1", title="Test")]
    settings.setValue(STORES_KEY, [kept_text(cluster) for cluster in kept])
    dialog = opened(ReplayDialog, source=attached)
    dialog.topic_text.setText("orders")
    dialog.name_server.setText("p:1")
    assert (dialog.go.isEnabled(), dialog.resume_button.isEnabled(), dialog.dry_button.isEnabled()) == (False, False, True)
    dialog.cluster_typed.setText("Prod")
    assert dialog.go.isEnabled()
    dialog.name_server.setText("Test")
    assert dialog.cluster_typed.isHidden()
    dialog.go.click()
    words = child.started[-1]
    assert words[words.index("--to-connection") + 1] == "Test"
    assert "--to-ns" not in words


# ---- replay ----


def order(**given):
    return ReplayOrder(
        **{"place": STORE, "filter": "queue = 1", "goal": Goal.TOPIC, "name": "orders", "name_server": "h:1"} | given
    )


def test_a_replay_says_all_that_was_asked_for():
    assert order().arguments(dry_run=False) == [
        "replay", *STORE, "--to", "orders", "--to-ns", "h:1", "--control", "--", "queue = 1",
    ]  # fmt: skip
    asked = order(goal=Goal.GROUP, speed=Speed.ORIGINAL, pace=10.0, new_ids=True, partial=True, now_ms=5)
    assert asked.arguments(dry_run=True) == [
        "replay", *STORE, "--to-group", "orders", "--to-ns", "h:1", "--speed", "10", "--now", "5", "--new-ids",
        "--allow-partial", "--dry-run", "--", "queue = 1",
    ]  # fmt: skip
    by_file = order(goal=Goal.ORIGIN, file="/x.csv", speed=Speed.RATE, pace=0.5).arguments(dry_run=False)
    assert by_file == ["replay", "--from-file", "/x.csv", "--to-origin", "--to-ns", "h:1", "--rate", "0.5", "--control"]


@pytest.mark.parametrize("missing", [{"name": ""}, {"name_server": ""}, {"filter": ""}, {"place": ()}])
def test_what_is_missing_is_said(missing):
    assert order(**missing).fault
    assert order(goal=Goal.ORIGIN, name="", file="x", filter="").fault == ""


def test_a_dry_run_a_run_a_stop_and_on_from_the_journal(opened, child):
    dialog = opened(ReplayDialog)
    assert not dialog.go.isEnabled()
    dialog.topic_text.setText("orders")
    dialog.dry_button.click()
    assert "--dry-run" in child.started[-1]
    assert dialog.pause_button.isHidden()
    child.end()
    dialog.go.click()
    assert "--control" in child.started[-1]
    child.error_read.emit("journal: /data/r, 9 of 9 messages to send")
    dialog.pause_button.click()
    assert (dialog.pause_button.text(), child.told) == ("Go on", ["pause"])
    dialog.close_button.click()
    child.error_read.emit("partial: 3 sent, 6 left; it was stopped; receipt: x; go on with: orbit replay --resume /data/r")
    child.end(130, cancelled=True)
    assert dialog.go.text() == "Go on"
    dialog.go.click()
    assert child.started[-1] == ["replay", "--resume", "/data/r", "--control"]
    child.error_read.emit("journal: /data/r, 6 of 9 messages to send")
    child.end(-9, crashed=True)
    assert dialog.go.text() == "Go on"
    dialog.go.click()
    assert child.started[-1] == ["replay", "--resume", "/data/r", "--control"]
    child.error_read.emit("journal: /data/r, 6 of 9 messages to send")
    child.error_read.emit("complete: 9 sent; receipt: x")
    child.end()
    assert dialog.go.text() == "Send them again"


def test_a_connection_that_only_looks_sends_nothing_to_its_own_cluster(opened, child):
    source = FakeSource()
    source.read_only = True
    dialog = opened(ReplayDialog, source=source)
    dialog.topic_text.setText("orders")
    assert not dialog.go.isEnabled()
    dialog.name_server.setText("elsewhere:9876")
    assert dialog.go.isEnabled()


def test_a_file_takes_the_place_of_the_search(opened, child):
    dialog = opened(ReplayDialog)
    dialog.use_file("/data/x.jsonl")
    dialog.goal.choose("origin")
    dialog.start(dry_run=True)
    assert child.started[-1][1:3] == ["--from-file", "/data/x.jsonl"]


# ---- the page ----


def test_several_selected_hits_are_meant_else_the_whole_result(show_page):
    view = show_page(MessagesView, FakeSource())
    view.tabs.setCurrentIndex(SEARCH)
    panel = view.search
    assert panel.export() is None
    panel.search("queue >= 0")
    panel.model.append(hits_of([256, 512, 768]))
    assert panel.chosen().filter == "queue >= 0"
    panel.grid.select_first()
    assert panel.chosen().filter == "queue >= 0"
    selection = panel.grid.view.selectionModel()
    selection.select(panel.model.index(1, 0), QItemSelectionModel.SelectionFlag.Select | QItemSelectionModel.SelectionFlag.Rows)
    assert panel.chosen() == Chosen("position in (256, 512)", 2)
    dialog = panel.replay()
    assert dialog.order.filter == "position in (256, 512)"
    dialog.reject()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_export_and_replay_of_a_real_broker(qtbot, tmp_path, monkeypatch, show_page):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    settings = {"mappedFileSizeCommitLog": "1048576", "maxHashSlotNum": "1000", "maxIndexNum": "4000"}
    worker = WorkerProcess(WorkerArguments(tmp_path / "store", 0, 0, settings=settings))
    worker.start()
    source = worker.source
    qtbot.waitUntil(lambda: source.status is SourceStatus.READY and source.state is not None, timeout=TIMEOUT_MS)
    try:
        answers: list[object] = []
        for number in range(5):
            message = SendMessage("orders", 0, b"body %d" % number, {"TAGS": "A"})
            source.ask(message).then(answers.append, answers.append)
        qtbot.waitUntil(lambda: len(answers) == 5, timeout=TIMEOUT_MS)
        view = show_page(MessagesView, source)
        panel = view.search
        panel.search('topic = "orders" and body contains "body"')
        qtbot.waitUntil(lambda: panel.run.is_over and panel.model.rowCount() == 5, timeout=TIMEOUT_MS)
        exported = panel.export()
        file = tmp_path / "orders.jsonl"
        exported.export(file)
        qtbot.waitUntil(lambda: not exported.job.is_running, timeout=TIMEOUT_MS)
        assert exported.job.state is JobState.COMPLETE, exported.job.lines
        assert [json.loads(line)["queueOffset"] for line in file.read_text(encoding="utf-8").splitlines()] == list(range(5))
        replayed = panel.replay()
        replayed.topic_text.setText("orders")
        replayed.start(dry_run=False)
        qtbot.waitUntil(lambda: not replayed.job.is_running, timeout=TIMEOUT_MS)
        assert replayed.job.state is JobState.COMPLETE, replayed.job.lines
        panel.search('topic = "orders" and prop.ORBIT_ORIGIN_ID contains "7F"')
        qtbot.waitUntil(lambda: panel.run.is_over and panel.model.rowCount() == 5, timeout=TIMEOUT_MS)
        for dialog in (exported, replayed):
            dialog.reject()
    finally:
        if worker.is_running:
            with qtbot.waitSignal(worker.stopped, timeout=TIMEOUT_MS):
                worker.stop()
