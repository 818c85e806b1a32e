"""`QueryMemory`: queries open in tabs and queries that were run, in the window's settings; `QueryRecorder` adds those.

Each connection has its own, as it has its own layout. Several windows write them, so that each change reads first.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, QSettings

from gui.models.queries import OpenQuery, QueryRun, query_run
from gui.models.reports import RunState, StartedRun
from gui.settings.values import listed, whole_number

if TYPE_CHECKING:
    from gui.operations.reports import ReportRunner

TABS_MAX = 20
RUNS_MAX = 200
RUNS_CHARACTERS_MAX = 256 * 1024
"""Of all queries of the history; the oldest are forgotten first."""
TEXT_CHARACTERS_MAX = 64 * 1024
"""Of a query; a longer one cannot be edited in the window, and is not kept."""
FAULT_CHARACTERS_MAX = 500
_TABS, _CURRENT, _RUNS = "reports/queries/tabs", "reports/queries/current", "reports/queries/runs"


def wall_ms() -> int:
    """The time, ms since the epoch."""
    return time.time_ns() // 1_000_000


class QueryMemory:
    """See the module. ``group`` is `gui.operations.clusters.Clusters.settings_group`."""

    def __init__(self, settings: QSettings, group: str = "") -> None:
        self._settings = settings
        self._group = group

    @property
    def tabs(self) -> list[OpenQuery]:
        """Queries that are open, in order; invalid ones are left out."""
        found = [one for row in self._read(_TABS) if (one := _open_query(row)) is not None]
        return list({one.number: one for one in found}.values())[:TABS_MAX]

    @property
    def current(self) -> int:
        """Place of the one in front."""
        return whole_number(self._settings, self._group + _CURRENT, 0)

    @staticmethod
    def kept(tabs: Sequence[OpenQuery]) -> list[OpenQuery]:
        """The tabs as they are kept: without a text that is too long."""
        return [one if len(one.text) <= TEXT_CHARACTERS_MAX else replace(one, text="") for one in tabs]

    def keep_tabs(self, tabs: Sequence[OpenQuery], current: int) -> None:
        rows = [[one.number, one.text, one.name] for one in self.kept(tabs)]
        self._write(_TABS, rows)
        self._settings.setValue(self._group + _CURRENT, current)

    @property
    def runs(self) -> list[QueryRun]:
        """Queries that were run, newest first; invalid ones are left out."""
        return [run for row in self._read(_RUNS) if (run := _run(row)) is not None]

    def add_run(self, run: QueryRun) -> None:
        if len(run.text) <= TEXT_CHARACTERS_MAX:
            self._keep_runs([run, *self.runs])

    def forget_run(self, run: QueryRun) -> None:
        self._keep_runs([one for one in self.runs if one != run])

    def forget_runs(self) -> None:
        self._keep_runs([])

    def _keep_runs(self, runs: Sequence[QueryRun]) -> None:
        kept, characters = [], 0
        for run in runs[:RUNS_MAX]:
            characters += len(run.text)
            if characters > RUNS_CHARACTERS_MAX:
                break
            fault = run.fault[:FAULT_CHARACTERS_MAX]
            kept.append([run.text, run.ended_ms, run.took_ms, run.rows, run.state.value, fault])
        self._write(_RUNS, kept)

    def _read(self, key: str) -> list[object]:
        return listed(str(self._settings.value(self._group + key, "")))

    def _write(self, key: str, rows: object) -> None:
        self._settings.setValue(self._group + key, json.dumps(rows, ensure_ascii=False))


class QueryRecorder(QObject):
    """Adds each query that ends to a memory, whichever page is shown."""

    def __init__(
        self, runner: ReportRunner, memory: QueryMemory, parent: QObject | None = None, *, now_ms: Callable[[], int] = wall_ms
    ) -> None:
        super().__init__(parent)
        self._runner, self._memory, self._now_ms = runner, memory, now_ms
        runner.ended.connect(self._ended)

    def close(self) -> None:
        self._runner.ended.disconnect(self._ended)
        self.deleteLater()

    def _ended(self, run: StartedRun) -> None:
        entry = query_run(run, self._now_ms())
        if entry is not None:
            self._memory.add_run(entry)


def _open_query(row: object) -> OpenQuery | None:
    match row:
        case [int(number), str(text), str(name)] if number > 0:
            return OpenQuery(number, text, name)
    return None


def _run(row: object) -> QueryRun | None:
    match row:
        case [str(text), int(ended_ms), int(took_ms), int(rows), str(state), str(fault)]:
            try:
                return QueryRun(text, ended_ms, took_ms, rows, RunState(state), fault)
            except ValueError:
                return None
    return None
