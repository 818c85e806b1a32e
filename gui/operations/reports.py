"""`ReportRunner`: runs reports one by one in a child process; reads and deletes results; `ReportNotice`: shows their ends."""

from __future__ import annotations

import logging
import re
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
from gui.operations.actions import Navigate, Notify
from gui.operations.decoding import DecoderBook
from gui.operations.preparation import ReportPreparation
from gui.operations.report_estimate import DetailsOf, ReportEstimate, no_details
from gui.operations.report_schedules import ReportSchedules
from gui.operations.tasks import Task, TaskList
from gui.processes.child_process import ChildEnd, ChildProcess
from gui.processes.spark_child import CANCEL_GRACE_MS, SparkChild
from gui.theme.tokens import State
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
    """Starts, follows and cancels reports, one at a time; others are queued. GUI thread only.

    Signals:
        changed: `run` or `waiting` changed, or the masking rules.
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
            tasks: Lists a run.
            parent: Qt's owner.
            folder: Of the outputs, one folder a run; by default ``reports`` in the user's data folder of Orbit.
            process: Runs the child; set by tests.
            session: Runs the reports instead, with Spark started beforehand.
            preparation: Prepares Java's classes while no report runs; None: nothing does.
            estimate: Estimates the data of a report; None: nothing does.
            schedules: Emits due reports; None: none.
            rules: Masking rules of results, as of the pages; None: nothing is masked.
            clock_ms: Time in ms that only rises.
            details_of: Connection details of clusters.
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
        self.run: StartedRun | None = None
        """The current run, or the last one."""
        self._outcome: StartedRun | None = None
        self._waiting: list[ReportOrder] = []
        self._given: deque[str] = deque(maxlen=2 * WAITING_MAX)
        """Folders of the last orders: several may be made in the second that their names contain."""
        self._is_over = False
        self._preparation = preparation
        if preparation is not None:
            preparation.settled.connect(self._warm)
        self.session = session
        self._process: ChildProcess | SparkChild = process or session or ChildProcess(self, grace_ms=CANCEL_GRACE_MS)
        self._process.line_read.connect(self._line_read)
        self._process.ended.connect(self._child_ended)

    @property
    def is_running(self) -> bool:
        return self.run is not None and self.run.state is RunState.RUNNING

    @property
    def waiting(self) -> tuple[ReportOrder, ...]:
        """Queued orders, next first."""
        return tuple(self._waiting)

    @property
    def is_full(self) -> bool:
        """Whether the queue takes no more orders until a run ends."""
        return self.is_running and len(self._waiting) >= WAITING_MAX

    @property
    def masks(self) -> bool:
        return self._rules is not None and self._rules.masks

    def look_at_rules(self) -> None:
        """Check whether another window changed the masking rules; emits `changed` a moment later."""
        if self._rules is not None:
            self._rules.refresh()

    def now_ms(self) -> float:
        """The runner's clock, for the time of a stage."""
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
        """An order with a new output folder; masked values are left out unless originals are wanted."""
        out = run_folder(self.folder, spec.name, datetime.now().astimezone(), self._given)
        self._given.append(str(out))
        return self._masked(
            ReportOrder(spec, tuple(stores), str(out), parameters, commit_log, also, shown_language(), originals)
        )

    def _masked(self, order: ReportOrder) -> ReportOrder:
        """The order under the current rules."""
        return replace(order, rules=str(self._rules.path) if self._rules is not None and self._rules.masks else "")

    def order_again(self, run: PastRun) -> ReportOrder | None:
        """The order that repeats a result over the data stored now.

        Returns:
            None if this program has no such report, or a parameter is masked in the result.
        """
        spec = next((one for one in reports() if one.name == run.report), None)
        if spec is None or run.hidden_parameters:
            return None
        return self.order(spec, run.stores, run.asked, commit_log=run.commit_log, also=run.also)

    def submit(self, order: ReportOrder) -> bool:
        """Run a report now, or after those before it.

        Returns:
            Whether it was accepted; False when the queue is full, or the window closes.
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
        if order in self._waiting:
            self._waiting.remove(order)
            self.changed.emit()

    def end(self) -> None:
        """Cancel the run and all queued orders, for good; the window closes."""
        self._is_over = True
        self._waiting.clear()
        if self.estimate is not None:
            self.estimate.end()
        self.cancel()
        if self.session is not None:
            self.session.end()

    def prepare(self) -> None:
        """Prepare Java's classes in the background if necessary, and start Spark after that."""
        if self._preparation is None or self.is_running:
            return
        self._preparation.start()
        if self._preparation.is_settled:
            self._warm()

    def _warm(self) -> None:
        if self.session is not None and not self.is_running:
            self.session.warm()

    def start(self, order: ReportOrder) -> None:
        """Run a report; only while none runs. The preparation waits for its end."""
        assert not self.is_running
        if self._preparation is not None:
            self._preparation.pause()
        self._outcome = None
        order = self._masked(order)  # there may be other rules since it was asked for
        self.run = new_run(order, self._clock_ms())
        self._task = self._tasks.start(lambda: tr("Report: {title}", title=tr(order.spec.title)), self.cancel)
        details = self._details_of(order.name_servers) if order.name_servers else ""
        self._process.start(order.arguments(details), details or "")
        self.changed.emit()

    def cancel(self) -> None:
        """Stop the run: Spark's jobs, its Java machine, and the half-written output. Emits `ended` when it has stopped."""
        if self.run is None or self.run.state is not RunState.RUNNING or self.run.cancelling:
            return
        self.run = replace(self.run, cancelling=True)
        self._process.cancel()
        self.changed.emit()

    def _line_read(self, line: str) -> None:
        if self.run is None or self.run.state is not RunState.RUNNING:
            return
        before = self.run
        run = after_line(before, line, self._clock_ms())
        if run == before:
            return
        if run.state is not RunState.RUNNING:
            # Reported when the process is gone, so that a listener can start the next run at once.
            self._outcome = run
            return
        self.run = run
        if self._task is not None:
            stage = run.running_stage
            self._task.report(partial(tr, stage.title) if stage else "", *run.share)
        self.changed.emit()

    def _child_ended(self, end: ChildEnd) -> None:
        if self.run is None:
            return
        run = self._outcome or self._without_last_line(self.run, end)
        self.run, self._outcome = run, None
        self._tell_task(run)
        self.changed.emit()
        self.ended.emit(run)
        if self._waiting and not self.is_running and not self._is_over:
            self.start(self._waiting.pop(0))
        elif self._preparation is not None and not self.is_running:
            self._preparation.resume()

    def _without_last_line(self, run: StartedRun, end: ChildEnd) -> StartedRun:
        """The outcome of a run whose process ended without a last line."""
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
            task.fail(partial(_what_failed, run.error))
        elif run.state is RunState.CANCELLED:
            task.cancelled()
        else:
            task.finish(lambda: rows_text(run))


