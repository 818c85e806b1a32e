"""Files and folders of Orbit are writable for their owner alone, whatever the shell allows."""

from __future__ import annotations

import os
import re
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from broker_core.children import environment, main_command
from broker_core.file_modes import close_to_others
from broker_core.kept_file import KeptFile, replace_file
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 90
READY = "ready name-server="


@contextmanager
def mask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def writable_for_others(root: Path) -> list[str]:
    """Files and folders below a folder that others than the owner may write, with their modes; sockets, too."""
    found = []
    for path in (root, *root.rglob("*")):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & 0o022:
            found.append(f"{stat.filemode(mode)} {path.relative_to(root)}")
    return found


@pytest.mark.parametrize(("before", "after"), [(0o000, 0o022), (0o002, 0o022), (0o077, 0o077), (0o027, 0o027)])
def test_the_mask_denies_what_it_denied_and_writing_for_others(before, after):
    with mask(before):
        close_to_others()
        assert os.umask(0) == after


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o027, 0o640)])
def test_a_file_that_is_replaced_has_the_mode_that_the_mask_leaves(tmp_path, umask, mode):
    path = tmp_path / "topics.json"
    with mask(umask):
        replace_file(path, b"{}")
        kept = KeptFile(path, bytes)
        kept.write(b"{1}")
    assert {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()} == {mode}


@pytest.fixture
def home(short_path: Path) -> dict[str, str]:
    """The environment of a user of whom nothing is kept yet."""
    (short_path / "run").mkdir(mode=0o700)
    folders = {f"XDG_{name}_HOME": str(short_path / name.lower()) for name in ("CONFIG", "DATA", "STATE", "CACHE")}
    others = {"HOME": str(short_path), "XDG_RUNTIME_DIR": str(short_path / "run"), "TMPDIR": str(short_path / "tmp")}
    (short_path / "tmp").mkdir(mode=0o700)
    return environment() | folders | others


def test_a_broker_under_a_mask_that_allows_all_lets_nobody_write_its_store(home, short_path):
    with mask(0o000):
        words = ("broker", "--ns-port", "0", "--port", "0", "--grpc-port", "0")
        broker = subprocess.Popen(main_command(*words), env=home, stdout=subprocess.PIPE, text=True)
    try:
        assert broker.stdout is not None
        line = broker.stdout.readline()
        assert line.startswith(READY)
        address = line.removeprefix(READY).split()[0]
        with mask(0o000):
            demo = main_command("demo", "--ns", address, "--seconds", "1")
            subprocess.run(demo, env=home, check=True, capture_output=True, timeout=SECONDS)
    finally:
        broker.terminate()
        broker.communicate(timeout=SECONDS)
    assert (short_path / "data" / "orbit" / "store" / "commitlog").is_dir()
    assert writable_for_others(short_path) == []


def test_a_window_under_a_mask_that_allows_all_lets_nobody_write_its_settings(home, short_path):
    """Settings, store, logs, history and the socket for second starts."""
    with mask(0o000):
        command = main_command("--ns-port", "0", "--port", "0")
        more = {"QT_QPA_PLATFORM": "offscreen", "PYTHON_KEYRING_BACKEND": "keyring.backends.null.Keyring"}
        window = subprocess.Popen(command, env=home | more, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(
            lambda: any((short_path / "run").rglob("window-*.sock")) and (short_path / "data/orbit/store/abort").exists(),
            deadline_s=SECONDS,
        )
    finally:
        window.terminate()
        window.wait(SECONDS)
    assert (short_path / "config" / "orbit").is_dir()
    assert writable_for_others(short_path) == []


def test_the_script_sets_up_for_its_owner_alone():
    script = (ROOT / "orbit").read_text("utf-8")
    begins = re.search(r"^umask go-w$", script, re.MULTILINE)
    first = re.search(r"^\w+\(\) \{", script, re.MULTILINE)
    assert begins is not None
    assert first is not None
    assert begins.start() < first.start()
