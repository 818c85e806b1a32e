"""`TagLooks`: reads some messages at the start of each part of a time range, one request after another."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import QObject, Signal

from broker_core.api import OrbitError
from broker_core.worker.questions.stored_messages import BrowseQueue, FindOffset, FoundOffset, MessagePage
from gui.event_loop.turns import next_turn
from gui.models.tag_parts import TagLook, look_at
from gui.operations.queries import LatestQuery
from gui.words.error_words import error_text
from monitoring.sources.base import ClusterSource, SourceStatus

MESSAGES_A_LOOK = 100
QUEUES_A_PART = 3
PARTS_KEPT_MAX = 400
NEWEST_AGAIN_MS = 5_000
"""The current part is read again after this time."""
AFTER_FAULT_MS = 10_000


class TagLooks(QObject):
    """Reads while `show` is called, the newest part first; the samples of a complete part are final.

    Signals:
        arrived: More is known, or could not be read.
    """

    arrived = Signal()

    def __init__(self, source: ClusterSource, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._offset_query: LatestQuery[FoundOffset] = LatestQuery(self)
        self._page_query: LatestQuery[MessagePage] = LatestQuery(self)
        self._topic, self._step_ms = "", 0
        self._now_ms = 0
        self._seen: dict[int, tuple[int, tuple[TagLook, ...]]] = {}
        """By start of a part: when it was read, and the samples of its queues."""
        self._open: dict[int, TagLook] = {}
        """Samples of the part being read, by queue."""
        self._wanted: list[tuple[int, int]] = []
        """Parts and queues still to be read, the next one last."""
        self._failed_ms = -AFTER_FAULT_MS
        self._error: OrbitError | None = None

    @property
    def fault(self) -> str:
        """Why the last request failed; empty where it did not."""
        return "" if self._error is None else error_text(self._error)

    @property
    def is_busy(self) -> bool:
        return bool(self._wanted)

    @property
    def looks(self) -> dict[int, tuple[TagLook, ...]]:
        """Samples by start of a part."""
        return {start: looks for start, (_at, looks) in self._seen.items()}

    def show(self, topic: str, queues: Sequence[int], starts: Sequence[int], step_ms: int, now_ms: int) -> None:
        """Read these parts.

        Args:
            topic: Of the messages.
            queues: Its queues that have messages.
            starts: Start of the parts, ms since the epoch.
            step_ms: Their length.
            now_ms: The broker's clock.
        """
        if (topic, step_ms) != (self._topic, self._step_ms):
            self._forget(topic, step_ms)
        self._now_ms = now_ms
        is_held_back = self._error is not None and 0 <= now_ms - self._failed_ms < AFTER_FAULT_MS
        if not queues or is_held_back or self.is_busy or self._source.status is not SourceStatus.READY:
            return
        self._wanted = [pair for start in starts if self._is_due(start) for pair in self._pairs(start, queues)]
        self._next()

    def _forget(self, topic: str, step_ms: int) -> None:
        for query in (self._offset_query, self._page_query):
            query.cancel()
        self._topic, self._step_ms = topic, step_ms
        self._seen, self._open, self._wanted, self._error = {}, {}, [], None

    def _is_due(self, start: int) -> bool:
        seen = self._seen.get(start)
        end = start + self._step_ms
        if seen is None or seen[0] >= end:
            return seen is None
        return self._now_ms >= end or self._now_ms - seen[0] >= NEWEST_AGAIN_MS

    def _pairs(self, start: int, queues: Sequence[int]) -> list[tuple[int, int]]:
        """A part with a few queues: others in the next part, so that each has its turn."""
        first = start // self._step_ms * QUEUES_A_PART
        count = min(QUEUES_A_PART, len(queues))
        return [(start, queues[(first + place) % len(queues)]) for place in range(count)]

    # ---- one after another ---------------------------------------------------------------------------------------------

    def _next(self) -> None:
        if self._wanted and not self._offset_query.waiting and not self._page_query.waiting:
            start, queue_id = self._wanted[-1]
            pending = self._source.ask(FindOffset(self._topic, queue_id, start))
            self._offset_query.ask(pending, partial(self._found, start, queue_id), self._failed)

    def _found(self, start: int, queue_id: int, found: FoundOffset) -> None:
        pending = self._source.ask(BrowseQueue(self._topic, queue_id, found.offset, MESSAGES_A_LOOK))
        self._page_query.ask(pending, partial(self._take, start, queue_id), self._failed)

    def _take(self, start: int, queue_id: int, page: MessagePage) -> None:
        self._error = None
        self._open[queue_id] = look_at(page, start + self._step_ms)
        self._wanted.pop()
        if self._wanted and self._wanted[-1][0] == start:
            self._next()
            return
        self._seen[start] = (self._now_ms, tuple(self._open.values()))
        self._open = {}
        while len(self._seen) > PARTS_KEPT_MAX:
            del self._seen[min(self._seen)]
        self.arrived.emit()
        # Through the loop, because immediate answers would deepen the stack.
        next_turn(self, self._next)

    def _failed(self, error: OrbitError) -> None:
        self._wanted, self._open, self._error, self._failed_ms = [], {}, error, self._now_ms
        self.arrived.emit()
