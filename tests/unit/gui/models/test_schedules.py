from datetime import UTC, datetime
from zoneinfo import ZoneInfo

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


def test_a_report_of_every_night_is_due_at_its_local_time_also_around_a_clock_change():
    berlin, night = ZoneInfo("Europe/Berlin"), Schedule("throughput", ("/data",), minute=2 * 60 + 30)

    def last(text):
        now = datetime.fromisoformat(text).replace(tzinfo=UTC).astimezone(berlin)
        return night.last_before(now).astimezone(UTC).isoformat()[:16]

    assert last("2026-03-28T12:00") == "2026-03-28T01:30"
    assert last("2026-03-29T00:59") == "2026-03-28T01:30"
    assert last("2026-03-29T01:00") == "2026-03-29T01:00", "02:30 does not exist: at the end of the gap"
    assert last("2026-03-30T12:00") == "2026-03-30T00:30"
    assert last("2026-10-25T00:29") == "2026-10-24T00:30"
    assert last("2026-10-25T00:30") == last("2026-10-25T12:00") == "2026-10-25T00:30", "02:30 comes twice: once"
    assert last("2026-10-26T12:00") == "2026-10-26T01:30"
