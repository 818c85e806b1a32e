"""`JobView`: progress, output and result of an export or a replay."""

from __future__ import annotations

from PySide6.QtWidgets import QWidget

from gui.operations.message_job import JobState, MessageJob
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.widgets.basic import column, label, show_text
from gui.widgets.code_view import CodeView
from gui.widgets.progress_line import ProgressLine
from gui.words.child_words import child_text
from gui.words.text import tr

_WORDS = {
    JobState.RUNNING: ("Running", "info"),
    JobState.PAUSED: ("Paused", "warning"),
    JobState.COMPLETE: ("Complete", "healthy"),
    JobState.PARTIAL: ("Partial", "warning"),
    JobState.FAILED: ("Failed", "critical"),
    JobState.CANCELLED: ("Cancelled", "warning"),
}
LINES_HEIGHT = 120
WARNING = "warning: "


class JobView(QWidget):
    """Hidden until the job begins."""

    def __init__(self, theme: ThemeManager, job: MessageJob, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._job = job
        self.line = ProgressLine(theme)
        self.outcome = label(role="info", wrap=True, selectable=True)
        self.warnings = label(role="warning", wrap=True, selectable=True)
        self.said = CodeView(theme)
        self.said.setFixedHeight(LINES_HEIGHT)
        self.said.setAccessibleName(tr("What it says"))
        self.setLayout(column(self.line, self.outcome, self.warnings, self.said))
        job.changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        job = self._job
        self.setVisible(job.state is not JobState.IDLE)
        if job.state is JobState.IDLE:
            return
        word, role = _WORDS[job.state]
        self.line.setVisible(job.is_running)
        self.line.set_share(job.share)
        # Some ends begin with the same word.
        told = child_text(job.last.removeprefix(f"{word.lower()}: "))
        self.outcome.setText(f"{tr(word)}: {told}" if told else tr(word))
        set_role(self.outcome, role)
        warnings = [child_text(line.removeprefix(WARNING)) for line in job.lines if line.startswith(WARNING)]
        show_text(self.warnings, "\n".join(warnings))
        text = "\n".join(map(child_text, job.lines))
        if text != self.said.toPlainText():
            self.said.setPlainText(text)
            bar = self.said.verticalScrollBar()
            bar.setValue(bar.maximum())
