"""Starts this program again as a child: worker, demo, report, window."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import QProcess

_MAIN = Path(__file__).resolve().parents[2] / "main.py"


def start_window(arguments: Sequence[str]) -> bool:
    """Start another window, which is independent of this one; returns whether it started."""
    process = QProcess()
    program(process, arguments)
    return bool(process.startDetached()[0])


def program(process: QProcess, arguments: Sequence[str]) -> None:
    """Set up a `QProcess` that runs ``main.py`` with ``arguments`` by this Python.

    The child has a session of its own: Ctrl-C in the terminal reaches only the window, which then ends its children in order,
    and a child with children can be ended as a process group.
    """
    process.setProgram(sys.executable)
    process.setArguments(["-X", "utf8", str(_MAIN), *arguments])
    if sys.platform != "win32":
        process.setUnixProcessParameters(QProcess.UnixProcessFlag.CreateNewSession)
