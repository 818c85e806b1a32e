"""`QueueLags`: the lag of each position of a cluster over the last minutes, one sample a second.

It says which queue of a group drains last. Rows are those of the catalog's positions. Older lags are kept by the worker's
history.
"""

from __future__ import annotations

import numpy as np

from monitoring.sample_blocks import Floats, Ints

SAMPLES_MAX = 181
"""Three minutes, and both ends of them."""
POSITIONS_MAX = 4_096
"""Lags of more positions are not kept: 6 MiB."""


class QueueLags:
    """A ring of samples. Not thread-safe: filled and read on one thread."""

    def __init__(self) -> None:
        self._times_ms = np.zeros(SAMPLES_MAX, np.int64)
        self._lags: Floats = np.zeros((SAMPLES_MAX, 0))
        self._count = 0
        """Samples since the ring was emptied; sample n is in row ``n % SAMPLES_MAX``."""

    def clear(self) -> None:
        """Forget all samples."""
        self._count = 0

    def rearrange(self, old_index: Ints) -> None:
        """Follow a change of the positions: int64 [P], for each new row the old one, or -1 for a new position."""
        known = (old_index >= 0) & (old_index < self._lags.shape[1])
        moved = np.full((SAMPLES_MAX, min(len(old_index), POSITIONS_MAX)), np.nan)
        known = known[: moved.shape[1]]
        moved[:, known] = self._lags[:, old_index[: moved.shape[1]][known]]
        self._lags = moved

    def record(self, time_ms: int, lags: Floats) -> None:
        """Add a sample: messages [P], NaN unknown. A time that does not rise empties the ring first."""
        kept = min(len(lags), POSITIONS_MAX)
        if self._lags.shape[1] != kept:
            self._lags = np.full((SAMPLES_MAX, kept), np.nan)
            self.clear()
        if self._count and time_ms <= self._times_ms[(self._count - 1) % SAMPLES_MAX]:
            self.clear()
        row = self._count % SAMPLES_MAX
        self._times_ms[row] = time_ms
        self._lags[row] = lags[:kept]
        self._count += 1

    def slopes(self, rows: Ints, over_ms: float) -> Floats:
        """Mean change of lags over the newest stretch, messages/s.

        Args:
            rows: int64 [n], of positions.
            over_ms: Length of the stretch.

        Returns:
            float64 [n], NaN where the lag of either end is unknown.
        """
        unknown = np.full(len(rows), np.nan)
        if self._count < 2:
            return unknown
        numbers = np.arange(max(0, self._count - SAMPLES_MAX), self._count) % SAMPLES_MAX
        times = self._times_ms[numbers]
        first = min(int(np.searchsorted(times, times[-1] - over_ms)), len(times) - 2)
        kept = rows < self._lags.shape[1]
        run_s = (times[-1] - times[first]) / 1_000
        unknown[kept] = (self._lags[numbers[-1], rows[kept]] - self._lags[numbers[first], rows[kept]]) / run_s
        return unknown
