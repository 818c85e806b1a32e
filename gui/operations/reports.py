"""`ReportRunner`: runs reports one after the other in a child process; reads and deletes what earlier runs left."""

from __future__ import annotations

import logging
import shutil
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path

import platformdirs
from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from broker_core.api import open_csv
from gui.models.reports import (
    ManifestFault,
    PastRun,
    ReportOrder,
    ResultChart,
    ResultTable,
    RunState,
    StartedRun,
    after_line,
    cancelled_run,
    failed_run,
    new_run,
    past_run,
    read_result_table,
    result_charts,
    run_folder,
)
from gui.models.schedules import Schedule
from gui.operations.decoding import DecoderBook
from gui.operations.preparation import ReportPreparation
from gui.operations.report_estimate import DetailsOf, ReportEstimate, no_details
from gui.operations.report_schedules import ReportSchedules
from gui.operations.tasks import Task, TaskList
from gui.processes.child_process import ChildEnd, ChildProcess
from gui.processes.spark_child import CANCEL_GRACE_MS, SparkChild
from gui.words.child_words import child_text
from gui.words.text import count_text, shown_language, tr
from spark_reports.catalog import ReportSpec, reports
from spark_reports.chinese_words import word_in_chinese

_LOG = logging.getLogger(__name__)
MANIFEST = "manifest.json"
MANIFEST_BYTES_MAX = 4 * 1024 * 1024
HISTORY_RUNS_MAX = 200
WAITING_MAX = 50


def rising_ms() -> float:
    """Milliseconds on a clock that only rises."""
    return time.monotonic() * 1_000


