"""`HitHistogram`: hits of a search by store time, in bars of a round width. Pure."""

from __future__ import annotations

import numpy as np

from gui.models.stored_order import Int64s

BARS_MAX = 90
_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
WIDTHS_MS = (
    10, 100, _SECOND, 2 * _SECOND, 5 * _SECOND, 15 * _SECOND, 30 * _SECOND, _MINUTE, 2 * _MINUTE, 5 * _MINUTE, 15 * _MINUTE,
    30 * _MINUTE, _HOUR, 2 * _HOUR, 6 * _HOUR, 12 * _HOUR, _DAY, 2 * _DAY, 7 * _DAY, 28 * _DAY,
)  # fmt: skip
"""Widths of bars; beyond the last they double."""


def bar_width_ms(span_ms: int) -> int:
    """The narrowest width with which a span has `BARS_MAX` bars at most."""
    for width in WIDTHS_MS:
        if span_ms // width < BARS_MAX - 1:
            return width
    width = WIDTHS_MS[-1]
    while span_ms // width >= BARS_MAX - 1:
        width *= 2
    return width


class HitHistogram:
    """Counts new hits; recounts all only when the bars become wider.

    Attributes:
        width_ms: Of each bar.
        start_ms: Begin of the first bar; a multiple of the width.
        counts: Hits in each bar.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.width_ms = WIDTHS_MS[0]
        self.start_ms = 0
        self.counts: Int64s = np.zeros(0, dtype=np.int64)
        self._taken = 0
        self._low_ms = self._high_ms = 0

    def update(self, times_ms: Int64s) -> None:
        """Count new hits; ``times_ms`` are the store times of all hits, those of the last call first."""
        fresh = times_ms[self._taken :]
        if not len(fresh):
            return
        low, high = int(fresh.min()), int(fresh.max())
        if self._taken:
            low, high = min(low, self._low_ms), max(high, self._high_ms)
        self._low_ms, self._high_ms = low, high
        width = max(self.width_ms, bar_width_ms(high - low))
        if width != self.width_ms or not self._taken:
            self.width_ms, fresh = width, times_ms
            self.start_ms, self.counts = low // width * width, np.zeros(0, dtype=np.int64)
        self._taken = len(times_ms)
        self._add(fresh, low, high)

    def span_ms(self, first: int, last: int) -> tuple[int, int]:
        """Begin and end of some bars; the end is exclusive."""
        return self.start_ms + first * self.width_ms, self.start_ms + (last + 1) * self.width_ms

    def _add(self, times_ms: Int64s, low_ms: int, high_ms: int) -> None:
        width = self.width_ms
        start = min(low_ms, self.start_ms) // width
        counts = np.zeros(high_ms // width - start + 1, dtype=np.int64)
        before = self.start_ms // width - start
        counts[before : before + len(self.counts)] = self.counts
        counts += np.bincount(times_ms // width - start, minlength=len(counts))
        self.start_ms, self.counts = start * width, counts
