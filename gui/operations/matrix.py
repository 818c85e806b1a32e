"""`HistoryMatrix`: one figure of many subjects over time, as rows of a regular grid, from the worker's history."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal

from broker_core.api import OrbitError
from broker_core.worker.questions.history import HistoryLines, ReadHistory
from gui.models.matrix import NO_MATRIX, matrix_of
from gui.operations.history import goes_on
from gui.operations.queries import LatestQuery
from gui.words.error_words import error_text
from monitoring.sources.base import ClusterSource, SourceStatus

NAMES_MAX = 200
"""Most names of one history request."""
COLUMNS_DEFAULT = 120
REFRESH_PARTS = 60
"""A grid is requested again when the time has moved on by this part of its length."""
REFRESH_MIN_MS = 2_000


class HistoryMatrix(QObject):
    """Requests a grid when it changed or is too old. Lives as long as its owner.

    Signals:
        arrived: `matrix` or `fault` changed.
    """

    arrived = Signal()

    def __init__(self, source: ClusterSource, parent: QObject, *, columns: int = COLUMNS_DEFAULT) -> None:
        super().__init__(parent)
        self._source = source
        self._columns = columns
        self._query: LatestQuery[HistoryLines] = LatestQuery(self)
        self._asked: tuple[tuple[str, ...], int, int] | None = None
        self._names: tuple[str, ...] = ()
        self.matrix = NO_MATRIX
        self.error: OrbitError | None = None
        """Why it was not read."""

    @property
    def fault(self) -> str:
        """Why it was not read, in the language of the window; empty where it was."""
        return "" if self.error is None else error_text(self.error)

    @property
    def waiting(self) -> bool:
        return self._query.waiting

    def show(self, names: Sequence[str], from_ms: int, to_ms: int) -> None:
        """Request these series, at most `NAMES_MAX`, over this time."""
        wanted = tuple(names[:NAMES_MAX])
        if wanted != self._names:
            self._names = wanted
            self._query.cancel()
            self._asked = None
            self.matrix, self.error = NO_MATRIX, None
        if not wanted or self._source.status is not SourceStatus.READY or self._is_fresh(from_ms, to_ms):
            return
        self._asked = (wanted, from_ms, to_ms)
        query = ReadHistory(list(wanted), max(0, from_ms), to_ms + 1, self._columns)
        self._query.ask(self._source.ask(query), self._take, self._failed)

    def _is_fresh(self, from_ms: int, to_ms: int) -> bool:
        if self._asked is None:
            return False
        _names, asked_from_ms, asked_to_ms = self._asked
        moved = abs(to_ms - asked_to_ms)
        # A busy broker may answer later than the grid stays fresh: another request would always cancel the pending one.
        is_new = self._query.waiting or moved < max(REFRESH_MIN_MS, (to_ms - from_ms) // REFRESH_PARTS)
        return is_new and goes_on((asked_from_ms, asked_to_ms), from_ms, to_ms)

    def _take(self, lines: HistoryLines) -> None:
        assert self._asked is not None
        _names, from_ms, to_ms = self._asked
        self.matrix, self.error = matrix_of(lines, from_ms, to_ms), None
        self.arrived.emit()

    def _failed(self, error: OrbitError) -> None:
        self.matrix, self.error = NO_MATRIX, error
        self.arrived.emit()
