"""`LaneReader`: reads the due times of the messages of each delay level, one small request at a time."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from broker_core.api import OrbitError
from broker_core.worker.questions.delays import DelayedMessages, ListDelayed
from gui.models.delay import DOTS_MAX, DueSample, LevelRow, sample_of, sample_of_parts
from gui.operations.queries import LatestQuery
from monitoring.sources.base import ClusterSource

POINTS = 12
"""Messages read of a long level."""
KEPT_MS = 3_000
"""How long the sample of a level stays valid; its messages advance without another read. Longer for long delays."""
KEPT_MS_MAX = 30_000
KEPT_SHARE = 60
"""A sample is kept for this part of its level's delay: newer messages form a line at its right end."""


class LaneReader(QObject):
    """Keeps a `DueSample` of each level with messages. At most one question is open; levels take turns.

    A level with few messages is read whole. Of a longer one single messages are read at even distances in its queue:
    they are in the order of their due times, so that the numbers between them are known without reading them. Each broker
    of a cluster has a queue of its own.

    Signals:
        changed: Another sample was read.
    """

    changed = Signal()

    def __init__(self, source: ClusterSource, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._query: LatestQuery[DelayedMessages] = LatestQuery(self)
        self._read_ms: dict[int, int] = {}
        self._wanted: list[LevelRow] = []
        self._left: list[tuple[int, int]] = []
        """Parts and offsets of the messages to read."""
        self._first: list[int] = []
        """First offset of each part; `_points` are its messages that were read."""
        self._points: list[list[tuple[int, int]]] = []
        self._level = 0
        self._is_going_on = False
        self.samples: dict[int, DueSample] = {}
        """By level; levels without waiting messages have none."""

    def update_levels(self, rows: list[LevelRow]) -> None:
        """Use the newest figures; samples older than `KEPT_MS` are read again."""
        for row in rows:
            if row.pending <= 0 and row.level in self.samples:
                del self.samples[row.level]
                self._read_ms.pop(row.level, None)
        waiting = [row for row in rows if row.pending > 0]
        self._wanted = [row for row in waiting if _is_old(row, self._read_ms.get(row.level))]
        self._wanted.sort(key=lambda row: self._read_ms.get(row.level, -1))
        self._go_on()

    def forget(self) -> None:
        self._query.cancel()
        self._left.clear()
        self._read_ms.clear()

    def _go_on(self) -> None:
        """Ask until an answer is pending. An immediate answer re-enters this method, which then returns at once."""
        if self._is_going_on:
            return
        self._is_going_on = True
        try:
            while not self._query.waiting and (self._left or self._wanted):
                self._ask_next()
        finally:
            self._is_going_on = False

    def _ask_next(self) -> None:
        if self._left:
            part, offset = self._left.pop(0)
            pending = self._source.ask(ListDelayed(self._level, offset, 1))
            self._query.ask(pending, lambda page: self._take_point(part, page), self._failed)
            return
        row = self._wanted.pop(0)
        self._level = row.level
        self._read_ms[row.level] = row.now_ms
        count = DOTS_MAX if row.pending <= DOTS_MAX else 1
        self._query.ask(self._source.ask(ListDelayed(row.level, 0, count)), self._take_first, self._failed)

    def _take_first(self, page: DelayedMessages) -> None:
        if page.next_offset >= page.max_offset or len(page.queue_offset) != 1:
            pairs = [(due, number) for number, due in enumerate(page.due_ms)]
            self._end(sample_of(pairs, is_whole=True))
            return
        self._first = page.part_first or [page.queue_offset[0]]
        ends = page.part_end or [page.max_offset]
        step = max(1, sum(end - first for first, end in zip(self._first, ends, strict=True)) // (POINTS - 1))
        self._points = [[] for _first in self._first]
        self._left = [
            (part, offset)
            for part, (first, end) in enumerate(zip(self._first, ends, strict=True))
            for offset in sorted({*range(first, end - 1, step), end - 1})
        ]
        self._go_on()

    def _take_point(self, part: int, page: DelayedMessages) -> None:
        if page.queue_offset:
            # The last message counts, the first does not: the sum is that of all.
            number = page.queue_offset[0] - self._first[part] + bool(self._points[part])
            self._points[part].append((page.due_ms[0], number))
        if self._left:
            self._go_on()
        else:
            self._end(sample_of_parts(self._points))

    def _end(self, sample: DueSample) -> None:
        self.samples[self._level] = sample
        self.changed.emit()
        self._go_on()

    def _failed(self, _error: OrbitError) -> None:
        # The list of the page shows the error, and the next figures start another read. An old sample would look current.
        self._left.clear()
        self._wanted.clear()
        if self.samples.pop(self._level, None) is not None:
            self.changed.emit()


def _is_old(row: LevelRow, read_ms: int | None) -> bool:
    return read_ms is None or row.now_ms - read_ms >= max(KEPT_MS, min(row.delay_ms // KEPT_SHARE, KEPT_MS_MAX))
