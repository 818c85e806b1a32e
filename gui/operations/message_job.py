"""`MessageJob`: an export or a replay of messages as a child process: started, followed, paused, cancelled.

The command line does the work in a process of its own: it does not use the broker process, and a window that ends takes its
jobs with it. An unfinished replay resumes from its journal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from functools import partial

from PySide6.QtCore import QObject, Signal

from gui.operations.tasks import Pausing, Task, TaskList
from gui.processes.child_process import ChildEnd, ChildProcess
from gui.words.child_words import child_text
from gui.words.text import Words
from monitoring.sources.base import ClusterSource

LINES_MAX = 500
ERRORS_THAT_CONTINUE = (0, 1)
"""Exit codes of a job that came to its end: complete, partial."""
_SCANNED = re.compile(r"progress: scanned ([\d,]+) of ([\d,]+)")
_LEFT = re.compile(r"progress: .*?([\d,]+) left(?:, paused)?$")
_TO_SEND = re.compile(r"journal: (.*), ([\d,]+) of ([\d,]+) messages? to send")


class JobState(Enum):
    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Chosen:
    """The messages of a job.

    Attributes:
        filter: In the filter language.
        count: Their number when they were found; -1 not known.
        now_ms: Reference of relative times of the filter such as -2h; 0: the start of the job.
    """

    filter: str
    count: int = -1
    now_ms: int = 0


def place_arguments(source: ClusterSource) -> list[str] | None:
    """Arguments that name a source for the command line; None while it is not known."""
    ready = source.ready
    if ready is None:
        return None
    # A log in several directories is read through the broker.
    by_files = ready.has_store and not (ready.commit_log and ready.name_server)
    return ["--store", ready.store_directory] if by_files else ["--ns", ready.name_server]


def details_arguments(source: ClusterSource) -> list[str]:
    """Argument that makes a command read the connection details from its input."""
    return ["--connection-details"] if source.connect_details else []


class MessageJob(QObject):
    """One run at a time. GUI thread only.

    Signals:
        changed: `state`, `share`, `lines` or `folder` changed.
    """

    changed = Signal()

    def __init__(
        self, tasks: TaskList, title: Words, parent: QObject | None = None, *, process: ChildProcess | None = None
    ) -> None:
        super().__init__(parent)
        self._tasks = tasks
        self._title = title
        self._task: Task | None = None
        self._total = 0
        self._process = process or ChildProcess(self)
        self._process.error_read.connect(self._read)
        self._process.ended.connect(self._ended)
        self.state = JobState.IDLE
        self.share: float | None = None
        """From 0 to 1; None while it is not known."""
        self.lines: list[str] = []
        """Its output without progress; the last `LINES_MAX`."""
        self.last = ""
        """Its last line, which is its outcome in the end."""
        self.folder = ""
        """Journal of a replay."""

    @property
    def is_running(self) -> bool:
        return self.state in (JobState.RUNNING, JobState.PAUSED)

    def start(self, arguments: Sequence[str], details: str = "", *, can_pause: bool = False) -> None:
        """Begin; only while none runs. ``details`` go to the command's input, because other users can read its command line."""
        assert not self.is_running
        self.state, self.share, self.lines, self.last, self.folder, self._total = JobState.RUNNING, None, [], "", "", 0
        self._task = self._tasks.start(self._title, self.cancel)
        if can_pause:
            self._task.pausing = Pausing(lambda: self.state is JobState.PAUSED, self.pause, self.resume)
        self._process.start(arguments)
        if details:
            self._process.tell(details)
        self.changed.emit()

    def pause(self) -> None:
        """Stop sending until `resume`; only a replay that accepts commands."""
        if self.state is JobState.RUNNING:
            self._process.tell("pause")
            self._go_to(JobState.PAUSED)

    def resume(self) -> None:
        if self.state is JobState.PAUSED:
            self._process.tell("resume")
            self._go_to(JobState.RUNNING)

    def cancel(self) -> None:
        """Cancel: an export leaves no file, a replay its journal."""
        if self.is_running:
            self._process.cancel()

    # ---- what the child says -------------------------------------------------------------------------------------------

    def _read(self, line: str) -> None:
        self.last = line
        if scanned := _SCANNED.match(line):
            done, total = map(_number, scanned.groups())
            self._progress(line, done, total)
        elif left := _LEFT.match(line):
            self._progress(line, self._total - _number(left[1]), self._total)
        else:
            if told := _TO_SEND.match(line):
                self.folder, self._total = told[1], _number(told[3])
            self.lines = [*self.lines[-LINES_MAX + 1 :], line]
            self.changed.emit()

    def _progress(self, line: str, done: int, total: int) -> None:
        self.share = min(1.0, done / total) if total else None
        if self._task is not None:
            self._task.report(partial(child_text, line.removeprefix("progress: ")), done, total)
        self.changed.emit()

    def _ended(self, end: ChildEnd) -> None:
        self.share = 1.0 if end.ok else self.share
        if end.cancelled:
            state = JobState.CANCELLED
        elif end.crashed or end.exit_code not in ERRORS_THAT_CONTINUE:
            state = JobState.FAILED
            self.last = self.last or end.error_text
        else:
            state = JobState.COMPLETE if end.ok else JobState.PARTIAL
        task, self._task = self._task, None
        if task is not None and state is JobState.CANCELLED:
            task.cancelled()
        elif task is not None and state is JobState.FAILED:
            task.fail(partial(child_text, self.last))
        elif task is not None:
            task.finish(partial(child_text, self.last))
        self._go_to(state)

    def _go_to(self, state: JobState) -> None:
        self.state = state
        if self._task is not None:
            self._task.changed.emit()
        self.changed.emit()


def _number(text: str) -> int:
    return int(text.replace(",", ""))
