"""Values of the settings file, keys shared by several packages, and `SettingsWatch`, which reports changes of other windows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PySide6.QtCore import QFileSystemWatcher, QObject, QSettings, QTimer, Signal

from broker_core.outside import read_json, whole_of

DENSITY_KEY = "density"
SCALE_KEY = "scale_percent"
SCALES_PERCENT = (100, 125, 150, 175, 200)
SYSTEM_NOTICES_KEY = "notices/system"
"""Whether the desktop shows warnings too."""
STAY_KEY = "tray/stay"
"""Whether closing the window leaves Orbit in the tray."""


def whole_number(settings: QSettings, key: str, default: int) -> int:
    """A whole number of the settings, or the default where it is missing or invalid."""
    text = str(settings.value(key, default))
    number = whole_of(text.removeprefix("-"))
    return default if number is None else -number if text.startswith("-") else number


def text_list(settings: QSettings, key: str) -> list[str]:
    """A list of texts of the settings; Qt returns a list of one as a text."""
    value = settings.value(key, [])
    if isinstance(value, str):
        return [value]
    return [str(item) for item in value] if isinstance(value, list) else []


def listed(text: str) -> list[Any]:
    """The items of a stored JSON list; none where the text is no such list."""
    found = _json(text)
    return found if isinstance(found, list) else []


def named(text: str) -> dict[str, Any]:
    """The items of a stored JSON object by name; none where the text is no such object."""
    found = _json(text)
    return found if isinstance(found, dict) else {}


def _json(text: str) -> object:
    try:
        return read_json(text)
    except ValueError:
        return None


def is_on(settings: QSettings, key: str, *, default: bool) -> bool:
    return str(settings.value(key, default)).lower() == "true"


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
