"""`orbit watch` and its refusals, as processes."""

import signal
import sqlite3
import subprocess
import sys
from contextlib import contextmanager

import pytest

from broker_core.api import NetworkError, StoreError, UsageError
from broker_core.worker.commands.watch import main as watch
from broker_core.worker.questions.administration import CreateTopic
from tests.support.worker_driver import DEADLINE_S, MAIN, WorkerDriver


@pytest.fixture
def name_server(tmp_path):
    with WorkerDriver(tmp_path / "store") as worker:
        ready = worker.wait_ready()
        worker.ask(CreateTopic("orders", 2, 2))
        yield ready.name_server


@contextmanager
def watching(name_server, folder, *words):
    line = [sys.executable, str(MAIN), "watch", "--ns", name_server, "--folder", str(folder), *words]
    with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_it_records_until_it_is_stopped_and_one_at_a_time(tmp_path, name_server):
    folder = tmp_path / "recorded"
    with watching(name_server, folder) as first:
        said = first.stdout.readline()
        assert said.split()[:2] == ["watching", f"name-server={name_server}"]
        with watching(name_server, folder) as second:
            _out, error = second.communicate(timeout=DEADLINE_S)
            assert second.returncode == StoreError.exit_code
            assert "another Orbit process records this connection" in error
        first.send_signal(signal.SIGTERM)
        first.communicate(timeout=DEADLINE_S)
        assert first.returncode == 0
    with sqlite3.connect(folder / "orbit" / "history.db") as history:
        kinds = [kind for (kind,) in history.execute("SELECT kind FROM events ORDER BY id")]
    history.close()
    assert (kinds[0], kinds[-1]) == ("recording_began", "recording_ended")


@pytest.mark.parametrize("seconds", ["0", "-5", "nan"])
def test_no_time_at_all_is_refused(tmp_path, capsys, seconds):
    argv = ["--ns", "127.0.0.1:1", "--folder", str(tmp_path / "recorded"), "--seconds", seconds]
    assert watch(argv, open_history=None) == UsageError.exit_code
    assert f"orbit watch: {float(seconds):g} seconds cannot be recorded" in capsys.readouterr().err
    assert not (tmp_path / "recorded").exists()


def test_it_ends_while_it_waits_for_a_name_server(tmp_path):
    with watching("127.0.0.1:1", tmp_path / "recorded") as waiting:
        assert any("cannot connect to 127.0.0.1:1" in line for line in waiting.stderr)
        waiting.send_signal(signal.SIGTERM)
        waiting.communicate(timeout=DEADLINE_S)
        assert waiting.returncode == 0


def test_a_time_in_which_nobody_answered_is_a_failure(tmp_path):
    with watching("127.0.0.1:1", tmp_path / "recorded", "--seconds", "0.5") as waiting:
        _out, error = waiting.communicate(timeout=DEADLINE_S)
        assert waiting.returncode == NetworkError.exit_code
    assert error.splitlines()[-1].startswith("orbit watch: nothing was recorded in 0.5 s: cannot connect to 127.0.0.1:1 ")
