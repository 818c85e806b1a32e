"""`ColumnPresets`: named sets of columns of one table, stored where the page remembers its columns."""

from __future__ import annotations

import json
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

from gui.settings.values import named

PRESETS_MAX = 20
NAME_CHARACTERS_MAX = 60
PRESETS_END = "-presets"
"""Suffix of their keys."""


@runtime_checkable
class ColumnMemory(Protocol):
    """A page that remembers the columns of its tables."""

    def read_columns(self, key: str) -> str:
        """The stored text of a table; empty for none."""

    def keep_columns(self, key: str, text: str) -> None:
        """Store a text for a table."""

    def explain_part(self, part: QWidget, at: QPoint | None = None) -> bool:
        """Explain a part of the page at a global place; returns whether it has an explanation."""


class ColumnPresets:
    """Names → texts of `gui.widgets.grid_columns`, for the table of ``key``."""

    def __init__(self, memory: ColumnMemory, key: str) -> None:
        self._memory = memory
        self._key = key + PRESETS_END

    @property
    def known(self) -> dict[str, str]:
        """The stored sets by name, in order; invalid ones are left out."""
        kept = named(self._memory.read_columns(self._key))
        return {name: columns for name, columns in kept.items() if name and isinstance(columns, str)}

    def is_full(self, name: str) -> bool:
        """Whether there is no room for a set of this name."""
        known = self.known
        return name not in known and len(known) >= PRESETS_MAX

    def save(self, name: str, columns: str) -> None:
        """Store the columns under a name, which may exist."""
        self._write(self.known | {name[:NAME_CHARACTERS_MAX]: columns})

    def forget(self, name: str) -> None:
        self._write({known: columns for known, columns in self.known.items() if known != name})

    def _write(self, presets: dict[str, str]) -> None:
        self._memory.keep_columns(self._key, json.dumps(presets, ensure_ascii=False) if presets else "")
