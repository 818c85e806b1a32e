"""`FormPanel`: source and range of a report."""

from __future__ import annotations

import os
from collections.abc import Sequence
from enum import Enum

from PySide6.QtCore import Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QWidget

from broker_core.api import UnclearTimeError
from gui.models.reports import PastRun, ReportOrder, parameter_values, time_fault
from gui.operations.report_estimate import START_S, EstimateRequest, Expected, expected_s
from gui.operations.reports import ReportRunner
from gui.theme.manager import ThemeManager
from gui.theme.style import mark_fault, set_role
from gui.theme.tokens import State
from gui.views.reports.own_fields import OwnFields
from gui.views.reports.schedule_dialog import ScheduleDialog
from gui.widgets.basic import IconButton, fill, form_layout, label, row
from gui.widgets.notice import Notice
from gui.widgets.panel import Panel
from gui.widgets.popups import ask_folder, opened
from gui.widgets.said import on_language, said, said_button, said_label, say, say_items
from gui.words.error_words import error_line
from gui.words.text import bytes_text, duration_text, short_count_text, tr
from spark_reports.catalog import CLUSTER, ParameterKind, ReportSpec


class Range(Enum):
    """Offered ranges, by their ``from``."""

    ALL = ""
    QUARTER = "-15m"
    HOUR = "-1h"
    DAY = "-24h"
    WEEK = "-7d"
    CUSTOM = "custom"


RANGE_NAMES = {
    Range.ALL: "All that is stored",
    Range.QUARTER: "Last 15 min",
    Range.HOUR: "Last 60 min",
    Range.DAY: "Last 24 hours",
    Range.WEEK: "Last 7 days",
    Range.CUSTOM: "From – to",
}
BROKER, FOLDER = "broker", "folder"
ALSO = {"jsonl": "JSON Lines", "xlsx": "XLSX", "pdf": "PDF"}
"""Further formats of the tables, beside Parquet and CSV, by their option."""


