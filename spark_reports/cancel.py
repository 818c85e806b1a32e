"""Cancelling a report by signals.

The first request runs the registered actions (ending the Java machine, so that calls to it return) and then raises `Interrupt`
in the main thread. Python drops an exception that is raised in a finalizer, and the library that talks to Java has many
finalizers; therefore long work calls `Cancellation.check`.

`Interrupt` is a class of its own: a plain `KeyboardInterrupt` that passes an `exec` or `eval` of text (importing a dataclass or
a named tuple) makes ``python -m`` end itself by SIGINT at exit, even though it was caught.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from types import FrameType

from broker_core.platform import signals

_Handler = Callable[[int, FrameType | None], object] | int | None


class Interrupt(KeyboardInterrupt):
    """The user asked to stop."""


class Cancellation:
    """Whether the user asked to stop, and the actions then. Created and installed in the main thread."""

    def __init__(self) -> None:
        self.requested = False
        self._actions: list[Callable[[], None]] = []
        self._former: dict[int, _Handler] = {}

    def on_request(self, action: Callable[[], None]) -> None:
        """Register an action for the user's request to stop."""
        self._actions.append(action)

    def check(self) -> None:
        """Raise `Interrupt` again if the user has asked to stop, because the first exception may be lost."""
        if self.requested:
            raise Interrupt

    def install(self) -> None:
        """Listen to the signals; called again after Spark has started, which installs its own handler."""
        for number in signals.END_SIGNALS:
            former = signal.signal(number, self._handle)
            self._former.setdefault(number, former)

    def uninstall(self) -> None:
        for number, former in self._former.items():
            signal.signal(number, former)
        self._former.clear()

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.requested:
            return
        self.requested = True
        logging.disable()  # the connections to Java break now, and their library would print each one's end
        for action in reversed(self._actions):
            action()
        raise Interrupt
