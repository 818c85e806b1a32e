from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.tools.search.literals import parse_size, parse_time

NOW_MS = 1_700_000_000_000
EAST = timezone(timedelta(hours=8))


@given(st.integers(0, 7_258_118_400_000_000))
def test_a_time_written_as_iso_8601_is_that_time(microseconds):
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=microseconds)
    expected = microseconds // 1_000
    assert parse_time(moment.isoformat(), NOW_MS) == expected
    assert parse_time(moment.astimezone(EAST).isoformat(sep=" "), NOW_MS) == expected
    assert parse_time(moment.astimezone(EAST).replace(tzinfo=None).isoformat(), NOW_MS, EAST) == expected


def test_times_of_any_precision():
    assert parse_time("2023-11-15", NOW_MS, EAST) == 1_699_977_600_000
    assert parse_time("2023-11-15T06:13", NOW_MS, EAST) == 1_699_999_980_000
    assert parse_time("2023-11-15T06:13:20.5", NOW_MS, EAST) == 1_700_000_000_500


@pytest.mark.parametrize("offset", ["+05:30", "+0530", "-03", "-03:00", "Z", "z", "+00"])
def test_times_of_any_zone(offset):
    minutes = {"+05:30": 330, "+0530": 330, "-03": -180, "-03:00": -180}.get(offset, 0)
    assert parse_time(f"2023-11-14T22:13:20{offset}", NOW_MS, EAST) == 1_700_000_000_000 - minutes * 60_000


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [("-500ms", 500), ("-30s", 30_000), ("-15m", 900_000), ("-1w2d", 777_600_000)],
)
def test_times_before_now(text, milliseconds):
    assert parse_time(text, NOW_MS) == NOW_MS - milliseconds


HUGE = "9" * 400


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-",
        "-5",
        "5m",
        "-5y",
        f"-{HUGE}d",
        f"-1.{HUGE}d",
        "-1s" * 99,
        HUGE,
        "2023-02-30",
        "2023-01-01T",
        "2023-01-01T25:00",
        "tomorrow",
    ],
)
def test_what_is_no_time(text):
    assert parse_time(text, NOW_MS) is None


@pytest.mark.parametrize(
    ("text", "size"),
    [("0", 0), ("200", 200), ("10KB", 10_240), ("10kib", 10_240), ("1.5MB", 1_572_864), ("2GB", 2 << 30)],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "-1", "KB", "1.5", "1 KB", "1XB", "1e3", HUGE, f"{HUGE}TB", f"1.{HUGE}KB"])
def test_what_is_no_size(text):
    assert parse_size(text) is None
