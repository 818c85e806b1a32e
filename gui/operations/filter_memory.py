"""`FilterMemory`: the last filters and named ones, in the window's settings; `SavedCuts`: named parts of the dead letters."""

from __future__ import annotations

import json
from dataclasses import dataclass

from PySide6.QtCore import QObject, QSettings, Signal

from monitoring.outside import read_json

HISTORY_MAX = 50
SAVED_MAX = 200
_HISTORY = "messages/filters/history"
_SAVED = "messages/filters/saved"
_CUTS = "dead_letters/cuts"


class FilterMemory(QObject):
    """See the module.

    Signals:
        changed: A filter was used, saved or removed.
    """

    changed = Signal()

    def __init__(self, settings: QSettings, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._settings = settings

    @property
    def history(self) -> list[str]:
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
        history = [text, *(one for one in self.history if one != text)][:HISTORY_MAX]
        self._write(_HISTORY, history)

    def clear_history(self) -> None:
        self._write(_HISTORY, [])

    def save(self, name: str, text: str) -> bool:
        """Save a filter under a name, which may exist; False if there are too many."""
        saved = self.saved
        if name not in saved and len(saved) >= SAVED_MAX:
            return False
        self._write(_SAVED, saved | {name: text})
        return True

    def forget(self, name: str) -> None:
        self._write(_SAVED, {kept: text for kept, text in self.saved.items() if kept != name})

    def _write(self, key: str, value: object) -> None:
        self._settings.setValue(key, json.dumps(value, ensure_ascii=False))
        self.changed.emit()


@dataclass(frozen=True, slots=True)
class Cut:
    """Part of the dead letters: those of a group that contain all the words."""

    group: str
    words: str


class SavedCuts:
    """Cuts by name in the window's settings; invalid entries are ignored."""

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings

    @property
    def all(self) -> dict[str, Cut]:
        """Name → cut, by name."""
        found = _read(self._settings, _CUTS)
        if not isinstance(found, dict):
            return {}
        cuts = {name: _cut(values) for name, values in found.items()}
        return {name: cut for name, cut in sorted(cuts.items(), key=lambda item: item[0].casefold()) if cut is not None}

    def save(self, name: str, cut: Cut) -> bool:
        """Save a cut under a name, which may exist; False if there are too many."""
        cuts = self.all
        if name not in cuts and len(cuts) >= SAVED_MAX:
            return False
        self._write(cuts | {name: cut})
        return True

    def forget(self, name: str) -> None:
        self._write({kept: cut for kept, cut in self.all.items() if kept != name})

    def _write(self, cuts: dict[str, Cut]) -> None:
        values = {name: [cut.group, cut.words] for name, cut in cuts.items()}
        self._settings.setValue(_CUTS, json.dumps(values, ensure_ascii=False))


def _cut(values: object) -> Cut | None:
    match values:
        case [str(group), str(words)]:
            return Cut(group, words)
    return None


def _read(settings: QSettings, key: str) -> object:
    """A value of the settings; None where it is missing or invalid."""
    try:
        found: object = read_json(str(settings.value(key, "null")))
    except ValueError:
        return None
    return found
