"""Forecasts when a disk reaches its limits; next deletion of old files. Pure."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from broker_core.outside import whole_of
from monitoring.lag import Forecast, forecast
from monitoring.series import Floats

GROWTH_BYTES_PER_S = 256.0
"""A disk that fills more slowly than this (21 MiB a day) is steady."""


_HOURS_AHEAD = 26
"""A day of a clock that is put back, and an hour more."""


def disk_growth(seconds: Floats, used_bytes: Floats) -> Forecast:
    """Growth of a disk's used bytes, bytes/s; arguments as of `monitoring.lag.forecast`."""
    return forecast(seconds, used_bytes, turns=False)


def reached_in_ms(limit_bytes: float, growth: Forecast) -> float:
    """Time until a limit is reached at this growth: 0 if it is reached, infinite if it never is, NaN unknown."""
    used, slope = growth.lag_messages, growth.slope
    if math.isnan(used) or math.isnan(limit_bytes):
        return math.nan
    if used >= limit_bytes:
        return 0.0
    if math.isnan(slope):
        return math.nan
    if slope < GROWTH_BYTES_PER_S:
        return math.inf
    return math.nan if growth.slope_low <= 0 else (limit_bytes - used) / slope * 1_000


def next_cleaning(delete_when: str, now: datetime) -> datetime | None:
    """Begin of the next hour of ``deleteWhen`` (``04``, or several as in ``04;16``); None if it names none.

    The current hour counts, because cleaning runs for all of it. Hours are those of the zone of ``now``.
    """
    hours = {whole_of(entry.strip()) for entry in delete_when.split(";")}
    hour = now.replace(minute=0, second=0, microsecond=0).astimezone(UTC)
    ahead = ((hour + timedelta(hours=number)).astimezone(now.tzinfo) for number in range(_HOURS_AHEAD))
    return next((at.replace(minute=0) if at > now else at for at in ahead if at.hour in hours), None)
