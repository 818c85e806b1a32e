"""Progress of a report: one line a step, as text or for a program.

JSON lines, one object each, of `LINE_BYTES_MAX` at most:

    {"stage": "read", "title": "Read and group the messages", "done": 3, "total": 9, "rows": 310522}   a step
    {"stage": "first", "title": "By host", "rows": 812, "csv": TEXT}                                     its first table
    {"stage": "done", "state": "complete", "out": DIR, "html": FILE, "rows": N, "seconds": S}            the end
    {"stage": "failed", "error": KIND, "message": TEXT}                                                  the end
    {"stage": "cancelled"}                                                                               the end

The first table is sent before the rest of the report is computed; ``csv`` has its heading and its first rows, as in its file.
"""

from __future__ import annotations

import contextlib
import json
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

from spark_reports.catalog import PREPARING, ReportSpec

if TYPE_CHECKING:
    from spark_reports.reports.result import ReportTable

LINE_BYTES_MAX = 48 * 1024
"""Longest line."""
FIRST_ROWS_MAX = 100
"""Rows of the first table in its line."""


@dataclass(frozen=True, slots=True)
class StageTime:
    key: str
    title: str
    seconds: float
    rows: int


class ReportProgress:
    """Reports stages and steps to standard output or ``out``, and records the duration of each stage. Any thread."""

    def __init__(self, spec: ReportSpec, *, json_lines: bool, out: TextIO | None = None) -> None:
        self._titles = dict([PREPARING, *spec.stages])
        self._json = json_lines
        self._out = out or sys.stdout
        self._lock = threading.Lock()
        self._stage = ""
        self._began = self._stage_began = time.monotonic()
        self._rows = 0
        self._last: tuple[int, int, int] | None = None
        self.stages: list[StageTime] = []

    @property
    def seconds(self) -> float:
        """Seconds since construction."""
        return time.monotonic() - self._began

    def begin(self, stage: str, *, total: int = 1) -> None:
        """Begin a stage, which ends the one before."""
        with self._lock:
            self._close_stage()
            self._stage, self._stage_began, self._rows, self._last = stage, time.monotonic(), 0, None
        self.step(0, total)

    def step(self, done: int, total: int, *, rows: int = 0) -> None:
        """Report progress of the running stage; a repetition is not written."""
        with self._lock:
            self._rows = max(self._rows, rows)
            state = (done, total, self._rows)
            if state == self._last:
                return
            self._last = state
            title = self._titles[self._stage]
            if self._json:
                self._line({"stage": self._stage, "title": title, "done": done, "total": total, "rows": self._rows})
            else:
                self._say(f"{title}: {done} of {total}{f', {self._rows:,} messages' if self._rows else ''}")

    def show(self, table: ReportTable) -> None:
        """Report the first table."""
        with self._lock:
            if self._json:
                self._say(_first_line(table))
            else:
                self._say(f"{table.title}: {table.data.num_rows:,} rows so far")

    def finish(self) -> None:
        """End the running stage, the last one."""
        with self._lock:
            self._close_stage()
            self._stage = ""

    def end(self, event: str, fields: Mapping[str, object], text: str) -> None:
        """Report the end of the run."""
        with self._lock:
            if self._json:
                self._line({"stage": event, **fields})
            elif text:
                self._say(text)

    def _close_stage(self) -> None:
        if self._stage:
            seconds = round(time.monotonic() - self._stage_began, 3)
            self.stages.append(StageTime(self._stage, self._titles[self._stage], seconds, self._rows))

    def _line(self, fields: Mapping[str, object]) -> None:
        self._say(json.dumps(fields, ensure_ascii=False))

    def _say(self, line: str) -> None:
        with contextlib.suppress(BrokenPipeError):  # the reader is gone, which is no reason to stop
            self._out.write(line + "\n")
            self._out.flush()


def _first_line(table: ReportTable) -> str:
    """The line of the first table, with as many rows as fit, a hundred at most."""
    from spark_reports.output.tables import csv_text

    rows = FIRST_ROWS_MAX
    while True:
        fields = {"stage": "first", "title": table.title, "rows": table.data.num_rows, "csv": csv_text(table, rows)}
        line = json.dumps(fields, ensure_ascii=False)
        if not rows or len(line.encode("utf-8", "surrogatepass")) <= LINE_BYTES_MAX:
            return line
        rows //= 2
