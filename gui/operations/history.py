"""`ChartHistory`: lines for charts of any time range, from the window's own record and from the history of the worker.

The window's own record is exact to the second. Older figures are requested once, and again when the time range changes or the
window's record has moved on so far that a gap is left.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QObject, Signal

from broker_core.api import OrbitError
from broker_core.worker.questions.history import EventPage, ReadEvents, ReadHistory
from broker_core.worker.questions.history import HistoryLines as Answer
from gui.operations.queries import LatestQuery
from gui.words.error_words import error_line
from gui.words.text import tr
from monitoring.series import Floats, History
from monitoring.sources.base import ClusterSource, SourceStatus

Line = tuple[Floats, Floats]
POINTS_MAX = 1_200
"""Of one line; an interval of the history takes two, its smallest and its largest value."""
EVENTS_MAX = 300
EVENTS_STEP_MS = 10_000
"""How long a chart's events count as new."""
SEAM_MS = 2_000
"""A gap up to this length before the window's record is not requested."""


def goes_on(asked: tuple[int, int], from_ms: int, to_ms: int) -> bool:
    """Whether a time range continues the requested one: of the same length, or longer from the same start.

    A record shorter than the chosen range keeps its start and grows with every figure: requested each time, it would never
    arrive where answers take longer than figures.
    """
    asked_from_ms, asked_to_ms = asked
    return to_ms - from_ms == asked_to_ms - asked_from_ms or (from_ms == asked_from_ms and to_ms > asked_to_ms)


def not_read(error: OrbitError | None) -> str:
    """Text of a chart about refused figures, in the language of the window; empty for none."""
    return "" if error is None else tr("The history was not read: {reason}", reason=error_line(error))


def _is_news(before: OrbitError | None, now: OrbitError) -> bool:
    """Whether an error differs from the previous one; a repeated one is not drawn again."""
    return before is None or before.message != now.message


