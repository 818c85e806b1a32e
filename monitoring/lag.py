"""Robust slope of a lag over the recent past, with a band. Pure.

The slope is the median of the slopes between all pairs of points (Theil and Sen), because a burst or a pause of a consumer
would turn a line of least squares. The band is that of Kendall's statistic, at 90 %; it assumes independent points, so it is
too narrow for a lag that swings slowly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from monitoring.series import Floats

SPAN_MS = 180_000
"""The recent past of a forecast."""
POINTS_MIN = 10
POINTS_MAX = 60
"""More points are reduced to this number by their medians: 60 points have 1,770 slopes."""
STEADY_MESSAGES_PER_S = 0.5
STEADY_SHARE_PER_S = 0.001
"""A lag that changes by less than either limit is steady."""
_Z_90 = 1.645


class LagOutlook(Enum):
    UNKNOWN = "unknown"
    CAUGHT_UP = "caught up"
    STEADY = "steady"
    DRAINING = "draining"
    GROWING = "growing"


@dataclass(frozen=True, slots=True)
class Forecast:
    """A lag and its slope. Slopes in messages/s, NaN if too little is known."""

    lag_messages: float
    slope: float
    slope_low: float = math.nan
    """Lower bound of the slope, with 90 % probability; `slope_high` is the upper one."""
    slope_high: float = math.nan

    @property
    def outlook(self) -> LagOutlook:
        """Direction of the lag; unknown also if the band leaves it open."""
        if math.isnan(self.lag_messages):
            return LagOutlook.UNKNOWN
        if self.lag_messages < 1:
            return LagOutlook.CAUGHT_UP
        if math.isnan(self.slope):
            return LagOutlook.UNKNOWN
        if abs(self.slope) < max(STEADY_MESSAGES_PER_S, self.lag_messages * STEADY_SHARE_PER_S):
            return LagOutlook.STEADY
        if self.slope_low < 0 < self.slope_high:
            return LagOutlook.UNKNOWN
        return LagOutlook.DRAINING if self.slope < 0 else LagOutlook.GROWING

    @property
    def drained_in_ms(self) -> float:
        """Time until the lag is 0 at this slope; NaN if it does not drain."""
        return self._drained_ms(self.slope) if self.outlook is LagOutlook.DRAINING else math.nan

    @property
    def drained_between_ms(self) -> tuple[float, float]:
        """The band of `drained_in_ms`; the later end is infinite if the band contains a slope that does not drain."""
        if self.outlook is not LagOutlook.DRAINING:
            return math.nan, math.nan
        return self._drained_ms(self.slope_low), self._drained_ms(self.slope_high)

    def _drained_ms(self, slope: float) -> float:
        return math.inf if slope >= 0 else self.lag_messages / -slope * 1_000


def forecast(seconds: Floats, lag: Floats, lag_messages: float | None = None) -> Forecast:
    """Forecast of a lag.

    Args:
        seconds: float64 [n], rising times of the recent past.
        lag: float64 [n], messages, NaN for gaps.
        lag_messages: The lag now; None: the last known one of ``lag``.
    """
    known = ~np.isnan(lag)
    x, y = seconds[known], lag[known]
    now = (float(y[-1]) if len(y) else math.nan) if lag_messages is None else lag_messages
    if len(x) < POINTS_MIN:
        return Forecast(now, math.nan)
    x, y = _thinned(x, y)
    first, second = np.triu_indices(len(x), 1)
    run = x[second] - x[first]
    rising = run > 0
    slopes = np.sort((y[second] - y[first])[rising] / run[rising])
    if not len(slopes):
        return Forecast(now, math.nan)
    reach = _Z_90 * math.sqrt(len(x) * (len(x) - 1) * (2 * len(x) + 5) / 18)
    low = max(0, math.floor((len(slopes) - reach) / 2))
    high = min(len(slopes) - 1, math.ceil((len(slopes) + reach) / 2))
    return Forecast(now, _median(slopes), float(slopes[low]), float(slopes[high]))


def _thinned(x: Floats, y: Floats) -> tuple[Floats, Floats]:
    if len(x) <= POINTS_MAX:
        return x, y
    parts = np.array_split(np.arange(len(x)), POINTS_MAX)
    return np.array([_median(np.sort(x[part])) for part in parts]), np.array([_median(np.sort(y[part])) for part in parts])


def _median(ordered: Floats) -> float:
    # numpy's median imports numpy.ma at its first call: 40 ms within a turn of the window's loop.
    return float((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)
