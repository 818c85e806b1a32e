"""`KnownNames`: names of the cluster that filters may be completed with, gathered as they are seen."""

from __future__ import annotations

from collections.abc import Iterable

from PySide6.QtCore import QObject, Signal

from gui.models.filter_text import Vocabulary
from gui.models.messages import topic_names
from monitoring.state import ClusterState

SEEN_MAX = 500
"""Tags, and names of properties, that are kept; a person completes no more of them."""


class KnownNames(QObject):
    """Topics and groups as they are now; tags and properties that messages were seen with.

    Signals:
        changed: `vocabulary` is another.
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
        """Know the topics and groups that there are."""
        if state.catalog.revision != self._revision:
            self._revision = state.catalog.revision
            self._topics, self._groups = topic_names(state), list(state.catalog.groups)
            self._tell()

    def add_tags(self, tags: Iterable[str]) -> None:
        """Know tags that messages were seen with."""
        if _add(self._tags, tags):
            self._tell()

    def add_properties(self, names: Iterable[str]) -> None:
        """Know properties that a message was seen with."""
        if _add(self._properties, names):
            self._tell()

    def _tell(self) -> None:
        self.vocabulary = Vocabulary(self._topics, self._groups, list(self._tags), list(self._properties))
        self.changed.emit()


def _add(known: dict[str, None], names: Iterable[str]) -> bool:
    """Add what there is room for; whether anything was added."""
    count = len(known)
    for name in names:
        if name and len(known) < SEEN_MAX:
            known[name] = None
    return len(known) > count
