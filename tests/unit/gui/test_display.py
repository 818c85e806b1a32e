"""A window without a display ends with one line that says why and what to do, never with Qt's advice to reinstall."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from PySide6.QtCore import qInstallMessageHandler, qWarning

from broker_core.children import environment, main_command
from gui.app.display import drop_wild_scales, explained_start, reason
from tests.support.waiting import wait_until

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="displays of Linux")
SECONDS = 60
NAMES = ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM", "XDG_RUNTIME_DIR", "XDG_SESSION_TYPE")
WHAT_TO_DO = ("./orbit broker", "ssh -X", "xvfb-run")
FAILED = (
    "This application failed to start because no Qt platform plugin could be initialized. Reinstalling the application may fix "
    "this problem.\n\nAvailable platform plugins are: minimal, xcb."
)


def start(folder: Path, **more: str) -> tuple[int, list[str]]:
    """Exit code of a window, and the lines that it printed."""
    (folder / "run").mkdir(mode=0o700, exist_ok=True)
    of_user = {f"XDG_{name}": str(folder / name.lower()) for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME")}
    kept = {name: text for name, text in environment().items() if name not in NAMES}
    command = main_command("--store", str(folder / "store"))
    # The folder of sockets is the test's own: a window of this store cannot be there.
    more = of_user | {"TMPDIR": str(folder), "XDG_RUNTIME_DIR": str(folder / "run")} | more
    done = subprocess.run(command, env=kept | more, capture_output=True, text=True, check=False, timeout=SECONDS)
    assert done.stdout == ""
    return done.returncode, done.stderr.splitlines()


def broken(folder: Path, library: str) -> str:
    """A folder for LD_LIBRARY_PATH, in which a system library is no library; one that lacks is told in the same way."""
    folder.mkdir()
    (folder / library).write_bytes(b"")
    return str(folder)


@pytest.mark.environment
@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, ("there is no display", *WHAT_TO_DO)),
        ({"XDG_RUNTIME_DIR": ""}, ("there is no display", *WHAT_TO_DO)),
        ({"DISPLAY": ":4711"}, ("the display “:4711” cannot be reached", *WHAT_TO_DO)),
        ({"DISPLAY": "nowhere.invalid:0"}, ("the display “nowhere.invalid:0” cannot be reached", *WHAT_TO_DO)),
        ({"WAYLAND_DISPLAY": "wayland-4711"}, ("the display “wayland-4711” cannot be reached", *WHAT_TO_DO)),
        ({"WAYLAND_DISPLAY": "wayland-47", "DISPLAY": ":4711"}, ("“wayland-47” or “:4711”", *WHAT_TO_DO)),
        ({"QT_QPA_PLATFORM": "nonsense"}, ("no platform “nonsense”", "QT_QPA_PLATFORM")),
        ({"QT_QPA_PLATFORM": "linuxfb:fb=/dev/null"}, ("there is no screen", "linuxfb", *WHAT_TO_DO)),
    ],
    ids=str,
)
def test_a_window_without_a_display_says_so_in_a_line(tmp_path, given, words):
    code, lines = start(tmp_path, **given)
    assert (code, len(lines)) == (1, 1), lines
    assert all(word in lines[0] for word in ("orbit: ", *words))


@pytest.mark.environment
@pytest.mark.parametrize("library", ["libxcb-cursor.so.0", "libEGL.so.1"])
def test_a_system_library_that_lacks_is_named(tmp_path, library):
    code, lines = start(tmp_path, DISPLAY=":4711", LD_LIBRARY_PATH=broken(tmp_path / "libraries", library))
    assert (code, len(lines)) == (1, 1), lines
    assert library in lines[0]
    assert "./orbit setup" in lines[0]


@pytest.mark.environment
def test_a_window_without_a_runtime_folder_starts_without_a_word(short_path):
    """It is ended by the signal as soon as its settings are written, and its error output holds nothing until then."""
    script = f"{' '.join(main_command('--store', str(short_path / 'store')))} 2>{short_path / 'errors'} & echo $!; wait"
    kept = {name: text for name, text in environment().items() if name not in NAMES}
    places = {
        f"XDG_{name}": str(short_path / name.lower()) for name in ("CONFIG_HOME", "DATA_HOME", "STATE_HOME", "CACHE_HOME")
    }
    more = {"QT_QPA_PLATFORM": "offscreen", "TMPDIR": str(short_path)} | places
    (short_path / "store").mkdir()
    shell = subprocess.Popen(["sh", "-c", script], env=kept | more, stdout=subprocess.PIPE, text=True)
    assert shell.stdout is not None
    window = int(shell.stdout.readline())
    try:
        wait_until(lambda: any(short_path.rglob("window-*.sock")), deadline_s=SECONDS)
    finally:
        os.kill(window, signal.SIGTERM)
        shell.communicate(timeout=SECONDS)
    assert (short_path / "errors").read_text() == ""


def test_other_messages_of_a_start_that_succeeds_are_passed_on(capsys):
    before = qInstallMessageHandler(None)
    try:
        with explained_start():
            qWarning("something else")
            assert capsys.readouterr().err == ""
        assert capsys.readouterr().err == "something else\n"
    finally:
        qInstallMessageHandler(before)


def test_what_is_unknown_is_told_in_the_words_of_qt():
    told = ['Could not load the Qt platform plugin "offscreen" in "" even though it was found.', FAILED]
    line = reason(["Something is broken", *told], {"DISPLAY": ":0"})
    assert line.startswith("Qt cannot show a window: Something is broken; Could not load")
    assert "Reinstalling" not in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("QT_SCALE_FACTOR", "1e9"), ("QT_SCALE_FACTOR", "0"), ("QT_SCALE_FACTOR", "-1"), ("QT_SCALE_FACTOR", "nan"),
        ("QT_SCALE_FACTOR", "x"), ("QT_SCREEN_SCALE_FACTORS", "DP-1=1.5;DP-2=1e9"), ("QT_FONT_DPI", "100000000"),
    ],
)  # fmt: skip
def test_a_scale_at_which_nothing_can_be_painted_is_ignored_with_a_line(name, text, capsys):
    drop_wild_scales(whole := {name: text, "LANG": "C"})
    assert whole == {"LANG": "C"}
    assert re.fullmatch(rf"orbit: {name}={re.escape(text)} is ignored: it may be from [\d.]+ to \d+\n", capsys.readouterr().err)


def test_scales_that_people_use_stay(capsys):
    drop_wild_scales(whole := {"QT_SCALE_FACTOR": "1.25", "QT_SCREEN_SCALE_FACTORS": "DP-1=1.5;DP-2=2;", "QT_FONT_DPI": "96"})
    assert len(whole) == 3
    assert capsys.readouterr().err == ""
