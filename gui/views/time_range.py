"""The time range of the window: what charts show, up to now."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal

RANGES_MS: dict[str, int] = {
    "Last 5 min": 5 * 60_000,
    "Last 15 min": 15 * 60_000,
    "Last 60 min": 60 * 60_000,
    "Last 6 h": 6 * 3_600_000,
    "Last 24 h": 24 * 3_600_000,
    "Last 7 days": 7 * 86_400_000,
    "Last 30 days": 30 * 86_400_000,
    "Last year": 365 * 86_400_000,
}
"""English name → length in milliseconds. The window itself remembers one hour; the worker's history holds the rest."""

DEFAULT_RANGE_MS = 15 * 60_000
SHORTEST_MS = 60_000


class TimeRangeChoice(QObject):
    """The chosen length.

    Signals:
        changed: Another length was chosen.
    """

    changed = Signal()

    def __init__(self, length_ms: int = DEFAULT_RANGE_MS, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._length_ms = length_ms if length_ms in RANGES_MS.values() else DEFAULT_RANGE_MS
        self._begin_ms: int | None = None

    @property
    def length_ms(self) -> int:
        return self._length_ms

    @property
    def name(self) -> str:
        """English name of the choice."""
        return next(name for name, length in RANGES_MS.items() if length == self._length_ms)

    def set_length(self, length_ms: int) -> None:
        """Choose one of `RANGES_MS`."""
        if length_ms not in RANGES_MS.values():
            raise ValueError(f"{length_ms} ms is none of the offered time ranges")
        if length_ms != self._length_ms:
            self._length_ms = length_ms
            self.changed.emit()

    def window_ms(self, now_ms: int) -> tuple[int, int]:
        """From and to, for `monitoring.series.Series.window`.

        While less than the chosen length is recorded, the window begins where the record does, or `SHORTEST_MS` ago.
        """
        start = now_ms - self._length_ms
        if self._begin_ms is not None:
            start = max(start, min(self._begin_ms, now_ms - SHORTEST_MS))
        return start, now_ms

    def forget_begin(self) -> None:
        """Another record is shown from now on; when it begins is not known yet."""
        self._begin_ms = None

    def set_begin(self, begin_ms: int) -> None:
        """Say when a record begins, ms since the epoch; the earliest counts."""
        if self._begin_ms is None or begin_ms < self._begin_ms:
            self._begin_ms = begin_ms
            self.changed.emit()
