"""`CopyDialog`: copies topics, groups, offsets and messages between clusters, with preview, pace, pause, stop and resume.

The command line does the work in a process of its own; its receipt lets a copy resume after a stop, a crash or a restart.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFormLayout,
    QLineEdit,
    QWidget,
)
from shiboken6 import isValid

from gui.main_window.copy_ends import CopyEnds, Named
from gui.models.copy_order import CopyCommand, CopyEnd, Span, input_of, resume_arguments
from gui.operations.message_job import JobState, MessageJob
from gui.operations.reports import open_in_desktop
from gui.theme.manager import ThemeManager
from gui.views.messages.job_view import JobDialog
from gui.widgets.basic import IconButton, fill, form_layout, label, row, show_text
from gui.widgets.code_view import CodeView
from gui.widgets.inputs import name_count, number_box
from gui.widgets.popups import ask_file
from gui.widgets.said import push_button
from gui.words.broker_words import broker_text
from gui.words.plain_text import tip_text
from gui.words.text import tr

WIDTH = 760
PREVIEW_HEIGHT = 260
RATE_AT_FIRST = 1_000
RATE_MAX = 1_000_000
NEWEST_AT_FIRST = 10_000
OFFSET_MAX = 2_147_483_647
UNFINISHED_KEY = "copy/unfinished"
"""Setting: the receipt of an unfinished copy."""
_SPANS = (
    (Span.ALL, "All that are kept"),
    (Span.NEWEST, "The newest of each queue"),
    (Span.TIME, "A range of time"),
    (Span.OFFSETS, "A range of offsets"),
)


class CopyDialog(JobDialog):
    """Closing it while a copy runs stops the copy; the receipt stays, and the copy can resume later."""

    def __init__(
        self,
        ends: CopyEnds,
        theme: ThemeManager,
        settings: QSettings,
        job: MessageJob,
        parent: QWidget | None = None,
        *,
        topics: str = "",
    ) -> None:
        super().__init__(theme, job, parent)
        self._ends, self._settings = ends, settings
        self._previewed: CopyCommand | None = None
        self._is_dry = False
        self._waits_for_keys = False
        self._fault = ""
        self.source, self.target, self.span = QComboBox(), QComboBox(), QComboBox()
        self.topics, self.groups, self.since, self.until = QLineEdit(topics), QLineEdit(), QLineEdit(), QLineEdit()
        self.newest = number_box(1, OFFSET_MAX, NEWEST_AT_FIRST, grouped=True)
        self.first_offset = number_box(0, OFFSET_MAX, 0, grouped=True)
        self.end_offset = number_box(0, OFFSET_MAX, 0, grouped=True)
        self.rate = number_box(0, RATE_MAX, RATE_AT_FIRST, grouped=True)
        self.offsets = QCheckBox(tr("Set their offsets, too"))
        self.change_settings = QCheckBox(tr("Change settings of what the target has"))
        self.view.said.setFixedHeight(PREVIEW_HEIGHT)
        self.view.said.setLineWrapMode(CodeView.LineWrapMode.WidgetWidth)
        self.fault = label(role="warning", wrap=True)
        self.last_button = IconButton(theme, "clock", tr("Go on with the last copy"), on_click=self._go_on_with_last)
        self.resume_button = IconButton(theme, "clock", tr("Go on with an earlier copy…"), on_click=self._ask_receipt)
        self.receipt_button = IconButton(theme, "folder-open", tr("Receipt…"), on_click=self._show_receipt)
        self.preview_button = push_button("Preview", self.preview)
        self.go = push_button("Copy", self.copy, role="primary")
        self._build(theme)
        self._connect()
        self._show()

    # ---- what is asked -------------------------------------------------------------------------------------------------

    def order(self, now_ms: int = 0) -> CopyCommand:
        """The fields as a command, without the keys of connections."""
        source, target = self._chosen(self.source), self._chosen(self.target)
        return CopyCommand(
            source=source.end if source else CopyEnd(""), target=target.end if target else CopyEnd(""),
            topics=self.topics.text(), groups=self.groups.text(), span=Span(self.span.currentData()),
            newest=self.newest.value(), since=self.since.text(), until=self.until.text(),
            first_offset=self.first_offset.value(), end_offset=self.end_offset.value(), offsets=self.offsets.isChecked(),
            change_settings=self.change_settings.isChecked(), rate=self.rate.value(), now_ms=now_ms,
        )  # fmt: skip

    def preview(self) -> None:
        """Show the effect of the copy; changes nothing."""
        order = self.order(time.time_ns() // 1_000_000)
        if not order.fault and not self._is_busy:
            self._previewed = order
            self._begin(lambda source, target: self._run(order, source, target, dry_run=True))

    def copy(self) -> None:
        """Run the previewed copy."""
        order = self._previewed
        if order is not None and self._can_copy:
            self._begin(lambda source, target: self._run(order, source, target, dry_run=False))

    def resume(self, receipt: str) -> None:
        """Resume an unfinished copy between the chosen clusters."""
        if not receipt or self._is_busy or self._target_refusal():
            return
        rate = self.rate.value()

        def run(source: CopyEnd, target: CopyEnd) -> None:
            self._is_dry = False
            self.job.start(resume_arguments(receipt, source, target, rate=rate), input_of(source, target), can_pause=True)

        self._begin(run)

    def reject(self) -> None:
        """Stop the running copy, or close the dialog."""
        self._waits_for_keys = self._waits_for_keys and self.job.is_running
        super().reject()

    def _begin(self, run: Callable[[CopyEnd, CopyEnd], None]) -> None:
        """Call ``run`` with the keys of both connections, once they are read."""
        source, target = self._chosen(self.source), self._chosen(self.target)
        if source is None or target is None:
            return
        self._waits_for_keys, self._fault = True, ""
        self._show()

        # The dialog may be closed while a key store asks its user; then no copy starts.
        def failed(fault: str) -> None:
            if isValid(self) and self._waits_for_keys:
                self._waits_for_keys, self._fault = False, fault
                self._show()

        def have_both(first: CopyEnd, second: CopyEnd) -> None:
            if isValid(self) and self._waits_for_keys:
                self._waits_for_keys = False
                run(first, second)

        self._ends.reach(
            source, lambda first: self._ends.reach(target, lambda second: have_both(first, second), failed), failed
        )

    def _run(self, order: CopyCommand, source: CopyEnd, target: CopyEnd, *, dry_run: bool) -> None:
        self._is_dry = dry_run
        words = replace(order, source=source, target=target)
        self.job.start(words.arguments(dry_run=dry_run), input_of(source, target), can_pause=not dry_run)

    # ---- parts ---------------------------------------------------------------------------------------------------------

    def _build(self, theme: ThemeManager) -> None:
        self.setWindowTitle(tr("Copy between clusters"))
        self.setMinimumWidth(WIDTH)
        for box, named, chosen in (
            (self.source, self._ends.sources, self._ends.source_at_first),
            (self.target, self._ends.targets, self._ends.target_at_first),
        ):
            for one in named:
                box.addItem(one.name, one)
            box.setCurrentIndex(next((place for place, one in enumerate(named) if one == chosen), -1))
        for span, title in _SPANS:
            self.span.addItem(tr(title), span.value)
        self.end_offset.setSpecialValueText(tr("the end"))
        name_count(self.rate, " message per second", " messages per second")
        self.rate.setSpecialValueText(tr("As fast as they are taken"))
        self.topics.setPlaceholderText("orders, payments")
        self.groups.setPlaceholderText(tr("none; * for all groups of the topics"))
        self.since.setPlaceholderText(tr("from, such as 2026-11-20 10:00 or -2h"))
        self.until.setPlaceholderText(tr("until"))
        fill(
            self.lay_out(),
            label(self.windowTitle(), "card-title"),
            label(_effect(), "secondary", wrap=True),
            self._form(),
            self.fault,
            self.view,
            row(self.last_button, self.resume_button, self.receipt_button, 1),
        )
        self.set_foot(row(1, self.close_button, self.pause_button, self.preview_button, self.go))
        theme.dress(self)

    def _form(self) -> QFormLayout:
        form = form_layout(across=16, down=10, grow="expanding")
        form.addRow(label(tr("From"), "secondary"), self.source)
        form.addRow(label(tr("To"), "secondary"), self.target)
        form.addRow(label(tr("Topics"), "secondary"), self.topics)
        spans = row(self.span, self.newest, self.since, self.until, self.first_offset, self.end_offset)
        form.addRow(label(tr("Messages"), "secondary"), spans)
        form.addRow(label(tr("Groups"), "secondary"), self.groups)
        form.addRow("", row(self.offsets, self.change_settings, 1, spacing=16))
        form.addRow(label(tr("Pace"), "secondary"), self.rate)
        named: tuple[tuple[QWidget, str], ...] = (
            (self.source, "From"), (self.target, "To"), (self.topics, "Topics"), (self.span, "Messages"),
            (self.newest, "The newest of each queue"), (self.since, "From"), (self.until, "Until"),
            (self.first_offset, "From offset"), (self.end_offset, "To offset"), (self.groups, "Groups"), (self.rate, "Pace"),
        )  # fmt: skip
        for widget, name in named:
            widget.setAccessibleName(tr(name))
        return form

    def _connect(self) -> None:
        for box in (self.source, self.target, self.span):
            box.currentIndexChanged.connect(lambda _index: self._changed())
        for field in (self.topics, self.groups, self.since, self.until):
            field.textChanged.connect(lambda _text: self._changed())
        for number in (self.newest, self.first_offset, self.end_offset, self.rate):
            number.valueChanged.connect(lambda _value: self._changed())
        for check in (self.offsets, self.change_settings):
            check.toggled.connect(lambda _on: self._changed())
        self.job.changed.connect(self._job_changed)

    # ---- showing -------------------------------------------------------------------------------------------------------

    @staticmethod
    def _chosen(box: QComboBox) -> Named | None:
        chosen = box.currentData()
        return chosen if isinstance(chosen, Named) else None

    @property
    def _is_busy(self) -> bool:
        return self.job.is_running or self._waits_for_keys

    @property
    def _can_copy(self) -> bool:
        """Whether exactly this command was previewed without a fault."""
        is_seen = self._is_dry and self.job.state is JobState.COMPLETE and self._previewed is not None
        same = self._previewed is not None and self.order(self._previewed.now_ms) == self._previewed
        return is_seen and same and not self._is_busy and not self._target_refusal()

    def _target_refusal(self) -> str:
        target = self._chosen(self.target)
        return target.refusal if target is not None else ""

    def _changed(self) -> None:
        self._fault = ""
        self._show()

    def _job_changed(self) -> None:
        job = self.job
        if self._is_dry:
            if not job.is_running:
                self.view.said.verticalScrollBar().setValue(0)
        elif job.state is JobState.COMPLETE or (job.state is JobState.PARTIAL and "go on with" not in job.last):
            self._settings.remove(UNFINISHED_KEY)
        elif job.folder:
            # Stored at the first line of the job: after a kill the next window finds it.
            self._settings.setValue(UNFINISHED_KEY, job.folder)
        self._show()

    def _show(self) -> None:
        span, running = Span(self.span.currentData()), self.job.is_running
        bounds: tuple[tuple[QWidget, Span], ...] = (
            (self.newest, Span.NEWEST), (self.since, Span.TIME), (self.until, Span.TIME),
            (self.first_offset, Span.OFFSETS), (self.end_offset, Span.OFFSETS),
        )  # fmt: skip
        for widget, shown_for in bounds:
            widget.setVisible(span is shown_for)
        fault = self.order().fault
        refusal = broker_text(self._fault) or (tr(fault) if fault else self._target_refusal())
        show_text(self.fault, "" if running else refusal)
        self.preview_button.setEnabled(not self._is_busy and not fault)
        self.go.setEnabled(self._can_copy)
        self.go.setToolTip("" if self._can_copy else tr("Look at the preview first."))
        self.write_buttons(can_pause=not self._is_dry)
        self.receipt_button.setVisible(bool(self.job.folder))
        can_resume = not self._is_busy and not self._target_refusal() and self.source.currentIndex() >= 0
        self.last_button.setVisible(bool(self._unfinished) and not running)
        self.last_button.setToolTip(tip_text(self._unfinished))
        for button in (self.last_button, self.resume_button):
            button.setEnabled(can_resume and self.target.currentIndex() >= 0)

    @property
    def _unfinished(self) -> str:
        return str(self._settings.value(UNFINISHED_KEY, "") or "")

    def _go_on_with_last(self) -> None:
        self.resume(self._unfinished)

    def _ask_receipt(self) -> None:
        ask_file(self, tr("Receipt of the copy"), self.resume, kinds=[tr("Receipts (*.jsonl)")])

    def _show_receipt(self) -> None:
        if self.job.folder:
            open_in_desktop(Path(self.job.folder).parent)


def _effect() -> str:
    return tr(
        "The source is only read, and its groups stay where they are. Queue by queue, each in its order. Originals go, also "
        "what is masked here."
    )
