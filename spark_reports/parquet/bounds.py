"""Selects the prepared messages of a read. Imports no Spark."""

from __future__ import annotations

from dataclasses import dataclass

from spark_reports.datasource.plan import FileRange, ReadPlan
from spark_reports.parquet.folder import PreparedFolder


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of messages: store times in epoch milliseconds, from ≤ time < to; no topics means all.

    With ``meant`` topics are the original ones, see `spark_reports.datasource.source`.
    """

    from_ms: int | None = None
    to_ms: int | None = None
    topics: tuple[str, ...] = ()
    meant: bool = False

    def outside(self, first_ms: int, last_ms: int) -> bool:
        """Whether an interval of times has nothing within the bounds."""
        return (self.from_ms is not None and last_ms < self.from_ms) or (self.to_ms is not None and first_ms >= self.to_ms)


def plan_of(folder: PreparedFolder, bounds: Bounds) -> ReadPlan:
    wanted = [part for part in folder.parts if not bounds.outside(part.first_ms, part.last_ms)]
    tasks = tuple((FileRange(part.store, str(folder.file(part)), 0, 0, part.bytes),) for part in wanted)
    left_out = [str(folder.file(part)) for part in folder.parts if part not in wanted]
    return ReadPlan(tasks, tuple(task[0].path for task in tasks), tuple(left_out))
