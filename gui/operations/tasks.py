"""Long work in the window: a list of tasks with progress, outcome and a way to cancel.

A task runs nothing itself; the runner of the work reports to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from PySide6.QtCore import QObject, Signal

from gui.words.text import Words, said

FINISHED_TASKS_KEPT = 50


class TaskState(Enum):
    RUNNING = "Running"
    DONE = "Done"
    FAILED = "Failed"
    CANCELLED = "Cancelled"


@dataclass(frozen=True, slots=True)
class Pausing:
    is_paused: Callable[[], bool]
    pause: Callable[[], None]
    go_on: Callable[[], None]


class Task(QObject):
    """One piece of long work.

    Signals:
        changed: Progress or state changed.
    """

    changed = Signal()

    def __init__(self, title: Words, cancel: Callable[[], None] | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.title_words = title
        self.text_words: Words = ""
        self.done = 0
        self.total = 0
        self.state = TaskState.RUNNING
        self.quiet = False
        """Whether it was started without the user: its failure is listed and not announced."""
        self.holds_window = True
        """Whether closing the window asks because of it."""
        self.pausing: Pausing | None = None
        """Set by the runner of work that can be paused, which emits `changed` at each pause."""
        self._cancel = cancel

    @property
    def title(self) -> str:
        return said(self.title_words)

    @property
    def text(self) -> str:
        return said(self.text_words)

    @property
    def running(self) -> bool:
        return self.state is TaskState.RUNNING

    @property
    def can_cancel(self) -> bool:
        return self.running and self._cancel is not None

    @property
    def can_pause(self) -> bool:
        return self.running and self.pausing is not None

    @property
    def is_paused(self) -> bool:
        return self.running and self.pausing is not None and self.pausing.is_paused()

    @property
    def share(self) -> float | None:
        """Progress from 0 to 1; None when the total is not known."""
        return min(1.0, self.done / self.total) if self.total > 0 else None

    def report(self, text: Words, done: int = 0, total: int = 0) -> None:
        self.text_words, self.done, self.total = text, done, total
        self.changed.emit()

    def finish(self, text: Words = "") -> None:
        self._end(TaskState.DONE, text)

    def fail(self, text: Words) -> None:
        """End without a result; ``text`` says why."""
        self._end(TaskState.FAILED, text)

    def cancelled(self, text: Words = "") -> None:
        """End because it was cancelled."""
        self._end(TaskState.CANCELLED, text)

    def cancel(self) -> None:
        """Ask the runner of the work to stop it."""
        if self._cancel is not None and self.running:
            self._cancel()

    def toggle_pause(self) -> None:
        """Ask the runner of the work to pause, or to go on."""
        if self.running and self.pausing is not None:
            (self.pausing.go_on if self.pausing.is_paused() else self.pausing.pause)()

    def _end(self, state: TaskState, text: Words) -> None:
        if self.running:
            self.state, self.text_words = state, text
            self.changed.emit()


class TaskList(QObject):
    """All tasks of the window, newest first.

    Signals:
        changed: A task was added or changed.
        ended: A task ended; carries it.
    """

    changed = Signal()
    ended = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._tasks: list[Task] = []
        self._ended: set[Task] = set()

    def start(self, title: Words, cancel: Callable[[], None] | None = None, *, quiet: bool = False) -> Task:
        """Add a running task. ``cancel`` is called when the user stops it; ``quiet`` as of `Task.quiet`."""
        task = Task(title, cancel, self)
        task.quiet = quiet
        task.changed.connect(self._task_changed)
        self._tasks.insert(0, task)
        self._forget_old()
        self.changed.emit()
        return task

    @property
    def tasks(self) -> tuple[Task, ...]:
        return tuple(self._tasks)

    @property
    def running(self) -> tuple[Task, ...]:
        return tuple(task for task in self._tasks if task.running)

    def _task_changed(self) -> None:
        for task in self._tasks:
            if not task.running and task not in self._ended:
                self._ended.add(task)
                self.ended.emit(task)
        self.changed.emit()

    def _forget_old(self) -> None:
        finished = [task for task in self._tasks if not task.running]
        for task in finished[FINISHED_TASKS_KEPT:]:
            self._tasks.remove(task)
            self._ended.discard(task)
            task.deleteLater()
