"""`ReportEstimate`: estimates how much a report reads, in a child process while the form is filled in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QObject, QTimer, Signal

from broker_core.outside import read_json
from gui.models.reports import PastRun, ReportOrder, name_servers_of, source_options
from gui.processes.child_process import ChildEnd, ChildProcess

SETTLE_MS = 300
"""Time without input before the estimate starts."""
GRACE_MS = 500
START_S = 5.0
"""Seconds of a run that do not grow with its data: Java, Spark, the page."""
BYTES_PER_S = 40e6
"""Assumed before the first run."""


@dataclass(frozen=True, slots=True)
class EstimateRequest:
    report: str
    stores: tuple[str, ...]
    commit_log: str
    times: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, order: ReportOrder) -> EstimateRequest:
        times = tuple((name, value) for name, value in order.parameters if name in ("from", "to"))
        return cls(order.spec.name, order.stores, order.commit_log, times)

    @property
    def name_servers(self) -> str:
        """Of the cluster; empty for stores."""
        return name_servers_of(self.stores)

    def arguments(self, details: str | None = "") -> list[str]:
        """Arguments of ``main.py``; ``details`` as of `ReportOrder.arguments`."""
        options = source_options(self.stores, is_saved=details is None)
        options += [("commit-log", self.commit_log)] if self.commit_log else []
        words = [word for name, value in [*options, *self.times] for word in (f"--{name}", value)]
        announced = ["--connection-details"] if details else []
        return ["report", self.report, *words, *announced, "--estimate", "--parent-pipe"]


@dataclass(frozen=True, slots=True)
class Expected:
    """The estimate; see `spark_reports.datasource.estimate`.

    Attributes:
        byte_count: Bytes; -1 unknown.
        records: Approximate number; -1 unknown.
        shortage: Why there is not enough memory; empty if there is.
        fault: Why nothing is known, in words; empty if something is.
    """

    byte_count: int = -1
    records: int = -1
    shortage: str = ""
    fault: str = ""


DetailsOf = Callable[[str], str | None]
"""Name servers → connection details as workers read them; empty: none; None: a saved connection has them."""


def no_details(_name_servers: str) -> str | None:
    return ""


class ReportEstimate(QObject):
    """Answers only the newest request. GUI thread only.

    Signals:
        found: The answer is there; carries the `EstimateRequest` and the `Expected`.
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
        super().__init__(parent)
        self._details_of = details_of
        self._wanted: EstimateRequest | None = None
        self._asked: EstimateRequest | None = None
        self._line = ""
        self._is_over = False
        self._process = process or ChildProcess(self, grace_ms=GRACE_MS)
        self._process.line_read.connect(self._line_read)
        self._process.ended.connect(self._child_ended)
        self._timer = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self._timer.timeout.connect(self._start)

    @property
    def is_running(self) -> bool:
        return self._process.is_running

    def ask(self, question: EstimateRequest | None) -> None:
        """Request another estimate; None: none. A repeated request is ignored."""
        if question == self._wanted or self._is_over:
            return
        self._wanted = question
        self._timer.stop()
        if question is not None:
            self._timer.start()

    def forget(self) -> None:
        """Estimate again at the same request, because the store may have grown."""
        self._wanted = None

    def end(self) -> None:
        """Stop for good; `ended` is emitted when the child is gone, if there is one."""
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
    try:
        fields = read_json(line)
        return Expected(int(fields["bytes"]), int(fields["records"]), str(fields["shortage"]))
    except (ValueError, KeyError, TypeError, OverflowError):
        return Expected(fault=line)


def expected_s(byte_count: int, report: str, runs: Sequence[PastRun]) -> float:
    """Expected seconds of a report, by earlier runs: of the same report if there is one, the nearest in size."""
    known = [run for run in runs if run.byte_count > 0 and run.seconds > 0 and not run.is_sampled]
    same = [run for run in known if run.report == report] or known
    if not same:
        return START_S + byte_count / BYTES_PER_S
    nearest = min(same, key=lambda run: abs(run.byte_count - byte_count))
    start_s = min(START_S, 0.9 * nearest.seconds)
    # A small run says nothing about the rate: its time beyond the start is mostly noise.
    rate = max(nearest.byte_count / (nearest.seconds - start_s), BYTES_PER_S / 10)
    return start_s + byte_count / rate
