"""Writes a file off the GUI thread and replaces the old one atomically."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from broker_core.api import replace_file
from gui.operations.queries import BackgroundCall


def write_file(
    owner: QObject, path: Path, make: Callable[[], bytes], done: Callable[[int], None], failed: Callable[[Exception], None]
) -> None:
    """Write the result of ``make`` on a thread; then ``done`` receives the number of bytes, or ``failed`` the error."""

    def work() -> int:
        data = make()
        replace_file(path, data, mode=0o600)
        return len(data)

    call = BackgroundCall(owner)
    call.done.connect(done)
    call.failed.connect(failed)
    call.done.connect(lambda _size: call.deleteLater())
    call.failed.connect(lambda _error: call.deleteLater())
    call.start(work)
