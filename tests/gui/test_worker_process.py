"""Children of the window through `QProcess`: the worker, and children that report by lines."""

import os
import signal
import textwrap
from pathlib import Path

import psutil
import pytest
from pytestqt.qtbot import QtBot

from broker_core import children
from broker_core.api import StoreLockedError, WorkerLostError
from broker_core.worker.questions.administration import CreateTopic
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.stored_messages import BrowseQueue, MessagePage, ReadMessageById, SendMessage, SendReceipt
from gui.processes import child_process
from gui.processes.child_process import ChildEnd, ChildProcess
from gui.processes.worker_options import WorkerArguments
from gui.processes.worker_process import WorkerProcess
from monitoring.sources.base import SourceStatus
from tests.support.process_family import left_running

TIMEOUT_MS = 60_000


def options(folder: Path) -> WorkerArguments:
    return WorkerArguments(folder / "store", name_server_port=0, broker_port=0)


@pytest.fixture
def worker(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    made = WorkerProcess(options(tmp_path))
    yield made
    if made.is_running:
        with qtbot.waitSignal(made.stopped, timeout=TIMEOUT_MS):
            made.stop()


def wait_ready(qtbot: QtBot, worker: WorkerProcess) -> None:
    qtbot.waitUntil(lambda: worker.source.status is not SourceStatus.STARTING, timeout=TIMEOUT_MS)
    assert worker.source.status is SourceStatus.READY, worker.source.reason


def answer_of(qtbot: QtBot, pending) -> object:
    answers: list[object] = []
    pending.then(answers.append, answers.append)
    qtbot.waitUntil(lambda: bool(answers), timeout=TIMEOUT_MS)
    return answers[0]


def test_the_command_line_of_the_worker_carries_all_options():
    made = WorkerArguments(Path("s"), 1, 2, "0.0.0.0", "sync", any_port=True, settings={"regionId": "r"}, read_only=True)
    line = "worker --store s --ns-port 1 --port 2 --bind 0.0.0.0 --flush sync --any-port --read-only --set regionId=r"
    assert made.arguments() == line.split()


def test_the_command_line_of_a_worker_that_only_reads_says_so():
    assert WorkerArguments(Path("s"), files_only=True, any_port=False).arguments()[-1] == "--files-only"


def test_the_worker_starts_feeds_the_source_and_stops(qtbot: QtBot, worker: WorkerProcess):
    worker.start()
    worker.start()
    wait_ready(qtbot, worker)
    source = worker.source
    assert answer_of(qtbot, source.ask(CreateTopic("orders", 1, 1))) == Done()
    receipt = answer_of(qtbot, source.ask(SendMessage("orders", 0, b"hello", {})))
    assert isinstance(receipt, SendReceipt)
    page = answer_of(qtbot, source.ask(BrowseQueue("orders", 0, 0, 10)))
    assert isinstance(page, MessagePage)
    assert page.body_start == [b"hello"]
    qtbot.waitUntil(lambda: source.state is not None and source.state.totals["put_messages"] == 1, timeout=TIMEOUT_MS)
    with qtbot.waitSignal(worker.stopped, timeout=TIMEOUT_MS):
        worker.stop()
    assert source.status is SourceStatus.STOPPED
    assert not worker.is_running


def test_a_large_answer_comes_through_in_slices(qtbot: QtBot, worker: WorkerProcess):
    worker.start()
    wait_ready(qtbot, worker)
    body = os.urandom(3_000_000)
    receipt = answer_of(qtbot, worker.source.ask(SendMessage("orders", 0, body, {})))
    assert isinstance(receipt, SendReceipt), receipt
    assert answer_of(qtbot, worker.source.ask(ReadMessageById(receipt.offset_message_id))).body == body


def test_a_killed_worker_is_lost_with_the_reason_and_can_be_restarted(qtbot: QtBot, worker: WorkerProcess):
    worker.start()
    wait_ready(qtbot, worker)
    assert answer_of(qtbot, worker.source.ask(CreateTopic("orders", 1, 1))) == Done()
    assert isinstance(answer_of(qtbot, worker.source.ask(SendMessage("orders", 0, b"kept", {}))), SendReceipt)
    with qtbot.waitSignal(worker.lost, timeout=TIMEOUT_MS) as lost:
        os.kill(worker.pid, signal.SIGKILL)
    (reason,) = lost.args
    assert isinstance(reason, WorkerLostError)
    assert "signal 9 (SIGKILL), as the system does where memory runs out" in reason.message
    assert worker.source.status is SourceStatus.LOST
    worker.restart()
    wait_ready(qtbot, worker)
    page = answer_of(qtbot, worker.source.ask(BrowseQueue("orders", 0, 0, 10)))
    assert isinstance(page, MessagePage)
    assert page.body_start == [b"kept"]


def test_a_restart_of_a_running_worker_gives_another_process(qtbot: QtBot, worker: WorkerProcess):
    worker.start()
    wait_ready(qtbot, worker)
    first = worker.pid
    with qtbot.waitSignal(worker.started, timeout=TIMEOUT_MS):
        worker.restart()
    wait_ready(qtbot, worker)
    assert worker.pid != first


def test_a_second_window_is_told_who_has_the_store(qtbot: QtBot, worker: WorkerProcess, tmp_path: Path):
    worker.start()
    wait_ready(qtbot, worker)
    second = WorkerProcess(options(tmp_path))
    with qtbot.waitSignal(second.lost, timeout=TIMEOUT_MS) as lost:
        second.start()
    (reason,) = lost.args
    assert isinstance(reason, StoreLockedError)
    assert reason.context["pid"] == worker.pid


def test_a_worker_that_does_not_start_is_lost(qtbot: QtBot, worker: WorkerProcess, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    with qtbot.waitSignal(worker.lost, timeout=TIMEOUT_MS) as lost:
        worker.start()
    assert "could not be started" in lost.args[0].message
    assert not worker.is_running


def test_the_last_words_of_a_broken_worker_are_in_the_reason(
    qtbot: QtBot, worker: WorkerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    script = tmp_path / "main.py"
    script.write_text("import sys; sys.exit('a library is missing')\n")
    monkeypatch.setattr(children, "_MAIN", script)
    with qtbot.waitSignal(worker.lost, timeout=TIMEOUT_MS) as lost:
        worker.start()
    assert "exit code 1. Its last words: a library is missing" in lost.args[0].message


def test_a_worker_that_talks_nonsense_is_ended(
    qtbot: QtBot, worker: WorkerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    script = tmp_path / "main.py"
    script.write_text("import sys, time; print('hello', flush=True); time.sleep(600)\n")
    monkeypatch.setattr(children, "_MAIN", script)
    with qtbot.waitSignal(worker.lost, timeout=TIMEOUT_MS) as lost:
        worker.start()
    assert lost.args[0].kind == "CodecError"


def test_stopping_without_a_worker_says_stopped_at_once(qtbot: QtBot, worker: WorkerProcess):
    with qtbot.waitSignal(worker.stopped, timeout=TIMEOUT_MS):
        worker.stop()


# ---- children that report by lines ----


class Child:
    """A `ChildProcess` that runs a script instead of ``main.py``."""

    def __init__(self, qtbot: QtBot, folder: Path, monkeypatch: pytest.MonkeyPatch, **given: int) -> None:
        self._qtbot = qtbot
        self._script = folder / "main.py"
        monkeypatch.setattr(children, "_MAIN", self._script)
        self.process = ChildProcess(**given)
        self.lines: list[str] = []
        self.ends: list[ChildEnd] = []
        self.process.line_read.connect(self.lines.append)
        self.process.ended.connect(self.ends.append)

    def start(self, code: str, *arguments: str) -> None:
        self._script.write_text(textwrap.dedent(code))
        self.process.start(arguments)

    def end(self) -> ChildEnd:
        self._qtbot.waitUntil(lambda: bool(self.ends), timeout=TIMEOUT_MS)
        return self.ends[0]

    def wait_line(self, number: int = 0) -> str:
        self._qtbot.waitUntil(lambda: len(self.lines) > number, timeout=TIMEOUT_MS)
        return self.lines[number]


@pytest.fixture
def child(qtbot: QtBot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest):
    made = Child(qtbot, tmp_path, monkeypatch, **getattr(request, "param", {}))
    yield made
    if made.process.is_running:
        made.process.cancel()
        made.end()


def test_lines_come_whole_and_in_order(child: Child):
    child.start("import sys; sys.stdout.write('one\\ntwo ' + sys.argv[1] + '\\r\\nlast without end')", "中文")
    assert child.end().ok
    assert child.lines == ["one", "two 中文", "last without end"]


def test_a_failure_tells_its_last_words_and_its_exit_code(child: Child):
    child.start("import sys; print('orbit: no such report', file=sys.stderr); sys.exit(7)")
    end = child.end()
    assert (end.ok, end.exit_code, end.error_text) == (False, 7, "no such report")


def test_a_child_can_be_started_again_after_its_end(child: Child):
    child.start("print('one')")
    child.end()
    child.ends.clear()
    child.start("print('two')")
    child.end()
    assert child.lines == ["one", "two"]


def test_a_cancelled_child_may_end_by_itself(child: Child):
    child.start("""
        import signal, sys, time
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
        print('ready', flush=True)
        time.sleep(600)
    """)
    child.wait_line()
    child.process.cancel()
    child.process.cancel()
    end = child.end()
    assert (end.cancelled, end.exit_code) == (True, 130)


@pytest.mark.parametrize("child", [{"grace_ms": 300}], indirect=True)
def test_a_child_that_ignores_the_request_is_killed_with_its_children(child: Child):
    child.start("""
        import signal, subprocess, sys, time
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        grandchild = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])
        print(grandchild.pid, flush=True)
        time.sleep(600)
    """)
    grandchild = psutil.Process(int(child.wait_line()))
    child.process.cancel()
    end = child.end()
    assert (end.cancelled, end.crashed) == (True, True)
    assert left_running([grandchild]) == []


def test_what_a_cancelled_child_left_behind_is_ended(child: Child):
    child.start("""
        import signal, subprocess, sys, time
        code = 'import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(600)'
        grandchild = subprocess.Popen([sys.executable, '-c', code], stdout=subprocess.PIPE)
        grandchild.stdout.readline()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
        print(grandchild.pid, flush=True)
        time.sleep(600)
    """)
    grandchild = psutil.Process(int(child.wait_line()))
    child.process.cancel()
    assert child.end().exit_code == 130
    assert left_running([grandchild]) == []


def test_a_child_that_cannot_be_started_says_so(child: Child, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("sys.executable", "/nowhere/python")
    child.start("print('never')")
    end = child.end()
    assert (end.ok, end.exit_code) == (False, -1)
    assert end.error_text


def test_a_child_that_was_killed_says_so_before_its_last_words():
    end = ChildEnd(int(signal.SIGKILL), crashed=True, cancelled=False, error_lines=("WARN something else",))
    assert end.error_text == "the process was killed by signal 9, as the system does where memory runs out"


def test_a_line_without_end_is_cut(child: Child, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(child_process, "LINE_CHARACTERS_MAX", 1_000)
    child.start("print('x' * 5_000_000)")
    assert child.end().ok
    assert all(len(line) <= 1_000 for line in child.lines)
