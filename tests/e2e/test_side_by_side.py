"""On demand: the real program twice, each on a cluster of its own, side by side."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings

from gui.connections.cluster import ATTACHED, STORES_KEY, Cluster, kept_text, own_group
from tests.support.broker_process import CHECKOUT, running_broker

DEADLINE_S = 120.0


def wait_for(what: str, done: Callable[[], object]) -> None:
    end = time.monotonic() + DEADLINE_S
    while not done():
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.1)


@pytest.fixture
def places(tmp_path: Path) -> Iterator[dict[str, str]]:
    """Folders of one user, who has two connections; names of sockets must be short."""
    environment = dict(os.environ, QT_QPA_PLATFORM="offscreen", PYTHON_KEYRING_BACKEND="keyring.backends.null.Keyring")
    for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME"):
        folder = tmp_path / name.lower()
        folder.mkdir(mode=0o700)
        environment[f"XDG_{name}"] = str(folder)
    with tempfile.TemporaryDirectory(prefix="orbit-") as folder_of_sockets:
        environment["XDG_RUNTIME_DIR"] = folder_of_sockets
        yield environment


def command(*words: str) -> list[str]:
    return [sys.executable, "-X", "utf8", str(CHECKOUT / "main.py"), "--lang", "en", *words]


@contextlib.contextmanager
def window(places: dict[str, str], *words: str) -> Iterator[subprocess.Popen[bytes]]:
    program = subprocess.Popen(command(*words), env=places, cwd=CHECKOUT)
    try:
        yield program
    finally:
        if program.poll() is None:
            program.kill()
        program.wait(DEADLINE_S)


def second_start(places: dict[str, str], *words: str) -> int:
    return subprocess.run(command(*words), env=places, cwd=CHECKOUT, check=False, timeout=DEADLINE_S).returncode


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_two_connections_have_a_window_each_and_one_that_closes_leaves_the_other(tmp_path, places):
    settings_file = Path(places["XDG_CONFIG_HOME"]) / "orbit" / "window.ini"
    doors = Path(places["XDG_RUNTIME_DIR"]) / "orbit"
    with running_broker(tmp_path / "one") as one, running_broker(tmp_path / "two") as two:
        clusters = [Cluster(ATTACHED, ran.name_server, title=title) for ran, title in ((one, "Stage"), (two, "Prod"))]
        settings_file.parent.mkdir(parents=True)
        settings = QSettings(str(settings_file), QSettings.Format.IniFormat)
        settings.setValue(STORES_KEY, [kept_text(cluster) for cluster in clusters])
        settings.sync()
        with window(places, "--connection", "Stage") as stage, window(places, "--connection", "Prod") as prod:
            wait_for("a door for each", lambda: len(list(doors.glob("window-*.sock"))) == 2)
            assert second_start(places, "--connection", "Stage", "orbit://topics") == 0, "the first window takes the link"
            assert second_start(places, f"orbit://delay?cluster={two.name_server}") == 0
            assert (stage.poll(), prod.poll()) == (None, None)
            stage.send_signal(signal.SIGTERM)
            assert stage.wait(DEADLINE_S) == 0
            assert prod.poll() is None
            assert second_start(places, "--connection", "Prod") == 0, "it still answers"
            assert len(list(doors.glob("window-*.sock"))) == 1
            prod.send_signal(signal.SIGTERM)
            assert prod.wait(DEADLINE_S) == 0
    kept = QSettings(str(settings_file), QSettings.Format.IniFormat)
    tabs = {one.title: " ".join(kept.value(f"{own_group(one.address)}layout/tabs")) for one in clusters}
    assert ["orbit://topics" in tabs[title] for title in ("Stage", "Prod")] == [True, False]
    assert ["orbit://delay" in tabs[title] for title in ("Stage", "Prod")] == [False, True]
