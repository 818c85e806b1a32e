"""`SettingsWatch`: reports that any window has written the settings file."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QFileSystemWatcher, QObject, QSettings, QTimer, Signal

SETTLE_MS = 50
"""A write makes several changes of the folder (lock, new file, rename); they are reported as one."""


class SettingsWatch(QObject):
    """Reads the settings again whenever their file has changed.

    Signals:
        changed: The file was written by any window, and has been read again.
    """

    changed = Signal()

    def __init__(self, settings: QSettings, parent: QObject) -> None:
        super().__init__(parent)
        self._settings = settings
        self._file = settings.fileName()
        self._watcher = QFileSystemWatcher(self)
        # The folder too: the first setting creates the file, and each write replaces it.
        self._watcher.addPath(str(Path(self._file).parent))
        self._watch_file()
        self._settle = QTimer(self, singleShot=True, interval=SETTLE_MS)
        self._settle.timeout.connect(self._read)
        self._watcher.directoryChanged.connect(self._touched)
        self._watcher.fileChanged.connect(self._touched)

    def _touched(self, _path: str) -> None:
        if not self._settle.isActive():
            self._settle.start()

    def _read(self) -> None:
        self._watch_file()
        self._settings.sync()
        self.changed.emit()

    def _watch_file(self) -> None:
        if self._file not in self._watcher.files() and Path(self._file).exists():
            self._watcher.addPath(self._file)
