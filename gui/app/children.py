"""`Children`: the processes of the window, started and ended by `gui.app.console`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gui.operations.preparation import ReportPreparation
    from gui.operations.reports import ReportRunner
    from gui.processes.demo import DemoController
    from gui.processes.worker_process import WorkerProcess


@dataclass(frozen=True, slots=True)
class Children:
    worker: WorkerProcess
    demo: DemoController
    reports: ReportRunner
    preparation: ReportPreparation | None

    @property
    def any_running(self) -> bool:
        beside = (self.preparation, self.reports.estimate, self.reports.session)
        return any(one is not None and one.is_running for one in (self.worker, self.demo, self.reports, *beside))

    def end(self, told: Callable[..., None]) -> None:
        """Ask all of them to stop, without waiting. `told` is called after each end; `any_running` says if it was the last."""
        self.demo.stop()
        if self.preparation is not None:
            self.preparation.end()
            self.preparation.ended.connect(told)
        self.reports.end()
        if self.reports.estimate is not None:
            self.reports.estimate.ended.connect(told)
        if self.reports.session is not None:
            self.reports.session.gone.connect(told)
        for ended in (self.worker.stopped, self.worker.lost, self.demo.changed, self.reports.ended):
            ended.connect(told)
        self.worker.stop()
