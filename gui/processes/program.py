"""Starts programs as children of the window, foremost this one again: worker, demo, report, another window."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, QProcess, QProcessEnvironment

from broker_core.api import is_kept, main_command
from broker_core.platform import process_groups


def start_window(arguments: Sequence[str]) -> bool:
    """Start another window, which is independent of this one; returns whether it started."""
    return start_detached(main_command(*arguments))


def start_detached(command: Sequence[str]) -> bool:
    """Start a program that is independent of this one; returns whether it started."""
    return bool(_process(command, None).startDetached()[0])


def program(arguments: Sequence[str], parent: QObject) -> QProcess:
    """A process, not started yet, that runs ``main.py`` with ``arguments`` by this Python."""
    return _process(main_command(*arguments), parent)


def _process(command: Sequence[str], parent: QObject | None) -> QProcess:
    """A process with the environment of a child.

    The child has a session of its own: Ctrl-C in the terminal reaches only the window, which then ends its children in order,
    and a child with children can be ended as a process group.
    """
    process = QProcess(parent)
    process.setProgram(command[0])
    process.setArguments(list(command[1:]))
    process.setProcessEnvironment(_environment())
    if process_groups.HAS_SESSIONS:
        process.setUnixProcessParameters(QProcess.UnixProcessFlag.CreateNewSession)
    return process


def _environment() -> QProcessEnvironment:
    found = QProcessEnvironment.systemEnvironment()
    for name in found.keys():  # noqa: SIM118  it is no mapping
        if not is_kept(name):
            found.remove(name)
    return found
