"""Report ``calendar``: weekday by hour, growth by day, and the size at the retention limit.

Growth is the slope of a line through the whole days of the range, without its first and last day, which are partial. A day
between others without messages counts; an hour of the week outside of the log is unknown.

Hours are compared by their messages in a real hour, because a clock change makes a local hour longer or shorter, come twice or
not at all. Tables and totals have the messages as they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportChart, ReportResult, ReportSeries, ReportTable
from spark_reports.reports.wording import duration_text, number, part
from spark_reports.transforms.local_hours import LocalHour, hours_between
from spark_reports.vocabulary import ValueUnit

FIRST = ("hours",)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WHOLE_DAYS_MIN = 3
HOURS_OF_WEEK = 7 * 24
FORECAST_DAYS = 30
DAYS_MAX = 3_660
CHANGES_TOLD_MAX = 20


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, "store_bytes")
    return {ACCOUNTING: source.accounting, "hours": by_hour(source.messages, reading.parameters.text("zone"))}


def first(found: QueryResults) -> ReportTable:
    days = _every_day(ordered(_summed(found["hours"], "day"), "day"))
    return table("by_day", "By day", days, totals=("messages", "store_bytes"))


def result(found: QueryResults) -> ReportResult:
    hours = found["hours"]
    grid = ordered(_summed(hours, "weekday", "hour"), "weekday", "hour")
    busy = ordered(_summed(hours, "day"), "day")
    by_day = first(found)
    days = by_day.data
    growth = _growth(days)
    keep_days = found.parameters.number("retention-hours") / 24
    covered = _covered(hours, found.parameters.text("zone"))
    heat = grid.set_column(0, "weekday", [[WEEKDAYS[index] for index in grid["weekday"].to_pylist()]])
    return found.result(
        headlines=(
            KeyFigure(found.messages, ValueUnit.COUNT, "messages", f"on {number(busy.num_rows, 'day')}"),
            KeyFigure(
                growth.mean, ValueUnit.BYTES, "stored a day", "mean of the whole days" if growth.is_whole else "no day is whole"
            ),
            KeyFigure(growth.slope, ValueUnit.BYTES, "more each day", "slope over the whole days"),
            KeyFigure(growth.mean * keep_days, ValueUnit.BYTES, "kept by retention", f"{keep_days:g} days at the mean rate"),
        ),
        findings=_findings(found, grid, covered, days, growth),
        charts=(_heat(grid, covered), _days(days)),
        tables=(
            table("by_weekday_hour", "By weekday and hour", heat, totals=("messages", "store_bytes")),
            by_day,
        ),
        notes=(
            f"Weekdays and hours are those of {found.parameters.text('zone')}.",
            *covered.changes,
            "Retention deletes the past: days that the broker has cleaned away are not in this report and not in its mean.",
        ),
    )


def _summed(hours: pa.Table, *keys: str) -> pa.Table:
    grouped = hours.group_by(list(keys)).aggregate([("messages", "sum"), ("store_bytes", "sum")])
    return grouped.rename_columns([name.removesuffix("_sum") for name in grouped.column_names])


def _every_day(days: pa.Table) -> pa.Table:
    known = {date.fromisoformat(row["day"]): row for row in rows_of(days)}
    if not known:
        return days
    first = min(known)
    if (max(known) - first).days > DAYS_MAX:  # a clock of the broker was wrong once
        return days
    every = [first + timedelta(days=place) for place in range((max(known) - first).days + 1)]
    rows = [known.get(day, {"day": day.isoformat(), "messages": 0, "store_bytes": 0}) for day in every]
    return pa.Table.from_pylist(rows, days.schema)


@dataclass(slots=True)
class _Covered:
    """Hours of the week, as weekday and hour, from the first with a message to the last.

    Attributes:
        times: How often the range has each that exists.
        real_hours: Real hours in all of these.
        changes: Sentences about local hours that do not last one real hour.
    """

    times: dict[tuple[int, int], int] = field(default_factory=dict)
    real_hours: dict[tuple[int, int], float] = field(default_factory=dict)
    changes: list[str] = field(default_factory=list)

    def add(self, one: LocalHour, zone: str) -> None:
        """Count a local hour."""
        place = one.day.weekday(), one.hour
        if one.real_hours:
            self.times[place] = self.times.get(place, 0) + 1
            self.real_hours[place] = self.real_hours.get(place, 0.0) + one.real_hours
        if one.real_hours != 1 and len(self.changes) < CHANGES_TOLD_MAX:
            at = f"{one.day.isoformat()} {one.hour:02d}:00"
            lasts = f"lasts {one.real_hours * 60:g} minutes" if one.real_hours else "does not exist"
            self.changes.append(f"The clock changes: the hour {at} {lasts} in {zone}.")

    def evenly(self, row: Mapping[str, Any]) -> float:
        """Messages of an hour of the week as if each of its times had lasted one real hour."""
        place = row["weekday"], row["hour"]
        return float(row["messages"]) * self.times.get(place, 1) / self.real_hours.get(place, 1.0)

    def rate(self, row: Mapping[str, Any]) -> float:
        """Messages of an hour of the week in a real hour."""
        return float(row["messages"]) / self.real_hours.get((row["weekday"], row["hour"]), 1.0)


def _covered(hours: pa.Table, zone: str) -> _Covered:
    marks = sorted((date.fromisoformat(row["day"]), row["hour"]) for row in rows_of(hours))
    covered, rules = _Covered(), ZoneInfo(zone)
    if not marks:
        return covered
    first, last = marks[0], marks[-1]
    # A clock of the broker that was wrong once does not make centuries of hours: the begin and the end cover every hour then.
    ends = [(first, last)]
    if (last[0] - first[0]).days > DAYS_MAX:
        week = timedelta(days=7)
        ends = [(first, (first[0] + week, first[1])), ((last[0] - week, last[1]), last)]
    for begin, end in ends:
        for one in hours_between(begin, end, rules):
            covered.add(one, zone)
    return covered


@dataclass(frozen=True, slots=True)
class _Growth:
    """Bytes a day: their mean over the days, and the slope of a line through them, NaN with too few whole ones."""

    mean: float
    slope: float
    days: int
    is_whole: bool

    def kept(self, keep_days: float, ahead_days: int) -> float:
        """Bytes of the retention period so many days after the end of the range, if the line continues."""
        middle = self.days - 1 + ahead_days - (keep_days - 1) / 2
        return max(0.0, self.mean + self.slope * (middle - (self.days - 1) / 2)) * keep_days


def _growth(days: pa.Table) -> _Growth:
    whole = days["store_bytes"].to_pylist()[1:-1]
    stored = np.array(whole or days["store_bytes"].to_pylist(), dtype=float)
    mean = float(stored.mean()) if len(stored) else float("nan")
    slope = float(np.polyfit(np.arange(len(stored)), stored, 1)[0]) if len(whole) >= WHOLE_DAYS_MIN else float("nan")
    return _Growth(mean, slope, len(stored), bool(whole))


def _findings(found: QueryResults, grid: pa.Table, covered: _Covered, days: pa.Table, growth: _Growth) -> list[str]:
    if not found.messages:
        return []
    rows = rows_of(grid)
    top, low = max(rows, key=covered.rate), min(rows, key=covered.rate)
    silent = len(covered.times) - len(rows)
    retention_hours = found.parameters.number("retention-hours")
    quietest = (
        f"{silent} of {len(covered.times)} hours of the week have no message."
        if silent
        else f"The quietest hour is {WEEKDAYS[low['weekday']]} {low['hour']:02d}:00 with {number(low['messages'], 'message')}."
    )
    sentences = [
        (
            f"{part(top['messages'], found.messages)} messages are stored on {WEEKDAYS[top['weekday']]} "
            f"from {top['hour']:02d}:00 to {top['hour'] + 1:02d}:00, the busiest hour of the week."
        ),
        *([quietest] if len(covered.times) > 1 else []),
        (
            f"At the mean rate the log holds {growth.mean * retention_hours / 24:,.0f} bytes after "
            f"{duration_text(retention_hours * 3.6e6)}"
            f" of retention; the log of this range has {total(days, 'store_bytes'):,} bytes."
        ),
    ]
    if not np.isnan(growth.slope):
        sentences += [
            f"Stored bytes {'grow' if growth.slope >= 0 else 'shrink'} by {abs(growth.slope):,.0f} bytes a day each day.",
            (
                f"If that goes on, retention holds {growth.kept(retention_hours / 24, FORECAST_DAYS):,.0f} bytes "
                f"{FORECAST_DAYS} days behind the end of the range."
            ),
        ]
    return sentences


def _heat(grid: pa.Table, covered: _Covered) -> ReportChart:
    cells = dict.fromkeys(covered.times, 0.0) | {(row["weekday"], row["hour"]): covered.evenly(row) for row in rows_of(grid)}
    series = tuple(
        ReportSeries(name, list(range(24)), [cells.get((index, hour), np.nan) for hour in range(24)])
        for index, name in enumerate(WEEKDAYS)
    )
    note = (
        ""
        if len(covered.times) == HOURS_OF_WEEK
        else f"The range has {len(covered.times)} of the 168 hours of a week; the others are empty."
    )
    return ReportChart("week", "Messages by weekday and hour", "heat", ValueUnit.COUNT, series, note)


def _days(days: pa.Table) -> ReportChart:
    values = [float(value) for value in days["store_bytes"].to_pylist()]
    return ReportChart(
        "days", "Stored bytes by day", "stack", ValueUnit.BYTES, (ReportSeries("stored", _noons(days), values),),
        "Counted by day.", words=True,
    )  # fmt: skip


def _noons(days: pa.Table) -> list[object]:
    """A moment of each day that is on the same date in almost all zones, because the window shows it in its own."""
    return [int(np.datetime64(f"{day}T12:00", "ms").astype(np.int64)) for day in days["day"].to_pylist()]


def by_hour(messages: DataFrame, zone: str) -> DataFrame:
    """A row for each hour in a time zone: day (date as text), weekday (0 is Monday), hour, messages, store_bytes."""
    local = F.from_utc_timestamp("store_time", zone)
    keys = [
        F.date_format(local, "yyyy-MM-dd").alias("day"),
        F.weekday(local).alias("weekday"),
        F.hour(local).alias("hour"),
    ]
    return messages.groupBy(*keys).agg(F.count("*").alias("messages"), F.sum("store_bytes").alias("store_bytes"))
