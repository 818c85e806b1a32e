"""The command line, as a person types it."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from broker_core.errors import PortInUseError, StoreError, UsageError
from tests.support.broker_process import running_broker

MAIN = Path(__file__).resolve().parents[2] / "main.py"
SECONDS = 60


def orbit(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, str(MAIN), *arguments], capture_output=True, text=True, timeout=SECONDS, check=False)


@pytest.mark.parametrize("command", [[], ["broker"], ["worker"], ["demo"], ["gallery"], ["report"], ["store"]])
def test_every_command_has_a_help(command: list[str]):
    done = orbit(*command, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("usage: orbit")


def test_the_help_names_the_commands_and_exit_codes_but_not_the_worker():
    text = orbit("--help").stdout
    assert all(f"    {command} " in text for command in ("broker", "report", "store", "demo", "gallery"))
    assert "exit codes: 0 success" in text
    assert "    worker " not in text


def test_the_version_is_printed():
    assert orbit("--version").stdout.startswith("orbit 0.")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_no_thread_is_started_for_products_of_matrices():
    program = 'import os, main; main.main(["--version"]); import numpy; print(len(os.listdir("/proc/self/task")))'
    environment = {name: text for name, text in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=MAIN.parent, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[-1] == "1"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--port", "70000"], "from 0 (any free one) to 65535, not “70000”"),
        (["--set", "flushDiskType"], "--set takes KEY=VALUE"),
        (["--set", "flushDisk=x"], "there is no broker setting “flushDisk”"),
        (["--set", "flushDiskType=SOMETIMES"], "takes ASYNC_FLUSH or SYNC_FLUSH, not “SOMETIMES”"),
        (["--flush", "never"], "invalid choice"),
    ],
)
def test_a_wrong_argument_is_told_with_what_is_right(arguments: list[str], words: str):
    done = orbit("broker", *arguments)
    assert done.returncode == UsageError.exit_code
    assert words in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("arguments", [[], ["--out", "pictures", "--readme"]])
def test_the_gallery_takes_a_folder_or_the_pictures_of_the_readme(arguments: list[str]):
    done = orbit("gallery", *arguments)
    assert done.returncode == UsageError.exit_code
    assert "--readme" in done.stderr


def test_a_wrong_setting_of_the_window_is_told_without_a_window():
    done = orbit("--set", "nonsense=1")
    assert done.returncode == UsageError.exit_code
    assert "there is no broker setting “nonsense”" in done.stderr


def test_the_broker_says_where_it_is_and_stops_cleanly(tmp_path: Path):
    with running_broker(tmp_path / "store") as broker:
        for address in (broker.name_server, broker.broker):
            host, port = address.split(":")
            socket.create_connection((host, int(port)), SECONDS).close()
    assert not (tmp_path / "store" / "abort").exists()


def test_ctrl_c_stops_the_broker_cleanly(tmp_path: Path):
    process = subprocess.Popen(
        [sys.executable, str(MAIN), "--ns-port", "0", "broker", "--port", "0", "--store", str(tmp_path / "store")],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("ready name-server=127.0.0.1:")
    assert line.endswith(f"store={tmp_path / 'store'}\n")
    process.send_signal(signal.SIGINT)
    assert process.wait(SECONDS) == 0
    assert process.stdout.read() == ""
    process.stdout.close()


def test_a_port_in_use_is_named_with_what_to_do(tmp_path: Path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = orbit("broker", "--ns-port", str(port), "--port", "0", "--store", str(tmp_path / "store"))
    assert done.returncode == PortInUseError.exit_code
    assert f"{port}" in done.stderr.splitlines()[-1]
    assert done.stderr.splitlines()[-1].startswith("orbit: ")


def test_a_store_in_use_is_told_with_its_owner(tmp_path: Path):
    with running_broker(tmp_path / "store") as broker:
        done = orbit("broker", "--ns-port", "0", "--port", "0", "--store", str(tmp_path / "store"))
        assert done.returncode == StoreError.exit_code
        assert str(broker.process.pid) in done.stderr


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path):
    folder = tmp_path / "closed"
    folder.mkdir(mode=0o500)
    done = orbit("broker", "--ns-port", "0", "--port", "0", "--store", str(folder / "store"))
    assert done.returncode == StoreError.exit_code
    assert str(folder) in done.stderr