class FormPanel(Panel):
    """Source, range and topics of the chosen report.

    Signals:
        run_wanted: Run it; carries the `ReportOrder`.
    """

    run_wanted = Signal(object)

    def __init__(self, theme: ThemeManager, runner: ReportRunner) -> None:
        super().__init__()
        self._theme = theme
        self._runner = runner
        self._spec: ReportSpec | None = None
        self._broker_store = ("", "", "")
        self._lost: Sequence[str] = ()
        self._question = label(role="secondary", wrap=True)
        self.source = said(QComboBox(), name="Source of the messages")
        self.folder = QLineEdit()
        self.commit_log = said(
            QLineEdit(),
            tip="Directories of the commit log, apart by commas, if storePathCommitLog names others than the store’s own",
        )
        self.browse_button = said_button(theme, "folder-open", role="icon-box", on_click=self._browse, tip="Choose folder")
        self.range = said(QComboBox(), name="Time range")
        self.begin = QLineEdit()
        self.end = QLineEdit()
        self.topics = said(QLineEdit(), tip="Names apart by commas or spaces; empty: all topics")
        self.own = OwnFields(theme)
        self.also = {form: QCheckBox(name) for form, name in ALSO.items()}
        self.originals = said(
            QCheckBox(" "),
            text="With the originals of what is masked",
            tip="Else what the masking rules hide is in no table, chart or file of the result.",
        )
        self.hint = Notice(theme)
        self._estimated: tuple[EstimateRequest, Expected] | None = None
        self._past: Sequence[PastRun] = ()
        self.schedule_button = IconButton(theme, "timer", " ", role="quiet", on_click=self.open_schedules)
        self.copy_button = said_button(theme, "terminal-window", "Copy as command", role="quiet", on_click=self._copy_command)
        self.run_button = IconButton(theme, "play", " ", role="primary", on_click=self.run)
        self._build()
        self._connect()
        on_language(self, self._write_texts)

    # ---- what the view calls ---------------------------------------------------------------------------------------

    def show_report(self, spec: ReportSpec) -> None:
        """Show the form of another report; entries stay."""
        self._spec = spec
        self.set_title(tr(spec.title))
        self._question.setText(tr(spec.question))
        kinds = {parameter.kind for parameter in spec.parameters}
        self._form.setRowVisible(self.range, ParameterKind.TIME in kinds)
        self._form.setRowVisible(self.topics, ParameterKind.TOPICS in kinds)
        self.own.show_report(spec)
        self.check()

    def show_broker_store(self, directory: str, commit_log: str = "", name_servers: str = "") -> None:
        """Set the store of this broker and its log directories if they are others; empty while unknown.

        A cluster that runs elsewhere has no store here, but name servers.
        """
        if (directory, commit_log, name_servers) != self._broker_store:
            self._broker_store = (directory, commit_log, name_servers)
            self._name_broker()
            self.check()

    def show_lost(self, brokers: Sequence[str]) -> None:
        """Say that a report on this cluster lacks what these brokers hold."""
        if brokers != self._lost:
            self._lost = brokers
            self.look_again()

    def _name_broker(self) -> None:
        self.source.setItemText(0, tr("This cluster") if self._broker_store[2] else tr("This broker"))

    @property
    def order(self) -> ReportOrder | None:
        """The entered order; None when something is missing or invalid."""
        if self._spec is None or self.fault:
            return None
        also = tuple(form for form, box in self.also.items() if box.isChecked())
        return self._runner.order(
            self._spec, self.stores, tuple(self._parameters(self._spec)), commit_log=self._commit_log(), also=also,
            originals=self.originals.isChecked(),
        )  # fmt: skip

    @property
    def fault(self) -> str:
        """Why the report cannot run; empty when it can."""
        if not self.stores:
            if self._is_broker:
                return tr("The broker has not reported its folder yet. Wait until it runs, or choose a folder.")
            return tr("Choose the folder of a store.")
        wrong = next((fault for field in (self.begin, self.end) if self._custom and (fault := _time_fault(field.text()))), "")
        if wrong:
            return wrong
        if self.own.fault:
            return self.own.fault
        if self._commit_log() and len(self.stores) > 1:
            return tr("Log directories can be given for one store only.")
        return tr("Too many reports wait. Take one back first.") if self._runner.is_full else ""

    # ---- parts -----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        for key in (BROKER, FOLDER):
            self.source.addItem(" ", key)
        say_items(self.source, ["Folder of a store"], first=1)
        for choice in Range:
            self.range.addItem(" ", choice)
        say_items(self.range, [RANGE_NAMES[choice] for choice in Range])
        fields = (
            (self.folder, "Store folder"), (self.commit_log, "Log directories"), (self.begin, "From"), (self.end, "To"),
            (self.topics, "All topics"),
        )  # fmt: skip
        for field, text in fields:
            said(field, hint=text)
        several = "Several folders, apart by {separator}, are read as one"
        say(self.folder, "setToolTip", several, separator=os.pathsep)
        form = self._form = form_layout(across=14, down=8, grow="all")
        self._folder_line = _line(self.folder, self.browse_button)
        self._custom_line = _line(self.begin, self.end)
        form.addRow(said_label("Source"), self.source)
        form.addRow("", self._folder_line)
        form.addRow("", self.commit_log)
        form.addRow(said_label("Range"), self.range)
        form.addRow("", self._custom_line)
        form.addRow(said_label("Topics"), self.topics)
        self.content.setSpacing(12)
        fill(self.content, self._question, form, self.own)
        form.addRow(said_label("Also as"), _line(*self.also.values(), 1))
        fill(
            self.content, self.originals, self.hint, row(self.schedule_button, self.copy_button, 1, self.run_button, spacing=4)
        )

    def _connect(self) -> None:
        for choice in (self.source, self.range):
            choice.currentIndexChanged.connect(self.check)
        for field in (self.folder, self.commit_log, self.begin, self.end, self.topics):
            field.textChanged.connect(self.check)
        self.own.changed.connect(self.check)
        self._runner.changed.connect(self.check)
        if self._runner.schedules is not None:
            self._runner.schedules.changed.connect(self._write_schedules)
        if self._runner.estimate is not None:
            self._runner.estimate.found.connect(self._show_estimate)

    def _write_texts(self) -> None:
        self._name_broker()
        self._write_schedules()
        if self._spec is not None:
            self.show_report(self._spec)
        self.check()

    # ---- what was entered --------------------------------------------------------------------------------------------

    @property
    def _is_broker(self) -> bool:
        return str(self.source.currentData()) == BROKER

    @property
    def _is_cluster(self) -> bool:
        return self._is_broker and bool(self._broker_store[2])

    @property
    def _custom(self) -> bool:
        return Range(self.range.currentData()) is Range.CUSTOM

    @property
    def stores(self) -> tuple[str, ...]:
        """The entered store directories or the shown cluster; empty while there is none."""
        if self._is_cluster:
            return (CLUSTER + self._broker_store[2],)
        text = self._broker_store[0] if self._is_broker else self.folder.text()
        parts = [text] if self._is_broker else text.split(os.pathsep)
        return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))

    def _commit_log(self) -> str:
        text = self._broker_store[1] if self._is_broker else self.commit_log.text()
        return ",".join(part.strip() for part in text.split(",") if part.strip())

    def _parameters(self, spec: ReportSpec) -> list[tuple[str, str]]:
        chosen = Range(self.range.currentData())
        entered = {
            "from": self.begin.text() if self._custom else chosen.value,
            "to": self.end.text() if self._custom else "",
            "topic": self.topics.text(),
        }
        shared = [
            (parameter.name, value)
            for parameter in spec.parameters
            for value in parameter_values(parameter, entered.get(parameter.name, ""))
        ]
        return shared + self.own.values

    def check(self) -> None:
        """Show whether the report can run, and how much it will read."""
        for field in (self._folder_line, self.commit_log):
            self._form.setRowVisible(field, not self._is_broker)
        self.originals.setVisible(self._runner.masks)
        self._form.setRowVisible(self._custom_line, self._custom and self._form.isRowVisible(self.range))
        for time in (self.begin, self.end):
            mark_fault(time, _time_fault(time.text()))
        fault = self.fault
        self.run_button.setEnabled(not fault)
        self.copy_button.setEnabled(bool(self._spec) and not fault)
        self.run_button.setText(tr("Run next") if self._runner.is_running else tr("Run"))
        if fault:
            self._say(fault, "", State.INFO if fault == self.own.fault and self.own.lacks_entry else State.WARNING)
        else:
            self._say_estimate()

    def show_past(self, runs: Sequence[PastRun]) -> None:
        """Use the durations of earlier runs in the estimate."""
        self._past = runs
        self.look_again()

    def look_again(self) -> None:
        """Estimate again, because the store has grown."""
        if self._runner.estimate is not None:
            self._runner.estimate.forget()
        self.check()

    def _show_estimate(self, question: EstimateRequest, answer: Expected) -> None:
        self._estimated = (question, answer)
        self.check()

    def _say_estimate(self) -> None:
        """Show the estimate, as far as it is known."""
        order, spec = self.order, self._spec
        question = EstimateRequest.of(order) if order is not None else None
        if self._runner.estimate is not None:
            self._runner.estimate.ask(question)
        stores = "\n".join(one.removeprefix(CLUSTER) for one in self.stores)
        how = tr("Messages are pulled from the brokers, 32 MiB a second of each at most.") if self._is_cluster else tr(
            "Files are read directly, no load on the broker."
        )  # fmt: skip
        answer = self._estimated[1] if self._estimated is not None and self._estimated[0] == question else None
        if answer is None or spec is None:
            self._say(how, stores, State.INFO)
        elif answer.fault:
            untold = tr("The cluster could not be asked.") if self._is_cluster else tr("The files were not looked at.")
            self._say(untold, answer.fault, State.WARNING)
        elif answer.shortage:
            self._say(tr("There is not enough memory."), answer.shortage, State.WARNING)
        elif spec.needs_samples:
            self._say(tr("Recorded samples are read, about {time}.", time=duration_text(START_S * 1_000)), stores, State.INFO)
        elif answer.records <= 0:
            self._say(tr("Nothing is stored in this range."), stores, State.INFO)
        else:
            seconds = expected_s(answer.byte_count, spec.name, self._past)
            words = tr(
                "About {count} records, {size}, about {time}.", count=short_count_text(answer.records),
                size=bytes_text(answer.byte_count), time=duration_text(round(seconds) * 1_000),
            )  # fmt: skip
            self._say(words, how + "\n" + stores, State.INFO)

    def _lack(self) -> str:
        """What a report on this cluster cannot read; empty where it reads all."""
        if not self._lost or not self._is_cluster or (self._spec is not None and self._spec.needs_samples):
            return ""
        return tr("No answer of {brokers}: the report lacks what is stored there.", brokers=", ".join(self._lost))

    def _say(self, title: str, text: str, state: State) -> None:
        lack = self._lack()
        if lack and state is State.INFO:
            text, state = f"{lack}\n{text}".rstrip(), State.WARNING
        self.hint.set(title, text, state)
        set_role(self.hint, "info" if state is State.INFO else "notice")

    # ---- actions -------------------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Order the report, unless something is missing or invalid."""
        order = self.order
        if order is not None:
            self.run_wanted.emit(order)

    def open_schedules(self) -> None:
        """Open the list of schedules, with the entered report to add."""
        if self._runner.schedules is None:
            return
        dialog = ScheduleDialog(self._theme, self._runner.schedules, self.order, self)
        opened(dialog)

    def _write_schedules(self) -> None:
        count = len(self._runner.schedules.all) if self._runner.schedules is not None else 0
        self.schedule_button.setVisible(self._runner.schedules is not None)
        self.schedule_button.setText(tr("Schedules {count}", count=count) if count else tr("Schedule…"))

    def _copy_command(self) -> None:
        order = self.order
        if order is not None:
            QGuiApplication.clipboard().setText(order.command_text())

    def _browse(self) -> None:
        ask_folder(self, tr("Folder of a store"), self._add_folder, self.stores[-1] if self.stores else "")

    def _add_folder(self, path: str) -> None:
        given = self.folder.text().strip(f" {os.pathsep}")
        self.folder.setText(f"{given}{os.pathsep}{path}" if given and path not in self.stores else path)


def _line(*widgets: QWidget | int) -> QWidget:
    made = QWidget()
    made.setLayout(row(*widgets))
    return made


def _time_fault(text: str) -> str:
    """Why a report would refuse a time; empty when it would not."""
    try:
        if time_fault(text):
            return tr("“{entered}” is no time. Use 2026-11-21 10:15, epoch milliseconds, or -2h.", entered=text)
    except UnclearTimeError as error:
        return error_line(error)
    return ""
