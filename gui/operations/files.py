"""Writes a file off the GUI thread and replaces the old one atomically."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from gui.operations.queries import BackgroundCall


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file by ``data``, or leave it unchanged.

    Raises:
        OSError: It cannot be written.
    """
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).replace(path)
    except OSError:
        Path(temporary).unlink(missing_ok=True)
        raise


def write_file(
    owner: QObject, path: Path, make: Callable[[], bytes], done: Callable[[int], None], failed: Callable[[Exception], None]
) -> None:
    """Write the result of ``make`` on a thread; then ``done`` receives the number of bytes, or ``failed`` the error."""

    def work() -> int:
        data = make()
        replace_file(path, data)
        return len(data)

    call = BackgroundCall(owner)
    call.done.connect(done)
    call.failed.connect(failed)
    call.done.connect(lambda _size: call.deleteLater())
    call.failed.connect(lambda _error: call.deleteLater())
    call.start(work)
