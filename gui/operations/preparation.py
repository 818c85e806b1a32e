"""`ReportPreparation`: prepares Java's classes in the background, so that reports start in less than half the time."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, Signal

from gui.operations.background import BackgroundCall
from gui.operations.tasks import Task, TaskList
from gui.processes.child_process import ChildEnd, ChildProcess
from gui.words.child_words import child_text
from gui.words.text import tr

_LOG = logging.getLogger(__name__)
ARGUMENTS = ("report", "--prepare", "--low-priority", "--parent-pipe")


def archive_is_missing() -> bool:
    """Whether there is no archive of Java's classes yet. Reads folders: not on the GUI thread.

    Raises:
        JavaError: Reports cannot run here at all.
    """
    from spark_reports.class_cache import ClassCache, cache_folder
    from spark_reports.java import find_java

    return not ClassCache(cache_folder(), find_java()).path.is_file()


class ReportPreparation(QObject):
    """Runs the preparation once, if it is missing and no report runs. GUI thread only.

    It is a task that can be cancelled. A failure is only logged and listed, because reports work without it.

    Signals:
        ended: The child is gone.
        settled: There is nothing left to prepare.
    """

    ended = Signal()
    settled = Signal()

    def __init__(
        self,
        tasks: TaskList,
        parent: QObject | None = None,
        *,
        process: ChildProcess | None = None,
        is_missing: Callable[[], bool] = archive_is_missing,
    ) -> None:
        """Create an idle preparation; ``is_missing`` is called on another thread."""
        super().__init__(parent)
        self._tasks = tasks
        self._task: Task | None = None
        self._is_missing = is_missing
        self._asked = False
        self._paused = False
        self._over = False
        self.is_settled = False
        self._process = process or ChildProcess(self)
        self._process.ended.connect(self._child_ended)
        self._look = BackgroundCall(self)
        self._look.done.connect(self._looked)
        self._look.failed.connect(self._not_looked)

    @property
    def is_running(self) -> bool:
        return self._process.is_running

    def start(self) -> None:
        """Prepare if necessary. Only the first call has an effect."""
        if not self._asked:
            self._asked = True
            self._look.start(self._is_missing)

    def pause(self) -> None:
        """Give way to a report by cancelling the child."""
        self._paused = True
        self._process.cancel()

    def resume(self) -> None:
        """Start the cancelled preparation again, because no report runs any more."""
        self._paused = False
        if self._asked and not self._over:
            self._look.start(self._is_missing)

    def end(self) -> None:
        """Stop for good when the window closes; `ended` is emitted when the child is gone, if there is one."""
        self._over = True
        self._process.cancel()

    def _looked(self, is_missing: bool) -> None:
        if not is_missing:
            self._settle()
        elif not self._paused and not self._over and not self._process.is_running:
            self._task = self._tasks.start(lambda: tr("Preparing reports"), self.end, quiet=True)
            self._task.report(lambda: tr("So that they start in less than half the time"))
            self._process.start(ARGUMENTS)

    def _settle(self) -> None:
        self._over = self.is_settled = True
        self.settled.emit()

    def _not_looked(self, error: Exception) -> None:
        self._over = True
        _LOG.warning("reports could not be prepared: %s", error)

    def _child_ended(self, end: ChildEnd) -> None:
        task, self._task = self._task, None
        if task is not None and end.cancelled:
            task.cancelled()
        elif task is not None and end.ok:
            task.finish()
        elif task is not None:
            _LOG.warning("reports could not be prepared: %s", end.error_text)
            task.fail(partial(child_text, end.error_text))
        if not end.cancelled:
            self._settle()
        elif not self._paused and not self._over:
            # The report ended before the cancelled child.
            self._look.start(self._is_missing)
        self.ended.emit()
