"""`Favourites`: names that the user keeps at hand, remembered in the settings of the window."""

from __future__ import annotations

import json

from PySide6.QtCore import QObject, QSettings, Signal

NAMES_MAX = 500


class Favourites(QObject):
    """A set of names under one key of the settings.

    Signals:
        changed: A name came or went.
    """

    changed = Signal()

    def __init__(self, settings: QSettings, key: str, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings
        self._key = key
        self._names = _read(settings, key)

    def __contains__(self, name: object) -> bool:
        return name in self._names

    def __len__(self) -> int:
        return len(self._names)

    def toggle(self, name: str) -> None:
        """Keep a name, or let it go."""
        # Another page may have changed them meanwhile.
        self._names = _read(self._settings, self._key)
        if name in self._names:
            del self._names[name]
        else:
            self._names[name] = None
        self._names = dict.fromkeys(list(self._names)[-NAMES_MAX:])
        self._settings.setValue(self._key, json.dumps(list(self._names)))
        self.changed.emit()


def _read(settings: QSettings, key: str) -> dict[str, None]:
    try:
        names = json.loads(str(settings.value(key, "[]")))
    except ValueError:
        return {}
    return dict.fromkeys(str(name) for name in names) if isinstance(names, list) else {}