def rows_text(run: StartedRun) -> str:
    """Rows that a run has read: messages, or samples of the history."""
    return tr("{count} samples read" if run.order.spec.needs_samples else "{count} messages read", count=count_text(run.rows))


def _what_failed(error: str) -> str:
    """The first sentence; the page shows also what to do."""
    found = re.match(r".*?(?:\.(?=\s|$)|。)|.+", child_text(error), re.DOTALL)
    return found[0] if found is not None else ""


def read_history(folder: Path, *, prepare_words: bool = False) -> list[PastRun]:
    """The newest results in ``folder``, newest first. Reads files: not on the GUI thread.

    ``prepare_words`` loads the Chinese texts of their findings, which takes a tenth of a second once. Folders without a
    readable manifest are left out.

    Raises:
        OSError: The folder exists and cannot be read.
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
        OSError: A part of it cannot be removed.
    """
    # Renamed first: a half removed folder must not be shown as a result.
    grave = run.folder.with_name(f".{run.folder.name}.deleted")
    run.folder.rename(grave)
    shutil.rmtree(grave)
    return run


def open_in_desktop(path: Path) -> bool:
    """Open a file or folder with its program of the desktop; False when there is none."""
    return QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))


class ReportNotice(QObject):
    """Shows a notice when a report has ended with a result, until `close`."""

    def __init__(self, runner: ReportRunner, notify: Notify, navigate: Navigate, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._notify, self._navigate = notify, navigate
        self._runner = runner
        runner.ended.connect(self._ended)

    def close(self) -> None:
        self._runner.ended.disconnect(self._ended)
        self.deleteLater()

    def _ended(self, run: StartedRun) -> None:
        if run.state in (RunState.COMPLETE, RunState.PARTIAL):
            title = run.order.spec.title
            self._notify(
                lambda: tr("{title}: {what}", title=tr(title), what=rows_text(run)),
                state=State.HEALTHY, action=lambda: tr("Show"), on_action=self._show,
            )  # fmt: skip

    def _show(self) -> None:
        self._navigate("reports")
