"""Days without messages, hours that a range does not reach, and what retention will hold; without Spark."""

import math
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from spark_reports.parameters import ReportParameters
from spark_reports.reports import calendar
from spark_reports.reports.common import ACCOUNTING, QueryResults

MONDAY = date(2026, 3, 2)
SCHEMA = pa.schema(
    [("day", pa.string()), ("weekday", pa.int32()), ("hour", pa.int32()), ("messages", pa.int64()), ("store_bytes", pa.int64())]
)


def result_of(*hours, retention_hours=72):
    """From days behind the Monday, hour and bytes."""
    made = []
    for day, hour, stored in hours:
        at = MONDAY + timedelta(days=day)
        made.append({"day": at.isoformat(), "weekday": at.weekday(), "hour": hour, "messages": 1, "store_bytes": stored})
    totals = {"skipped_reason": [None], "messages": [len(made)], "first_time": [None], "last_time": [None]}
    accounting = pa.table(totals).append_column("skipped_store", pa.nulls(1, pa.string()))
    values = {"zone": "UTC", "retention-hours": retention_hours}
    tables = {ACCOUNTING: accounting, "hours": pa.Table.from_pylist(made, SCHEMA)}
    return calendar.result(QueryResults(tables, ReportParameters(values=values)))


def days_of(result):
    return {
        row["day"]: row["store_bytes"] for row in next(one for one in result.tables if one.name == "by_day").data.to_pylist()
    }


def test_a_day_without_a_message_between_others_counts_as_one():
    result = result_of((0, 5, 90), (1, 5, 100), (3, 5, 200), (4, 5, 70))
    assert days_of(result) == {"2026-03-02": 90, "2026-03-03": 100, "2026-03-04": 0, "2026-03-05": 200, "2026-03-06": 70}
    assert (result.headlines[0].note, result.headlines[1].value) == ("on 4 days", 100)


@pytest.mark.parametrize("zone", ["America/St_Johns", "America/Los_Angeles", "Asia/Kathmandu", "Australia/Lord_Howe"])
def test_days_of_the_chart_have_their_date_in_zones_of_readers(zone):
    (days,) = [one for one in result_of((0, 5, 90), (1, 5, 100)).charts if one.name == "days"]
    shown = [datetime.fromtimestamp(at_ms / 1_000, ZoneInfo(zone)).date() for at_ms in days.series[0].x]
    assert shown == [MONDAY, MONDAY + timedelta(days=1)]


def test_hours_that_the_range_does_not_reach_are_not_known():
    result = result_of((0, 22, 1), (1, 1, 1))
    heat = result.charts[0]
    known = {(row.name, hour): y for row in heat.series for hour, y in zip(row.x, row.y, strict=True) if not math.isnan(y)}
    assert known == {("Monday", 22): 1.0, ("Monday", 23): 0.0, ("Tuesday", 0): 0.0, ("Tuesday", 1): 1.0}
    assert result.findings[1] == "2 of 4 hours of the week have no message."
    assert heat.note.startswith("The range has 4 of the 168 hours")
    assert (result.headlines[1].note, math.isnan(result.headlines[2].value)) == ("no day is whole", True)
    week = result_of((0, 0, 1), (8, 0, 1)).charts[0]
    assert (week.note, sum(math.isnan(y) for one in week.series for y in one.y)) == ("", 0)


def test_growth_says_what_retention_will_hold():
    result = result_of(*((day, 0, 1_000 + 10 * day) for day in range(12)), retention_hours=48)
    assert result.headlines[2].value == pytest.approx(10)
    held = (1_000 + 10 * (10 + 30)) + (
        1_000 + 10 * (10 + 29)
    )  # the line, on the last two of the days; the tenth is the last whole one
    assert result.findings[-1] == f"If that goes on, retention holds {held:,.0f} bytes 30 days behind the end of the range."
    assert (
        result_of(*((day, 0, 1_000 - 90 * day) for day in range(12)))
        .findings[-1]
        .startswith("If that goes on, retention holds 0 bytes")
    )


