"""When a disk is full, and when it is cleaned."""

import math
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from monitoring.disk import disk_growth, next_cleaning, reached_in_ms

SECONDS = np.arange(60.0)


def test_a_disk_that_fills_reaches_its_limit_in_proportion():
    growth = disk_growth(SECONDS, 1e9 + SECONDS * 1e6)
    assert reached_in_ms(1e9 + 59e6 + 100e6, growth) == pytest.approx(100_000)


def test_a_limit_that_is_reached_is_now():
    assert reached_in_ms(1e9, disk_growth(SECONDS, 1e9 + SECONDS)) == 0


@pytest.mark.parametrize("slope", [0.0, -1e6, 10.0])
def test_a_disk_that_does_not_fill_never_gets_there(slope):
    assert math.isinf(reached_in_ms(2e9, disk_growth(SECONDS, 1e9 + SECONDS * slope)))


def test_too_little_is_known_at_first():
    assert math.isnan(reached_in_ms(2e9, disk_growth(SECONDS[:3], 1e9 + SECONDS[:3])))
    assert math.isnan(reached_in_ms(math.nan, disk_growth(SECONDS, 1e9 + SECONDS)))


def test_the_direction_must_be_certain():
    noise = np.random.default_rng(3).normal(0, 5e8, 60)
    assert math.isnan(reached_in_ms(5e9, disk_growth(SECONDS, 1e9 + SECONDS * 1e3 + noise)))


@pytest.mark.parametrize(
    ("hours", "hour", "at"),
    [("04", 3, (21, 4)), ("04", 4, (21, 4)), ("04", 5, (22, 4)), ("04;16", 5, (21, 16)), ("00", 23, (22, 0))],
)
def test_the_next_cleaning_is_the_next_of_its_hours(hours, hour, at):
    found = next_cleaning(hours, datetime(2026, 11, 21, hour, 30, tzinfo=UTC))
    assert found is not None
    assert (found.day, found.hour, found.minute) == (*at, 0)


def test_no_hour_means_no_cleaning():
    assert next_cleaning("", datetime(2026, 11, 21, tzinfo=UTC)) is None


@pytest.mark.parametrize(
    ("now", "at"),
    [
        ("2026-03-28T20:00", "2026-03-29T01:00"),
        ("2026-10-24T20:00", "2026-10-25T02:00"),
        ("2026-10-25T03:10", "2026-10-26T02:00"),
    ],
)
def test_the_next_cleaning_around_a_clock_change_is_in_real_time(now, at):
    moment = datetime.fromisoformat(now).replace(tzinfo=UTC).astimezone(ZoneInfo("Europe/Berlin"))
    found = next_cleaning("03", moment)
    assert found.hour == 3
    assert found.astimezone(UTC) == datetime.fromisoformat(at).replace(tzinfo=UTC)
