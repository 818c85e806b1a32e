"""Report ``calendar``: weekday by hour, growth by day, and the size at the retention limit.

Growth is the slope of a line through the whole days of the range, without its first and last day, which are partial. A day
between others without messages counts; an hour of the week outside of the log is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportChart, ReportResult, ReportSeries, ReportTable
from spark_reports.reports.wording import duration_text, number, part
from spark_reports.vocabulary import ValueUnit

FIRST = ("hours",)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WHOLE_DAYS_MIN = 3
HOURS_OF_WEEK = 7 * 24
FORECAST_DAYS = 30
DAYS_MAX = 3_660


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
    covered = _covered(hours)
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


def _covered(hours: pa.Table) -> frozenset[tuple[int, int]]:
    """Weekday and hour of all hours from the first with a message to the last."""
    marks = sorted((date.fromisoformat(row["day"]), row["hour"]) for row in rows_of(hours))
    if not marks:
        return frozenset()
    (first_day, first_hour), (last_day, last_hour) = marks[0], marks[-1]
    count = min(HOURS_OF_WEEK, (last_day - first_day).days * 24 + last_hour - first_hour + 1)
    begin = first_day.weekday() * 24 + first_hour
    return frozenset(divmod((begin + place) % HOURS_OF_WEEK, 24) for place in range(count))


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


def _findings(
    found: QueryResults, grid: pa.Table, covered: frozenset[tuple[int, int]], days: pa.Table, growth: _Growth
) -> list[str]:
    if not found.messages:
        return []
    rows = rows_of(grid)
    top, low = max(rows, key=lambda row: row["messages"]), min(rows, key=lambda row: row["messages"])
    silent = len(covered) - len(rows)
    retention_hours = found.parameters.number("retention-hours")
    sentences = [
        (
            f"{part(top['messages'], found.messages)} messages are stored on {WEEKDAYS[top['weekday']]} "
            f"from {top['hour']:02d}:00 to {top['hour'] + 1:02d}:00, the busiest hour of the week."
        ),
        f"{silent} of {len(covered)} hours of the week have no message."
        if silent
        else f"The quietest hour is {WEEKDAYS[low['weekday']]} {low['hour']:02d}:00 with {number(low['messages'], 'message')}.",
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


def _heat(grid: pa.Table, covered: frozenset[tuple[int, int]]) -> ReportChart:
    cells = dict.fromkeys(covered, 0.0) | {(row["weekday"], row["hour"]): float(row["messages"]) for row in rows_of(grid)}
    series = tuple(
        ReportSeries(name, list(range(24)), [cells.get((index, hour), np.nan) for hour in range(24)])
        for index, name in enumerate(WEEKDAYS)
    )
    note = (
        ""
        if len(covered) == HOURS_OF_WEEK
        else f"The range has {len(covered)} of the 168 hours of a week; the others are empty."
    )
    return ReportChart("week", "Messages by weekday and hour", "heat", ValueUnit.COUNT, series, note)


def _days(days: pa.Table) -> ReportChart:
    values = [float(value) for value in days["store_bytes"].to_pylist()]
    return ReportChart(
        "days", "Stored bytes by day", "stack", ValueUnit.BYTES, (ReportSeries("stored", _noons(days), values),),
        "One bar is one day.", words=True,
    )  # fmt: skip


def _noons(days: pa.Table) -> list[object]:
    return [int(np.datetime64(f"{day}T00:00", "ms").astype(np.int64)) for day in days["day"].to_pylist()]


def by_hour(messages: DataFrame, zone: str) -> DataFrame:
    """A row for each hour in a time zone: day (date as text), weekday (0 is Monday), hour, messages, store_bytes."""
    local = F.from_utc_timestamp("store_time", zone)
    keys = [
        F.date_format(local, "yyyy-MM-dd").alias("day"),
        F.weekday(local).alias("weekday"),
        F.hour(local).alias("hour"),
    ]
    return messages.groupBy(*keys).agg(F.count("*").alias("messages"), F.sum("store_bytes").alias("store_bytes"))
