"""`FilterMemory`: the last filters and named ones, in the window's settings; `SavedCuts`: named parts of the dead letters."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import astuple, dataclass
from typing import Generic, TypeVar

from PySide6.QtCore import QSettings

from gui.settings.values import listed, named

T = TypeVar("T")
HISTORY_MAX = 50
SAVED_MAX = 200
_HISTORY = "messages/filters/history"
_SAVED = "messages/filters/saved"
_CUTS = "dead_letters/cuts"


class _SavedByName(Generic[T]):
    """Named values under one key of the settings, as JSON."""

    def __init__(self, settings: QSettings, key: str, read: Callable[[object], T | None], row: Callable[[T], object]) -> None:
        """``row`` makes JSON of a value; ``read`` is its inverse, None for what is no value."""
        self._settings = settings
        self._key = key
        self._read = read
        self._row = row

    @property
    def all(self) -> dict[str, T]:
        """By name; invalid ones are left out."""
        found = sorted(named(str(self._settings.value(self._key, ""))).items(), key=lambda item: item[0].casefold())
        values = ((name, self._read(row)) for name, row in found)
        return {name: value for name, value in values if value is not None}

    def save(self, name: str, value: T) -> bool:
        """Save a value under a name, which may exist; False if there are too many."""
        saved = self.all
        if name not in saved and len(saved) >= SAVED_MAX:
            return False
        self._write(saved | {name: value})
        return True

    def forget(self, name: str) -> None:
        self._write({kept: value for kept, value in self.all.items() if kept != name})

    def _write(self, values: dict[str, T]) -> None:
        _keep(self._settings, self._key, {name: self._row(value) for name, value in values.items()})


class FilterMemory:
    """The last filters, at most `HISTORY_MAX`, and named ones, at most `SAVED_MAX`."""

    def __init__(self, settings: QSettings) -> None:
        self._settings = settings
        self.saved = _SavedByName(settings, _SAVED, lambda row: row if isinstance(row, str) else None, str)

    @property
    def history(self) -> list[str]:
        """The newest is first."""
        return [one for one in listed(str(self._settings.value(_HISTORY, ""))) if isinstance(one, str)]

    def used(self, text: str) -> None:
        _keep(self._settings, _HISTORY, [text, *(one for one in self.history if one != text)][:HISTORY_MAX])

    def clear_history(self) -> None:
        _keep(self._settings, _HISTORY, [])


@dataclass(frozen=True, slots=True)
class Cut:
    """A part of the dead letters.

    Attributes:
        group: The group whose dead letters they are.
        words: The words that must occur in them.
    """

    group: str
    words: str


class SavedCuts(_SavedByName[Cut]):
    """At most `SAVED_MAX` named cuts."""

    def __init__(self, settings: QSettings) -> None:
        super().__init__(settings, _CUTS, _cut, astuple)


def _cut(row: object) -> Cut | None:
    match row:
        case [str(group), str(words)]:
            return Cut(group, words)
    return None


def _keep(settings: QSettings, key: str, value: object) -> None:
    settings.setValue(key, json.dumps(value, ensure_ascii=False))
