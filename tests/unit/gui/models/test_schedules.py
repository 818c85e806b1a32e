from datetime import UTC, datetime

from gui.models.schedules import DAILY, Schedule, due, read_schedules, schedules_text

SATURDAY = datetime(2026, 11, 21, 8, 30, tzinfo=UTC)
DAY = Schedule("throughput", ("/data",), (("from", "-24h"),), minute=8 * 60 + 30)
WEEK = Schedule("keys", ("/a", "/b"), also=("xlsx",), weekday=0, minute=23 * 60 + 59)


def test_a_daily_report_is_due_once_a_day():
    assert DAY.last_before(SATURDAY) == SATURDAY
    assert DAY.last_before(SATURDAY.replace(minute=29)) == SATURDAY.replace(day=20)
    assert due([DAY], SATURDAY.replace(minute=29), SATURDAY) == [DAY]
    assert due([DAY], SATURDAY, SATURDAY.replace(hour=23)) == []


def test_a_weekly_report_is_due_on_its_day():
    monday = datetime(2026, 11, 16, 23, 59, tzinfo=UTC)
    assert WEEK.last_before(SATURDAY) == monday
    assert WEEK.last_before(monday.replace(minute=58)) == datetime(2026, 11, 9, 23, 59, tzinfo=UTC)


def test_times_that_passed_in_sleep_count_once():
    assert due([DAY, WEEK], SATURDAY.replace(day=10), SATURDAY) == [DAY, WEEK]


def test_schedules_are_kept_as_text():
    assert read_schedules(schedules_text([DAY, WEEK])) == [DAY, WEEK]
    assert DAY.weekday == DAILY


def test_what_is_no_schedule_is_left_out():
    whole = schedules_text([DAY])
    broken, endless = whole.replace("510", "1440"), whole.replace("510", "Infinity")
    assert [read_schedules(text) for text in ("", "{", "[1, {}]", '{"a": 1}', broken, endless)] == [[]] * 6
