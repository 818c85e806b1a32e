"""Figures over time: ring buffers on one common time line, sliding rates, and down-sampling for charts.

Nothing here reads a clock: times are those of the samples, in milliseconds since the epoch. A gap is a NaN.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Collection, Mapping

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

SAMPLES_MAX = 3_600
"""An hour of one sample a second."""
SERIES_MAX = 10_000
"""288 MB of samples at the very most, if all of them move; more names than that are not recorded."""
GAP_MS = 5_000
"""Time without a sample after which a line is interrupted."""


class _TimeLine:
    """The times of the samples of all series. Sample ``n`` is in slot ``n % capacity``."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.begin = 0
        self.end = 0
        self._times_ms = np.zeros(capacity, np.int64)

    @property
    def first_ms(self) -> int | None:
        return int(self._times_ms[self.begin % self.capacity]) if self.end > self.begin else None

    @property
    def last_ms(self) -> int | None:
        return int(self._times_ms[(self.end - 1) % self.capacity]) if self.end > self.begin else None

    def append(self, time_ms: int) -> None:
        """Add a sample."""
        self._times_ms[self.end % self.capacity] = time_ms
        self.end += 1
        self.begin = max(self.begin, self.end - self.capacity)

    def forget_from(self, time_ms: int) -> None:
        """Drop samples at or after a time: the clock was set back, and times must rise."""
        last = self.last_ms
        while last is not None and last >= time_ms:
            self.end -= 1
            last = self.last_ms

    def slots(self, first: int, last: int) -> Ints:
        """Slots of the samples ``first`` to ``last`` (exclusive)."""
        return np.arange(first, last, dtype=np.int64) % self.capacity

    def times_ms(self, first: int, last: int) -> Ints:
        times: Ints = self._times_ms[self.slots(first, last)]
        return times

    def range(self, from_ms: int, to_ms: int) -> tuple[int, int]:
        """Numbers of the samples within ``[from_ms, to_ms]``, the last one exclusive."""
        times = self.times_ms(self.begin, self.end)
        first = int(np.searchsorted(times, from_ms, side="left"))
        last = int(np.searchsorted(times, to_ms, side="right"))
        return self.begin + first, self.begin + last


class Series:
    """One figure over time. Made and filled by `History`; read by charts on the same thread.

    Most topics and groups of a large cluster stand still: a figure that has not moved yet is one number, not 28 KB of them.
    """

    __slots__ = ("_first", "_line", "_still", "_values")

    def __init__(self, line: _TimeLine) -> None:
        self._line = line
        self._values: Floats | None = None
        self._still = float("nan")
        self._first = line.end
        """Number of the sample from which on it is ``_still``, while there are no ``_values``."""

    @property
    def last(self) -> float:
        """The newest value; NaN when there is none."""
        line = self._line
        if line.end <= line.begin:
            return float("nan")
        if self._values is None:
            return self._still if line.end > self._first else float("nan")
        return float(self._values[(line.end - 1) % line.capacity])

    def window(self, from_ms: int, to_ms: int, max_points: int) -> tuple[Floats, Floats]:
        """Points for a chart.

        Args:
            from_ms: Begin of the window, ms since the epoch.
            to_ms: End of the window, inclusive.
            max_points: Most points to return, at least 4; beyond it each stretch of samples is shown by its smallest and
                its largest value, so that no peak is lost.

        Returns:
            ``x`` float64 seconds since the epoch, rising, and ``y`` float64 with NaN for gaps; of one length.
        """
        first, last = self._line.range(from_ms, to_ms)
        x = self._line.times_ms(first, last) / 1_000.0
        y = self._still_values(first, last) if self._values is None else self._values[self._line.slots(first, last)]
        return thin_out(x, y, max_points=max_points, first=first)

    def put(self, value: float) -> None:
        """Set the value of the newest sample; for `History`."""
        line = self._line
        newest = line.end - 1
        if self._values is None:
            # Its first sample, or the clock was set back behind that; what comes before it is a gap like any unknown value.
            if self._first >= newest or math.isnan(self._still):
                self._first, self._still = newest, value
                return
            if value == self._still:
                return
            self._values = np.full(line.capacity, np.nan)
            self._values[line.slots(line.begin, newest)] = self._still_values(line.begin, newest)
        self._values[newest % line.capacity] = value

    def _still_values(self, first: int, last: int) -> Floats:
        """Values of the samples ``first`` to ``last`` (exclusive) of a figure that has not moved."""
        values = np.full(last - first, self._still, np.float64)
        values[: max(0, self._first - first)] = np.nan
        return values


