from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import UsageError
from spark_reports.parameters import parse_time, read_parameters, time_text

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    ("text", "epoch_ms"),
    [
        ("now", NOW),
        ("-90s", NOW - 90_000),
        ("-30m", NOW - 1_800_000),
        ("-2h", NOW - 7_200_000),
        ("-7d", NOW - 604_800_000),
        ("1690000000123", 1_690_000_000_123),
        ("2023-11-14T22:13:20Z", NOW),
        ("2023-11-14T22:13:20.5+00:00", NOW + 500),
        (" 2023-11-15T00:13:20+02:00 ", NOW),
    ],
)
def test_times_are_read(text, epoch_ms):
    assert parse_time(text, now_ms=NOW) == epoch_ms


def test_a_time_without_a_zone_is_local():
    local = datetime(2023, 11, 14, 12, 0).astimezone()
    assert parse_time("2023-11-14T12:00", now_ms=NOW) == int(local.timestamp() * 1000)


@given(st.text(max_size=30))
def test_any_text_is_a_time_or_refused(text):
    try:
        epoch_ms = parse_time(text, now_ms=NOW)
    except UsageError:
        return
    assert isinstance(epoch_ms, int)


@given(st.integers(0, 4_000_000_000_000))
def test_written_times_read_back(epoch_ms):
    assert parse_time(time_text(epoch_ms), now_ms=NOW) == epoch_ms


def test_an_empty_range_is_refused_with_both_ends():
    with pytest.raises(UsageError, match=r"2023-11-14T22:13:20\.000Z is not before --to 2023-11-14T21:13:20\.000Z"):
        read_parameters("now", "-1h", [], now_ms=NOW)


def test_topics_are_kept_once_in_order():
    assert read_parameters(None, None, ["b", "a", "b"], now_ms=NOW).topics == ("b", "a")


def test_time_text_is_utc():
    assert time_text(NOW) == datetime.fromtimestamp(NOW / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
