from itertools import pairwise

import pytest

from monitoring.history.recorded_time import SteadyTime
from monitoring.history.tiers import DAY_MS, HOUR_MS, MINUTE_MS
from tests.unit.monitoring.history.conftest import BEGIN_MS

YEAR_MS = 366 * DAY_MS


@pytest.fixture
def steady(bench):
    """Of a day's run that has just ended."""
    bench.connection.execute("INSERT INTO runs VALUES (?, ?)", (BEGIN_MS - DAY_MS, BEGIN_MS))
    return SteadyTime(bench.connection)


def go_on(steady: SteadyTime, from_ms: int, length_ms: int) -> int:
    return [steady.at(at_ms) for at_ms in range(from_ms, from_ms + length_ms + 1, 10_000)][-1]


def test_an_empty_history_goes_by_the_clock(bench):
    assert SteadyTime(bench.connection).at(BEGIN_MS) == BEGIN_MS


def test_without_a_pause_it_is_the_clock(steady):
    assert go_on(steady, BEGIN_MS + MINUTE_MS, HOUR_MS) == BEGIN_MS + MINUTE_MS + HOUR_MS


def test_a_pause_does_not_count_at_once_and_is_caught_up(steady):
    assert steady.at(BEGIN_MS + 8 * HOUR_MS) == BEGIN_MS
    assert go_on(steady, BEGIN_MS + 8 * HOUR_MS, 2 * HOUR_MS) == BEGIN_MS + 4 * HOUR_MS
    assert go_on(steady, BEGIN_MS + 10 * HOUR_MS, 7 * HOUR_MS) == BEGIN_MS + 17 * HOUR_MS


def test_a_leap_of_any_size_is_believed_after_a_day(steady):
    assert go_on(steady, BEGIN_MS + YEAR_MS, DAY_MS - HOUR_MS) == BEGIN_MS + 2 * (DAY_MS - HOUR_MS)
    assert go_on(steady, BEGIN_MS + YEAR_MS + DAY_MS - HOUR_MS, HOUR_MS) == BEGIN_MS + YEAR_MS + DAY_MS


def test_the_next_start_knows_as_much(bench, steady):
    go_on(steady, BEGIN_MS + YEAR_MS, HOUR_MS)
    bench.connection.execute("INSERT INTO runs VALUES (?, ?)", (BEGIN_MS + YEAR_MS, BEGIN_MS + YEAR_MS + HOUR_MS))
    assert SteadyTime(bench.connection).at(BEGIN_MS + YEAR_MS + HOUR_MS) == BEGIN_MS + 2 * HOUR_MS


def test_when_the_clock_goes_back_the_leap_never_was(bench, steady):
    steady.at(BEGIN_MS + YEAR_MS)
    bench.connection.execute("INSERT INTO runs VALUES (?, ?)", (BEGIN_MS + YEAR_MS, BEGIN_MS + YEAR_MS + MINUTE_MS))
    assert steady.at(BEGIN_MS + MINUTE_MS) == BEGIN_MS + MINUTE_MS


def test_a_machine_that_rests_more_than_it_runs_lags_but_goes_on(steady):
    times = [go_on(steady, BEGIN_MS + day * DAY_MS, 8 * HOUR_MS) for day in range(1, 12)]
    assert all(later - earlier >= 8 * HOUR_MS for earlier, later in pairwise(times))
