"""`ColumnPresets`: named sets of columns of one table, kept where the page remembers its columns."""

from __future__ import annotations

import json
from typing import Protocol, runtime_checkable

from PySide6.QtCore import QPoint
from PySide6.QtWidgets import QWidget

from monitoring.outside import read_json

PRESETS_MAX = 20
NAME_CHARACTERS_MAX = 60
PRESETS_END = "-presets"
"""Of the keys under which they are kept."""


@runtime_checkable
class ColumnMemory(Protocol):
    """A page that remembers what the user made of its tables."""

    def read_columns(self, key: str) -> str:
        """What was kept for a table; empty for nothing."""

    def keep_columns(self, key: str, text: str) -> None:
        """Remember something for a table."""

    def explain_part(self, part: QWidget, at: QPoint | None = None) -> bool:
        """Show what a part of the page is, at a global place; returns whether it is known."""


class ColumnPresets:
    """Names and what `gui.widgets.grid_columns` writes of the columns.

    Args:
        memory: The page.
        key: Of the table.
    """

    def __init__(self, memory: ColumnMemory, key: str) -> None:
        self._memory = memory
        self._key = key + PRESETS_END

    @property
    def known(self) -> dict[str, str]:
        """What is kept, by name, in order; of a file that somebody edited, what makes sense."""
        text = self._memory.read_columns(self._key)
        try:
            kept = read_json(text) if text else {}
        except ValueError:
            return {}
        if not isinstance(kept, dict):
            return {}
        return {name: columns for name, columns in kept.items() if name and isinstance(columns, str)}

    def is_full(self, name: str) -> bool:
        """Whether there is no room for one more of this name."""
        known = self.known
        return name not in known and len(known) >= PRESETS_MAX

    def save(self, name: str, columns: str) -> None:
        """Keep the columns under a name, also one that is taken."""
        self._write(self.known | {name[:NAME_CHARACTERS_MAX]: columns})

    def forget(self, name: str) -> None:
        """Drop a name."""
        self._write({known: columns for known, columns in self.known.items() if known != name})

    def _write(self, presets: dict[str, str]) -> None:
        self._memory.keep_columns(self._key, json.dumps(presets, ensure_ascii=False) if presets else "")
