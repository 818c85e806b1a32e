"""The whole program: window, worker process, real clients."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from gui.app.console import Console
from gui.app.end_signals import EndSignals
from gui.app.window_options import WindowOptions
from gui.processes.worker_options import WorkerArguments
from monitoring.sources.base import SourceStatus
from tests.support.broker_process import CHECKOUT
from tests.support.foreign_tools import need_package
from tests.support.window_fixtures import closed_widgets_end, garbage_turns, no_key_is_held, patient_bot  # noqa: F401  fixtures

TIMEOUT_MS = 90_000


class App:
    """The console as `run_window` makes it, driven by a test."""

    def __init__(self, qtbot: QtBot, application: QApplication, folder: Path) -> None:
        self._qtbot = qtbot
        self._folder = folder
        worker = WorkerArguments(folder / "store", name_server_port=0, broker_port=0)
        self.console = Console(application, WindowOptions(worker, language="en", settings_file=folder / "window.ini"))
        self.console.reports.folder = folder / "reports"
        self.source = self.console.worker.source
        self.window = self.console.window

    def start(self) -> None:
        """Show the window and wait for the broker."""
        self.window.show()
        self.until(lambda: self.source.status is SourceStatus.READY, "the broker is not ready")

    def stop(self) -> None:
        """End the children as closing the window does."""
        self.console.demo.stop()
        self.console.reports.end()
        self.console.worker.stop()
        session = self.console.reports.session
        assert session is not None
        children = (self.console.worker, self.console.demo, session)
        self.until(lambda: not any(child.is_running for child in children), "a child is left")
        signals = self.console.findChild(EndSignals)
        assert isinstance(signals, EndSignals)
        signals.close()
        self.window.deleteLater()
        self.console.deleteLater()

    def until(self, condition: Callable[[], object], what: str, *, timeout_ms: int = TIMEOUT_MS) -> None:
        """Let the program run until something is so."""

        def check() -> None:
            assert condition(), f"{what}; source: {self.source.status} {self.source.reason}"

        self._qtbot.waitUntil(check, timeout=timeout_ms)

    def send(self, topic: str, count: int) -> list[list]:
        """Let the C++ client send, with the window alive meanwhile; returns status, id and offset of each message."""
        answer = self._folder / "sent.json"
        with self._client("cpp_client.py", "send", self.name_server, topic, count, answer=answer) as client:
            self.until(lambda: client.poll() is not None, "the client does not end")
            assert client.returncode == 0, (self._folder / "client.log").read_text()[-2_000:]
        results: list[list] = json.loads(answer.read_text(encoding="utf-8").splitlines()[-1])["results"]
        return results

    @contextlib.contextmanager
    def consumer(self, topic: str, group: str) -> Iterator[Callable[[], list[str]]]:
        """A consumer with the C++ client while the block lasts; gives what tells the bodies it has taken."""
        answer = self._folder / "consumed.json"
        with self._client("cpp_consumer.py", self.name_server, topic, group, answer=answer) as client:
            yield lambda: [json.loads(line) for line in answer.read_text(encoding="utf-8").split("\n")[:-1]]
            assert client.stdin is not None
            client.stdin.close()
            self.until(lambda: client.poll() is not None, "the consumer does not end")

    @property
    def name_server(self) -> str:
        assert self.source.ready is not None
        return self.source.ready.name_server

    @contextlib.contextmanager
    def _client(self, script: str, *arguments: object, answer: Path) -> Iterator[subprocess.Popen[bytes]]:
        need_package("rocketmq")
        command = [sys.executable, str(CHECKOUT / "tests" / "support" / script), *map(str, arguments)]
        environment = {**os.environ, "HOME": str(self._folder)}  # the client writes its logs below it
        with answer.open("w") as output, (self._folder / "client.log").open("w") as errors:
            client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=output, stderr=errors, env=environment)
        try:
            yield client
        finally:
            client.kill()
            client.wait()
            assert client.stdin is not None
            client.stdin.close()


@pytest.fixture
def app(qtbot: QtBot, qapp: QApplication, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[App]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    hook = sys.excepthook
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    made = App(qtbot, qapp, tmp_path)
    yield made
    signal.set_wakeup_fd(-1)
    made.stop()
    assert not gc.isenabled(), "Python's own look for garbage can stop this thread for ever: see gui.event_loop.garbage"
    sys.excepthook = hook
    for number, handler in handlers.items():
        signal.signal(number, handler)
