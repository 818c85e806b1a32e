"""`BackgroundCall`: a function on a thread of Qt's pool, its result on the GUI thread.

`ClipboardCall` copies that result; `write_file` writes it to a file.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QCoreApplication, QObject, QThreadPool, Signal
from PySide6.QtGui import QGuiApplication

from broker_core.api import OrbitError, replace_file


class BackgroundCall(QObject):
    """Runs a function on a thread of Qt's pool; for file reading, never for broker queries.

    Args:
        parent: Its owner.
        newest_only: Drop the result of a call after which another was started, because two may end in any order.

    Signals:
        done: The function returned; carries its result. On the GUI thread.
        failed: The function raised an `OrbitError` or `OSError`; carries it. On the GUI thread.
    """

    done = Signal(object)
    failed = Signal(object)

    def __init__(self, parent: QObject | None = None, *, newest_only: bool = False) -> None:
        super().__init__(parent)
        self._newest_only = newest_only
        self._started = 0

    def start(self, function: Callable[[], object]) -> None:
        """Run ``function`` once. An error of another kind is raised on the GUI thread."""
        self._started += 1
        work = _Work(function, self._started)
        work.over.connect(self._over)
        work.over.connect(work.let_go)
        # A function, because a `QRunnable` that ends before `start` has returned is never freed, nor its references.
        QThreadPool.globalInstance().start(work.run)

    def _over(self, answer: object, error: Exception | None, number: int) -> None:
        if error is not None and not isinstance(error, OrbitError | OSError):
            raise error
        if self._newest_only and number != self._started:
            return
        if error is None:
            self.done.emit(answer)
        else:
            self.failed.emit(error)


class ClipboardCall(BackgroundCall):
    """Makes a text on a thread, because it may be large, and copies it. It outlives the widget that is closed meanwhile."""

    def __init__(self) -> None:
        super().__init__(newest_only=True)
        self.done.connect(lambda text: QGuiApplication.clipboard().setText(text))


class _Work(QObject):
    """A function in the pool.

    It lives until its end is reported on the GUI thread, even if its caller is gone: a thread that emits through an object that
    is deleted meanwhile, or that holds the last reference to a widget, would crash the program.

    Signals:
        over: The answer and None, or None and the error; then the number of the call.
    """

    over = Signal(object, object, int)

    def __init__(self, function: Callable[[], object], number: int) -> None:
        super().__init__(QCoreApplication.instance())
        self.function: Callable[[], object] | None = function
        self._number = number

    def run(self) -> None:
        """Call the function, on a thread of the pool."""
        assert self.function is not None
        try:
            answer = self.function()
        except Exception as error:  # noqa: BLE001  the root of a thread; reported on the GUI thread
            self.over.emit(None, error, self._number)
        else:
            self.over.emit(answer, None, self._number)

    def let_go(self) -> None:
        """Release the function on the GUI thread: the other thread may hold the last reference to this object."""
        self.function = None
        self.deleteLater()


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
