"""`QuietHours`: when the desktop shows no notices. They are still kept under the bell."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time

from PySide6.QtCore import QSettings

from gui.settings.values import is_on

ON_KEY, FROM_KEY, TO_KEY = "notices/quiet", "notices/quiet_from", "notices/quiet_to"
FROM, TO = time(22), time(8)
"""The default hours."""


@dataclass(frozen=True, slots=True)
class QuietHours:
    """Hours of each day, in the time of this machine.

    Attributes:
        is_on: Whether there are any.
        begin: First minute.
        end: The minute after the last; before ``begin``, they go over midnight. The same: all day.
    """

    is_on: bool = False
    begin: time = FROM
    end: time = TO

    def covers(self, moment: time) -> bool:
        if not self.is_on:
            return False
        if self.begin < self.end:
            return self.begin <= moment < self.end
        return moment >= self.begin or moment < self.end


def read_quiet_hours(settings: QSettings) -> QuietHours:
    """The stored hours; the default for an unreadable time."""
    begin, end = _time(settings, FROM_KEY, FROM), _time(settings, TO_KEY, TO)
    return QuietHours(is_on(settings, ON_KEY, default=False), begin, end)


def keep_quiet_hours(settings: QSettings, hours: QuietHours) -> None:
    settings.setValue(ON_KEY, hours.is_on)
    settings.setValue(FROM_KEY, f"{hours.begin:%H:%M}")
    settings.setValue(TO_KEY, f"{hours.end:%H:%M}")


def _time(settings: QSettings, key: str, default: time) -> time:
    try:
        return time.fromisoformat(str(settings.value(key, f"{default:%H:%M}"))).replace(tzinfo=None)
    except ValueError:
        return default