def test_a_clock_that_was_wrong_once_does_not_fill_a_century():
    assert len(days_of(result_of((0, 0, 1), (40_000, 0, 1)))) == 2


# ---- clock changes: a message a minute -----------------------------------------------------------------------------------


def steady(zone, begin, hours):
    """The report on one message a minute of so many real hours from an instant on."""
    made: dict[tuple[str, int, int], int] = {}
    for minute in range(round(hours * 60)):
        local = (begin + timedelta(minutes=minute)).astimezone(ZoneInfo(zone))
        key = local.date().isoformat(), local.weekday(), local.hour
        made[key] = made.get(key, 0) + 1
    rows = [
        {"day": day, "weekday": weekday, "hour": hour, "messages": count, "store_bytes": count}
        for (day, weekday, hour), count in made.items()
    ]
    totals = {"skipped_reason": [None], "messages": [round(hours * 60)], "first_time": [None], "last_time": [None]}
    accounting = pa.table(totals).append_column("skipped_store", pa.nulls(1, pa.string()))
    tables = {ACCOUNTING: accounting, "hours": pa.Table.from_pylist(rows, SCHEMA)}
    return calendar.result(QueryResults(tables, ReportParameters(values={"zone": zone, "retention-hours": 72})))


def cells(result):
    return {
        (row.name, hour): y
        for row in result.charts[0].series
        for hour, y in zip(row.x, row.y, strict=True)
        if not math.isnan(y)
    }


@pytest.mark.parametrize(
    ("zone", "begin", "hours", "change"),
    [
        ("Europe/Berlin", datetime(2026, 10, 24, 22, tzinfo=UTC), 28, "2026-10-25 02:00 lasts 120 minutes"),
        ("Europe/Berlin", datetime(2026, 3, 28, 23, tzinfo=UTC), 28, "2026-03-29 02:00 does not exist"),
        ("America/New_York", datetime(2026, 11, 1, 4, tzinfo=UTC), 26, "2026-11-01 01:00 lasts 120 minutes"),
        ("America/New_York", datetime(2026, 3, 8, 5, tzinfo=UTC), 26, "2026-03-08 02:00 does not exist"),
        ("Australia/Lord_Howe", datetime(2026, 4, 4, 13, tzinfo=UTC), 24.5, "2026-04-05 01:00 lasts 90 minutes"),
        ("Australia/Lord_Howe", datetime(2026, 10, 3, 13, 30, tzinfo=UTC), 23.5, "2026-10-04 02:00 lasts 30 minutes"),
    ],
)
def test_a_clock_change_makes_no_busy_and_no_silent_hour(zone, begin, hours, change):
    result = steady(zone, begin, hours)
    assert f"The clock changes: the hour {change} in {zone}." in result.notes
    assert result.findings[1].startswith("The quietest hour"), "no hour is silent"
    assert set(cells(result).values()) == {60.0}
    grid = next(one for one in result.tables if one.name == "by_weekday_hour").data.to_pylist()
    days = next(one for one in result.tables if one.name == "by_day").data.to_pylist()
    assert sum(row["messages"] for row in grid) == sum(row["messages"] for row in days) == hours * 60


def test_an_hour_that_comes_twice_is_not_the_busiest_and_one_that_is_twice_as_busy_is():
    begin = datetime(2026, 10, 24, 22, tzinfo=UTC)
    busiest = steady("Europe/Berlin", begin, 28).findings[0]
    assert "from 02:00 to 03:00" not in busiest
    assert "60 of 1,680" in busiest


def test_a_single_hour_is_the_busiest_and_not_the_quietest_as_well():
    findings = steady("UTC", datetime(2026, 10, 24, 16, tzinfo=UTC), 1).findings
    assert "the busiest hour" in findings[0]
    assert not [line for line in findings if "quietest" in line]


def test_a_zone_without_changes_counts_as_before():
    result = steady("Asia/Shanghai", datetime(2026, 10, 24, 16, tzinfo=UTC), 30)
    assert not [note for note in result.notes if "clock" in note]
    assert len(cells(result)) == 30
    assert set(cells(result).values()) == {60.0}
