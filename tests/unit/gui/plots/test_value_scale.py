"""Round values and times of axes."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.plots.value_scale import TIMES_MAX, round_time_text, round_times, value_text
from gui.words.text import TimeZoneChoice

UTC_TIMES = TimeZoneChoice(utc=True)
NOON_S = datetime(2026, 11, 30, 12, tzinfo=UTC).timestamp()


def texts(from_s: float, to_s: float, width: float = 900, times: TimeZoneChoice = UTC_TIMES) -> list[str]:
    step, ticks = round_times(times, from_s, to_s, width)
    return [round_time_text(times, at_s, step) for at_s in ticks]


@pytest.mark.parametrize(
    ("from_s", "length_s", "shown"),
    [
        (17, 900, ["12:03", "12:06", "12:09", "12:12", "12:15"]),
        (7, 60, ["12:00:10", "12:00:20", "12:00:30", "12:00:40", "12:00:50", "12:01:00"]),
        (0.25, 0.02, ["12:00:00.250", "12:00:00.255", "12:00:00.260", "12:00:00.265", "12:00:00.270"]),
        (0, 2 * 86_400, ["12:00", "12-01", "12:00", "12-02", "12:00"]),
        (0, 5 * 86_400, ["12-01", "12-02", "12-03", "12-04", "12-05"]),
    ],
    ids=["minutes", "seconds", "milliseconds", "half days", "days"],
)
def test_times_are_round_and_as_precise_as_they_need_to_be(from_s, length_s, shown):
    assert texts(NOON_S + from_s, NOON_S + from_s + length_s) == shown


def test_a_narrow_axis_has_few_times():
    assert texts(NOON_S + 17, NOON_S + 917, width=200) == ["12:10"]
    assert texts(NOON_S + 17, NOON_S + 917, width=10) == ["12:10"]


def test_days_begin_at_midnight_of_the_chosen_zone(monkeypatch):
    times = TimeZoneChoice(utc=False)
    monkeypatch.setattr(type(times), "zone", property(lambda _self: ZoneInfo("Asia/Kolkata")))
    monkeypatch.setattr(type(times), "moment", lambda one, at_ms: datetime.fromtimestamp(at_ms / 1_000, one.zone))
    _step, ticks = round_times(times, NOON_S, NOON_S + 3 * 86_400, 900)
    assert datetime.fromtimestamp(ticks[0], UTC) - datetime(2026, 11, 30, tzinfo=UTC) == timedelta(hours=18, minutes=30)


@pytest.mark.parametrize(
    ("zone", "from_day", "shown"),
    [
        ("America/St_Johns", "2026-03-05", ["03-06", "03-07", "03-08", "03-09", "03-10"]),
        ("America/St_Johns", "2026-10-29", ["10-30", "10-31", "11-01", "11-02", "11-03"]),
        ("EST5EDT,M3.2.0,M11.1.0", "2026-03-05", ["03-06", "03-07", "03-08", "03-09", "03-10"]),
        ("Australia/Lord_Howe", "2026-10-01", ["10-02", "10-03", "10-04", "10-05", "10-06"]),
        ("Asia/Kathmandu", "2026-03-05", ["03-06", "03-07", "03-08", "03-09", "03-10"]),
    ],
)
def test_days_begin_at_midnight_before_and_after_a_clock_change(monkeypatch, zone, from_day, shown):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    times, noon = TimeZoneChoice(), datetime.fromisoformat(f"{from_day}T12:00").timestamp()
    step, ticks = round_times(times, noon, noon + 5 * 86_400, 600)
    begins = [times.full(at_s * 1_000) for at_s in ticks]
    monkeypatch.undo()
    time.tzset()
    assert step == 86_400
    assert begins == [f"2026-{day} 00:00:00.000" for day in shown]


@given(from_s=st.floats(0, 4e9, allow_nan=False), length_s=st.floats(0.005, 1e9, allow_nan=False), width=st.floats(1, 4_000))
def test_times_rise_inside_the_span_and_have_room(from_s, length_s, width):
    step, ticks = round_times(UTC_TIMES, from_s, from_s + length_s, width)
    assert 1 <= len(ticks) <= TIMES_MAX + 1 or step == 61 * 86_400
    assert all(from_s - step / 1_000 <= at_s <= from_s + length_s + step / 1_000 for at_s in ticks)
    assert ticks == sorted(set(ticks))


@pytest.mark.parametrize(
    ("step", "values"),
    [(0.1, ["0", "0.1", "0.2"]), (0.25, ["0", "0.25", "0.5"]), (1, ["0", "1", "2"]), (5_000, ["0", "5,000", "10k"])],
)
def test_values_of_an_axis_differ(step, values):
    assert [value_text(step * number, step) for number in range(3)] == values
