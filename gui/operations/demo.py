"""Plays the demo as a task of the window, with progress and failure as of other tasks."""

from __future__ import annotations

import re
from functools import partial

from PySide6.QtCore import QObject

from gui.operations.tasks import Task, TaskList
from gui.processes.child_process import ChildEnd
from gui.processes.demo import DemoController, DemoPace
from gui.words.child_words import child_text
from gui.words.text import count_text, tr
from monitoring.sources.base import EMBEDDED_NAME, ClusterSource, SourceStatus

_PROGRESS = re.compile(
    r"(?P<seconds>\d+) s: sent (?P<sent>[\d,]+) \((?P<note>.*?)\); consumed (?P<consumed>.*?)"
    r"(; failed (?P<failed>[\d,]+) \((?P<reason>.*)\))?"
)


def demo_progress_text(line: str) -> str:
    """A progress line of the demo in the language of the window; other lines are unchanged."""
    found = _PROGRESS.fullmatch(line)
    if found is None:
        return line
    text = tr("{seconds} s: sent {sent} ({note}); consumed {consumed}", **found.groupdict() | {"note": tr(found["note"])})
    return text + tr("; failed {failed} ({reason})", **found.groupdict()) if found["failed"] else text


def demo_refusal(source: ClusterSource) -> str:
    """Why the demo, which creates topics and sends, is not played on a cluster; empty where it may be."""
    ready = source.ready
    if ready is None or source.status is not SourceStatus.READY:
        return tr("the broker is not running")
    if not (ready.has_store and ready.runs_broker):
        return tr("the demo plays on an embedded broker only")
    return tr("this connection is read-only") if source.read_only else ""


def may_offer_demo(source: ClusterSource) -> bool:
    """Whether the demo can be played on a cluster once it runs: it is embedded and writable."""
    return source.name == EMBEDDED_NAME and not source.read_only


def play_demo(demo: DemoController, tasks: TaskList, source: ClusterSource, pace: DemoPace) -> None:
    """Play on a cluster; does nothing when the demo already plays, or may not."""
    ready = source.ready
    if demo.is_running or ready is None or demo_refusal(source):
        return
    task = tasks.start(lambda: tr("Demo traffic, {rate}/s", rate=count_text(pace.value)), demo.stop)
    task.holds_window = False
    _DemoTask(demo, task)
    demo.start(ready.name_server, pace)


class _DemoTask(QObject):
    """Reports one run of the demo to its task; lives until the run ends."""

    def __init__(self, demo: DemoController, task: Task) -> None:
        super().__init__(task)
        self._task = task
        demo.line_read.connect(self._line_read)
        demo.ended.connect(self._ended)

    def _line_read(self, line: str) -> None:
        self._task.report(partial(demo_progress_text, line))

    def _ended(self, end: ChildEnd) -> None:
        if end.cancelled:
            self._task.cancelled()
        elif end.ok:
            self._task.finish()
        else:
            self._task.fail(partial(child_text, end.error_text))
        self.deleteLater()
