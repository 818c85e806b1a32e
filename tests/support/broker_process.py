"""A real broker process, started as a user starts it: ``python main.py broker``."""

from __future__ import annotations

import contextlib
import queue
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support.machine_code import uses_machine_code

CHECKOUT = Path(__file__).resolve().parents[2]
_READY = re.compile(r"ready name-server=(\S+) broker=(\S+) store=(.*)")
_START_SECONDS = 60.0
_STOP_SECONDS = 30.0


@dataclass(slots=True)
class BrokerProcess:
    """A broker that runs; addresses as clients use them."""

    process: subprocess.Popen[str]
    name_server: str
    broker: str
    store: Path
    was_killed: bool = False

    def kill(self) -> None:
        """End it as a crash would."""
        self.was_killed = True
        self.process.kill()
        self.process.wait()


@contextlib.contextmanager
def running_broker(store: Path, *options: str, name_server_port: int = 0, port: int = 0) -> Iterator[BrokerProcess]:
    """Start a broker on ``store`` and stop it at the end; fails when it does not become ready or does not stop cleanly."""
    command = [sys.executable, "main.py", "broker", "--ns-port", str(name_server_port), "--port", str(port)]
    command += ["--set", f"orbitNative={'on' if uses_machine_code() else 'off'}"]
    process = subprocess.Popen(
        [*command, "--store", str(store), *options],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        running = _wait_until_ready(process, store)
        yield running
        if not running.was_killed:
            process.terminate()
            assert process.wait(_STOP_SECONDS) == 0
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _wait_until_ready(process: subprocess.Popen[str], store: Path) -> BrokerProcess:
    lines: queue.Queue[str] = queue.Queue()
    # The reader goes on after the ready line, so that a full pipe never stops the broker.
    threading.Thread(target=_read_lines, args=(process, lines), name="broker output", daemon=True).start()
    seen: list[str] = []
    while True:
        try:
            line = lines.get(timeout=_START_SECONDS)
        except queue.Empty:
            raise AssertionError(f"the broker was not ready in {_START_SECONDS} s; it said: {''.join(seen)}") from None
        match = _READY.match(line)
        if match:
            return BrokerProcess(process, match[1], match[2], store)
        if not line:
            raise AssertionError(f"the broker ended with {process.wait()}; it said: {''.join(seen)}")
        seen.append(line)


def _read_lines(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    assert process.stdout is not None
    with contextlib.suppress(ValueError):  # closed at the end of the test
        for line in process.stdout:
            lines.put(line)
    lines.put("")
