"""`RangeDialog`: a custom time range for all charts, from a moment to a moment."""

from __future__ import annotations

from datetime import UTC, datetime

from PySide6.QtCore import QDateTime, QTimeZone
from PySide6.QtWidgets import QDateTimeEdit, QWidget

from broker_core.api import UnclearTimeError, instant_ms
from gui.views.time_range import SHORTEST_MS, TimeRangeChoice
from gui.widgets.basic import form_layout, label, row
from gui.widgets.fitted_dialog import FittedDialog
from gui.widgets.said import push_button
from gui.words.error_words import error_text
from gui.words.text import TimeZoneChoice, tr

SHOWN_FORMAT = "yyyy-MM-dd HH:mm:ss"


class RangeDialog(FittedDialog):
    def __init__(self, choice: TimeRangeChoice, times: TimeZoneChoice, parent: QWidget) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Time range of all charts"))
        self._choice = choice
        self._times = times
        from_ms, to_ms = choice.window_ms(QDateTime.currentMSecsSinceEpoch())
        self.begin, self.end = _moment(times.moment(from_ms)), _moment(times.moment(to_ms))
        self._shown = {field: (field.dateTime(), at) for field, at in ((self.begin, from_ms), (self.end, to_ms))}
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
        try:
            begin_ms, end_ms = self._range_ms()
        except UnclearTimeError as error:
            self.go.setEnabled(False)
            self.fault.setText(f"{error_text(error)} {tr('Times in UTC are never unclear: the status bar switches to them.')}")
            return
        fits = end_ms - begin_ms >= SHORTEST_MS
        self.go.setEnabled(fits)
        self.fault.setText("" if fits else tr("The end must lie at least 1 min after the begin."))

    def _range_ms(self) -> tuple[int, int]:
        return self._entered_ms(self.begin), self._entered_ms(self.end)

    def _entered_ms(self, field: QDateTimeEdit) -> int:
        """The moment of a field; what was not changed is exact. Raises `UnclearTimeError`."""
        shown, at_ms = self._shown[field]
        if field.dateTime() == shown:
            return at_ms
        return instant_ms(
            datetime.fromtimestamp(field.dateTime().toSecsSinceEpoch(), UTC).replace(tzinfo=None), self._times.zone
        )

    def _show_range(self) -> None:
        self._choice.set_between(*self._range_ms())
        self.accept()


def _moment(at: datetime) -> QDateTimeEdit:
    """A field with a date and a time of day. It knows no zone, because it would replace what does not exist there."""
    field = QDateTimeEdit()
    field.setTimeZone(QTimeZone.utc())
    field.setDisplayFormat(SHOWN_FORMAT)
    field.setCalendarPopup(True)
    wall = round(at.replace(microsecond=0, tzinfo=UTC).timestamp())
    field.setDateTime(QDateTime.fromSecsSinceEpoch(wall, QTimeZone.utc()))
    return field
