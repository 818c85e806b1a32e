"""The instant of a local time: one rule for command lines, search language, reports and window.

    2026-10-25T02:30 in Europe/Berlin    twice: 00:30Z and 01:30Z
    2026-03-29T02:30 in Europe/Berlin    never: the clock goes from 02:00 to 03:00

Neither is guessed where a person writes a time: an offset from UTC says which one is meant. What recurs every day happens at
the first of the two, or at the end of the gap (`first_instant`). Pure; only the zone of this machine is looked up.
"""

from __future__ import annotations

import os
import time
from collections.abc import MutableMapping
from datetime import UTC, datetime, timedelta, tzinfo

from broker_core.errors import UnclearTimeError
from broker_core.platform.zones import read_zone

_SECOND = timedelta(seconds=1)
_DAY_S = 86_400


def instant(moment: datetime, zone: tzinfo | None = None) -> datetime:
    """The instant of a time, in UTC.

    Args:
        moment: With an offset, or a local time.
        zone: Of a local time; None is that of this machine.

    Raises:
        UnclearTimeError: The local time comes twice, or never; the text says both instants, or the gap.
        ValueError, OverflowError, OSError: A clock cannot show the instant.
    """
    if moment.tzinfo is not None:
        return moment.astimezone(UTC)
    early, late = (_utc(moment.replace(fold=fold), zone) for fold in (0, 1))
    if early == late:
        return early
    if _local(early, zone) == moment.replace(fold=0):
        raise _twice(moment, early, late, zone)
    raise _never(moment, late, early, zone)


def first_instant(moment: datetime, zone: tzinfo | None = None) -> datetime:
    """The instant of a local time, in UTC: the first of two, and the end of a gap for one that does not exist."""
    early, late = (_utc(moment.replace(tzinfo=None, fold=fold), zone) for fold in (0, 1))
    return early if early <= late else _change(late, early, zone)


def instant_ms(moment: datetime, zone: tzinfo | None = None) -> int:
    """`instant` in milliseconds since the epoch, rounded down."""
    return (instant(moment, zone) - datetime.fromtimestamp(0, UTC)) // timedelta(milliseconds=1)


def drop_wild_zone(whole: MutableMapping[str, str] = os.environ) -> str:
    """Remove a ``TZ`` a day or more from UTC, which Python cannot show, from the environment; returns it, empty for none."""
    wild = ""
    if max(abs(time.timezone), abs(time.altzone)) >= _DAY_S:
        wild = whole.pop("TZ", "")
        read_zone()
    return wild


class MachineZone(tzinfo):
    """The zone of this machine with all its rules; `datetime.astimezone` alone gives the offset of one moment."""

    def utcoffset(self, moment: datetime | None) -> timedelta | None:
        if moment is None:
            return None
        local = moment.replace(tzinfo=None)
        return local.replace(fold=0) - _utc(local, None).replace(tzinfo=None)

    def dst(self, _moment: datetime | None) -> timedelta | None:
        return None

    def tzname(self, _moment: datetime | None) -> str | None:
        return None

    def fromutc(self, moment: datetime) -> datetime:
        at = moment.replace(tzinfo=UTC)
        local = datetime.fromtimestamp(at.replace(microsecond=0).timestamp())  # noqa: DTZ006  local time is wanted
        return local.replace(tzinfo=self, microsecond=moment.microsecond)


MACHINE_ZONE = MachineZone()


def _utc(local: datetime, zone: tzinfo | None) -> datetime:
    if zone is not None:
        return local.replace(tzinfo=zone).astimezone(UTC)
    # Not `astimezone`, which takes the offset after a gap for the time before it.
    return datetime.fromtimestamp(local.replace(microsecond=0).timestamp(), UTC) + timedelta(microseconds=local.microsecond)


def _local(at: datetime, zone: tzinfo | None) -> datetime:
    return at.astimezone(zone).replace(tzinfo=None, fold=0)


def _twice(moment: datetime, early: datetime, late: datetime, zone: tzinfo | None) -> UnclearTimeError:
    text, first, second = _text(moment), _with_offset(early, zone), _with_offset(late, zone)
    return UnclearTimeError(
        f"{text} comes twice in {_name(zone)}: as {first} ({_text(early)}Z) and as {second} ({_text(late)}Z). "
        "Write it with the offset from UTC.",
        time=text,
        first=first,
        second=second,
    )


def _never(moment: datetime, before: datetime, after: datetime, zone: tzinfo | None) -> UnclearTimeError:
    """The error of a time in a gap, which lies between two instants."""
    text, change = _text(moment), _change(before, after, zone)
    end = _local(change, zone)
    begin = _local(change - _SECOND, zone) + _SECOND
    form = "%H:%M" if begin.date() == end.date() else "%Y-%m-%d %H:%M"  # some islands left out a day
    return UnclearTimeError(
        f"{text} does not exist in {_name(zone)}: at {_text(change)}Z the clock goes from {begin:{form}} to {end:{form}}. "
        "Write a time before or after the gap, or one with the offset from UTC.",
        time=text,
        begin=f"{begin:{form}}",
        end=f"{end:{form}}",
    )


def _change(before: datetime, after: datetime, zone: tzinfo | None) -> datetime:
    """The first second with the offset that a zone has after its change."""
    low, high = before.replace(microsecond=0), after.replace(microsecond=0)
    offset = high.astimezone(zone).utcoffset()
    while high - low > _SECOND:
        middle = low + (high - low) // 2
        middle = middle.replace(microsecond=0)
        low, high = (low, middle) if middle.astimezone(zone).utcoffset() == offset else (middle, high)
    return high


def _text(moment: datetime) -> str:
    shown = moment.replace(tzinfo=None, microsecond=moment.microsecond // 1000 * 1000)
    if shown.microsecond:
        return shown.isoformat(timespec="milliseconds")
    return shown.isoformat(timespec="seconds" if shown.second else "minutes")


def _with_offset(at: datetime, zone: tzinfo | None) -> str:
    offset = at.astimezone(zone).isoformat()[-6:]
    return f"{_text(_local(at, zone))}{offset}"


def _name(zone: tzinfo | None) -> str:
    return "the time zone of this machine" if zone is None else str(zone)
