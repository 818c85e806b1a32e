"""The status bar: broker, address, rates, tasks, age of the data, time zone, language."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from PySide6.QtCore import QPoint, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import QFrame, QMenu, QProgressBar, QPushButton, QWidget, QWidgetAction

from gui.operations.tasks import Task, TaskList, TaskState
from gui.theme.manager import ThemeManager
from gui.theme.style import set_role
from gui.theme.tokens import Size, State
from gui.widgets.basic import ElidedLabel, IconButton, Line, fill, label, row
from gui.widgets.chip import Dot
from gui.widgets.popups import new_menu
from gui.widgets.said import on_language, said
from gui.words.broker_words import broker_text
from gui.words.plain_text import button_text
from gui.words.text import LANGUAGES, UNKNOWN, TimeZoneChoice, bytes_text, count_text, duration_text, rate_number, tr
from monitoring.reach import ClusterReach
from monitoring.sources.base import SourceStatus

if TYPE_CHECKING:
    from monitoring.state import ClusterState

AGE_WARNING_INTERVALS = 3
AGE_CRITICAL_INTERVALS = 10
PROCESS_FROM_WIDTH, ADDRESS_FROM_WIDTH = 1_180, 1_000
"""A part is hidden below these widths of the window; the Overview and the cluster switcher have it too."""
WIDTH_MIN = 700
TASK_WIDTH = 520
"""Width of a line in the list of tasks: a long failure is cut there and whole in its tip."""

_STATUS_TEXTS = {
    SourceStatus.STARTING: ("Embedded broker starting", State.PENDING),
    SourceStatus.READY: ("Embedded broker running", State.HEALTHY),
    SourceStatus.LOST: ("Embedded broker stopped", State.CRITICAL),
    SourceStatus.STOPPED: ("Embedded broker stopped", State.IDLE),
}
_FILES_TEXTS = {
    SourceStatus.STARTING: ("Opening the store", State.PENDING),
    SourceStatus.READY: ("Store opened, read-only", State.IDLE),
    SourceStatus.LOST: ("The store is not read any more", State.CRITICAL),
    SourceStatus.STOPPED: ("The store is not read any more", State.IDLE),
}
_ATTACHED_TEXTS = {
    SourceStatus.STARTING: ("Connecting", State.PENDING),
    SourceStatus.READY: ("Connected", State.HEALTHY),
    SourceStatus.LOST: ("Connection ended", State.CRITICAL),
    SourceStatus.STOPPED: ("Connection ended", State.IDLE),
}
_REACH_TEXTS = {
    ClusterReach.PART: ("Connected in part", State.WARNING),
    ClusterReach.NOTHING: ("Nothing answers", State.CRITICAL),
}
"""Of a connection that does not deliver everything."""


class StatusBar(QFrame):
    """One line at the bottom of the window.

    Signals:
        language_asked: Another language was chosen; carries its code.
        address_copied: The address went to the clipboard; carries it.
    """

    language_asked = Signal(str)
    address_copied = Signal(str)

    def __init__(self, theme: ThemeManager, tasks: TaskList, times: TimeZoneChoice, *, files_only: bool = False) -> None:
        """Create it; ``files_only``: a store is read and no broker runs."""
        super().__init__()
        self._texts = _FILES_TEXTS if files_only else _STATUS_TEXTS
        self.setObjectName("statusBar")
        self.setFixedHeight(Size.STATUS_BAR)
        self.setMinimumWidth(WIDTH_MIN)
        self._theme = theme
        self._tasks = tasks
        self._times = times
        self._dot = Dot(theme)
        self._status, self._reach = SourceStatus.STARTING, ClusterReach.ALL
        self._state_text = label(role="secondary")
        self._address_line = Line(vertical=True, length=14)
        self.address_button = _button("Copy the address")
        self._figures = [
            (name, label(role="secondary"), label(role="figure"), label(unit, "secondary"))
            for name, unit in (("In", "/s"), ("Delivered", "/s"), ("Lag", ""))
        ]
        self._process = label(role="secondary")
        self._process_line = Line(vertical=True, length=14)
        self.tasks_button = IconButton(theme, "list", " ", role="status", on_click=self._show_tasks)
        self._age = label(role="secondary")
        self.zone_button = _button("Local time or UTC")
        self.language_button = _button("Language")
        self._build()
        self.address_button.clicked.connect(self._copy_address)
        self.zone_button.clicked.connect(lambda _checked=False: times.toggle())
        self.language_button.clicked.connect(self._choose_language)
        tasks.changed.connect(self._write_tasks)
        self.is_attached = False
        """Whether the cluster is attached; shown with the next status."""
        self.show_figures(None)
        on_language(self, self._write_status, self._write_tasks)

    def _build(self) -> None:
        first = (self._dot, self._state_text, self._address_line, self.address_button)
        line = row(*first, spacing=6, margins=(12, 0, 6, 0))
        self.setLayout(line)
        for _, name, value, unit in self._figures:
            line.addWidget(Line(vertical=True, length=14))
            line.addSpacing(4)
            line.addLayout(row(name, value, unit, spacing=4))
            line.addSpacing(4)
        fill(line, self._process_line, self._process, 1, self.tasks_button)
        for widget in (self._age, self.zone_button, self.language_button):
            fill(line, Line(vertical=True, length=14), widget)

    @property
    def state_text(self) -> str:
        return self._state_text.text()

    @property
    def figures(self) -> dict[str, str]:
        """Texts after In, Delivered and Lag."""
        return {name: value.text() for name, _, value, _ in self._figures}

    @property
    def age_text(self) -> str:
        return self._age.text()

    def show_status(self, status: SourceStatus, stage: str = "") -> None:
        """Show the status of the broker; ``stage`` names the step of its start."""
        self._status, self._reach = status, ClusterReach.ALL
        self._show_process_if_known()
        self._write_status(stage if status is SourceStatus.STARTING else "")

    def show_reach(self, reach: ClusterReach) -> None:
        """Show how much of an attached cluster answers."""
        if reach is not self._reach and self._status is SourceStatus.READY:
            self._reach = reach
            self._write_status()

    def _write_status(self, stage: str = "") -> None:
        standing = (_ATTACHED_TEXTS if self.is_attached else self._texts)[self._status]
        text, state = _REACH_TEXTS.get(self._reach, standing)
        self._dot.set_state(state)
        self._state_text.setText(f"{tr(text)}: {broker_text(stage)}" if stage else tr(text))

    def show_address(self, address: str) -> None:
        """Show the name server address; empty hides it."""
        self.address_button.setText(address)
        self._show_address_if_room()

    def _show_address_if_room(self) -> None:
        shown = bool(self.address_button.text()) and self.width() >= ADDRESS_FROM_WIDTH
        self.address_button.setVisible(shown)
        self._address_line.setVisible(shown)

    def show_figures(self, state: ClusterState | None, *, ended: bool = False) -> None:
        """Show the figures of a state; ``ended``: it is the last one, so that there are no rates and the lag is dimmed."""
        totals = state.totals if state is not None else {}
        live = {} if ended else totals
        texts = (
            rate_number(live.get("put_rate")),
            rate_number(live.get("got_rate")),
            count_text(totals.get("lag_messages")),
        )
        for (name, title, value, unit), text in zip(self._figures, texts, strict=True):
            title.setText(tr(name))
            value.setText(text)
            set_role(value, "caption" if ended else "figure")
            unit.setVisible(name != "Lag" and text != UNKNOWN)
        self._process.setText(_process_text(live))
        self._process.setToolTip(tr("What the broker process takes: a whole core is 100 %"))

    def show_age(self, age_ms: float | None, cadence_ms: int) -> None:
        """Show the age of the figures; amber over 3 intervals, red over 10."""
        if age_ms is None:
            self._age.setText(tr("No data yet"))
            set_role(self._age, "secondary")
            return
        self._age.setText(tr("Data {age} old", age=duration_text(round(age_ms, -2))))
        late = age_ms / cadence_ms
        role = "critical" if late > AGE_CRITICAL_INTERVALS else "warning" if late > AGE_WARNING_INTERVALS else "secondary"
        set_role(self._age, role)

    def show_zone(self, now_ms: float) -> None:
        self.zone_button.setText(self._times.name(now_ms))

    def show_language(self, language: str) -> None:
        self.language_button.setText({"en": "EN", "zh": "中文"}[language])

    def _copy_address(self) -> None:
        QGuiApplication.clipboard().setText(self.address_button.text())
        self.address_copied.emit(self.address_button.text())

    def _choose_language(self) -> None:
        menu = new_menu(self)
        for code, name in LANGUAGES.items():
            menu.addAction(name).triggered.connect(lambda _checked=False, code=code: self.language_asked.emit(code))
        menu.popup(_above(self.language_button, menu))

    # ---- tasks -----------------------------------------------------------------------------------------------------

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._show_process_if_known()
        self._show_address_if_room()

    def _show_process_if_known(self) -> None:
        """Show what the broker process takes; the processes of an attached cluster are not seen."""
        wide = self.width() >= PROCESS_FROM_WIDTH and not self.is_attached
        self._process.setVisible(wide)
        self._process_line.setVisible(wide)

    def _write_tasks(self) -> None:
        running = self._tasks.running
        if not running:
            text = tr("No tasks")
        elif len(running) == 1:
            share = running[0].share
            text = running[0].title if share is None else f"{running[0].title} {share * 100:.0f} %"
        else:
            text = tr("{count} tasks", count=len(running))
        self.tasks_button.setText(button_text(text))

    def _show_tasks(self) -> None:
        menu = new_menu(self)
        tasks = self._tasks.tasks[:10]
        for task in tasks:
            action = QWidgetAction(menu)
            action.setDefaultWidget(_TaskLine(self._theme, task))
            menu.addAction(action)
        if not tasks:
            menu.addAction(tr("No tasks")).setEnabled(False)
        menu.popup(_above(self.tasks_button, menu))


class _TaskLine(QWidget):
    def __init__(self, theme: ThemeManager, task: Task) -> None:
        super().__init__()
        self._task = task
        self._text = ElidedLabel(role="caption")
        self._bar = QProgressBar()
        self._bar.setTextVisible(False)
        self._pause = IconButton(theme, "pause", tip=tr("Pause"), on_click=task.toggle_pause)
        self._cancel = IconButton(theme, "x", tip=tr("Cancel"), on_click=task.cancel)
        parts = (label(task.title, "strong"), (self._text, 1), self._bar, self._pause, self._cancel)
        self.setLayout(row(*parts, spacing=-1, margins=(10, 6, 6, 6)))
        self._bar.setFixedWidth(90)
        self.setFixedWidth(TASK_WIDTH)
        task.changed.connect(self._write)
        self._write()

    def _write(self) -> None:
        task = self._task
        word = tr("Paused") if task.is_paused else "" if task.running else tr(task.state.value)
        shown = f"{word} {task.text}".strip()
        self._text.setText(shown)
        self._bar.setVisible(task.state is TaskState.RUNNING)
        self._bar.setRange(0, 0 if task.share is None else 1_000)
        self._bar.setValue(0 if task.share is None else round(task.share * 1_000))
        self._pause.setVisible(task.can_pause)
        self._pause.set_glyph("play" if task.is_paused else "pause")
        self._pause.set_tip(tr("Go on") if task.is_paused else tr("Pause"))
        self._cancel.setVisible(task.can_cancel)


def _process_text(totals: Mapping[str, float]) -> str:
    cpu, memory = totals.get("process_cpu_percent", math.nan), totals.get("process_rss_bytes", math.nan)
    if math.isnan(cpu) and math.isnan(memory):
        return tr("Broker process {figures}", figures=UNKNOWN)
    percent = UNKNOWN if math.isnan(cpu) else f"{cpu:.0f} %"
    return tr("Broker process {figures}", figures=f"{percent} · {bytes_text(memory)}")


def _button(tip: str) -> QPushButton:
    made = QPushButton()
    made.setProperty("role", "status")
    return said(made, tip=tip, name=tip)


def _above(button: QWidget, menu: QMenu) -> QPoint:
    return button.mapToGlobal(QPoint(0, -menu.sizeHint().height() - 2))
