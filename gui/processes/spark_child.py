"""`SparkChild`: the persistent report process. Spark is started once, and reports are sent to it.

To its user an order looks like a child of its own: it is started, writes lines, can be cancelled, and ends. A cancel ends the
process, so that nothing of the order is left; the next order starts another.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from enum import Enum

from PySide6.QtCore import QObject, Signal

from broker_core.outside import read_json
from gui.processes.child_process import ChildEnd, ChildProcess

_LOG = logging.getLogger(__name__)
CANCEL_GRACE_MS = 1_800
"""A cancelled report is killed after this time; with its Java machine it ends within two seconds."""
IDLE_S = 300
"""Spark releases its memory after this time without a report."""
ARGUMENTS = ("report", "--serve", "--low-priority", "--idle-s", str(IDLE_S))


class SparkState(Enum):
    """State of the process as it reports it; see `spark_reports.serve`."""

    OFF = "off"
    STARTING = "starting"
    READY = "ready"
    BUSY = "busy"


class SparkChild(QObject):
    """One order at a time; GUI thread only.

    Signals:
        line_read: One line (str) of the order.
        ended: The order is over (`ChildEnd`).
        changed: `state` or `memory_bytes` changed.
        gone: The process is gone.
    """

    line_read = Signal(str)
    ended = Signal(object)
    changed = Signal()
    gone = Signal()

    def __init__(self, parent: QObject | None = None, *, process: ChildProcess | None = None) -> None:
        """Create without a process; tests pass one."""
        super().__init__(parent)
        self.state = SparkState.OFF
        self.memory_bytes = -1
        """Memory of the process and Java; -1 unknown."""
        self._order: str | None = None
        self._is_taken = False
        self._may_repeat = False
        self._is_leaving = False
        self._is_over = False
        self._process = process or ChildProcess(self, grace_ms=CANCEL_GRACE_MS)
        self._process.line_read.connect(self._line_read)
        self._process.ended.connect(self._process_ended)

    @property
    def is_running(self) -> bool:
        """Whether the process runs, with or without an order."""
        return self._process.is_running

    def warm(self) -> None:
        """Start Spark in the background, if it does not run."""
        if not self._process.is_running and not self._is_over:
            self._launch()

    def start(self, arguments: Sequence[str], details: str = "") -> None:
        """Send an order, only when none is open, with the details that it announces (`spark_reports.cluster_access`)."""
        assert self._order is None
        words = list(arguments[1:])
        self._order = json.dumps({"words": words, "details": details} if details else words, ensure_ascii=False)
        self._is_taken, self._may_repeat = False, True
        if not self._process.is_running:
            self._launch()
        elif not self._is_leaving:
            self._process.tell(self._order)

    def cancel(self) -> None:
        """Cancel the order by ending the process; emits `ended` then."""
        if self._order is not None:
            self._may_repeat = False
            self._leave()

    def rest(self) -> None:
        """End the process now if no order is open."""
        if self._order is None:
            self._leave()

    def end(self) -> None:
        """Stop for good; emits `gone` when the process is gone, if there is one."""
        self._is_over, self._may_repeat = True, False
        self._leave()

    def _launch(self) -> None:
        self._is_leaving = False
        self._show(SparkState.STARTING, -1)
        self._process.start(ARGUMENTS)
        if self._order is not None:
            self._process.tell(self._order)

    def _leave(self) -> None:
        if self._process.is_running:
            self._is_leaving = True
            self._process.cancel()

    def _show(self, state: SparkState, memory_bytes: int) -> None:
        if (state, memory_bytes) != (self.state, self.memory_bytes):
            self.state, self.memory_bytes = state, memory_bytes
            self.changed.emit()

    def _line_read(self, line: str) -> None:
        told = session_line(line)
        if told is None:
            self.line_read.emit(line)
            return
        state, memory_bytes = told
        self._show(state, memory_bytes)
        if state is SparkState.BUSY:
            self._is_taken = True
        elif state is SparkState.READY and self._is_taken:
            self._order, self._is_taken = None, False
            self.ended.emit(ChildEnd(0, crashed=False, cancelled=False, error_lines=()))

    def _process_ended(self, end: ChildEnd) -> None:
        self._show(SparkState.OFF, -1)
        if self._order is not None and self._may_repeat and not self._is_taken and (end.ok or end.cancelled):
            # It ended for lack of orders, or was cancelled, just as this one arrived.
            self._may_repeat = False
            self._launch()
            return
        order, self._order, self._is_taken = self._order, None, False
        if order is not None:
            self.ended.emit(end)
        elif not end.ok and not end.cancelled:
            _LOG.warning("Spark was not kept ready: %s", end.error_text)
        self.gone.emit()


def session_line(line: str) -> tuple[SparkState, int] | None:
    """State and memory in bytes of a session line; None for another line."""
    try:
        fields = read_json(line)
        if fields["stage"] != "session":
            return None
        return SparkState(fields["state"]), int(fields["memory_bytes"])
    except (ValueError, KeyError, TypeError, OverflowError):
        return None
