"""The time range of the window: up to now, or between two moments."""

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
"""English name → length, ms. The window itself keeps one hour; the worker's history has the rest."""

DEFAULT_RANGE_MS = 15 * 60_000
SHORTEST_MS = 60_000
ZOOM_MIN_MS = 3_000
"""Minimum span of a zoom with the mouse; shorter than what can be entered."""
ZOOMS_MAX = 32
CUSTOM = "Own range"


class TimeRangeChoice(QObject):
    """The chosen length, or the two chosen moments."""

    changed = Signal()

    def __init__(self, length_ms: int = DEFAULT_RANGE_MS, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.length_ms = length_ms if length_ms in RANGES_MS.values() else DEFAULT_RANGE_MS
        """The last chosen length up to now."""
        self._begin_ms: int | None = None
        self.between: tuple[int, int] | None = None
        """The two chosen moments, ms since the epoch; None for a length up to now."""
        self._before: list[tuple[int, tuple[int, int] | None]] = []

    @property
    def is_live(self) -> bool:
        """Whether the range ends now."""
        return self.between is None

    @property
    def name(self) -> str:
        """English name of the choice."""
        if not self.is_live:
            return CUSTOM
        return next(name for name, length in RANGES_MS.items() if length == self.length_ms)

    def set_length(self, length_ms: int) -> None:
        """Choose one of `RANGES_MS`."""
        if length_ms not in RANGES_MS.values():
            raise ValueError(f"{length_ms} ms is none of the offered time ranges")
        self._before.clear()
        self._use(length_ms, None)

    def set_between(self, from_ms: int, to_ms: int) -> None:
        """Choose the span between two moments, ms since the epoch, until a length is chosen again."""
        if to_ms - from_ms < SHORTEST_MS:
            raise ValueError(f"a time range of {to_ms - from_ms} ms is shorter than {SHORTEST_MS} ms")
        self._before.clear()
        self._use(self.length_ms, (from_ms, to_ms))

    @property
    def is_zoomed(self) -> bool:
        """Whether `zoom_out` has a range to return to."""
        return bool(self._before)

    def zoom(self, from_ms: int, to_ms: int, *, joins: bool = False) -> None:
        """Show a part of the range; `zoom_out` returns. Spans shorter than `ZOOM_MIN_MS` are ignored.

        With ``joins`` the part replaces the last one, because both are steps of one gesture.
        """
        if to_ms - from_ms >= ZOOM_MIN_MS:
            if not (joins and self._before):
                # The first stays: `show_whole` returns to it.
                self._before = [*self._before[:1], *self._before[1:][1 - ZOOMS_MAX :], (self.length_ms, self.between)]
            self._use(self.length_ms, (from_ms, to_ms))

    def show_whole(self) -> None:
        """Show the range before the first `zoom`; without one, that up to now."""
        length_ms, between = self._before[0] if self._before else (self.length_ms, None)
        self._before.clear()
        self._use(length_ms, between)

    def whole_ms(self, now_ms: int) -> tuple[int, int]:
        """From and to of the range that `show_whole` shows while a part is shown, else of the range itself."""
        length_ms, between = self._before[0] if self._before else (self.length_ms, self.between)
        return between or self._recorded((now_ms - length_ms, now_ms))

    @property
    def is_part_of_own_range(self) -> bool:
        """Whether a part is shown of two chosen moments."""
        return bool(self._before) and self._before[0][1] is not None

    @property
    def begin_ms(self) -> int | None:
        """Begin of the record, ms since the epoch; None: not known."""
        return self._begin_ms

    def zoom_out(self) -> None:
        """Show the range before the last `zoom` again."""
        if self._before:
            self._use(*self._before.pop())

    def _use(self, length_ms: int, between: tuple[int, int] | None) -> None:
        if (length_ms, between) != (self.length_ms, self.between):
            self.length_ms, self.between = length_ms, between
            self.changed.emit()

    def asked_ms(self, now_ms: int) -> tuple[int, int]:
        """From and to as chosen, also where nothing is recorded."""
        return self.between or (now_ms - self.length_ms, now_ms)

    def window_ms(self, now_ms: int) -> tuple[int, int]:
        """From and to, for `monitoring.series.Series.window`.

        While less than the length is recorded, the window begins where the record begins, or `SHORTEST_MS` ago.
        """
        return self.between or self._recorded((now_ms - self.length_ms, now_ms))

    def _recorded(self, range_ms: tuple[int, int]) -> tuple[int, int]:
        """A range up to now, from the begin of the record on."""
        start, end = range_ms
        return start if self._begin_ms is None else max(start, min(self._begin_ms, end - SHORTEST_MS)), end

    def forget_begin(self) -> None:
        """Another record is shown; its begin is unknown."""
        self._begin_ms = None

    def set_begin(self, begin_ms: int) -> None:
        """Set the begin of a record, ms since the epoch; the earliest counts."""
        if self._begin_ms is None or begin_ms < self._begin_ms:
            self._begin_ms = begin_ms
            self.changed.emit()
