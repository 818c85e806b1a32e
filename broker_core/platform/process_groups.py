"""Child processes that the terminal's signals do not reach, and that end with their own children.

Own way: a session, which is also a process group (Linux, macOS). Plain way, Windows: a process group that Ctrl+C does not
reach; the children of a process are found by the ids of their parents. A program takes the place of this process by exec, or
as its child.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from typing import Final, TypedDict

from broker_core.platform.ways import PLAIN


class Apart(TypedDict, total=False):
    """Arguments of `subprocess.Popen` for a process of a group of its own."""

    start_new_session: bool
    creationflags: int


HAS_SESSIONS: Final = sys.platform != "win32"
_NEW_PROCESS_GROUP: Final = 0x200
"""``CREATE_NEW_PROCESS_GROUP``."""


def apart() -> Apart:
    """Arguments of `subprocess.Popen`: signals of the terminal do not reach the process."""
    return {"start_new_session": True} if HAS_SESSIONS else {"creationflags": _NEW_PROCESS_GROUP}


def plain_ask_group_to_end(pid: int) -> bool:
    """Ask the processes of a group to end; returns False where the system cannot, or there is no such group.

    The caller then closes the input of the process, which ends the processes of Orbit as well.
    """
    return False


def plain_kill_group(pid: int) -> None:
    """End the processes of a group at once; nothing where there is none.

    Args:
        pid: Of the process that leads it, which may have ended. Windows forgets the children of an ended process.
    """
    import psutil

    with contextlib.suppress(psutil.Error):
        leader = psutil.Process(pid)
        for process in (leader, *leader.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                process.kill()


def plain_become(command: Sequence[str]) -> int:
    """Run a program in the place of this one; returns its exit code."""
    return subprocess.run(command, check=False).returncode


ask_group_to_end: Callable[[int], bool] = plain_ask_group_to_end
kill_group: Callable[[int], None] = plain_kill_group
become: Callable[[Sequence[str]], int] = plain_become

if sys.platform != "win32" and not PLAIN:

    def _signal_group(pid: int, number: int) -> bool:
        try:
            os.killpg(pid, number)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def _ask_group_to_end(pid: int) -> bool:
        return _signal_group(pid, signal.SIGTERM)

    def _kill_group(pid: int) -> None:
        _signal_group(pid, signal.SIGKILL)

    def _become(command: Sequence[str]) -> int:
        os.execv(command[0], list(command))  # noqa: S606  programs of our own, without a shell

    ask_group_to_end, kill_group, become = _ask_group_to_end, _kill_group, _become
