from __future__ import annotations

import fcntl
import os
import subprocess
import sys

import pytest

from broker_core.engine.store.ownership import StoreOwnership, check_directory, open_failed
from broker_core.engine.store.paths import StorePaths
from broker_core.errors import ForeignStoreError, StoreError, StoreFullError, StoreLockedError, StorePermissionError

HOLD_LOCK = """
import fcntl, sys
file = open(sys.argv[1], "r+b")
fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)
print("held", flush=True)
sys.stdin.read()
"""
OPEN_STORE = """
import sys
from pathlib import Path
from broker_core.config import StoreConfig
from broker_core.engine.store.message_store import MessageStore

with MessageStore.open(StoreConfig(root=Path(sys.argv[1]))):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.mark.parametrize("program", [HOLD_LOCK, OPEN_STORE], ids=["a broker that only knows RocketMQ's lock", "ourselves"])
def test_a_second_opener_is_told_the_process_that_holds_the_store(bench, program):
    bench.open().close()
    target = bench.root / "lock" if program is HOLD_LOCK else bench.root
    command = [sys.executable, "-c", program, str(target)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreLockedError, match=f"in use by process {holder.pid}") as caught:
            bench.open()
        holder.stdin.close()
    assert caught.value.context["pid"] == holder.pid
    bench.open()


def test_a_second_opener_in_the_same_process_is_refused_too(bench):
    bench.open()
    with pytest.raises(StoreLockedError, match=f"process {os.getpid()}"):
        bench.open()


def test_the_lock_file_has_rocketmqs_content_and_is_free_afterwards(tmp_path):
    ownership = StoreOwnership(StorePaths(tmp_path))
    assert (tmp_path / "lock").read_bytes() == b"lock"
    assert (tmp_path / "orbit.owner").read_text() == f"{os.getpid()}\n"
    ownership.release()
    with (tmp_path / "lock").open("r+b") as file:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, 0)


def test_a_refused_opener_leaves_the_directory_as_it_was(bench):
    bench.root.mkdir()
    (bench.root / "photos").mkdir()
    with pytest.raises(ForeignStoreError, match="it holds photos, and no commitlog"):
        bench.open()
    assert [path.name for path in bench.root.iterdir()] == ["photos"]


@pytest.mark.parametrize("names", [[], ["lost+found"], ["config"], ["commitlog", "other"], ["lock", "abort"]])
def test_empty_directories_and_stores_are_accepted(tmp_path, names):
    for name in names:
        (tmp_path / name).mkdir()
    check_directory(tmp_path, read_only=False)


def test_a_path_that_is_no_directory_is_refused(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ForeignStoreError, match="is a file"):
        check_directory(tmp_path / "file", read_only=False)


def test_a_commit_log_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "commitlog").touch()
    with pytest.raises(ForeignStoreError, match="in a RocketMQ store it is a directory"):
        check_directory(tmp_path, read_only=False)


def test_a_strange_file_in_the_commit_log_is_named(tmp_path):
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "commitlog" / "segment-1.log").touch()
    with pytest.raises(ForeignStoreError, match=r"segment-1\.log is no commit log file"):
        check_directory(tmp_path, read_only=True)


@pytest.mark.parametrize("made", [False, True])
def test_reading_needs_a_commit_log(tmp_path, made):
    root = tmp_path / "store"
    if made:
        root.mkdir()
    with pytest.raises(ForeignStoreError):
        check_directory(root, read_only=True)


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_a_directory_without_write_permission_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StorePermissionError, match="cannot be written by this user"):
        check_directory(tmp_path / "store", read_only=False)
    tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    ("error", "kind", "text"),
    [
        (PermissionError(13, "Permission denied", "/data/lock"), StorePermissionError, "/data/lock cannot be opened"),
        (OSError(28, "No space left on device"), StoreFullError, "no room"),
        (OSError(5, "Input/output error"), StoreError, "Input/output error"),
    ],
)
def test_faults_of_the_system_say_what_they_mean(tmp_path, error, kind, text):
    translated = open_failed(tmp_path, error)
    assert type(translated) is kind
    assert text in translated.message
