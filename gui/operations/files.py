"""Writing a file that a person asked for: off the GUI thread, in place at once, told when it is done."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QObject

from gui.operations.queries import BackgroundCall


def replace_file(path: Path, data: bytes) -> None:
    """Put ``data`` in place of a file, or leave it as it was.

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
    """Write what ``make`` returns on a thread; then ``done`` gets the bytes written, or ``failed`` the error."""

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
