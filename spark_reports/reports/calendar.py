"""Report ``calendar``: weekday by hour, growth by day, and what retention will hold.

Growth is the slope of a line through the whole days of the range, its first and last day left away because they are cut.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame

from spark_reports.reading import Reading
from spark_reports.reports.common import ACCOUNTING, Found, ordered, read, rows_of, table, total
from spark_reports.reports.result import Chart, Headline, ReportResult, Series
from spark_reports.reports.wording import duration_text, number, part
from spark_reports.transforms.calendar import by_hour
from spark_reports.vocabulary import Unit

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
WHOLE_DAYS_MIN = 3


def queries(reading: Reading) -> dict[str, DataFrame]:
    """Messages and bytes by hour."""
    source = read(reading, "store_bytes")
    return {ACCOUNTING: source.accounting, "hours": by_hour(source.messages, reading.parameters.text("zone"))}


def result(found: Found) -> ReportResult:
    """Heat map, days, growth and forecast."""
    hours = found["hours"]
    grid = ordered(_summed(hours, "weekday", "hour"), "weekday", "hour")
    days = ordered(_summed(hours, "day"), "day")
    slope, mean = _growth(days)
    keep_days = found.parameters.number("retention-hours") / 24
    kept = mean * keep_days
    heat = grid.set_column(0, "weekday", [[WEEKDAYS[index] for index in grid["weekday"].to_pylist()]])
    return found.result(
        headlines=(
            Headline(found.messages, Unit.COUNT, "messages", f"on {number(days.num_rows, 'day')}"),
            Headline(mean, Unit.BYTES, "stored a day", "mean of the whole days"),
            Headline(slope, Unit.BYTES, "more each day", "slope over the whole days"),
            Headline(kept, Unit.BYTES, "kept by retention", f"{keep_days:g} days at the mean rate"),
        ),
        findings=_findings(found, grid, days, slope, kept),
        charts=(_heat(grid), _days(days)),
        tables=(
            table("by_weekday_hour", "By weekday and hour", heat, totals=("messages", "store_bytes")),
            table("by_day", "By day", days, totals=("messages", "store_bytes")),
        ),
        notes=(
            f"Weekdays and hours are those of {found.parameters.text('zone')}.",
            "Retention deletes the past: days that the broker has cleaned away are not in this report and not in its mean.",
        ),
    )


def _summed(hours: pa.Table, *keys: str) -> pa.Table:
    grouped = hours.group_by(list(keys)).aggregate([("messages", "sum"), ("store_bytes", "sum")])
    return grouped.rename_columns([name.removesuffix("_sum") for name in grouped.column_names])


def _growth(days: pa.Table) -> tuple[float, float]:
    """Slope and mean in bytes a day over the whole days; the slope is NaN with too few of them."""
    stored = np.array(days["store_bytes"].to_pylist()[1:-1] or days["store_bytes"].to_pylist(), dtype=float)
    if len(stored) < WHOLE_DAYS_MIN:
        return float("nan"), float(stored.mean()) if len(stored) else float("nan")
    return float(np.polyfit(np.arange(len(stored)), stored, 1)[0]), float(stored.mean())


def _findings(found: Found, grid: pa.Table, days: pa.Table, slope: float, kept: float) -> list[str]:
    if not found.messages:
        return []
    rows = rows_of(grid)
    top, low = max(rows, key=lambda row: row["messages"]), min(rows, key=lambda row: row["messages"])
    silent = 7 * 24 - len(rows)
    sentences = [
        (
            f"{part(top['messages'], found.messages)} messages are stored on {WEEKDAYS[top['weekday']]} "
            f"from {top['hour']:02d}:00 to {top['hour'] + 1:02d}:00, the busiest hour of the week."
        ),
        f"{silent} of 168 hours of the week have no message."
        if silent
        else f"The quietest hour is {WEEKDAYS[low['weekday']]} {low['hour']:02d}:00 with {number(low['messages'], 'message')}.",
        (
            f"At the mean rate the log holds {kept:,.0f} bytes after "
            f"{duration_text(found.parameters.number('retention-hours') * 3.6e6)}"
            f" of retention; the log of this range has {total(days, 'store_bytes'):,} bytes."
        ),
    ]
    if not np.isnan(slope):
        sentences.append(f"Stored bytes {'grow' if slope >= 0 else 'shrink'} by {abs(slope):,.0f} bytes a day each day.")
    return sentences


def _heat(grid: pa.Table) -> Chart:
    cells = {(row["weekday"], row["hour"]): float(row["messages"]) for row in rows_of(grid)}
    series = tuple(
        Series(name, list(range(24)), [cells.get((index, hour), 0.0) for hour in range(24)])
        for index, name in enumerate(WEEKDAYS)
    )
    return Chart("week", "Messages by weekday and hour", "heat", Unit.COUNT, series)


def _days(days: pa.Table) -> Chart:
    values = [float(value) for value in days["store_bytes"].to_pylist()]
    return Chart(
        "days", "Stored bytes by day", "stack", Unit.BYTES, (Series("stored", _noons(days), values),), "One bar is one day."
    )


def _noons(days: pa.Table) -> list[object]:
    return [int(np.datetime64(f"{day}T00:00", "ms").astype(np.int64)) for day in days["day"].to_pylist()]
