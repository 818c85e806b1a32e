"""Schedules of reports: which run every day or week at what time. Pure: no widget, no I/O, the caller passes the time."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, time, timedelta
from typing import Any

from broker_core.api import first_instant
from gui.settings.values import listed

DAILY = -1
SCHEDULES_MAX = 50
DAY_MINUTES = 1_440
_DAY_NAMES = ("Every Monday", "Every Tuesday", "Every Wednesday", "Every Thursday", "Every Friday", "Every Saturday",
              "Every Sunday")  # fmt: skip
DAYS = {DAILY: "Every day", **dict(enumerate(_DAY_NAMES))}
"""English names by weekday, Monday is 0."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """One report that runs regularly.

    Attributes:
        report: Its name.
        stores: Store directories.
        parameters: Option name and value.
        commit_log: See `ReportOrder`.
        also: See `ReportOrder`.
        weekday: Monday is 0; `DAILY` for every day.
        minute: Of the day, local time.
    """

    report: str
    stores: tuple[str, ...]
    parameters: tuple[tuple[str, str], ...] = ()
    commit_log: str = ""
    also: tuple[str, ...] = ()
    weekday: int = DAILY
    minute: int = 0

    def last_before(self, now: datetime) -> datetime:
        """The newest scheduled time at or before ``now``, which carries its zone; `first_instant` where the clock changes."""
        days = 0 if self.weekday == DAILY else (now.weekday() - self.weekday) % 7
        at = self._on(now.date() - timedelta(days=days), now)
        return at if at <= now else self._on(now.date() - timedelta(days=days + (1 if self.weekday == DAILY else 7)), now)

    def _on(self, day: date, now: datetime) -> datetime:
        return first_instant(datetime.combine(day, time(self.minute // 60, self.minute % 60)), now.tzinfo)


def due(schedules: Sequence[Schedule], since: datetime, now: datetime) -> list[Schedule]:
    """Schedules with a time after ``since`` and up to ``now``; each once, however many of its times passed."""
    return [one for one in schedules if since < one.last_before(now)]


def schedules_text(schedules: Sequence[Schedule]) -> str:
    return json.dumps([asdict(one) for one in schedules], ensure_ascii=False)


def read_schedules(text: str) -> list[Schedule]:
    """Inverse of `schedules_text`; invalid schedules are left out."""
    made = map(_schedule, listed(text))
    return [one for one in made if one is not None][:SCHEDULES_MAX]


def _schedule(fields: Mapping[str, Any]) -> Schedule | None:
    try:
        made = Schedule(
            report=str(fields["report"]),
            stores=tuple(map(str, fields["stores"])),
            parameters=tuple((str(name), str(value)) for name, value in fields["parameters"]),
            commit_log=str(fields["commit_log"]),
            also=tuple(map(str, fields["also"])),
            weekday=int(fields["weekday"]),
            minute=int(fields["minute"]),
        )
    except (KeyError, TypeError, ValueError, OverflowError):  # the last: JSON of Python knows infinity
        return None
    return made if made.weekday in DAYS and 0 <= made.minute < DAY_MINUTES else None
