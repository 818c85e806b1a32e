"""`RunPanel`: the stages and the result of a run, and the queue after it."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QProgressBar, QWidget

from gui.models.reports import ReportOrder, RunStage, RunState, StageState, StartedRun
from gui.operations.reports import rows_text
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.theme.tokens import State
from gui.views.reports.columns import RUN_STATES
from gui.widgets.basic import ElidedLabel, IconButton, IconLabel, clear, column, fill, label, row, show_text
from gui.widgets.chip import Chip
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from gui.widgets.said import on_language
from gui.words.child_words import child_text
from gui.words.text import count_text, rate_text, tr

_GLYPHS = {
    StageState.WAITING: ("circle-dashed", "text_3", False),
    StageState.RUNNING: ("circle-half", "accent", False),
    StageState.DONE: ("check-circle", "healthy", True),
    StageState.FAILED: ("x-circle", "critical", False),
}
BAR_STEPS = 1_000


class RunPanel(Panel):
    """One run.

    Signals:
        withdraw_wanted: Take back a waiting one; carries its `ReportOrder`.
    """

    withdraw_wanted = Signal(object)

    def __init__(self, theme: ThemeManager) -> None:
        super().__init__(" ")
        self._theme = theme
        self._lines: list[_StageLine] = []
        self._stages = column(spacing=2)
        self.chip = Chip(theme)
        self.cancel_button = IconButton(theme, "x", " ", role="small")
        self.again_button = IconButton(theme, "arrow-clockwise", " ", role="small")
        self.total = label(role="secondary")
        self.fault = Notice(theme)
        self.add_action(self.chip, self.cancel_button, self.again_button)
        fill(self.content, self._stages, self.fault, self.total)
        self._waiting: tuple[ReportOrder, ...] = ()
        self.waiting_title = label(role="secondary")
        self.waiting_title.hide()
        self._queue = column(spacing=2)
        fill(self.content, self.waiting_title, self._queue)
        on_language(self, self._write_texts)

    def show_run(self, run: StartedRun, now_ms: float) -> None:
        """Show the progress of a run. ``now_ms`` is on the clock of the run."""
        running = run.state is RunState.RUNNING
        self.set_title(tr("Running") if running else tr("Last run"), tr(run.order.spec.title))
        self._show_stages(run, now_ms)
        self.cancel_button.setVisible(running)
        self.cancel_button.setEnabled(not run.cancelling)
        self.cancel_button.setText(tr("Stopping…") if run.cancelling else tr("Cancel"))
        self.again_button.setVisible(run.state in (RunState.FAILED, RunState.CANCELLED))
        self.again_button.setText(tr("Run again"))
        word, state = RUN_STATES[run.state]
        self.chip.set("" if running else tr(word), state)
        self._show_fault(run)
        show_text(self.total, self._total_text(run, now_ms))

    def show_waiting(self, orders: tuple[ReportOrder, ...]) -> None:
        self.waiting_title.setVisible(bool(orders))
        self.waiting_title.setText(tr("Waiting: {count}", count=count_text(len(orders))))
        if orders == self._waiting:
            return
        self._waiting = orders
        clear(self._queue)
        for order in orders:
            self._queue.addWidget(self._waiting_line(order))

    def _waiting_line(self, order: ReportOrder) -> QWidget:
        made = QWidget()
        take_back = IconButton(
            self._theme, "x", tip=tr("Take back"), on_click=lambda: self.withdraw_wanted.emit(order), parent=made
        )
        name = ElidedLabel(tr(order.spec.title))
        made.setLayout(row(IconLabel(self._theme, "hourglass", "text_3", 14), (name, 1), take_back))
        return made

    def _write_texts(self) -> None:
        orders, self._waiting = self._waiting, ()
        self.show_waiting(orders)

    def _show_stages(self, run: StartedRun, now_ms: float) -> None:
        while len(self._lines) < len(run.stages):
            line = _StageLine(self._theme)
            self._lines.append(line)
            self._stages.addWidget(line)
        for i, line in enumerate(self._lines):
            line.setVisible(i < len(run.stages))
            if i < len(run.stages):
                line.show_stage(run.stages[i], run.stage_ms(run.stages[i], now_ms))

    def _show_fault(self, run: StartedRun) -> None:
        if run.state is RunState.FAILED:
            self.fault.set(tr("The report was not made."), child_text(run.error), State.CRITICAL)
            set_role(self.fault, "notice")
        elif run.state is RunState.CANCELLED:
            self.fault.set(tr("Cancelled; nothing was written."), state=State.INFO)
            set_role(self.fault, "info")
        else:
            self.fault.set("")

    @staticmethod
    def _total_text(run: StartedRun, now_ms: float) -> str:
        if run.rows <= 0:
            return ""
        reading = run.running_stage
        text = rows_text(run)
        if reading is not None and reading.rows > 0 and (took_ms := run.stage_ms(reading, now_ms)) > 0:
            return f"{text} · {rate_text(reading.rows / took_ms * 1_000)}"
        return text


class _StageLine(QWidget):
    def __init__(self, theme: ThemeManager) -> None:
        super().__init__()
        self._glyph = IconLabel(theme, "circle-dashed", "text_3", 14)
        self._name = ElidedLabel()
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._bar.setFixedWidth(76)
        self._took = label(role="caption")
        self._took.setFixedWidth(52)
        self._took.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.setLayout(row(self._glyph, (self._name, 1), self._bar, self._took))
        self.setFixedHeight(24)

    def show_stage(self, stage: RunStage, took_ms: float) -> None:
        glyph, colour, filled = _GLYPHS[stage.state]
        self._glyph.set_glyph(glyph, colour, filled=filled)
        self._name.setText(tr(stage.title))
        set_role(self._name, "caption" if stage.state is StageState.WAITING else "")
        share = stage.share
        set_role(self._bar, "complete" if stage.state is StageState.DONE else "")
        self._bar.setRange(0, BAR_STEPS)
        self._bar.setValue(0 if share is None else round(share * BAR_STEPS))
        self._took.setText("" if stage.state is StageState.WAITING else tr("{seconds} s", seconds=f"{took_ms / 1_000:.1f}"))
        self.setAccessibleName(f"{tr(stage.title)}: {tr(stage.state.value)}")
