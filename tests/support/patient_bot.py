"""A `QtBot` whose deadlines fit a busy machine: a deadline ends a hang, it does not measure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pytestqt.qtbot import QtBot

PATIENCE_MS = 60_000


class PatientBot(QtBot):
    """Waits a minute where nothing else is said; pytest-qt's own 5 s pass on a machine with much to do."""

    @staticmethod
    def mouseDClick(widget: Any, button: Any, *arguments: Any, **options: Any) -> None:  # noqa: N802  its own name
        """Qt's own leaves the button down, for all tests after it."""
        for part in (QtBot.mouseDClick, QtBot.mouseRelease):
            part(widget, button, *arguments, **options)  # type: ignore[no-untyped-call]

    def waitUntil(self, callback: Callable[[], bool | None], *, timeout: int = PATIENCE_MS) -> None:  # noqa: N802  its own name
        super().waitUntil(callback, timeout=timeout)

    def waitSignal(self, signal: Any, *, timeout: int = PATIENCE_MS, **options: Any) -> Any:  # noqa: N802  its own name
        return super().waitSignal(signal, timeout=timeout, **options)

    def waitSignals(self, signals: list[Any], *, timeout: int = PATIENCE_MS, **options: Any) -> Any:  # noqa: N802  its own name
        return super().waitSignals(signals, timeout=timeout, **options)
