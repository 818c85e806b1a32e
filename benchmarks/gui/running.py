"""Orbit's window with its real worker, for measurements: started, driven and ended inside one process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from PySide6.QtCore import QEventLoop, QTimer

from gui.app.console import Console, make_application
from gui.app.window_options import WindowOptions
from gui.event_loop.garbage import GarbageTurns
from gui.processes.demo import DemoPace
from gui.processes.worker_options import WorkerArguments
from monitoring.sources.base import SourceStatus

START_TIMEOUT_S = 60.0
END_TIMEOUT_S = 20.0


class Running:
    """A console on a store of its own, or attached to a cluster; a context manager."""

    def __init__(self, folder: Path, *, connect: str = "") -> None:
        os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
        self.application = make_application()
        worker = WorkerArguments(folder / "store", name_server_port=0, broker_port=0, connect=connect)
        settings = folder / "window.ini"
        self.console = Console(self.application, WindowOptions(worker, language="en", theme="dark", settings_file=settings))
        self.window = self.console.window
        self._garbage = GarbageTurns()

    def __enter__(self) -> Self:
        self._garbage.__enter__()
        self.window.resize(1440, 900)
        self.window.show()
        source = self.console.worker.source
        self.console.begin()
        if not self.wait_for(lambda: source.status is SourceStatus.READY and source.state is not None, START_TIMEOUT_S):
            raise RuntimeError(f"the broker was not ready after {START_TIMEOUT_S:.0f} s: {source.reason}")
        return self

    def __exit__(self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None) -> None:
        self.window.close()
        self.wait_for(lambda: not self.console.children_processes.any_running, END_TIMEOUT_S)
        self._garbage.__exit__(None, None, None)

    @property
    def name_server(self) -> str:
        ready = self.console.worker.source.ready
        assert ready is not None
        return ready.name_server

    def play_demo(self, seconds: float) -> None:
        """Let the demo run from now on, and wait a while."""
        self.console.demo.start(self.name_server, DemoPace.NORMAL)
        self.wait(seconds)

    def wait(self, seconds: float) -> None:
        """Run Qt's loop."""
        loop = QEventLoop()
        QTimer.singleShot(round(seconds * 1_000), loop.quit)
        loop.exec()

    def wait_for(self, done: Callable[[], bool], seconds: float) -> bool:
        """Run Qt's loop until something is so; returns whether it is."""
        end = time.monotonic() + seconds
        while not done() and time.monotonic() < end:
            self.wait(0.02)
        return done()
