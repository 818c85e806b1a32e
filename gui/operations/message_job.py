"""`MessageJob`: an export or a replay of messages as a child process: started, followed, paused, given up.

The command line does the work, in a process of its own: the broker process is not asked, and a window that ends takes its jobs
with it. A replay that ended early goes on from its journal.
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
    """Where a job stands."""

    IDLE = "idle"
    RUNNING = "running"
    PAUSED = "paused"
    COMPLETE = "complete"
    PARTIAL = "partial"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which messages a job is about.

    Attributes:
        filter: In the filter language.
        count: How many they were when they were found; -1 not known.
        now_ms: What times like -2h of the filter count from; 0: when the job begins.
    """

    filter: str
    count: int = -1
    now_ms: int = 0


def place_arguments(source: ClusterSource) -> list[str] | None:
    """Where the command line finds the messages of a source; None while that is not known."""
    ready = source.ready
    if ready is None:
        return None
    # A log that lies in several directories is found by asking the broker.
    by_files = ready.has_store and not (ready.commit_log and ready.name_server)
    return ["--store", ready.store_directory] if by_files else ["--ns", ready.name_server]


def details_arguments(source: ClusterSource) -> list[str]:
    """What a command needs on its line to read the details of a source's connection from its input."""
    return ["--connection-details"] if source.connect_details else []


class MessageJob(QObject):
    """One run after the other. GUI thread only.

    Args:
        tasks: Where a run is listed while it lasts.
        title: Of the task.
        parent: Qt's owner.
        process: Runs the child; given by tests.

    Signals:
        changed: `state`, `share`, `lines` or `folder` are others.
    """

    changed = Signal()

    def __init__(self, tasks: TaskList, title: Words, parent: QObject, *, process: ChildProcess | None = None) -> None:
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
        """What it said, without its progress; the last `LINES_MAX`."""
        self.last = ""
        """What it said last, which is its outcome in the end."""
        self.folder = ""
        """Journal of a replay."""

    @property
    def is_running(self) -> bool:
        return self.state in (JobState.RUNNING, JobState.PAUSED)

    def start(self, arguments: Sequence[str], details: str = "", *, can_pause: bool = False) -> None:
        """Begin; only while none runs.

        Args:
            arguments: Of the command line.
            details: What the command reads first: not for its line, which others can read.
            can_pause: Whether the command takes `pause` and `resume`.
        """
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
        """Send nothing more until `resume`; only a replay that takes commands."""
        if self.state is JobState.RUNNING:
            self._process.tell("pause")
            self._go_to(JobState.PAUSED)

    def resume(self) -> None:
        """Go on after a pause."""
        if self.state is JobState.PAUSED:
            self._process.tell("resume")
            self._go_to(JobState.RUNNING)

    def cancel(self) -> None:
        """Give it up: an export leaves no file, a replay its journal."""
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
