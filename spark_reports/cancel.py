"""Cancelling a report: signals, and the end of the parent's pipe.

The first request runs what was registered (ending the Java machine, so that whatever waits for it stops waiting) and then
raises `Interrupt` in the main thread, which unwinds to the command line. Python drops an exception that is raised in a
finalizer, and the library that talks to Java has many: so what must not go on asks again, with `Cancellation.check`.

What is raised is of a class of its own. A plain `KeyboardInterrupt` that passes an `exec` or `eval` of text, as dataclasses and
named tuples do when their module is imported, makes ``python -m`` end itself by SIGINT at exit, even though it was caught.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import Callable
from types import FrameType

_Handler = Callable[[int, FrameType | None], object] | int | None
_SIGNALS = [signal.SIGINT, signal.SIGTERM, *([signal.SIGHUP] if hasattr(signal, "SIGHUP") else [])]


class Interrupt(KeyboardInterrupt):
    """The user asked to stop."""


class Cancellation:
    """Whether the user asked to stop, and what to do then. Made and installed in the main thread."""

    def __init__(self) -> None:
        self.requested = False
        self._actions: list[Callable[[], None]] = []
        self._former: dict[int, _Handler] = {}

    def on_request(self, action: Callable[[], None]) -> None:
        """Have ``action`` called when the user asks to stop."""
        self._actions.append(action)

    def check(self) -> None:
        """Unwind now if the user has asked to stop and what was raised then got lost.

        Raises:
            Interrupt: The user has.
        """
        if self.requested:
            raise Interrupt

    def install(self) -> None:
        """Listen to the signals; again after Spark has started, which puts a handler of its own in place."""
        for number in _SIGNALS:
            former = signal.signal(number, self._handle)
            self._former.setdefault(number, former)

    def uninstall(self) -> None:
        """Let the signals do again what they did before."""
        for number, former in self._former.items():
            signal.signal(number, former)
        self._former.clear()

    def watch_parent(self) -> None:
        """Ask to stop when standard input ends: the program that started this one is gone or wants it to leave."""
        watch_parent()

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.requested:
            return
        self.requested = True
        logging.disable()  # the connections to Java break now, and their library would print each one's end
        for action in reversed(self._actions):
            action()
        raise Interrupt


def watch_parent() -> None:
    """Have this process ended by SIGTERM when its standard input ends."""
    threading.Thread(target=_wait_for_end_of_input, name="parent-pipe", daemon=True).start()


def _wait_for_end_of_input() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
