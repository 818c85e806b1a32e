"""`OriginReader`: the original topics of each group's newest dead letters."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from broker_core.api import OrbitError, retry_names
from broker_core.api import names as reserved
from broker_core.worker.questions.stored_messages import BrowseQueue, FieldValues, MessagePage, ReadFields
from gui.operations.queries import LatestQuery
from gui.operations.requests import InTurn
from monitoring.dead_letters import GroupFigures, known_names
from monitoring.sources.base import ClusterSource, Pending

logger = logging.getLogger(__name__)

LETTERS_LOOKED_AT = 100
"""Newest dead letters read of each group."""
GROUPS_MAX = 100
ORIGINS_SHOWN = 2
_FIELDS = ["prop.RETRY_TOPIC", "prop.DLQ_ORIGIN_TOPIC"]


class OriginReader(QObject):
    """Reads a group again when its dead letters have grown; one question at a time.

    Signals:
        changed: `of` returns more.
    """

    changed = Signal()

    def __init__(self, source: ClusterSource, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._known: dict[str, list[tuple[str, int]]] = {}
        self._read_for: dict[str, tuple[tuple[int, int], ...]] = {}
        self._heads: LatestQuery[list[MessagePage]] = LatestQuery(self)
        self._fields: LatestQuery[list[FieldValues]] = LatestQuery(self)

    def of(self, group: str) -> list[tuple[str, int]]:
        """Topics and their counts among the read dead letters, most first."""
        return self._known.get(group, [])

    def read(self, groups: Sequence[GroupFigures]) -> None:
        if self._heads.waiting or self._fields.waiting:
            return
        wanted = [one for one in groups[:GROUPS_MAX] if one.dead and self._read_for.get(one.group) != one.ends]
        if not wanted:
            return
        self._read_for |= {one.group: one.ends for one in wanted}
        asks = [
            partial(self._source.ask, BrowseQueue(reserved.DLQ_PREFIX + one.group, -1, 0, LETTERS_LOOKED_AT)) for one in wanted
        ]
        self._heads.ask(InTurn(asks), partial(self._ask_fields, [one.group for one in wanted]), self._failed)

    def forget(self) -> None:
        self._read_for.clear()

    def _ask_fields(self, groups: list[str], pages: list[MessagePage]) -> None:
        asks: list[Callable[[], Pending[FieldValues]]] = [
            partial(self._source.ask, ReadFields(list(page.physical_offset), _FIELDS)) for page in pages
        ]
        self._fields.ask(InTurn(asks), partial(self._take, groups), self._failed)

    def _take(self, groups: list[str], answers: list[FieldValues]) -> None:
        known = known_names(self._source.state)
        for group, values in zip(groups, answers, strict=True):
            named = ({"RETRY_TOPIC": first, "DLQ_ORIGIN_TOPIC": second} for first, second in zip(*values.texts, strict=True))
            origins = (retry_names.names_text(retry_names.origins_of(one, group, known)) for one in named)
            self._known[group] = Counter(filter(None, origins)).most_common(ORIGINS_SHOWN)
            if values.unread:  # a broker was slow: the next turn asks again
                self._read_for.pop(group, None)
        self.changed.emit()

    def _failed(self, error: OrbitError) -> None:
        """Keep what is shown; the next turn asks again."""
        self._read_for.clear()
        logger.info("where dead letters came from was not read: %s", error.message)
