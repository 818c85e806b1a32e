"""`LaneReader`: looks at when the messages of each delay level are due, one small question at a time."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

from broker_core.api import DelayedMessages, OrbitError
from gui.models.delay import DOTS_MAX, LevelRow, Sample, sample_of
from gui.operations.queries import LatestQuery
from monitoring.sources.base import ClusterSource

POINTS = 16
"""At how many places of a long level the reader looks."""
KEPT_MS = 3_000
"""How long a picture of a level is good enough; messages in it move on by themselves."""


class LaneReader(QObject):
    """Keeps a `Sample` of each level with messages. At most one question is open; levels take turns.

    A level with few messages is read whole. Of a longer one single messages are read at even distances in its queue:
    they wait in the order of their due times, so that the numbers between them are known without reading them.

    Signals:
        changed: There is another sample.
    """

    changed = Signal()

    def __init__(self, source: ClusterSource, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._query: LatestQuery[DelayedMessages] = LatestQuery(self)
        self._read_ms: dict[int, int] = {}
        self._wanted: list[LevelRow] = []
        self._left: list[int] = []
        self._points: list[tuple[int, int]] = []
        self._first = 0
        self.samples: dict[int, Sample] = {}
        """By level; levels where nothing waits have none."""

    def update_levels(self, rows: list[LevelRow]) -> None:
        """Take the newest figures; asks for what is older than `KEPT_MS`."""
        for row in rows:
            if row.pending <= 0 and row.level in self.samples:
                del self.samples[row.level]
                self._read_ms.pop(row.level, None)
        waiting = [row for row in rows if row.pending > 0]
        self._wanted = [row for row in waiting if row.now_ms - self._read_ms.get(row.level, -KEPT_MS) >= KEPT_MS]
        self._wanted.sort(key=lambda row: self._read_ms.get(row.level, -1))
        if not self._query.waiting:
            self._next_level()

    def forget(self) -> None:
        """Read everything anew."""
        self._query.cancel()
        self._read_ms.clear()

    def _next_level(self) -> None:
        if not self._wanted:
            return
        row = self._wanted.pop(0)
        self._read_ms[row.level] = row.now_ms
        count = DOTS_MAX if row.pending <= DOTS_MAX else 1
        self._ask(row.level, 0, count)

    def _ask(self, level: int, start_offset: int, count: int) -> None:
        self._query.ask(
            self._source.list_delayed(level, start_offset, count),
            lambda page: self._begun(page, count) if start_offset == 0 else self._went_on(page),
            self._failed,
        )

    def _begun(self, page: DelayedMessages, count: int) -> None:
        if page.next_offset >= page.max_offset or count > 1 or not page.queue_offset:
            pairs = [(due, number) for number, due in enumerate(page.due_ms)]
            self._end(page.level, sample_of(pairs, is_whole=True))
            return
        first, last = page.queue_offset[0], page.max_offset - 1
        step = max(1, (last - first) // (POINTS - 1))
        self._left = sorted({*range(first + step, last, step), last})
        self._points = [(page.due_ms[0], 0)]
        self._first = first
        self._went_on(page, skip=True)

    def _went_on(self, page: DelayedMessages, *, skip: bool = False) -> None:
        if page.queue_offset and not skip:
            self._points.append((page.due_ms[0], page.queue_offset[0] - self._first + 1))
        if self._left:
            self._ask(page.level, self._left.pop(0), 1)
        else:
            self._end(page.level, sample_of(self._points, is_whole=False))

    def _end(self, level: int, sample: Sample) -> None:
        self.samples[level] = sample
        self.changed.emit()
        self._next_level()

    def _failed(self, _error: OrbitError) -> None:
        # The page says so where its list fails; the next figures ask again.
        self._left.clear()
