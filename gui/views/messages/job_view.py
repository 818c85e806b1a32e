"""`JobDialog`: a dialog about an export, a replay or a copy, and `JobView`, its progress, output and result."""

from __future__ import annotations

from PySide6.QtWidgets import QPushButton, QWidget

from gui.operations.message_job import Chosen, JobState, MessageJob
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.widgets.basic import column, label, show_text
from gui.widgets.code_view import CodeView
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.progress_line import ProgressLine
from gui.words.child_words import child_text
from gui.words.text import count_text, tr

_WORDS = {
    JobState.RUNNING: ("Running", "info"),
    JobState.PAUSED: ("Paused", "info"),
    JobState.COMPLETE: ("Complete", "healthy"),
    JobState.PARTIAL: ("Partial", "warning"),
    JobState.FAILED: ("Failed", "critical"),
    JobState.CANCELLED: ("Cancelled", "secondary"),
}
LINES_HEIGHT = 120
FILTER_HEIGHT = 48
WARNING = "warning: "


class JobView(QWidget):
    """Hidden until the job begins."""

    def __init__(self, theme: ThemeManager, job: MessageJob) -> None:
        super().__init__()
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
        # The last line may begin with the same word.
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


class JobDialog(FittedDialog):
    """Pauses and stops its job; closing it stops a running one, and a second time closes it. A subclass lays out the parts."""

    def __init__(self, theme: ThemeManager, job: MessageJob, parent: QWidget | None) -> None:
        super().__init__(parent)
        job.setParent(self)
        self.job = job
        self.view = JobView(theme, job)
        self.pause_button, self.close_button = QPushButton(" "), QPushButton(" ")
        self.pause_button.clicked.connect(self._pause_or_go_on)
        self.close_button.clicked.connect(self.reject)

    def reject(self) -> None:
        """Stop a running job, or close."""
        if self.job.is_running:
            self.job.cancel()
        else:
            super().reject()

    def write_buttons(self, *, can_pause: bool) -> None:
        self.pause_button.setVisible(self.job.is_running and can_pause)
        self.pause_button.setText(tr("Go on") if self.job.state is JobState.PAUSED else tr("Pause"))
        self.close_button.setText(tr("Stop") if self.job.is_running else tr("Close"))

    def _pause_or_go_on(self) -> None:
        if self.job.state is JobState.PAUSED:
            self.job.resume()
        else:
            self.job.pause()


def filter_view(theme: ThemeManager, chosen: Chosen) -> CodeView:
    view = CodeView(theme)
    view.setPlainText(chosen.filter)
    view.setLineWrapMode(CodeView.LineWrapMode.WidgetWidth)
    view.setFixedHeight(FILTER_HEIGHT)
    view.setAccessibleName(tr("Filter"))
    return view


def found_words(chosen: Chosen) -> str:
    """How many messages were found; empty where it is not known."""
    return tr("{count} messages were found.", count=count_text(chosen.count)) if chosen.count >= 0 else ""
