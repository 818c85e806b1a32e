"""`OffsetSnapshots`: offsets of groups before their resets, in the settings of the window."""

from __future__ import annotations

from PySide6.QtCore import QObject, QSettings, Signal

from monitoring.admin.offsets import OffsetSnapshot, snapshots_from_text, snapshots_to_text

KEY = "offsets/{group}"


class OffsetSnapshots(QObject):
    """Snapshots by group, newest last; each cluster has its own (`gui.connections.cluster.own_group`).

    Signals:
        changed: One was added.
    """

    changed = Signal()

    def __init__(self, settings: QSettings, parent: QObject | None = None, *, own_group: str = "") -> None:
        super().__init__(parent)
        self._key = f"{own_group}{KEY}"
        self._settings = settings

    def of(self, group: str) -> list[OffsetSnapshot]:
        """Those of a group, oldest first."""
        return snapshots_from_text(str(self._settings.value(self._key.format(group=group), "")))

    def add(self, snapshot: OffsetSnapshot) -> None:
        """Store a snapshot; it is on the disk when this returns, before anything is changed."""
        key = self._key.format(group=snapshot.group)
        self._settings.sync()  # another window may have added some
        self._settings.setValue(key, snapshots_to_text([*self.of(snapshot.group), snapshot]))
        self._settings.sync()
        self.changed.emit()
