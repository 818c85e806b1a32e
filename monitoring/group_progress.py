"""`GroupProgress`: how far the offsets of each group advanced over the last minutes, one sample a second.

It says what a group consumes. What its clients are sent says less, because they hold messages that they have not processed.
What arrives less the growth of the lag says less after a change of traffic, because rates of arrivals are means of seconds.
"""

from __future__ import annotations

import numpy as np

from monitoring.lag import robust_slopes
from monitoring.sample_blocks import Floats, Ints

SAMPLES_MAX = 181
"""Three minutes, and both ends of them."""
GROUPS_MAX = 4_096
"""Of more groups nothing is kept: 6 MiB."""
NOW_MS = 15_000
"""Stretch of what a group consumes now: as short as clients allow that store their offsets every 5 s."""
REGULAR_MS = 121_000
"""The past in which the offsets of slower clients are looked for: three that are stored at an interval of up to a minute."""
_ALIKE = 0.3
"""Two gaps are alike if they differ by less than this share of the longer."""
_OVERDUE = 1.5
"""A stored offset is overdue after so many gaps: the group has stopped."""


class GroupProgress:
    """A ring of samples. Not thread-safe: filled and read on one thread."""

    def __init__(self) -> None:
        self._times_ms = np.zeros(SAMPLES_MAX, np.int64)
        self._consumed: Floats = np.zeros((SAMPLES_MAX, 0))
        self._count = 0
        """Samples since the ring was emptied; sample n is in row ``n % SAMPLES_MAX``."""
        self._offsets: Ints = np.zeros(0, np.int64)
        """Of the newest sample."""
        self._groups: Ints = np.zeros(0, np.int64)
        """Of each position."""
        self._rates: Floats | None = None
        """Of the newest sample, once they were read."""

    def clear(self) -> None:
        """Forget all samples."""
        self._count = 0
        self._rates = None

    def rearrange(self, old_groups: Ints, old_positions: Ints) -> None:
        """Follow a change of the catalog: int64 [G] and [P], for each new row the old one, or -1 for a new one."""
        moved = np.zeros((SAMPLES_MAX, min(len(old_groups), GROUPS_MAX)))
        kept = old_groups[: moved.shape[1]]
        known = (kept >= 0) & (kept < self._consumed.shape[1])
        moved[:, known] = self._consumed[:, kept[known]]
        self._consumed = moved
        known = (old_positions >= 0) & (old_positions < len(self._offsets))
        offsets = np.full(len(old_positions), -1, np.int64)
        offsets[known] = self._offsets[old_positions[known]]
        self._offsets = offsets
        self._groups = np.zeros(0, np.int64)
        self._rates = None

    def record(self, time_ms: int, offsets: Ints, groups: Ints, group_count: int) -> None:
        """Add a sample. A time that does not rise empties the ring first.

        Args:
            time_ms: ms since the epoch.
            offsets: int64 [P], of the positions; below 0: unknown.
            groups: int64 [P], the group of each position.
            group_count: Of the catalog.
        """
        kept = min(group_count, GROUPS_MAX)
        if self._consumed.shape[1] != kept or len(self._offsets) != len(offsets):
            self._consumed = np.zeros((SAMPLES_MAX, kept))
            self.clear()
        if self._count and time_ms <= self._times_ms[(self._count - 1) % SAMPLES_MAX]:
            self.clear()
        row = self._count % SAMPLES_MAX
        self._times_ms[row] = time_ms
        if self._count:
            # An offset that was set back takes nothing away from what was consumed.
            are_known = (offsets >= 0) & (self._offsets >= 0)
            advanced = np.where(are_known, np.maximum(offsets - self._offsets, 0), 0)
            grown = np.bincount(groups, advanced, group_count)[:kept]
            self._consumed[row] = self._consumed[(self._count - 1) % SAMPLES_MAX] + grown
        else:
            self._consumed[row] = 0.0
        self._offsets, self._groups, self._rates = offsets.copy(), groups, None
        self._count += 1

    def rates(self, group_count: int) -> Floats:
        """Messages/s that each group consumes now: float64 [G], NaN while unknown and where no offset of the group is known."""
        if self._rates is None or len(self._rates) != group_count:
            self._rates = self._rates_now(group_count)
            self._rates.flags.writeable = False
        return self._rates

    def _rates_now(self, group_count: int) -> Floats:
        rates = np.full(group_count, np.nan)
        kept = min(group_count, self._consumed.shape[1])
        if len(self._groups) == len(self._offsets):
            numbers = self._newest(NOW_MS)
            rates[:kept] = robust_slopes(self._times_ms[numbers] / 1_000.0, self._consumed[numbers, :kept])
            steps = np.count_nonzero(np.diff(self._consumed[numbers, :kept], axis=0), axis=0)
            long = self._newest(REGULAR_MS)
            advanced = self._consumed[long[-1:], :kept] > self._consumed[long[:1], :kept]  # idle groups are left out
            slow = np.flatnonzero((steps <= 2) & advanced.any(axis=0) & ~np.isnan(rates[:kept]))
            rates[slow] = self._regular_rates(long, slow, rates[slow])
            rates[np.bincount(self._groups[self._offsets >= 0], minlength=group_count)[:group_count] == 0] = np.nan
        return rates

    def _regular_rates(self, numbers: Ints, groups: Ints, otherwise: Floats) -> Floats:
        """Rates of groups whose offsets are stored at regular intervals of more than 5 s, from the newest three of them."""
        times, consumed = self._times_ms[numbers] / 1_000.0, self._consumed[np.ix_(numbers, groups)]
        if len(numbers) < 4 or not consumed.size:
            return otherwise
        rows = np.arange(1, len(numbers))[:, None]
        stored = np.sort(np.where(np.diff(consumed, axis=0) > 0, rows, 0), axis=0)[-3:]
        first, middle, last = times[stored]
        gaps = middle - first, last - middle
        longer = np.maximum(*gaps)
        is_regular = (stored[0] > 0) & (np.abs(gaps[1] - gaps[0]) <= _ALIKE * longer)
        is_regular &= times[-1] - last <= _OVERDUE * longer
        at = np.arange(len(groups))
        advanced = consumed[stored[2], at] - consumed[stored[0], at]
        return np.where(is_regular, advanced / np.maximum(last - first, 1e-3), otherwise)

    def rate(self, group: int, over_ms: float) -> float:
        """Messages/s that a group consumed over the newest stretch; NaN while there are not two samples of it."""
        if group >= self._consumed.shape[1]:
            return float("nan")
        numbers = self._newest(over_ms)
        return float(robust_slopes(self._times_ms[numbers] / 1_000.0, self._consumed[numbers, group : group + 1])[0])

    def _newest(self, over_ms: float) -> Ints:
        """Rows of the samples of the newest stretch, by time."""
        numbers = np.arange(max(0, self._count - SAMPLES_MAX), self._count) % SAMPLES_MAX
        times = self._times_ms[numbers]
        return numbers[times >= times[-1] - over_ms] if len(numbers) else numbers