def thin_out(x: Floats, y: Floats, *, max_points: int, first: int = 0) -> tuple[Floats, Floats]:
    """Reduce points to at most ``max_points`` by the smallest and largest of each stretch.

    Args:
        x: float64 [n], rising.
        y: float64 [n], NaN for gaps; a stretch of nothing but gaps stays a gap.
        max_points: At least 4.
        first: Number of the first point on the whole line. Stretches begin at its multiples, so that a line that scrolls
            keeps its shape instead of flickering.
    """
    assert max_points >= 4
    if len(x) <= max_points:
        return x, y
    # One stretch fewer than there is room for, as those at both ends may be cut ones.
    stretch = -(-len(x) // (max_points // 2 - 1))
    before = first % stretch
    after = -(before + len(x)) % stretch
    padded = np.concatenate([np.full(before, np.nan), y, np.full(after, np.nan)]).reshape(-1, stretch)
    gaps = np.isnan(padded)
    low = np.where(gaps, np.inf, padded).argmin(axis=1)
    high = np.where(gaps, -np.inf, padded).argmax(axis=1)
    starts = np.arange(len(padded)) * stretch - before
    picks = np.stack([np.minimum(low, high), np.maximum(low, high)], axis=1) + starts[:, None]
    picks = np.clip(picks, 0, len(x) - 1).ravel()
    return x[picks], y[picks]


class History:
    """All series of a cluster, on one time line of at most ``samples_max`` samples.

    Names: ``totals.<figure>`` for each figure of `ClusterState.totals`, ``topic:<name>.put_rate``, ``topic:<name>.got_rate``,
    ``group:<name>.lag_messages``, ``group:<name>.behind_ms``, ``group:<name>.got_rate``.

    Not thread-safe: filled and read on one thread.
    """

    def __init__(self, *, samples_max: int = SAMPLES_MAX, series_max: int = SERIES_MAX) -> None:
        self._line = _TimeLine(samples_max)
        self._series_max = series_max
        self._series: dict[str, Series] = {}
        self._empty = Series(_TimeLine(1))

    @property
    def first_ms(self) -> int | None:
        """Time of the oldest sample."""
        return self._line.first_ms

    @property
    def last_ms(self) -> int | None:
        """Time of the newest sample."""
        return self._line.last_ms

    def names(self) -> Collection[str]:
        """Names of the series that have values."""
        return self._series.keys()

    def series(self, name: str) -> Series:
        """The series of that name; an empty one when nothing was recorded under it."""
        return self._series.get(name, self._empty)

    def record(self, time_ms: int, values: Mapping[str, float]) -> None:
        """Add one sample of all series. Those without a value here get a gap.

        A time that does not rise (a clock set back) replaces the samples from there on. After a long silence a sample of
        gaps comes first, so that no line is drawn across it.
        """
        self._line.forget_from(time_ms)
        last_ms = self._line.last_ms
        if last_ms is not None and time_ms - last_ms > GAP_MS:
            self._add(last_ms + 1, {})
        self._add(time_ms, values)

    def forget(self, names: Collection[str]) -> None:
        """Drop series, those of things that are gone."""
        for name in names:
            self._series.pop(name, None)

    def _add(self, time_ms: int, values: Mapping[str, float]) -> None:
        self._line.append(time_ms)
        for name in values.keys() - self._series.keys():
            if len(self._series) < self._series_max:
                self._series[name] = Series(self._line)
        nothing = float("nan")
        for name, series in self._series.items():
            series.put(values.get(name, nothing))


class SlidingRate:
    """Rates a second of a row of counters over the last seconds.

    Args:
        window_ms: How far back the rate looks.
        spacing_ms: Least time between two kept samples: bounds what is kept to ``window_ms / spacing_ms`` rows.
        span_ms_min: Least time between two samples for a rate; below it every rate is unknown.
    """

    def __init__(self, *, window_ms: int = 4_000, spacing_ms: int = 200, span_ms_min: int = 400) -> None:
        self._window_ms = window_ms
        self._spacing_ms = spacing_ms
        self._span_ms_min = span_ms_min
        self._kept: deque[tuple[int, Floats]] = deque()

    def reset(self) -> None:
        """Forget all samples: the counters begin again."""
        self._kept.clear()

    def rearrange(self, old_index: Ints) -> None:
        """Follow a change of the row.

        Args:
            old_index: int64 [n], for each new place the place it had before, or -1 for a new one. A new counter stood at 0
                before it was there.
        """
        known = old_index >= 0
        for number, (time_ms, row) in enumerate(self._kept):
            moved = np.zeros(len(old_index))
            moved[known] = row[old_index[known]]
            self._kept[number] = (time_ms, moved)

    def add(self, time_ms: int, counters: Ints | Floats) -> Floats:
        """Take in a row of counters.

        Args:
            time_ms: When they were read; a time before the last one starts the window anew.
            counters: [n] rising counts, below 0 or NaN for unknown.

        Returns:
            float64 [n] a second, NaN where unknown or where a counter fell.
        """
        row = np.where(counters < 0, np.nan, counters).astype(np.float64)
        if self._kept and (time_ms < self._kept[-1][0] or len(self._kept[-1][1]) != len(row)):
            self._kept.clear()
        while len(self._kept) > 1 and self._kept[1][0] <= time_ms - self._window_ms:
            self._kept.popleft()
        rates = self._rates(time_ms, row)
        if not self._kept or time_ms - self._kept[-1][0] >= self._spacing_ms:
            self._kept.append((time_ms, row))
        return rates

    def _rates(self, time_ms: int, row: Floats) -> Floats:
        span_ms = time_ms - self._kept[0][0] if self._kept else 0
        if span_ms < self._span_ms_min:
            return np.full(len(row), np.nan)
        grown = row - self._kept[0][1]
        rates: Floats = np.where(grown < 0, np.nan, grown) * (1_000.0 / span_ms)
        return rates
