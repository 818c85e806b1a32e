"""Robust slope of a lag over the recent past, with a band, from the newest turn on. Pure.

Clients store their offsets every five seconds (`persistConsumerOffsetInterval`) or at an interval of their own, producers send
in batches, and the queues of a cluster are read in rounds. So a lag is a saw whose teeth rise also while it drains. Slopes are
therefore taken between points whose distance is a multiple of a tooth; its length is that after which the steps of the lag are
most alike. The slope is the median of these (after Theil and Sen), because a burst or a pause of a consumer would turn a line
of least squares.

A jump is a change within a tooth that is many times as large as every other. It says nothing about the slope, so the lag before
it is moved up to the lag after it. A growth that has just begun looks like a jump: the slope is unknown until the lag rests.

A turn is the place where the mean slopes before and after differ most, in standard errors. Its error is that of a sum of
independent steps, because a lag is the sum of what arrived and was consumed, and of its points, because rounds are uneven. The
shortest recent stretch with a turn is taken, so that of several turns the newest is found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

import numpy as np

from monitoring.sample_blocks import Floats, Ints

SPAN_MS = 180_000
"""The recent past of a forecast."""
POINTS_MIN = 10
STEPS_MAX = 180
"""Points of the even grid that replaces the samples."""
TOOTH = 5
"""Steps of the grid between two stored offsets of a client: the shortest tooth of a lag."""
TOOTH_MAX = 60
"""Of batches each minute; a longer tooth would not be three times in `SPAN_MS`."""
TEETH_KNOWN = 2
"""Teeth after a turn from which the new slope is known."""
TURN_ERRORS = 4.0
"""A turn is a change of slope of more standard errors than this; 3 in 300 straight lags are then cut by chance."""
STEADY_MESSAGES_PER_S = 0.5
STEADY_SHARE_PER_S = 0.0001
"""A lag that changes by less than either limit is steady; by the share it would take longer than 2 hours 46 min to drain."""
JUMP_TIMES = 4.0
"""A jump is larger than every other change within a tooth by this factor; a growth differs from it after 1.25 teeth."""
REST_SHARE = 0.05
"""After a jump the lag rests when it changes by less than this share of it in a step."""
_STRETCHES = (20, 30, 40, 60, 90, 120, STEPS_MAX)
_Z_90 = 1.645
_ALIKE = 2.0
"""Unlikeness of steps, in parts of the least, up to which they are alike: chance within a third of the past."""
_NOISE_MIN = 0.02
"""Variance of a change in messages²; that of a constant lag is 0."""
_STEPS_INDEPENDENT = 2.5
"""Steps for one independent point of the band: lags of neighbouring seconds are alike."""
_NORMAL_SQUARES = {2: 0.455, 4: 0.1015}
"""The square of a standard normal number that is not exceeded by a half, or a quarter, of them."""
_TEETH_HEIGHT = 2.0
"""A lag below so many standard errors of a point is within its uneven teeth, whose height is 3.5 of them."""


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
    turned_ms: float = math.nan
    """Time since the lag began to fall after it rose, or to rise after it fell; NaN: it did not within the recent past."""
    known_ms: float = math.nan
    """Length of the newest stretch that the slope is taken from."""

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


def forecast(seconds: Floats, lag: Floats, lag_messages: float | None = None, *, turns: bool = True) -> Forecast:
    """Forecast of a lag.

    Args:
        seconds: float64 [n], rising times of the recent past.
        lag: float64 [n], messages, NaN for gaps.
        lag_messages: The lag now; None: the last known one of ``lag``.
        turns: Whether jumps, and what came before the newest turn, do not count; else all of it does.
    """
    known = ~np.isnan(lag)
    x, y = seconds[known], lag[known]
    now = (float(y[-1]) if len(y) else math.nan) if lag_messages is None else lag_messages
    if math.isnan(now) or len(x) < POINTS_MIN or x[-1] <= x[0]:
        return Forecast(now, math.nan)
    step_s, values = _evenly(x, y)
    if turns:
        values, rests = _without_jump(values)
        if not rests:
            return Forecast(now, math.nan)
    tooth = _tooth(values)
    noise = _noise(values, tooth)
    if turns and float(values[-tooth - 1 :].min()) <= _TEETH_HEIGHT * math.sqrt(noise[1]):
        # As low as its own teeth: the group keeps up, whatever a line through them says.
        return Forecast(now, 0.0, 0.0, 0.0, known_ms=(len(values) - 1) * step_s * 1_000)
    after = _steps_since_turn(values, step_s, tooth, noise) if turns else 0
    is_turned = bool(after) and _has_turned(values, after, tooth)
    turned_ms = after * step_s * 1_000 if is_turned else math.nan
    if is_turned and after < TEETH_KNOWN * tooth:
        return Forecast(now, math.nan, turned_ms=turned_ms, known_ms=turned_ms)
    kept = values[-max(after, TEETH_KNOWN * tooth) - 1 :] if after else values
    # Uneven teeth are one point each.
    steps_independent = tooth if noise[1] > noise[0] * tooth else _STEPS_INDEPENDENT
    slope, low, high = _slope(kept, step_s, tooth, max(3.0, (len(kept) - 1) / steps_independent))
    return Forecast(now, slope, low, high, turned_ms, (len(kept) - 1) * step_s * 1_000)


def robust_slopes(seconds: Floats, values: Floats) -> Floats:
    """Median slopes, per second, of figures that clients report every 5 s.

    Args:
        seconds: float64 [n], rising times.
        values: float64 [n, m], without gaps.

    Returns:
        float64 [m]; NaN of less than a second.
    """
    if len(seconds) < 2 or seconds[-1] - seconds[0] < 1:
        return np.full(values.shape[1], np.nan)
    step_s, even = _evenly(seconds, values)
    first, second = _pairs(len(even), TOOTH)
    slopes = np.sort((even[second] - even[first]) / ((second - first) * step_s)[:, None], axis=0)
    return _middle(slopes)


def _evenly(x: Floats, y: Floats) -> tuple[float, Floats]:
    """Step of an even grid in seconds, at least 1, and the values on it; the newest sample is its last point.

    ``y`` is [n], or [n, m] for m columns.
    """
    span_s = float(x[-1] - x[0])
    step_s = max(1.0, span_s / STEPS_MAX)
    steps = int(span_s / step_s + 1e-9)
    at = np.interp(x[-1] - step_s * np.arange(steps, -1, -1.0), x, np.arange(len(x)))
    low = at.astype(np.int64)
    share = (at - low).reshape(-1, *[1] * (y.ndim - 1))
    return step_s, y[low] * (1 - share) + y[np.minimum(low + 1, len(x) - 1)] * share


def _without_jump(values: Floats) -> tuple[Floats, bool]:
    """A lag whose part before a jump is moved up to the part after it, and whether the lag rests since."""
    changes = np.abs(values[TOOTH:] - values[:-TOOTH])
    jump = int(changes.argmax())
    others = np.concatenate([changes[: max(jump - TOOTH + 1, 0)], changes[jump + TOOTH :]])
    if not len(others) or changes[jump] <= JUMP_TIMES * max(float(others.max()), 1.0):
        return values, True
    end = float(values[jump + TOOTH])
    before = values[: jump + 1] + (end - float(values[jump]))
    moved = np.concatenate([before, np.full(TOOTH - 1, end), values[jump + TOOTH :]])
    is_over = len(values) - 1 - jump > 2 * TOOTH
    return moved, is_over or abs(float(values[-1] - values[-2])) <= REST_SHARE * float(changes[jump])


def _tooth(values: Floats) -> int:
    """Steps between the teeth of a lag: the shortest distance at which its steps are alike."""
    steps = np.diff(values)
    # Steps and not bends, because the bend of a turn grows with the distance.
    lengths = np.arange(TOOTH, min(TOOTH_MAX, len(steps) // 3) + 1)
    if not len(lengths):
        return TOOTH
    # Means of (later - earlier)², whose parts are sums of squares and of products.
    steps -= steps.mean()
    count, sums = len(steps), np.concatenate(([0.0], np.cumsum(steps * steps)))
    products = np.correlate(steps, steps, "full")[count - 1 + lengths]
    unlike = (sums[count] - sums[lengths] + sums[count - lengths] - 2 * products) / (count - lengths)
    limit = max(_ALIKE * float(unlike.min()), _NOISE_MIN)
    return int(lengths[int((unlike <= limit).argmax())])


def _steps_since_turn(values: Floats, step_s: float, tooth: int, noise: tuple[float, float]) -> int:
    """Steps since the newest change of slope, 0 if there is none."""
    steps = (len(values) - 1) // tooth * tooth
    if steps < 3 * tooth:
        return 0
    least = max(STEADY_MESSAGES_PER_S, float(values[-1]) * STEADY_SHARE_PER_S) * step_s
    for stretch in sorted({min(max(-(-stretch // tooth), 4) * tooth, steps) for stretch in _STRETCHES}):
        after, changes, errors = _changes(values, stretch, tooth, noise)
        if (errors * (changes > least)).max() > TURN_ERRORS:
            # A short stretch finds that there is a turn, one of twice its length where.
            after, changes, errors = _changes(values, min(2 * stretch, steps), tooth, noise)
            errors = np.where((after <= stretch) & (changes > least), errors, 0.0)
            return int(after[int(errors.argmax())]) if errors.max() > TURN_ERRORS else tooth
    return 0


def _changes(values: Floats, stretch: int, tooth: int, noise: tuple[float, float]) -> tuple[Ints, Floats, Floats]:
    """Steps after each possible turn of a stretch, the changes of slope there, and these in standard errors."""
    after = np.arange(tooth, stretch - 2 * tooth + 1, tooth)
    before = stretch - after
    middle = values[-1 - after]
    new, old = (values[-1] - middle) / after, (middle - values[-1 - stretch]) / before
    of_step, of_point = noise
    # Arrivals that nothing but chance spreads differ by the square root of their number.
    of_step = np.maximum(of_step, np.maximum(np.abs(new), np.abs(old)))
    shares = 1 / after, 1 / before
    # The point between both slopes errs in both.
    points = shares[0] ** 2 + shares[1] ** 2 + (shares[0] + shares[1]) ** 2
    changes = np.abs(new - old)
    return after, changes, changes / np.sqrt(of_step * (shares[0] + shares[1]) + of_point * points)


def _noise(values: Floats, tooth: int) -> tuple[float, float]:
    """Variances of the change within a step, and of a point: that of a bend grows with its length by the former alone.

    Of less than three teeth neither is known.
    """
    steps = len(values) - 1
    if steps < 3 * tooth:
        return math.inf, 0.0
    # Within a short past a turn bends most of the wide ones: they are shorter then, and the flattest of them count.
    far = min(max(2 * tooth, min(4, steps // (8 * TOOTH)) * TOOTH), steps // 3)
    near, wide = _bend(values, tooth), _bend(values, far, share=4)
    # Two of one length are alike.
    grown = (wide - near) / (2 * max(far - tooth, 1)) if far > tooth else math.inf
    of_step = max(min(grown, near / (2 * tooth)), _NOISE_MIN)
    return of_step, max(near - 2 * tooth * of_step, 0.0) / 6


def _bend(values: Floats, length: int, share: int = 2) -> float:
    """Variance of the bend over twice a length, by the flattest half or quarter of them, because changes of slope are few."""
    bend = values[2 * length :] - 2 * values[length:-length] + values[: -2 * length]
    ordered = np.sort(bend * bend)
    return float(ordered[(len(ordered) - 1) // share]) / _NORMAL_SQUARES[share]


def _has_turned(values: Floats, after: int, tooth: int) -> bool:
    """Whether the lag rose before and falls since, or the reverse; before: a stretch as long, at least twice a tooth."""
    before = min(len(values) - 1 - after, max(after, 2 * tooth))
    middle = float(values[-1 - after])
    return (float(values[-1]) - middle) * (middle - float(values[-1 - after - before])) < 0


def _slope(values: Floats, step_s: float, tooth: int, points: float) -> tuple[float, float, float]:
    """Median of the slopes, and the band of Kendall's statistic at 90 % for so many independent points."""
    first, second = _pairs(len(values), tooth)
    slopes = np.sort((values[second] - values[first]) / ((second - first) * step_s))
    reach = _Z_90 * math.sqrt(points * (points - 1) * (2 * points + 5) / 18) / (points * (points - 1) / 2)
    low = max(0, math.floor(len(slopes) * (1 - reach) / 2))
    high = min(len(slopes) - 1, math.ceil(len(slopes) * (1 + reach) / 2))
    return float(_middle(slopes)), float(slopes[low]), float(slopes[high])


def _pairs(count: int, tooth: int) -> tuple[Ints, Ints]:
    """Pairs of points whose slopes count."""
    first, second = np.triu_indices(count, 1)
    # A short lag has few pairs that are whole teeth apart.
    fits = ((second - first) % tooth == 0) if count > TEETH_KNOWN * tooth else second > first
    return first[fits], second[fits]


def _middle(ordered: Floats) -> Floats:
    """Median of ordered values, of each column."""
    # numpy's median imports numpy.ma at its first call: 40 ms within a turn of the window's loop.
    return np.asarray((ordered[(len(ordered) - 1) // 2] + ordered[len(ordered) // 2]) / 2)
