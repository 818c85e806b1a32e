"""Why Qt finds no display, in one line, where Qt itself aborts and advises to install the program again.

Scales of the environment at which Qt can paint nothing are dropped.
"""

from __future__ import annotations

import math
import os
import re
import sys
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from PySide6.QtCore import QLibraryInfo, QMessageLogContext, QtMsgType, qFormatLogMessage, qInstallMessageHandler
from PySide6.QtGui import QGuiApplication

EXIT_CODE = 1
WITHOUT = "./orbit broker runs without one; ssh -X forwards one, xvfb-run ./orbit makes a virtual one"
"""What can be done without a display."""
HOW_TO_INSTALL = "Install it; on Debian and Ubuntu ./orbit setup does"
_SCALE, _DOTS = (0.2, 8.0), (24.0, 960.0)
_LIMITS: Final = {"QT_SCALE_FACTOR": _SCALE, "QT_SCREEN_SCALE_FACTORS": _SCALE, "QT_FONT_DPI": _DOTS}
"""Variables of Qt and the numbers with which a window can be painted and read."""
_SHOWN_CHARACTERS = 60
_TRIED = re.compile(r'platform plugin "([\w-]+)"')
_UNSERVED = ("could not connect to display", "Failed to create wl_display")


@contextmanager
def explained_start() -> Iterator[None]:
    """Make Qt's application object inside: if Qt finds no display or screen, one line says so, and the process ends with 1.

    Without a display Qt would abort the process. Its other messages are passed on at the end, in the form that Qt prints.
    """
    texts: list[str] = []
    lines: list[str] = []

    def hold(kind: QtMsgType, context: QMessageLogContext, text: str) -> None:
        if kind is QtMsgType.QtFatalMsg:
            sys.stderr.write(f"orbit: {reason([*texts, text], os.environ)}\n")
            sys.stderr.flush()
            os._exit(EXIT_CODE)  # Qt aborts when this function returns
        texts.append(text)
        lines.append(qFormatLogMessage(kind, context, text))

    before = qInstallMessageHandler(hold)
    try:
        yield
    finally:
        qInstallMessageHandler(before)
        has_screen = QGuiApplication.instance() is None or QGuiApplication.primaryScreen() is not None
        written = lines if has_screen else [f"orbit: there is no screen to show a window on: {'; '.join(texts)} ({WITHOUT})"]
        sys.stderr.write("".join(f"{line}\n" for line in written))
    if not has_screen:
        raise SystemExit(EXIT_CODE)


def drop_wild_scales(whole: MutableMapping[str, str] = os.environ) -> None:
    """Remove variables of Qt at which nothing can be painted from the environment, with a line each."""
    for name, (least, most) in _LIMITS.items():
        text = whole.get(name, "")
        parts = (part.rpartition("=")[2] for part in text.split(";") if part)
        if not all(least <= _number(part) <= most for part in parts):
            del whole[name]
            sys.stderr.write(f"orbit: {name}={text[:_SHOWN_CHARACTERS]} is ignored: it may be from {least:g} to {most:g}\n")


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def reason(told: Sequence[str], environment: Mapping[str, str]) -> str:
    """Why the window cannot be shown, and what to do.

    Args:
        told: Messages of Qt, the fatal one last.
        environment: Of the process.
    """
    displays = [environment[name] for name in ("WAYLAND_DISPLAY", "DISPLAY") if environment.get(name)]
    tried = [name for text in told for name in _TRIED.findall(text)]
    needs_display = any(name.startswith(("xcb", "wayland")) for name in tried)
    if needs_display and not displays:
        return f"there is no display to show a window on ({WITHOUT})"
    if any(part in text for text in told for part in _UNSERVED):
        named = " or ".join(f"“{name}”" for name in displays)
        return f"the display {named} cannot be reached: nothing serves it, or it refuses this user ({WITHOUT})"
    if fault := next(filter(None, map(_fault_of, tried)), ""):
        return f"Qt cannot show a window: {fault}"
    lines = [line for text in told for line in text.splitlines()[:1] if "Reinstalling" not in line]
    return f"Qt cannot show a window: {'; '.join(lines)} ({WITHOUT})"


def _fault_of(platform: str) -> str:
    """Why the plugin of a platform cannot be loaded; empty where it can."""
    import ctypes

    plugin = Path(QLibraryInfo.path(QLibraryInfo.LibraryPath.PluginsPath)) / "platforms" / f"libq{platform}.so"
    if not plugin.exists():
        return f"it has no platform “{platform}” (QT_QPA_PLATFORM)"
    try:
        ctypes.CDLL(str(plugin))
    except OSError as error:
        return f"a system library is missing ({error}). {HOW_TO_INSTALL}"
    return ""
