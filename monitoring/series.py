"""Figures over time: ring buffers on one common time line, sliding rates, and down-sampling for charts.

No clock is read here: times are those of the samples, in milliseconds since the epoch. A gap is a NaN.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from monitoring.group_progress import GroupProgress
from monitoring.lag import SPAN_MS, STEPS_MAX, Forecast, forecast
from monitoring.queue_lags import QueueLags
from monitoring.sample_blocks import Floats, Ints, SampleBlocks

__all__ = ["Floats", "History", "Ints", "Series", "SlidingRate", "thin_out"]

SAMPLES_MAX = 3_600
"""An hour of one sample a second."""
SERIES_MAX = 10_000
"""Further names are not recorded."""
RECORD_BYTES_MAX = 32 * 2**20
"""Of samples: an hour of 1,000 moving figures among constant ones, or seven minutes of 10,000 moving ones."""
GAP_MS = 5_000
"""Time without a sample after which a line is interrupted."""
UNREAD_MS = 600_000
"""Age of a counter up to which its last rate is shown."""
FORECASTS_MAX = 2_000
"""Forecasts that are kept until the next sample."""


class _TimeLine:
    """Times of the samples of all series. Sample ``n`` is in slot ``n % capacity``."""

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
        self._times_ms[self.end % self.capacity] = time_ms
        self.end += 1
        self.begin = max(self.begin, self.end - self.capacity)

    def forget_from(self, time_ms: int) -> None:
        """Drop samples at or after a time: times must rise, even if the clock was set back."""
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
    """One figure over time. Created by `History`; read by charts on the same thread."""

    __slots__ = ("_blocks", "_column", "_line")

    def __init__(self, line: _TimeLine, blocks: SampleBlocks, column: int) -> None:
        self._line = line
        self._blocks = blocks
        self._column = column

    @property
    def last(self) -> float:
        """The newest value; NaN if there is none."""
        line = self._line
        if line.end <= line.begin:
            return float("nan")
        return float(self._blocks.column(self._column, line.end - 1, line.end)[0])

    @property
    def last_known(self) -> float:
        """The newest value before a gap that lasts; NaN if none was recorded."""
        values = self._blocks.column(self._column, self._line.begin, self._line.end)
        known = values[~np.isnan(values)]
        return float(known[-1]) if len(known) else float("nan")

    def window(self, from_ms: int, to_ms: int, max_points: int) -> tuple[Floats, Floats]:
        """Points for a chart.

        Args:
            from_ms: Begin of the window, ms since the epoch.
            to_ms: End of the window, inclusive.
            max_points: Most points to return, at least 4; beyond it each interval is shown by its smallest and its largest
                value, so that no peak is lost.

        Returns:
            ``x`` float64 seconds since the epoch, rising, and ``y`` float64 with NaN for gaps; of one length.
        """
        first, last = self._line.range(from_ms, to_ms)
        x = self._line.times_ms(first, last) / 1_000.0
        return thin_out(x, self._blocks.column(self._column, first, last), max_points=max_points, first=first)


def thin_out(x: Floats, y: Floats, *, max_points: int, first: int = 0) -> tuple[Floats, Floats]:
    """Reduce points to at most ``max_points`` by the smallest and largest of each interval.

    Args:
        x: float64 [n], rising.
        y: float64 [n], NaN for gaps; an interval of only gaps stays a gap.
        max_points: At least 4.
        first: Number of the first point on the whole line. Intervals begin at its multiples, so that a scrolling line keeps
            its shape instead of flickering.
    """
    assert max_points >= 4
    if len(x) <= max_points:
        return x, y
    # One interval fewer than there is room for, because those at both ends may be partial.
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
    """All series of a cluster, on one time line of at most ``samples_max`` samples, fewer if very many figures move.

    Names: ``totals.<figure>`` for each figure of `ClusterState.totals`, ``topic:<name>.put_rate``, ``topic:<name>.got_rate``,
    ``group:<name>.lag_messages``, ``group:<name>.behind_ms``, ``group:<name>.got_rate``.

    Not thread-safe: filled and read on one thread.
    """

    def __init__(
        self, *, samples_max: int = SAMPLES_MAX, series_max: int = SERIES_MAX, bytes_max: int = RECORD_BYTES_MAX
    ) -> None:
        self._line = _TimeLine(samples_max)
        self._blocks = SampleBlocks(bytes_max=bytes_max)
        self._series_max = series_max
        self._columns: dict[str, int] = {}
        self._names: Sequence[str] | None = None
        """Of the newest sample; below, the columns of the recorded names, and their places among the names."""
        self._at = self._from = np.zeros(0, np.int64)
        self.queue_lags = QueueLags()
        """Lags of the positions over the last minutes."""
        self.group_progress = GroupProgress()
        """What the groups consumed over the last minutes."""
        self._forecasts: dict[str, Forecast] = {}
        """Of the newest sample, by name of the series."""
        self._empty = Series(_TimeLine(1), self._blocks, 0)

    @property
    def first_ms(self) -> int | None:
        return self._line.first_ms

    @property
    def last_ms(self) -> int | None:
        return self._line.last_ms

    def names(self) -> Collection[str]:
        return self._columns.keys()

    def series(self, name: str) -> Series:
        """The series of a name, valid until the next `forget`; an empty one if nothing was recorded under it."""
        column = self._columns.get(name)
        return self._empty if column is None else Series(self._line, self._blocks, column)

    def forecast(self, name: str, lag_messages: float | None = None) -> Forecast:
        """Forecast of a lag from its recent past; computed once a sample.

        Args:
            name: Of the series.
            lag_messages: The lag now; None: that of the last sample.
        """
        found = self._forecasts.get(name)
        if found is None:
            now_ms = self.last_ms or 0
            found = forecast(*self.series(name).window(now_ms - SPAN_MS, now_ms, 2 * STEPS_MAX + 2))
            if len(self._forecasts) < FORECASTS_MAX:
                self._forecasts[name] = found
        return found if lag_messages is None else replace(found, lag_messages=lag_messages)

    def record(self, time_ms: int, names: Sequence[str], values: Sequence[float] | Floats) -> None:
        """Add one sample of all series. Series without a value get a gap.

        A time that does not rise (a clock set back) replaces the samples from there on. After a long silence a sample of
        gaps is added first, so that no line is drawn across it.

        Args:
            time_ms: ms since the epoch.
            names: Of series; passing the same object again is cheapest, so it must not be changed.
            values: One for each name.
        """
        self._forecasts.clear()
        if names is not self._names:
            self._name(names)
        self._line.forget_from(time_ms)
        self._blocks.forget_from(self._line.end)
        last_ms = self._line.last_ms
        row = np.full(len(self._columns), np.nan)
        if last_ms is not None and time_ms - last_ms > GAP_MS:
            self._add(last_ms + 1, row)
        row[self._at] = np.asarray(values, np.float64)[self._from]
        self._add(time_ms, row)

    def forget(self, names: Collection[str]) -> None:
        """Drop series of deleted things."""
        gone = {name for name in names if name in self._columns}
        if gone:
            kept = {name: column for name, column in self._columns.items() if name not in gone}
            self._blocks.keep_columns(np.fromiter(kept.values(), np.int64))
            self._columns = {name: column for column, name in enumerate(kept)}
            self._names = None

    def _name(self, names: Sequence[str]) -> None:
        """Assign columns to new names, and compute the columns of these names' values."""
        columns = self._columns
        for name in names:
            if name not in columns and len(columns) < self._series_max:
                columns[name] = len(columns)
        places = np.array([columns.get(name, -1) for name in names], np.int64)
        self._from = np.flatnonzero(places >= 0)
        self._at = places[self._from]
        self._names = names

    def _add(self, time_ms: int, row: Floats) -> None:
        self._line.append(time_ms)
        self._blocks.append(self._line.end - 1, row)
        self._line.begin = max(self._line.begin, self._blocks.first)
        self._blocks.forget_before(self._line.begin)


