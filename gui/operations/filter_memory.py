"""`FilterMemory`: filters that were used, and those that were saved under a name; kept in the window's settings."""

from __future__ import annotations

import json

from PySide6.QtCore import QObject, QSettings, Signal

HISTORY_MAX = 50
SAVED_MAX = 200
_HISTORY = "messages/filters/history"
_SAVED = "messages/filters/saved"


class FilterMemory(QObject):
    """See the module.

    Signals:
        changed: A filter was used, saved or forgotten.
    """

    changed = Signal()

    def __init__(self, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings

    @property
    def history(self) -> list[str]:
        """Filters that were used, the latest first."""
        found = _read(self._settings, _HISTORY)
        return [one for one in found if isinstance(one, str)] if isinstance(found, list) else []

    @property
    def saved(self) -> dict[str, str]:
        """Name → filter, by name."""
        found = _read(self._settings, _SAVED)
        if not isinstance(found, dict):
            return {}
        return {name: found[name] for name in sorted(found, key=str.casefold) if isinstance(found[name], str)}

    def used(self, text: str) -> None:
        """Remember a filter as the latest."""
        history = [text, *(one for one in self.history if one != text)][:HISTORY_MAX]
        self._write(_HISTORY, history)

    def clear_history(self) -> None:
        """Forget the filters that were used."""
        self._write(_HISTORY, [])

    def save(self, name: str, text: str) -> bool:
        """Keep a filter under a name, in place of the one that had it; False if there are too many."""
        saved = self.saved
        if name not in saved and len(saved) >= SAVED_MAX:
            return False
        self._write(_SAVED, saved | {name: text})
        return True

    def forget(self, name: str) -> None:
        """Drop a saved filter."""
        self._write(_SAVED, {kept: text for kept, text in self.saved.items() if kept != name})

    def _write(self, key: str, value: object) -> None:
        self._settings.setValue(key, json.dumps(value, ensure_ascii=False))
        self.changed.emit()


def _read(settings: QSettings, key: str) -> object:
    """What was kept; None where it is not there or was edited into something else."""
    try:
        found: object = json.loads(str(settings.value(key, "null")))
    except ValueError:
        return None
    return found
