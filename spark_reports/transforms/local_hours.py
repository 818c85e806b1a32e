"""Real time in the hours of local days: none in an hour that a clock change leaves out, two in one that comes twice.

Source: the rules of the zone, as `zoneinfo` has them. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

_HOURS = 24
_MINUTE = timedelta(minutes=1)
_HOUR_MINUTES = 60


class LocalHour(NamedTuple):
    """An hour of a local day, and how many real hours it lasts."""

    day: date
    hour: int
    real_hours: float


def hours_of_day(day: date, zone: ZoneInfo) -> list[float]:
    """Real hours of each of the 24 hours of a local day."""
    begin, end = (datetime.combine(at, time(), zone).astimezone(UTC) for at in (day, day + timedelta(days=1)))
    if end - begin == timedelta(days=1):
        return [1.0] * _HOURS
    minutes = [0] * _HOURS
    at = begin - timedelta(hours=2)  # a clock that changes at midnight
    while at < end + timedelta(hours=2):
        local = at.astimezone(zone)
        if local.date() == day:
            minutes[local.hour] += 1
        at += _MINUTE
    return [count / _HOUR_MINUTES for count in minutes]


def hours_between(first: tuple[date, int], last: tuple[date, int], zone: ZoneInfo) -> Iterator[LocalHour]:
    """Every hour from one local hour to another, both included, also those that do not exist."""
    day = first[0]
    while day <= last[0]:
        for hour, real_hours in enumerate(hours_of_day(day, zone)):
            if first <= (day, hour) <= last:
                yield LocalHour(day, hour, real_hours)
        day += timedelta(days=1)
