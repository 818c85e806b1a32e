"""Lateness of deliveries: two figures for the last minute, a histogram for the last hour.

Both are rings of counts: constant memory, no sorting of samples.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import NamedTuple

WINDOW_SECONDS = 60
HOUR_MINUTES = 60
LATE_FROM_MS = (0, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 60_000)
"""Lower bounds of the buckets of `LatenessHour`; the last bucket has no upper bound."""
_NAN = float("nan")


class LatenessFigures(NamedTuple):
    """Milliseconds; NaN when nothing was delivered in the window."""

    p50_ms: float
    p99_ms: float


class LatenessWindow:
    """Lateness of one level. Exact below 16 ms, at most an eighth too low above."""

    __slots__ = ("_figures", "_figures_s", "_seconds")

    def __init__(self) -> None:
        self._figures = LatenessFigures(_NAN, _NAN)
        self._figures_s = -1
        self._seconds: dict[int, dict[int, int]] = {}

    def add(self, late_ms: int, now_s: int) -> None:
        """Count one delivery; ``late_ms`` is not negative, ``now_s`` is in seconds of a monotonic clock."""
        counts = self._seconds.get(now_s)
        if counts is None:
            self._forget(now_s)
            counts = self._seconds[now_s] = {}
        bucket = _rounded(late_ms)
        counts[bucket] = counts.get(bucket, 0) + 1

    def figures(self, now_s: int) -> LatenessFigures:
        """Median and 99th percentile of the last minute; computed once a second."""
        if now_s != self._figures_s:
            self._figures, self._figures_s = self._computed(now_s), now_s
        return self._figures

    def _computed(self, now_s: int) -> LatenessFigures:
        self._forget(now_s)
        merged: dict[int, int] = {}
        for counts in self._seconds.values():
            for bucket, count in counts.items():
                merged[bucket] = merged.get(bucket, 0) + count
        total = sum(merged.values())
        return LatenessFigures(_quantile(merged, total * 0.50), _quantile(merged, total * 0.99))

    def _forget(self, now_s: int) -> None:
        for second in [second for second in self._seconds if not now_s - WINDOW_SECONDS < second <= now_s]:
            del self._seconds[second]


class LatenessCounts(NamedTuple):
    """Deliveries of the last hour, one count for each bucket of `LATE_FROM_MS`; ``seconds`` of it were counted."""

    deliveries: tuple[int, ...]
    seconds: int


class LatenessHour:
    """Lateness of all deliveries of the last hour, including the current minute."""

    __slots__ = ("_began_s", "_counts", "_counts_s", "_minutes")

    def __init__(self) -> None:
        self._began_s = -1
        self._counts = LatenessCounts((0,) * len(LATE_FROM_MS), 0)
        self._counts_s = -1
        self._minutes: dict[int, list[int]] = {}

    def add(self, late_ms: int, now_s: int) -> None:
        """Count one delivery; the arguments are those of `LatenessWindow.add`."""
        counts = self._minutes.get(now_s // 60)
        if counts is None:
            self._forget(now_s // 60)
            counts = self._minutes[now_s // 60] = [0] * len(LATE_FROM_MS)
        counts[bisect_right(LATE_FROM_MS, late_ms) - 1] += 1

    def counts(self, now_s: int) -> LatenessCounts:
        """The histogram; computed once a second, and counted from the first call on."""
        if self._began_s < 0:
            self._began_s = now_s
        if now_s != self._counts_s:
            self._forget(now_s // 60)
            sums = tuple(map(sum, zip(*self._minutes.values(), strict=True))) or (0,) * len(LATE_FROM_MS)
            self._counts = LatenessCounts(sums, min(max(0, now_s - self._began_s), HOUR_MINUTES * 60))
            self._counts_s = now_s
        return self._counts

    def _forget(self, minute: int) -> None:
        for old in [old for old in self._minutes if not minute - HOUR_MINUTES < old <= minute]:
            del self._minutes[old]


def _rounded(late_ms: int) -> int:
    """The four highest bits: eight buckets an octave."""
    shift = max(late_ms.bit_length() - 4, 0)
    return late_ms >> shift << shift


def _quantile(counts: dict[int, int], wanted: float) -> float:
    seen = 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= wanted:
            return float(bucket)
    return _NAN
