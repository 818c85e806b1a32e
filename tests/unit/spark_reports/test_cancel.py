import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from broker_core.platform.signals import end_with_input
from spark_reports.cancel import Cancellation, Interrupt

ROOT = Path(__file__).resolve().parents[3]


def close_and_wait_for_a_signal(writing):
    os.close(writing)
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        signal.sigtimedwait([], 0.01)


@pytest.fixture
def cancellation():
    import logging

    cancellation = Cancellation()
    former = signal.getsignal(signal.SIGTERM)
    cancellation.install()
    cancellation.install()
    yield cancellation
    cancellation.uninstall()
    logging.disable(logging.NOTSET)
    assert signal.getsignal(signal.SIGTERM) is former


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_runs_the_actions_and_unwinds(cancellation, number):
    called = []
    cancellation.on_request(lambda: called.append("first"))
    cancellation.on_request(lambda: called.append("last"))
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    assert (cancellation.requested, called) == (True, ["last", "first"])


def test_a_second_signal_does_nothing(cancellation):
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGTERM)
    signal.raise_signal(signal.SIGTERM)


class Swallows:
    """Python drops what is raised here."""

    def __del__(self):
        signal.raise_signal(signal.SIGTERM)


def test_a_request_that_a_finalizer_swallowed_is_found_again(cancellation, monkeypatch):
    dropped = []
    monkeypatch.setattr("sys.unraisablehook", lambda told: dropped.append(told.exc_type))
    cancellation.check()
    Swallows()
    assert dropped == [Interrupt]
    with pytest.raises(KeyboardInterrupt):
        cancellation.check()


IN_TEXT = """
import signal, sys
from spark_reports.cancel import Cancellation
Cancellation().install()
try:
    exec("signal.raise_signal(signal.SIGTERM)")
except KeyboardInterrupt:
    sys.exit(130)
"""


def test_a_cancellation_in_the_middle_of_an_import_ends_with_the_programs_own_exit_code(tmp_path):
    (tmp_path / "cancelled.py").write_text(IN_TEXT, encoding="utf-8")
    command, environment = [sys.executable, "-m", "cancelled"], {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=90)
    assert (ended.returncode, ended.stderr) == (130, "")


def test_the_end_of_input_is_a_request(cancellation, monkeypatch):
    reading, writing = os.pipe()
    with os.fdopen(reading) as end:
        monkeypatch.setattr("sys.stdin", end)
        end_with_input()
        os.write(writing, b"still here")
        with pytest.raises(KeyboardInterrupt):
            close_and_wait_for_a_signal(writing)
