from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys

import pytest

from broker_core.config import StoreConfig
from broker_core.engine.store import machine_code as module
from broker_core.engine.store.machine_code import MachineCodeState, faults_noted, machine_code, machine_code_state
from broker_core.engine.store.paths import StorePaths
from broker_core.native.library import installed
from tests.support.machine_code import library

CRASH = """
import os, signal, sys
from pathlib import Path
from broker_core.config import StoreConfig
from broker_core.engine.store.machine_code import faults_noted
with faults_noted(StoreConfig(root=Path(sys.argv[1]))):
    os.kill(os.getpid(), int(sys.argv[2]))
"""


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_loaded", library)
    StorePaths(tmp_path).commit_log.mkdir()
    return StoreConfig(root=tmp_path)


def ended_by(config: StoreConfig, number: signal.Signals) -> int:
    return subprocess.run([sys.executable, "-c", CRASH, str(config.root), str(int(number))], check=False).returncode


def test_it_is_used_unless_it_is_switched_off(config, tmp_path):
    off = StoreConfig(root=tmp_path, native="off")
    assert machine_code(config) is library()
    assert machine_code(off) is None
    assert [machine_code_state(one) for one in (config, off)] == [MachineCodeState.USED, MachineCodeState.OFF]


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGBUS, signal.SIGILL])
def test_after_a_fault_it_is_not_used_until_the_mark_is_deleted(config, number, caplog):
    assert ended_by(config, number) == -number
    (mark,) = StorePaths(config.root).faults.iterdir()
    assert machine_code_state(config) is MachineCodeState.NOT_USED
    assert caplog.text == ""
    assert machine_code(config) is None
    assert str(mark) in caplog.text
    assert "most recent call first" in mark.read_text()
    mark.unlink()
    assert machine_code(config) is library()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_was_killed_says_nothing_about_it(config, number):
    assert ended_by(config, number) == -number
    assert machine_code(config) is library()


def test_marks_of_killed_processes_are_deleted_and_others_are_kept(config):
    assert ended_by(config, signal.SIGKILL) == -signal.SIGKILL
    assert ended_by(config, signal.SIGSEGV) == -signal.SIGSEGV
    faults = StorePaths(config.root).faults
    (faults / str(os.getppid())).touch()
    fault = [path for path in faults.iterdir() if path.stat().st_size]
    assert ended_by(config, signal.SIGKILL) == -signal.SIGKILL
    left = {path for path in faults.iterdir() if path.stat().st_size or path.name == str(os.getppid())}
    assert left == {*fault, faults / str(os.getppid())}
    assert len(list(faults.iterdir())) == len(left) + 1, "only the newest killed process has an empty mark"


def test_an_orderly_end_leaves_no_mark(config):
    was_enabled = faulthandler.is_enabled()
    with faults_noted(config):
        assert (StorePaths(config.root).faults / str(os.getpid())).exists()
    assert not StorePaths(config.root).faults.exists()
    if was_enabled:
        faulthandler.enable()


def test_a_directory_that_is_no_store_is_left_alone(tmp_path):
    with faults_noted(StoreConfig(root=tmp_path)), faults_noted(StoreConfig(root=tmp_path / "new")):
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("native", ["on", "off"])
def test_other_readers_of_the_process_do_as_the_store_does(config, tmp_path, monkeypatch, native):
    monkeypatch.setattr("broker_core.native.library._loaded", library)
    with faults_noted(StoreConfig(root=tmp_path, native=native)):
        assert (installed() is None) == (native == "off")
    assert installed() is library()
