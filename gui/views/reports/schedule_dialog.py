"""`ScheduleDialog`: runs a report every day or week, and lists what is scheduled."""

from __future__ import annotations

from PySide6.QtCore import QTime
from PySide6.QtWidgets import QComboBox, QTimeEdit, QWidget

from gui.models.reports import ReportOrder
from gui.models.schedules import DAYS, Schedule
from gui.operations.report_schedules import ReportSchedules
from gui.theme.manager import ThemeManager
from gui.widgets.basic import ElidedLabel, IconButton, Line, clear, column, fill, label, row
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.said import push_button
from gui.words.plain_text import tip_text
from gui.words.text import tr
from spark_reports.catalog import CLUSTER, reports

WIDTH = 460
FIRST_TIME = QTime(8, 30)


class ScheduleDialog(FittedDialog):
    """Schedules of all reports; the entered one can be added."""

    def __init__(
        self, theme: ThemeManager, schedules: ReportSchedules, order: ReportOrder | None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._theme, self._schedules, self._order = theme, schedules, order
        self.setWindowTitle(tr("Schedules"))
        self.setMinimumWidth(WIDTH)
        self.day = QComboBox()
        for weekday, name in DAYS.items():
            self.day.addItem(tr(name), weekday)
        self.day.setAccessibleName(tr("Day"))
        self.time = QTimeEdit(FIRST_TIME)
        self.time.setDisplayFormat("HH:mm")
        self.time.setAccessibleName(tr("Time"))
        self.add = IconButton(theme, "plus", tr("Schedule"), role="primary", on_click=self._add)
        self.close_button = push_button("Close", self.reject)
        self.close_button.setDefault(True)
        self._list = column(spacing=2)
        lines = self.lay_out()
        if order is not None:
            fill(
                lines,
                label(tr(order.spec.title), "card-title"),
                label(tr("As the form asks for it now. It runs while Orbit is open."), "secondary", wrap=True),
                row(self.day, self.time, 1, self.add),
                Line(),
            )
        fill(lines, self._list, 1)
        self.set_foot(row(1, self.close_button))
        schedules.changed.connect(self._fill)
        self._fill()

    def _add(self) -> None:
        order = self._order
        if order is not None:
            at = self.time.time()
            self._schedules.add(
                Schedule(
                    order.spec.name, order.stores, order.parameters, order.commit_log, order.also,
                    int(self.day.currentData()), at.hour() * 60 + at.minute()
                )
            )  # fmt: skip

    def _fill(self) -> None:
        clear(self._list)
        for schedule in self._schedules.all:
            self._list.addWidget(self._line(schedule))
        if not self._schedules.all:
            self._list.addWidget(label(tr("Nothing is scheduled."), "secondary"))

    def _line(self, schedule: Schedule) -> QWidget:
        made = QWidget()
        title = next((tr(spec.title) for spec in reports() if spec.name == schedule.report), schedule.report)
        options = " ".join(f"{name} {value}" for name, value in schedule.parameters)
        words = ElidedLabel(f"{title}  {options}".strip())
        words.setToolTip(tip_text("\n".join(one.removeprefix(CLUSTER) for one in schedule.stores)))
        when = label(f"{tr(DAYS[schedule.weekday])}, {schedule.minute // 60:02}:{schedule.minute % 60:02}", "secondary")
        remove = IconButton(self._theme, "x", tip=tr("Remove"), on_click=lambda: self._schedules.remove(schedule), parent=made)
        made.setLayout(row((words, 1), when, remove))
        return made
