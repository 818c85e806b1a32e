"""`KnownNames`: names of the cluster for completions of filters, collected from states and messages."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal

from gui.models.filter_text import Vocabulary
from gui.models.messages import topic_names
from monitoring.state import ClusterState

SEEN_MAX = 500
"""Most tags and property names that are kept; a person completes no more of them."""


class KnownNames(QObject):
    """Topics and groups of the newest state; tags and properties of messages.

    Signals:
        changed: `vocabulary` changed.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.vocabulary = Vocabulary()
        self._revision = -1
        self._topics: list[str] = []
        self._groups: list[str] = []
        self._tags: dict[str, None] = {}
        self._properties: dict[str, None] = {}

    def take_state(self, state: ClusterState) -> None:
        if state.catalog.revision != self._revision:
            self._revision = state.catalog.revision
            self._topics, self._groups = topic_names(state), list(state.catalog.groups)
            self._tell()

    def add_tags(self, tags: Iterable[str]) -> None:
        if _add(self._tags, tags):
            self._tell()

    def add_properties(self, names: Iterable[str]) -> None:
        if _add(self._properties, names):
            self._tell()

    def _tell(self) -> None:
        self.vocabulary = Vocabulary(self._topics, self._groups, list(self._tags), list(self._properties))
        self.changed.emit()


def _add(known: dict[str, None], names: Iterable[str]) -> bool:
    """Add names up to `SEEN_MAX`; returns whether any was added."""
    count = len(known)
    for name in names:
        if name and len(known) < SEEN_MAX:
            known[name] = None
    return len(known) > count