@dataclass(frozen=True, slots=True)
class _Counted:
    """Counters at a moment; ``read_ms``: when each was read."""

    time_ms: int
    counters: Floats
    read_ms: Floats


class SlidingRate:
    """Rates per second of a row of counters over the last seconds.

    A rate is taken between the moments at which a counter was read, because counters of an attached cluster stand still
    between two looks: over a window of time it would contain three looks at one moment and four at the next.

    Args:
        window_ms: Time span of the rate.
        spacing_ms: Least time between two kept samples: limits them to ``window_ms / spacing_ms`` rows.
        span_ms_min: Least time between two samples for a rate; below it every rate is unknown.
    """

    def __init__(self, *, window_ms: int = 4_000, spacing_ms: int = 200, span_ms_min: int = 400) -> None:
        self._window_ms = window_ms
        self._spacing_ms = spacing_ms
        self._span_ms_min = span_ms_min
        self._kept: deque[_Counted] = deque()
        self._rates: Floats = np.zeros(0)
        """The last ones, for counters that were not read since."""

    def reset(self) -> None:
        """Forget all samples, because the counters restart."""
        self._kept.clear()
        self._rates = np.zeros(0)

    def rearrange(self, old_index: Ints, *, before: float = 0.0) -> None:
        """Follow a change of the row: int64 [n], for each new place the old place, or -1 for a new counter.

        ``before`` is the value of a new counter before its first sample; NaN if unknown.
        """

        def moved(row: Floats, new: float) -> Floats:
            known = (old_index >= 0) & (old_index < len(row))
            found = np.full(len(old_index), new)
            found[known] = row[old_index[known]]
            return found

        for number, one in enumerate(self._kept):
            read_ms = moved(one.read_ms, float(one.time_ms))
            self._kept[number] = _Counted(one.time_ms, moved(one.counters, before), read_ms)
        self._rates = moved(self._rates, np.nan)

    def add(self, time_ms: int, counters: Ints | Floats, read_ms: Ints | Floats | None = None) -> Floats:
        """Add a row of counters; a time before the last one restarts the window.

        Args:
            time_ms: Time of the reading.
            counters: [n] rising counts, below 0 or NaN for unknown.
            read_ms: [n] when each of them was read, below 0 or NaN for unknown; None: at ``time_ms``.

        Returns:
            float64 [n] per second, NaN if unknown or if a counter fell. A counter that was not read within the window has the
            rate of its last look, for `UNREAD_MS`.
        """
        row = np.where(counters < 0, np.nan, counters).astype(np.float64)
        at = np.full(len(row), float(time_ms)) if read_ms is None else np.asarray(read_ms, np.float64)
        now = _Counted(time_ms, row, np.where(at >= 0, at, float(time_ms)))
        if self._kept and (time_ms < self._kept[-1].time_ms or len(self._kept[-1].counters) != len(row)):
            self.reset()
        while len(self._kept) > 1 and self._kept[1].time_ms <= time_ms - self._window_ms:
            self._kept.popleft()
        self._rates = self._rates_at(now)
        if not self._kept or time_ms - self._kept[-1].time_ms >= self._spacing_ms:
            self._kept.append(now)
        return self._rates.copy()

    def _rates_at(self, now: _Counted) -> Floats:
        first = self._kept[0] if self._kept else now
        grown, span_ms = now.counters - first.counters, now.read_ms - first.read_ms
        is_read = span_ms >= self._span_ms_min
        rates: Floats = np.where(grown < 0, np.nan, grown) * (1_000.0 / np.where(is_read, span_ms, np.nan))
        if len(self._rates) != len(rates):
            return rates
        is_held = ~is_read & ~np.isnan(grown) & (now.time_ms - now.read_ms <= UNREAD_MS)
        return np.where(is_held, self._rates, rates)
