"""`ReportEstimate`: how much a report would read, found out by a child process while the form is filled in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal

from gui.models.reports import PastRun, ReportOrder, name_servers_of, source_options
from gui.processes.child_process import ChildEnd, ChildProcess
from monitoring.outside import read_json

SETTLE_MS = 300
"""Time that nothing must have been entered before files are looked at."""
GRACE_MS = 500
START_S = 5.0
"""Of a run's seconds, those that do not grow with what it reads: Java, Spark, the page."""
BYTES_PER_S = 40e6
"""Assumed where no run was made yet."""


@dataclass(frozen=True, slots=True)
class EstimateRequest:
    """What an estimate is about."""

    report: str
    stores: tuple[str, ...]
    commit_log: str
    times: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, order: ReportOrder) -> EstimateRequest:
        """What an order would read."""
        times = tuple((name, value) for name, value in order.parameters if name in ("from", "to"))
        return cls(order.spec.name, order.stores, order.commit_log, times)

    @property
    def name_servers(self) -> str:
        """Of the cluster that would be read; empty for stores."""
        return name_servers_of(self.stores)

    def arguments(self, details: str | None = "") -> list[str]:
        """Command line behind ``main.py``; ``details`` as of `ReportOrder.arguments`."""
        options = source_options(self.stores, is_saved=details is None)
        options += [("commit-log", self.commit_log)] if self.commit_log else []
        words = [word for name, value in [*options, *self.times] for word in (f"--{name}", value)]
        announced = ["--connection-details"] if details else []
        return ["report", self.report, *words, *announced, "--estimate", "--parent-pipe"]


@dataclass(frozen=True, slots=True)
class Expected:
    """What would be read; see `spark_reports.datasource.estimate`.

    Attributes:
        byte_count: Bytes; -1 unknown.
        records: About so many; -1 unknown.
        shortage: Why there is not enough memory; empty if there is.
        fault: Why nothing is known, in words; empty if something is.
    """

    byte_count: int = -1
    records: int = -1
    shortage: str = ""
    fault: str = ""


DetailsOf = Callable[[str], str | None]
"""Name servers → how the cluster is reached, as workers read it; empty: plainly; None: a saved connection says."""


def no_details(_name_servers: str) -> str | None:
    """Of a window without clusters."""
    return ""


class ReportEstimate(QObject):
    """Answers the newest question only. GUI thread only.

    Signals:
        found: The answer is there; carries the `EstimateRequest` and what is `Expected`.
        ended: The child is gone.
    """

    found = Signal(object, object)
    ended = Signal()

    def __init__(
        self,
        parent: QObject | None = None,
        *,
        process: ChildProcess | None = None,
        details_of: DetailsOf = no_details,
    ) -> None:
        """Create without a child.

        Args:
            parent: Qt's owner.
            process: What runs the child; given by tests.
            details_of: As of `ReportRunner`.
        """
        super().__init__(parent)
        self._details_of = details_of
        self._wanted: EstimateRequest | None = None
        self._asked: EstimateRequest | None = None
        self._line = ""
        self._is_over = False
        self._process = process or ChildProcess(self, grace_ms=GRACE_MS)
        self._process.line_read.connect(self._line_read)
        self._process.ended.connect(self._child_ended)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(SETTLE_MS)
        self._timer.timeout.connect(self._start)

    @property
    def is_running(self) -> bool:
        """Whether the child runs."""
        return self._process.is_running

    def ask(self, question: EstimateRequest | None) -> None:
        """Ask something else; None: nothing. The same question again is not looked at again."""
        if question == self._wanted or self._is_over:
            return
        self._wanted = question
        self._timer.stop()
        if question is not None:
            self._timer.start()

    def forget(self) -> None:
        """What is stored may be more by now: look again when the same is asked."""
        self._wanted = None

    def end(self) -> None:
        """End for good; `ended` says when the child is gone, if there is one."""
        self._is_over = True
        self._timer.stop()
        self._process.cancel()

    def _start(self) -> None:
        if self._process.is_running:
            self._process.cancel()  # the newest question follows when the child is gone
        elif self._wanted is not None:
            self._asked, self._line = self._wanted, ""
            details = self._details_of(self._asked.name_servers) if self._asked.name_servers else ""
            self._process.start(self._asked.arguments(details), details or "")

    def _line_read(self, line: str) -> None:
        self._line = line

    def _child_ended(self, end: ChildEnd) -> None:
        asked, self._asked = self._asked, None
        if asked is not None and asked == self._wanted and not end.cancelled:
            self.found.emit(asked, expected(self._line) if end.ok else Expected(fault=end.error_text))
        elif self._wanted is not None and not self._is_over and not self._timer.isActive():
            self._start()
        self.ended.emit()


def expected(line: str) -> Expected:
    """Read the answer of the child."""
    try:
        fields = read_json(line)
        return Expected(int(fields["bytes"]), int(fields["records"]), str(fields["shortage"]))
    except (ValueError, KeyError, TypeError, OverflowError):
        return Expected(fault=line)


def expected_s(byte_count: int, report: str, runs: Sequence[PastRun]) -> float:
    """Seconds that a report will take, by earlier runs: of the same report if there is one, the nearest in size.

    Args:
        byte_count: What it would read.
        report: Its name.
        runs: Earlier runs; those whose size or time is not known are passed over.
    """
    known = [run for run in runs if run.byte_count > 0 and run.seconds > 0 and not run.is_sampled]
    same = [run for run in known if run.report == report] or known
    if not same:
        return START_S + byte_count / BYTES_PER_S
    nearest = min(same, key=lambda run: abs(run.byte_count - byte_count))
    start_s = min(START_S, 0.9 * nearest.seconds)
    # A small run says nothing about the rate: what it took beyond the start is mostly noise.
    rate = max(nearest.byte_count / (nearest.seconds - start_s), BYTES_PER_S / 10)
    return start_s + byte_count / rate