class ReportRunner(QObject):
    """Starts, follows and cancels reports, one at a time; others wait in order. GUI thread only.

    Signals:
        changed: The run started, went on or ended, or what waits is another; `run` and `waiting` are new. Also where other
            masking rules count.
        ended: A run ended; carries its `StartedRun`.
    """

    changed = Signal()
    ended = Signal(object)

    def __init__(
        self,
        tasks: TaskList,
        parent: QObject | None = None,
        *,
        folder: Path | None = None,
        process: ChildProcess | None = None,
        session: SparkChild | None = None,
        preparation: ReportPreparation | None = None,
        estimate: ReportEstimate | None = None,
        schedules: ReportSchedules | None = None,
        rules: DecoderBook | None = None,
        clock_ms: Callable[[], float] = rising_ms,
        details_of: DetailsOf = no_details,
    ) -> None:
        """Create an idle runner.

        Args:
            tasks: Where a run is listed while it lasts.
            parent: Qt's owner.
            folder: Where the outputs go, one folder a run; by default ``reports`` in the user's data folder of Orbit.
            process: What runs the child; given by tests.
            session: Runs the reports instead, with Spark started beforehand.
            preparation: Prepares Java's classes while no report runs; None: nobody does.
            estimate: Tells what a report would read; None: nobody does.
            schedules: Says when scheduled reports are due; None: none is.
            rules: What results hide, as the pages of the window do; None: nothing.
            clock_ms: Time in ms that only rises.
            details_of: How clusters are reached.
        """
        super().__init__(parent)
        self.folder = folder or platformdirs.user_data_path("orbit", appauthor=False) / "reports"
        self.estimate = estimate
        self.schedules = schedules
        self._rules = rules
        if rules is not None:
            rules.changed.connect(self.changed)
        if schedules is not None:
            schedules.due.connect(self._run_scheduled)
        self._tasks = tasks
        self._task: Task | None = None
        self._clock_ms = clock_ms
        self._details_of = details_of
        self._run: StartedRun | None = None
        self._outcome: StartedRun | None = None
        self._waiting: list[ReportOrder] = []
        self._given: deque[str] = deque(maxlen=2 * WAITING_MAX)
        """Folders of the last orders: several may be made in the second that their names tell."""
        self._is_over = False
        self._preparation = preparation
        if preparation is not None:
            preparation.settled.connect(self._warm)
        self.session = session
        self._process: ChildProcess | SparkChild = process or session or ChildProcess(self, grace_ms=CANCEL_GRACE_MS)
        self._process.line_read.connect(self._line_read)
        self._process.ended.connect(self._child_ended)

    @property
    def run(self) -> StartedRun | None:
        """The run that lasts, or the last one."""
        return self._run

    @property
    def is_running(self) -> bool:
        return self._run is not None and self._run.state is RunState.RUNNING

    @property
    def waiting(self) -> tuple[ReportOrder, ...]:
        """What runs next, in this order."""
        return tuple(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether nothing more can be asked for until a run ends."""
        return self.is_running and len(self._waiting) >= WAITING_MAX

    @property
    def masks(self) -> bool:
        """Whether there is something that results hide."""
        return self._rules is not None and self._rules.masks

    def look_at_rules(self) -> None:
        """Look whether another window has changed the masking rules; `changed` tells a moment later."""
        if self._rules is not None:
            self._rules.refresh()

    def now_ms(self) -> float:
        """The runner's clock, for how long a stage has taken."""
        return self._clock_ms()

    def order(
        self,
        spec: ReportSpec,
        stores: Sequence[str],
        parameters: tuple[tuple[str, str], ...] = (),
        *,
        commit_log: str = "",
        also: tuple[str, ...] = (),
        originals: bool = False,
    ) -> ReportOrder:
        """An order whose output goes to a new folder; what masking rules hide is not in it, unless originals are wanted."""
        out = run_folder(self.folder, spec.name, datetime.now().astimezone(), self._given)
        self._given.append(str(out))
        return self._masked(
            ReportOrder(spec, tuple(stores), str(out), parameters, commit_log, also, shown_language(), originals)
        )

    def _masked(self, order: ReportOrder) -> ReportOrder:
        """The order under the rules as they are now."""
        return replace(order, rules=str(self._rules.path) if self._rules is not None and self._rules.masks else "")

    def order_again(self, run: PastRun) -> ReportOrder | None:
        """What gives a result anew, over what is stored now.

        Returns:
            None if this program has no such report, or what it was asked for is masked in the result.
        """
        spec = next((one for one in reports() if one.name == run.report), None)
        if spec is None or run.hidden_parameters:
            return None
        return self.order(spec, run.stores, run.asked, commit_log=run.commit_log, also=run.also)

    def submit(self, order: ReportOrder) -> bool:
        """Run a report now, or when those before it have ended.

        Returns:
            Whether it was taken; False when too many wait, or the window closes.
        """
        if self._is_over:
            return False
        if not self.is_running:
            self.start(order)
        elif self.is_full:
            return False
        else:
            self._waiting.append(order)
            self.changed.emit()
        return True

    def _run_scheduled(self, schedule: Schedule) -> None:
        spec = next((one for one in reports() if one.name == schedule.report), None)
        if spec is None or not self.submit(
            self.order(spec, schedule.stores, schedule.parameters, commit_log=schedule.commit_log, also=schedule.also)
        ):
            _LOG.warning("the scheduled report %s was left out: unknown, or too many wait", schedule.report)

    def withdraw(self, order: ReportOrder) -> None:
        """Take back one that waits."""
        if order in self._waiting:
            self._waiting.remove(order)
            self.changed.emit()

    def end(self) -> None:
        """Cancel the run and what waits, for good; the window closes."""
        self._is_over = True
        self._waiting.clear()
        if self.estimate is not None:
            self.estimate.end()
        self.cancel()
        if self.session is not None:
            self.session.end()

    def prepare(self) -> None:
        """Have Java's classes prepared in the background, if they are not, and Spark started behind that."""
        if self._preparation is None or self.is_running:
            return
        self._preparation.start()
        if self._preparation.is_settled:
            self._warm()

    def _warm(self) -> None:
        if self.session is not None and not self.is_running:
            self.session.warm()

    def start(self, order: ReportOrder) -> None:
        """Run a report; only while none runs. It goes before the preparation, which waits for its end."""
        assert not self.is_running
        if self._preparation is not None:
            self._preparation.pause()
        self._outcome = None
        order = self._masked(order)  # there may be other rules since it was asked for
        self._run = new_run(order, self._clock_ms())
        self._task = self._tasks.start(lambda: tr("Report: {title}", title=tr(order.spec.title)), self.cancel)
        details = self._details_of(order.name_servers) if order.name_servers else ""
        self._process.start(order.arguments(details), details or "")
        self.changed.emit()

    def cancel(self) -> None:
        """Stop the run: Spark's jobs, its Java machine, and the half-written output. `ended` says when it has."""
        if self._run is None or self._run.state is not RunState.RUNNING or self._run.cancelling:
            return
        self._run = replace(self._run, cancelling=True)
        self._process.cancel()
        self.changed.emit()

    def _line_read(self, line: str) -> None:
        if self._run is None or self._run.state is not RunState.RUNNING:
            return
        before = self._run
        run = after_line(before, line, self._clock_ms())
        if run == before:
            return
        if run.state is not RunState.RUNNING:
            # Told when the process is gone, so that who hears of it can run the next one at once.
            self._outcome = run
            return
        self._run = run
        if self._task is not None:
            stage = run.running_stage
            self._task.report(partial(tr, stage.title) if stage else "", *run.share)
        self.changed.emit()

    def _child_ended(self, end: ChildEnd) -> None:
        if self._run is None:
            return
        run = self._outcome or self._without_last_line(self._run, end)
        self._run, self._outcome = run, None
        self._tell_task(run)
        self.changed.emit()
        self.ended.emit(run)
        if self._waiting and not self.is_running and not self._is_over:
            self.start(self._waiting.pop(0))
        elif self._preparation is not None and not self.is_running:
            self._preparation.resume()

    def _without_last_line(self, run: StartedRun, end: ChildEnd) -> StartedRun:
        """The outcome of a run whose process ended without saying how."""
        if end.cancelled:
            return cancelled_run(run, self._clock_ms())
        if end.ok:
            return failed_run(run, tr("The report ended without a result."), self._clock_ms())
        return failed_run(run, end.error_text, self._clock_ms())

    def _tell_task(self, run: StartedRun) -> None:
        task, self._task = self._task, None
        if task is None:
            return
        if run.state is RunState.FAILED:
            task.fail(partial(child_text, run.error))
        elif run.state is RunState.CANCELLED:
            task.cancelled()
        else:
            task.finish(lambda: rows_text(run))


def rows_text(run: StartedRun) -> str:
    """What a run has read, which is messages or samples of the history."""
    return tr("{count} samples read" if run.order.spec.needs_samples else "{count} messages read", count=count_text(run.rows))


def read_history(folder: Path, *, prepare_words: bool = False) -> list[PastRun]:
    """The newest runs that left a result in ``folder``, newest first. Reads files: not on the GUI thread.

    ``prepare_words`` loads what their findings are put into Chinese with, which takes a tenth of a second once.

    Folders without a readable manifest are not results and are left out.

    Raises:
        OSError: The folder is there and cannot be read.
    """
    if prepare_words:
        word_in_chinese("")
    if not folder.is_dir():
        return []
    runs = [run for path in folder.iterdir() if (run := _read_run(path)) is not None]
    return sorted(runs, key=lambda run: (run.created_ms, run.folder.name), reverse=True)[:HISTORY_RUNS_MAX]


def _read_run(folder: Path) -> PastRun | None:
    manifest = folder / MANIFEST
    try:
        if manifest.stat().st_size > MANIFEST_BYTES_MAX:
            return None
        return past_run(folder, manifest.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, ManifestFault):
        return None


def read_table(run: PastRun, title: str, file_name: str) -> ResultTable:
    """The first rows of a result table. Reads a file: not on the GUI thread.

    Raises:
        OSError: The file cannot be read, e.g. because it was removed.
    """
    with open_csv(run.folder / Path(file_name).name) as file:
        return read_result_table(title, file)


def read_charts(run: PastRun) -> tuple[ResultChart, ...]:
    """The charts of a result. Reads a file: not on the GUI thread.

    Raises:
        OSError: The file cannot be read, e.g. because it was removed.
    """
    return result_charts((run.folder / Path(run.charts).name).read_text(encoding="utf-8", errors="replace"))


def delete_run(run: PastRun) -> PastRun:
    """Remove the folder of a result. Not on the GUI thread.

    Raises:
        OSError: Something of it cannot be removed.
    """
    # Under another name first: what is half removed must not be shown as a result.
    grave = run.folder.with_name(f".{run.folder.name}.deleted")
    run.folder.rename(grave)
    shutil.rmtree(grave)
    return run


def open_in_desktop(path: Path) -> bool:
    """Open a file or folder with the program of the desktop for it; False when there is none."""
    return QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
