"""On demand: the real program on a real display (Xvfb), driven by keys alone (xdotool). No mouse, no call into the program."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings

from gui.views.registry import PAGES
from tests.support.broker_process import CHECKOUT

DEADLINE_S = 90.0
TOPIC = "keyboard-only"


def wait_for(what: str, done: Callable[[], object]) -> None:
    end = time.monotonic() + DEADLINE_S
    while not done():
        assert time.monotonic() < end, f"{what} did not come"
        time.sleep(0.1)


@contextlib.contextmanager
def ended(program: subprocess.Popen[bytes]) -> Iterator[None]:
    """End the program also where the tour was lost on the way."""
    try:
        yield
    finally:
        if program.poll() is None:
            program.terminate()


class Keyboard:
    """Keys for the window of Orbit on one display."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment

    def run(self, *words: str) -> str:
        command = ["xdotool", *words]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True, check=False, timeout=DEADLINE_S)
        return done.stdout.strip()

    def window(self) -> str:
        return self.run("search", "--onlyvisible", "--name", "^Orbit").split("\n")[0]

    def title(self) -> str:
        return self.run("getwindowname", self.window())

    def windows(self, name: str) -> list[str]:
        return self.run("search", "--onlyvisible", "--name", name).split()

    def focus(self, name: str = "^Orbit") -> None:
        """Give a window the keys, as a window manager would; there is none here."""
        wait_for(name, lambda: self.windows(name))
        wanted = self.windows(name)[0]

        def has_focus() -> bool:
            self.run("windowfocus", wanted)
            return self.run("getwindowfocus", "-f") == wanted

        wait_for(f"the focus of {name}", has_focus)

    def press(self, *keys: str) -> None:
        """Press keys; the window takes them in this order, at its own pace."""
        for key in keys:
            self.run("key", "--clearmodifiers", key)

    def type(self, text: str) -> None:
        self.run("type", "--delay", "40", text)


@pytest.fixture
def display() -> Iterator[str]:
    assert shutil.which("Xvfb"), "the tour by keys needs Xvfb"
    assert shutil.which("xdotool"), "the tour by keys needs xdotool"
    reader, writer = os.pipe()
    command = ["Xvfb", "-displayfd", str(writer), "-screen", "0", "1440x900x24", "-nolisten", "tcp"]
    with subprocess.Popen(command, pass_fds=(writer,), stderr=subprocess.DEVNULL) as server:
        os.close(writer)
        with os.fdopen(reader) as answer:
            number = answer.readline().strip()
        assert number, "Xvfb did not start"
        try:
            yield f":{number}"
        finally:
            server.terminate()


@pytest.mark.slow
@pytest.mark.clients
@pytest.mark.timeout(600)
def test_all_pages_are_reached_and_used_by_keys_alone(display, tmp_path):
    environment = {
        **os.environ,
        "DISPLAY": display,
        "QT_QPA_PLATFORM": "xcb",
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
        "XDG_RUNTIME_DIR": str(tmp_path / "run"),
    }
    (tmp_path / "run").mkdir(mode=0o700)
    store, log = tmp_path / "store", (tmp_path / "orbit.log").open("wb")
    command = [sys.executable, "main.py", "--store", str(store), "--ns-port", "0", "--port", "0", "--lang", "en"]
    with log, subprocess.Popen(command, cwd=CHECKOUT, env=environment, stdout=log, stderr=log) as program, ended(program):
        keys = Keyboard(environment)
        wait_for("the window", keys.window)
        wait_for("the broker", lambda: "127.0.0.1" in keys.title())
        keys.focus()
        tour(keys, store)
        keys.press("ctrl+q")
        wait_for("the end", lambda: program.poll() is not None)
    said = (tmp_path / "orbit.log").read_text(encoding="utf-8", errors="replace")
    assert program.returncode == 0, said
    assert "Traceback" not in said
    settings = QSettings(str(tmp_path / "config" / "orbit" / "window.ini"), QSettings.Format.IniFormat)
    tabs = settings.value("layout/tabs")
    pages = {entry.page_id for entry in PAGES if entry.in_side_bar} - {"topics"}
    assert {f"orbit://{page}" for page in pages} <= {tab.partition("?")[0] for tab in tabs}
    assert f"orbit://topic/{TOPIC}" in tabs, "what was made and found by keys"
    assert int(settings.value("layout/side_bar_collapsed")) == 1


def tour(keys: Keyboard, store: Path) -> None:
    """The sheet of keys, every page by its place in the side bar's search; then a topic made, found again and looked at."""
    keys.press("question")  # before a field of text has the focus, which would take it as text
    keys.focus("Keyboard shortcuts")
    keys.press("Escape")
    wait_for("the end of the sheet", lambda: not keys.windows("Keyboard shortcuts"))
    keys.focus()
    for entry in PAGES:
        if entry.in_side_bar:
            keys.press("ctrl+j")
            keys.type(entry.title)
            keys.press("Return")
            wait_for(entry.title, partial(shows, keys, entry.title))
            keys.press("F5", "F6", "F6", "ctrl+f", "Tab", "Escape")
    keys.press("F4", "F4", "ctrl+Tab", "ctrl+shift+Tab", "ctrl+shift+n")
    keys.focus("New topic")
    keys.type(TOPIC)
    keys.press("Return")
    topics = store / "config" / "topics.json"
    wait_for("the new topic", lambda: topics.exists() and TOPIC in topics.read_text(encoding="utf-8"))
    wait_for("the end of the dialog", lambda: not keys.windows("New topic"))
    keys.focus()
    for page, key in (("Overview", "ctrl+1"), ("Topics", "ctrl+2")):
        keys.press(key)
        wait_for(page, partial(shows, keys, page))
    keys.press("Return")  # the list has the keyboard, and the new topic is selected in it
    wait_for(TOPIC, partial(shows, keys, TOPIC))
    keys.press("ctrl+1")
    wait_for("Overview", partial(shows, keys, "Overview"))
    keys.press("ctrl+k")
    keys.type(f"orbit://topic/{TOPIC}")
    keys.press("Return")
    wait_for(TOPIC, partial(shows, keys, TOPIC))
    keys.press("ctrl+b")


def shows(keys: Keyboard, page: str) -> bool:
    """Whether the window says in its title that this page is in front."""
    return keys.title().removesuffix(" — Orbit").endswith(f" · {page}")  # Qt adds the name of the program