class ChartHistory(QObject):
    """Lines of one chart. Lives as long as its owner.

    Signals:
        arrived: The worker answered, or `fault` changed; draw again.
    """

    arrived = Signal()

    def __init__(self, source: ClusterSource, history: History, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._history = history
        self._query: LatestQuery[Answer] = LatestQuery(self)
        self._asked: tuple[tuple[str, ...], int, int] | None = None
        """The series, and begin and end in ms."""
        self._older: dict[str, Line] = {}
        self._error: OrbitError | None = None

    @property
    def fault(self) -> str:
        """Why figures are missing, in the language of the window; empty for none."""
        return not_read(self._error)

    def lines(self, names: Sequence[str], from_ms: int, to_ms: int) -> dict[str, Line]:
        """Lines of series up to now, by name; missing ones follow with `arrived`.

        Args:
            names: Of series, as `monitoring.series.History` has them.
            from_ms: Begin, ms since the epoch.
            to_ms: End.

        Returns:
            x float64 seconds since the epoch, y float64 with NaN for gaps.
        """
        begin_ms = self._record_begins(to_ms)
        if begin_ms <= from_ms + SEAM_MS:
            self._error = None
            return {name: self._history.series(name).window(from_ms, to_ms, POINTS_MAX) for name in names}
        self._ask_if_needed(tuple(names), from_ms, to_ms, begin_ms)
        share = max(0.0, (to_ms - begin_ms) / max(1, to_ms - from_ms))
        points = max(60, round(POINTS_MAX * share))
        return {
            name: _joined(self._older.get(name), self._history.series(name).window(begin_ms, to_ms, points), from_ms, begin_ms)
            for name in names
        }

    def _record_begins(self, to_ms: int) -> int:
        first = self._history.first_ms
        return to_ms if first is None else min(first, to_ms)

    def _ask_if_needed(self, names: tuple[str, ...], from_ms: int, to_ms: int, begin_ms: int) -> None:
        if self._source.status is not SourceStatus.READY:
            return
        if self._asked is not None and self._asked[0] != names:
            self._older, self._error = {}, None
        if self._asked is not None and self._asked[0] == names and self._has(from_ms, to_ms, begin_ms):
            return
        self._asked = (names, from_ms, to_ms)
        query = ReadHistory(list(names), from_ms, to_ms + 1, POINTS_MAX // 2)
        self._query.ask(self._source.ask(query), self._take, self._failed)

    def _has(self, from_ms: int, to_ms: int, begin_ms: int) -> bool:
        """Whether the requested lines begin early enough, reach the window's own record and are fine enough."""
        assert self._asked is not None
        _names, asked_from_ms, asked_to_ms = self._asked
        reaches = asked_from_ms <= from_ms and begin_ms <= asked_to_ms
        return reaches and goes_on((asked_from_ms, asked_to_ms), from_ms, to_ms)

    def _take(self, answer: Answer) -> None:
        assert self._asked is not None
        columns = zip(self._asked[0], answer.times_ms, answer.low, answer.high, strict=True)
        self._older = {name: _envelope(times, low, high, answer.step_ms) for name, times, low, high in columns}
        self._error = None
        self.arrived.emit()

    def _failed(self, error: OrbitError) -> None:
        """Leave the chart with the window's own record; the next drawing requests the rest again."""
        self._asked = None
        before, self._error = self._error, error
        if _is_news(before, error):
            self.arrived.emit()


class EventMarks(QObject):
    """Events of the history for a chart. Lives as long as its owner.

    Signals:
        arrived: The worker answered, or `fault` changed; draw again.
    """

    arrived = Signal()

    def __init__(self, source: ClusterSource, kinds: Sequence[str], parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._kinds = list(kinds)
        self._query: LatestQuery[EventPage] = LatestQuery(self)
        self._asked: tuple[str, int, int] | None = None
        """The subject, and begin and end in ms."""
        self._events: list[tuple[int, str, str]] = []
        self._error: OrbitError | None = None
        self._again_s = 0.0
        """When a refused request is repeated, seconds of the monotonic clock."""

    @property
    def fault(self) -> str:
        """Why events are missing, in the language of the window; empty for none."""
        return "" if self._error is None else tr("The events were not read: {reason}", reason=error_line(self._error))

    def events(self, from_ms: int, to_ms: int, subject: str = "") -> list[tuple[int, str, str]]:
        """Time in ms, kind and text of the events of a range, oldest first; missing ones follow with `arrived`."""
        if self._asked is not None and self._asked[0] != subject:
            self._events, self._error = [], None
        if self._source.status is SourceStatus.READY and not self._are_known(subject, from_ms, to_ms):
            self._asked = (subject, from_ms, to_ms)
            # A group's chart shows restarts too, which have no subject, so other subjects are filtered here.
            query = ReadEvents(from_ms, to_ms + 1, EVENTS_MAX, self._kinds)
            self._query.ask(self._source.ask(query), self._take, self._failed)
        return [event for event in self._events if from_ms <= event[0] <= to_ms]

    def _are_known(self, subject: str, from_ms: int, to_ms: int) -> bool:
        """Whether they were requested shortly before; a later begin needs no new request."""
        if self._asked is None or (self._error is not None and time.monotonic() >= self._again_s):
            return False
        asked_subject, asked_from_ms, asked_to_ms = self._asked
        return subject == asked_subject and asked_from_ms <= from_ms and 0 <= to_ms - asked_to_ms < EVENTS_STEP_MS

    def _take(self, page: EventPage) -> None:
        assert self._asked is not None
        rows = zip(page.at_ms, page.kind, page.text, page.subject, strict=True)
        wanted = self._asked[0]
        self._events = [(at, kind, text) for at, kind, text, subject in rows if not wanted or subject in {"", wanted}][::-1]
        self._error = None
        self.arrived.emit()

    def _failed(self, error: OrbitError) -> None:
        """Leave the chart without new marks; requested again after `EVENTS_STEP_MS`."""
        self._again_s = time.monotonic() + EVENTS_STEP_MS / 1_000
        before, self._error = self._error, error
        if _is_news(before, error):
            self.arrived.emit()


class RecordBegin(QObject):
    """Asks once for the start of the history.

    Signals:
        found: ms since the epoch; not sent when there is none.
    """

    found = Signal(object)  # an int of Qt has 32 bits

    def __init__(self, source: ClusterSource, parent: QObject) -> None:
        super().__init__(parent)
        self._source = source
        self._query: LatestQuery[Answer] = LatestQuery(self)

    def ask(self, now_ms: int) -> None:
        """Ask; a source that cannot answer has no history."""
        query = ReadHistory(["totals.put_rate"], now_ms - SEAM_MS, now_ms, 2)
        self._query.ask(self._source.ask(query), self._take, lambda _error: self.deleteLater())

    def _take(self, answer: Answer) -> None:
        if answer.begin_ms >= 0:
            self.found.emit(answer.begin_ms)
        self.deleteLater()


def _envelope(times_ms: bytes, low: bytes, high: bytes, step_ms: int) -> Line:
    """A line through the smallest and the largest value of each interval."""
    at = np.frombuffer(times_ms, "<i8") / 1_000
    lows, highs = np.frombuffer(low, "<f8"), np.frombuffer(high, "<f8")
    if np.array_equal(lows, highs, equal_nan=True):
        return at, lows
    x, y = np.repeat(at, 2), np.stack([lows, highs], axis=1).ravel()
    x[1::2] += step_ms / 2_000
    return x, y


def _joined(older: Line | None, newer: Line, from_ms: int, begin_ms: int) -> Line:
    if older is None:
        return newer
    x, y = older
    first, last = np.searchsorted(x, (from_ms / 1_000, begin_ms / 1_000))
    return np.concatenate([x[first:last], newer[0]]), np.concatenate([y[first:last], newer[1]])
