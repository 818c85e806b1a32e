"""Runs the real worker process over pipes, as the window does, but without Qt."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from broker_core.api import Failure, Reply, WorkerClient, WorkerMessage, error_from_wire
from broker_core.worker.questions.lifecycle import Fatal, Ready
from broker_core.worker.questions.question import Question

MAIN = Path(__file__).resolve().parents[2] / "main.py"
DEADLINE_S = 100.0
"""Below the time-out of a test, so that it is told where the worker stood."""

_M = TypeVar("_M")


class WorkerDriver:
    """One worker process.

    Args:
        store: Its store directory; logs go beside it.
        arguments: More of its command line; both ports are free ones unless given.
        prelude: Python that runs in the worker's process before ``main``.
    """

    def __init__(self, store: Path, arguments: Sequence[str] = (), *, prelude: str = "") -> None:
        ports = [] if "--port" in arguments else ["--ns-port", "0", "--port", "0"]
        line = ["worker", "--store", str(store), "--log-dir", str(store.parent / "log"), *ports, *arguments]
        program = [str(MAIN)]
        if prelude:
            code = (
                f"import sys, runpy; sys.argv = {[str(MAIN), *line]!r}; sys.path.insert(0, {str(MAIN.parent)!r})\n{prelude}\n"
            )
            program = ["-c", code + f"runpy.run_path({str(MAIN)!r}, run_name='__main__')"]
        self.error_log = store.parent / f"worker-{time.monotonic_ns()}.stderr"
        with self.error_log.open("wb") as errors:
            self.process = subprocess.Popen(
                [sys.executable, *program, *([] if prelude else line)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={**os.environ, "PYTHONWARNINGS": "default", "PYTHONFAULTHANDLER": "1"},
            )
        self.messages: list[WorkerMessage] = []
        self.fault: Exception | None = None
        self.client = WorkerClient()
        self._changed = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, name="driver-reader", daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self._reader.join(DEADLINE_S)
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()

    def wait_ready(self) -> Ready:
        """Wait until clients are served; a `Fatal` is raised as its error."""
        self.wait(lambda: self.last(Ready) or self.last(Fatal))
        fatal = self.last(Fatal)
        if fatal is not None:
            raise error_from_wire(fatal.kind, fatal.message, fatal.context)
        ready = self.last(Ready)
        assert ready is not None
        return ready

    def last(self, kind: type[_M]) -> _M | None:
        """The newest message of a kind."""
        return next((message for message in reversed(self.messages) if isinstance(message, kind)), None)

    def wait(self, condition: Callable[[], object], deadline_s: float = DEADLINE_S) -> None:
        """Wait for a condition, checked after each message."""
        with self._changed:
            met = self._changed.wait_for(lambda: condition() or self._ended, deadline_s)
        assert met, f"not in {deadline_s} s; last messages: {self.messages[-3:]}; {self.end_with_stacks()}"
        if not condition():
            raise AssertionError(f"the worker ended first: {self.fault!r} {self.error_log.read_text()[-3000:]}")

    def end_with_stacks(self) -> str:
        """End a worker that does not get on; returns where its threads were, to be told by the test that waited in vain."""
        self.process.send_signal(signal.SIGABRT)
        self.process.wait(DEADLINE_S)
        return self.error_log.read_text()[-6_000:]

    def ask(self, query: Question[Any]) -> Any:
        """Send a query and wait for its answer; a `Failure` is raised as its error."""
        with self._changed:
            request_id, data = self.client.request(query)
        self.send(data)

        def answer() -> Reply | Failure | None:
            answers = (m for m in self.messages if isinstance(m, Reply | Failure) and m.request_id == request_id)
            return next(answers, None)

        self.wait(answer)
        found = answer()
        if isinstance(found, Failure):
            raise error_from_wire(found.kind, found.message, found.context)
        assert isinstance(found, Reply)
        return found.body

    def send(self, data: bytes) -> None:
        """Write raw bytes to the worker."""
        assert self.process.stdin is not None
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def end_input(self) -> int:
        """Close the worker's input and wait for its end; returns its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(DEADLINE_S)

    def _read(self) -> None:
        assert self.process.stdout is not None
        fd = self.process.stdout.fileno()
        while data := os.read(fd, 65_536):
            with self._changed:
                try:
                    self.messages += self.client.receive(data)
                except Exception as error:  # noqa: BLE001  told by the next wait
                    self.fault = error
                    break
                self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()
