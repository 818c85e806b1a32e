"""Commands whose output nobody reads any more, as before ``head``: they end without a word, with 141 or 0."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import main
from broker_core.children import environment, main_command
from broker_core.client.admin import AdminClient
from broker_core.errors import UsageError
from broker_core.output import EXIT_PIPE_CLOSED, EXIT_UNWRITABLE
from tests.support.broker_process import running_broker
from tests.support.store_writer import StoreWriter

SECONDS = 90
HELPS = ("", *(command.name for command in main._COMMANDS if command.help), "broker", "worker", "demo", "gallery")
OF_STORE = (
    ("search", "size > 0", "--store", "{store}"),
    ("search", "size > 0", "--store", "{store}", "--format", "csv"),
    ("store", "verify", "{store}"),
    ("store", "dump", "{store}"),
    ("store", "dump", "{store}", "--kind", "queues"),
    ("store", "clean", "{store}"),
    ("doctor",),
    ("doctor", "--json"),
    ("report", "--list"),
    ("report", "throughput", "--store", "{store}", "--estimate"),
    ("desktop", "--help"),
    ("--version",),
)
OF_CLUSTER = (
    ("cluster", "--ns", "{ns}"),
    ("cluster", "--ns", "{ns}", "--json"),
    ("cluster", "--ns", "127.0.0.1:1", "--json"),
    ("doctor", "--ns", "{ns}"),
    ("doctor", "--ns", "{ns}", "--json"),
    ("search", "size > 0", "--ns", "{ns}"),
    ("replay", "size > 0", "--store", "{store}", "--to", "copies", "--to-ns", "{ns}", "--dry-run"),
    ("copy", "--from", "{ns}", "--to-store", "{folder}/target", "--topic", "copies", "--dry-run"),
    ("watch", "--ns", "{ns}", "--seconds", "1", "--folder", "{folder}"),
    ("demo", "--ns", "{ns}", "--seconds", "2"),
)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("of-messages") / "store"
    writer = StoreWriter(root)
    for number in range(2_000):
        writer.append("orders", b"x" * 100, {"KEYS": f"k{number}"})
    writer.flush()
    return root


@pytest.fixture(scope="module")
def name_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    async def with_topic(name_server: str) -> None:
        async with AdminClient(name_server) as admin:
            await admin.create_topic("copies", queues=4)

    with running_broker(tmp_path_factory.mktemp("of-broker") / "store") as broker:
        asyncio.run(with_topic(broker.name_server))
        yield broker.name_server


@contextmanager
def closed_pipe() -> Iterator[int]:
    """The writing end of a pipe that has no reader."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        yield writing
    finally:
        os.close(writing)


def run(*words: str, errors: int = subprocess.PIPE, **places: str) -> subprocess.CompletedProcess[bytes]:
    command = main_command(*(word.format(**places) for word in words))
    with closed_pipe() as output:
        return subprocess.run(command, env=environment(), stdout=output, stderr=errors, check=False, timeout=SECONDS)


def is_quiet(done: subprocess.CompletedProcess[bytes]) -> bool:
    """Whether it ended as the reader wanted; facts for people may stand on the error output."""
    told = any(word in done.stderr for word in (b"Traceback", b"BrokenPipe", b"Broken pipe"))
    return done.returncode in (0, EXIT_PIPE_CLOSED) and not told


@pytest.mark.parametrize("command", HELPS)
def test_help_that_nobody_reads_ends_without_a_word(command):
    done = run(*filter(None, (command, "--help")))
    assert (done.returncode, done.stderr) == (EXIT_PIPE_CLOSED, b"")


@pytest.mark.parametrize("words", OF_STORE, ids=" ".join)
def test_rows_of_a_store_that_nobody_reads_end_without_a_word(words, store):
    done = run(*words, store=str(store))
    assert is_quiet(done), (done.returncode, done.stderr)


@pytest.mark.parametrize("words", OF_CLUSTER, ids=" ".join)
def test_rows_of_a_cluster_that_nobody_reads_end_without_a_word(words, store, name_server, tmp_path):
    done = run(*words, store=str(store), ns=name_server, folder=str(tmp_path))
    assert is_quiet(done), (done.returncode, done.stderr)


def test_each_command_is_among_them():
    tried = {words[0] for words in (*OF_STORE, *OF_CLUSTER)}
    assert {command.name for command in main._COMMANDS if command.help} <= tried


def test_a_broker_whose_line_nobody_reads_ends_without_a_word(tmp_path):
    done = run("broker", "--ns-port", "0", "--port", "0", "--grpc-port", "0", "--store", str(tmp_path / "store"))
    assert is_quiet(done), (done.returncode, done.stderr)


def test_errors_that_nobody_reads_end_without_a_word(tmp_path):
    """As ``orbit … 2>&1 | true``: both outputs lead to the pipe."""
    assert run("store", "verify", str(tmp_path / "none"), errors=subprocess.STDOUT).returncode in (3, EXIT_PIPE_CLOSED)
    assert run("report", "--nonsense", errors=subprocess.STDOUT).returncode in (2, EXIT_PIPE_CLOSED)


FULL = Path("/dev/full")
IN_FULL = (
    ("report", "--list"),
    ("--version",),
    ("search", "size > 0", "--store", "{store}"),
    ("store", "dump", "{store}"),
    ("store", "verify", "{store}"),
    ("store", "clean", "{store}"),
)


@pytest.mark.skipif(not FULL.exists(), reason="a device that is always full shows it")
@pytest.mark.parametrize("words", IN_FULL, ids=" ".join)
def test_an_output_that_cannot_be_written_is_told_in_a_line(words, store):
    command = main_command(*(word.format(store=store) for word in words))
    with FULL.open("wb") as full:
        done = subprocess.run(command, env=environment(), stdout=full, stderr=subprocess.PIPE, check=False, timeout=SECONDS)
        without_errors = subprocess.run(command, env=environment(), stdout=full, stderr=full, check=False, timeout=SECONDS)
    lines = done.stderr.decode().splitlines()
    assert done.returncode in (EXIT_UNWRITABLE, UsageError.exit_code)
    assert lines[-1].startswith("orbit")
    assert "No space left" in lines[-1]
    assert "Traceback" not in done.stderr.decode()
    assert "to open" not in done.stderr.decode()
    assert without_errors.returncode in (EXIT_UNWRITABLE, UsageError.exit_code)


def test_without_standard_streams_a_command_works(store):
    """Nothing that is opened takes the place of a stream that the parent has closed."""
    command = " ".join(main_command("store", "verify", str(store)))
    done = subprocess.run(["sh", "-c", f"{command} <&- >&- 2>&-"], env=environment(), check=False, timeout=SECONDS)
    assert done.returncode == 0
