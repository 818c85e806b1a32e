"""`RangeDialog`: a custom time range for all charts, from a moment to a moment."""

from __future__ import annotations

from PySide6.QtCore import QDateTime, QTimeZone
from PySide6.QtWidgets import QDateTimeEdit, QWidget

from gui.views.time_range import SHORTEST_MS, TimeRangeChoice
from gui.widgets.basic import form_layout, label, row
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.said import push_button
from gui.words.text import TimeZoneChoice, tr

SHOWN_FORMAT = "yyyy-MM-dd HH:mm:ss"


class RangeDialog(FittedDialog):
    def __init__(self, choice: TimeRangeChoice, times: TimeZoneChoice, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Time range of all charts"))
        self._choice = choice
        zone = QTimeZone.utc() if times.utc else QTimeZone.systemTimeZone()
        from_ms, to_ms = choice.window_ms(QDateTime.currentMSecsSinceEpoch())
        self.begin, self.end = _moment(from_ms, zone), _moment(to_ms, zone)
        self.fault = label(role="critical", wrap=True)
        self.go = push_button("Show", self._show_range, role="primary")
        self.go.setDefault(True)
        cancel = push_button("Cancel", self.reject)
        form = form_layout(across=8, down=8)
        for name, field in ((tr("From"), self.begin), (tr("To"), self.end)):
            field.setAccessibleName(name)
            field.dateTimeChanged.connect(lambda _moment: self._check())
            form.addRow(label(name, "secondary"), field)
        lines = self.lay_out(spacing=10)
        lines.addLayout(form)
        self.set_foot(self.fault, row(1, cancel, self.go))
        self.setMinimumWidth(340)
        self._check()

    def _check(self) -> None:
        begin_ms, end_ms = self._range_ms()
        fits = end_ms - begin_ms >= SHORTEST_MS
        self.go.setEnabled(fits)
        self.fault.setText("" if fits else tr("The end must lie at least 1 min after the begin."))

    def _range_ms(self) -> tuple[int, int]:
        return self.begin.dateTime().toMSecsSinceEpoch(), self.end.dateTime().toMSecsSinceEpoch()

    def _show_range(self) -> None:
        self._choice.set_between(*self._range_ms())
        self.accept()


def _moment(at_ms: int, zone: QTimeZone) -> QDateTimeEdit:
    field = QDateTimeEdit()
    field.setTimeZone(zone)
    field.setDisplayFormat(SHOWN_FORMAT)
    field.setCalendarPopup(True)
    field.setDateTime(QDateTime.fromMSecsSinceEpoch(at_ms, zone))
    return field
