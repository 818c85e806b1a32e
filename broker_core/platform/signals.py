"""Signals that end a program, and how they are caught.

    need               own way (Linux, macOS)      plain way (Windows)
    on_signal          the loop's signal handler   a handler of Python that wakes the loop
    end_this_process   SIGTERM to this process     the handler of SIGTERM runs in the main thread
    END_SIGNALS        SIGINT, SIGTERM, SIGHUP     SIGINT, SIGTERM, SIGBREAK (Ctrl+Break)

Windows has no SIGTERM from outside: ending a process by its id ends it at once, as SIGKILL does. Orbit's processes there are
ended in order by Ctrl+C, Ctrl+Break or the end of their input.
"""

from __future__ import annotations

import _thread
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from broker_core.platform.ways import PLAIN

if TYPE_CHECKING:
    import asyncio

_NAMES: Final = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")
END_SIGNALS: Final = tuple(signal.Signals[name] for name in _NAMES if name in signal.Signals.__members__)
"""Signals that ask a command to end: by the user, the system, or a terminal that closes."""
STOP_SIGNALS: Final = tuple(one for one in END_SIGNALS if one.name != "SIGHUP")
"""Those that stop a server; it outlives its terminal."""
KILL_NUMBER: Final = 9
"""SIGKILL. Windows has none, and no process there ends with this number as its signal."""

_former: Final[dict[int, object]] = {}


def plain_on_signal(loop: asyncio.AbstractEventLoop, number: int, callback: Callable[[], object]) -> None:
    """Call a function on a loop at a signal; only in the main thread."""

    def arrived(_number: int, _frame: object) -> None:
        loop.call_soon_threadsafe(callback)

    _former.setdefault(number, signal.getsignal(number))
    signal.signal(number, arrived)


def plain_off_signal(_loop: asyncio.AbstractEventLoop, number: int) -> None:
    """End `on_signal`; the signal does again what it did before."""
    former = _former.pop(number, signal.SIG_DFL)
    signal.signal(number, former)  # type: ignore[arg-type]  # as `getsignal` gave it


def plain_end_this_process() -> None:
    """Have this process end as at SIGTERM: its handler runs in the main thread. Any thread may call it."""
    _thread.interrupt_main(signal.SIGTERM)


on_signal: Callable[[asyncio.AbstractEventLoop, int, Callable[[], object]], None] = plain_on_signal
off_signal: Callable[[asyncio.AbstractEventLoop, int], object] = plain_off_signal
end_this_process: Callable[[], None] = plain_end_this_process

if sys.platform != "win32" and not PLAIN:

    def _on_signal(loop: asyncio.AbstractEventLoop, number: int, callback: Callable[[], object]) -> None:
        loop.add_signal_handler(number, callback)

    def _off_signal(loop: asyncio.AbstractEventLoop, number: int) -> None:
        loop.remove_signal_handler(number)

    def _end_this_process() -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    on_signal, off_signal, end_this_process = _on_signal, _off_signal, _end_this_process


def end_with_input() -> None:
    """From now on `end_this_process` when standard input ends: whoever started this process is gone, or wants it to stop."""
    threading.Thread(target=_wait_for_end_of_input, name="parent pipe", daemon=True).start()


def _wait_for_end_of_input() -> None:
    # Not by its buffer: a thread that holds that at exit would crash the program.
    descriptor = sys.stdin.fileno()
    while os.read(descriptor, 4096):
        pass
    end_this_process()
