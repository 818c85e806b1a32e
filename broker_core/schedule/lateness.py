"""How late deliveries of the last minute were: a ring of one-second histograms, constant memory, no sorting of samples."""

from __future__ import annotations

from typing import NamedTuple

WINDOW_SECONDS = 60
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
        """Count one delivery.

        Args:
            late_ms: How long after its due time it was stored, from 0 up.
            now_s: Seconds of a clock that nobody sets.
        """
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
