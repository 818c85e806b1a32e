"""`ReportSchedules`: emits reports that are due, every day or week, while the program is open.

Times that pass while it is closed are skipped. Of several windows with the same settings only one emits: the holder of the
lock file beside them.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from PySide6.QtCore import QLockFile, QObject, QSettings, QTimer, Signal

from broker_core.api import MACHINE_ZONE
from gui.models.schedules import SCHEDULES_MAX, Schedule, due, read_schedules, schedules_text

KEY = "reports/schedules"
LOCK_FILE = "report-schedules.lock"
LOOK_MS = 20_000


def local_now() -> datetime:
    """The time of this machine, with its zone."""
    return datetime.now(MACHINE_ZONE)


class ReportSchedules(QObject):
    """Stores the schedules in the settings and emits those due. GUI thread only.

    Signals:
        due: Time to run one; carries its `Schedule`.
        changed: The list changed.
    """

    due = Signal(object)
    changed = Signal()

    def __init__(self, settings: QSettings, parent: QObject | None = None, *, now: Callable[[], datetime] = local_now) -> None:
        super().__init__(parent)
        self._settings = settings
        self._now = now
        self._looked = now()
        self._lock = QLockFile(str(Path(settings.fileName()).with_name(LOCK_FILE)))
        self._lock.setStaleLockTime(0)  # held for as long as its process lives
        self._all = self._kept()
        self._timer = QTimer(self, interval=LOOK_MS)
        self._timer.timeout.connect(self.look)
        self._timer.start()

    @property
    def all(self) -> tuple[Schedule, ...]:
        return tuple(self._all)

    def add(self, schedule: Schedule) -> bool:
        """Add a schedule; False when there are too many, or it exists."""
        self._all = self._kept()
        if schedule in self._all or len(self._all) >= SCHEDULES_MAX:
            return False
        self.look()  # what was due before stays due; the new one counts from now
        self._all.append(schedule)
        self._keep()
        return True

    def remove(self, schedule: Schedule) -> None:
        self._all = self._kept()
        if schedule in self._all:
            self._all.remove(schedule)
            self._keep()

    def look(self) -> None:
        """Emit the schedules due since the last look, unless another window does; read changes of other windows."""
        since, self._looked = self._looked, self._now()
        before, self._all = self._all, self._kept()
        if self._all != before:
            self.changed.emit()
        if not (self._all and (self._lock.isLocked() or self._lock.tryLock(0))):
            return
        for schedule in due(self._all, since, self._looked):
            self.due.emit(schedule)

    def _kept(self) -> list[Schedule]:
        self._settings.sync()
        return read_schedules(str(self._settings.value(KEY, "")))

    def _keep(self) -> None:
        self._settings.setValue(KEY, schedules_text(self._all))
        self._settings.sync()
        self.changed.emit()
