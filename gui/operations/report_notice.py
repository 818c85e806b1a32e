"""`ReportNotice`: shows a toast for each finished report, with a link to its result.

The list of tasks reports failures, and shows notices of the desktop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from gui.models.reports import RunState, StartedRun
from gui.operations.frame_calls import Navigate, Notify
from gui.operations.reports import rows_text
from gui.theme.tokens import State
from gui.words.text import tr

if TYPE_CHECKING:
    from gui.operations.reports import ReportRunner


class ReportNotice(QObject):
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
