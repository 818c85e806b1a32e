"""A wall clock that leaps, forward or back, and is put right later: nothing that was recorded gets lost or hidden."""

from __future__ import annotations

import numpy as np
import pytest

from broker_core.worker.questions.history import ReadEvents
from monitoring.history.database import retained_from_ms, rolled_until_ms, set_meta
from monitoring.history.subscriptions import SINCE, forget_subscriptions
from monitoring.history.upkeep import Upkeep
from spark_reports.samples.database import extent
from tests.unit.monitoring.history.conftest import BEGIN_MS, Bench, state_of

MINUTE, HOUR, DAY = 60, 3_600, 86_400
YEARS = 2 * 366 * DAY


def saw(second: int):
    return state_of(BEGIN_MS + second * 1_000, put_rate=float(second % 100), lag=5.0)


class Life:
    """Recording with the upkeep after each sample, as the worker does it; a new upkeep at each start."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.start()

    def start(self, **settings: int) -> None:
        self.upkeep = Upkeep(self.bench.connection, **settings)

    def record(self, from_s: int, to_s: int) -> None:
        for second in range(from_s, to_s):
            self.bench.recorder.add(saw(second))
            if second % 10 == 9 or second == to_s - 1:
                self.tidy(second)

    def tidy(self, second: int) -> None:
        while self.upkeep.turn(BEGIN_MS + second * 1_000):
            pass

    def rates(self, from_s: int, to_s: int, step_s: int = 1) -> dict[float, float]:
        line = self.bench.line("topic:orders.put_rate", from_s, to_s, points=(to_s - from_s) // step_s)
        return {at: last for at, last in zip(line["at"], line["last"], strict=True) if not np.isnan(last)}

    def lags(self, from_s: int, to_s: int, step_s: int = 1) -> list[float]:
        line = self.bench.line("group:billing.lag_messages", from_s, to_s, points=(to_s - from_s) // step_s)
        return [at for at, last in zip(line["at"], line["last"], strict=True) if last == 5.0]

    def event(self, second: int) -> None:
        self.bench.connection.execute(
            "INSERT INTO events (at_ms, kind, subject, text) VALUES (?, 'note', '', '')", (BEGIN_MS + second * 1_000,)
        )


@pytest.fixture
def life(bench):
    return Life(bench)


def as_it_was(seconds: range) -> dict[float, float]:
    return {float(second): float(second % 100) for second in seconds}


def test_a_leap_of_years_for_a_minute_leaves_all_that_was_and_all_that_comes(life):
    back = HOUR + 200
    life.event(5)
    life.record(0, back - MINUTE)
    life.record(YEARS, YEARS + MINUTE)
    life.record(back, 2 * HOUR + 130)
    assert life.rates(0, 2 * HOUR + 130) == as_it_was(range(back - MINUTE)) | as_it_was(range(back, 2 * HOUR + 130))
    coarse = life.rates(0, 2 * HOUR + 130, step_s=10)
    assert sorted(coarse) == [*range(0, back - MINUTE, 10), *range(back, 2 * HOUR + 130, 10)]
    assert life.lags(0, 2 * HOUR + 130, step_s=10) == sorted(coarse)
    assert life.bench.queries.events(ReadEvents(0, BEGIN_MS + DAY * 1_000)).total == 1
    assert rolled_until_ms(life.bench.connection, 1) == BEGIN_MS + 2 * HOUR * 1_000


def test_the_hour_in_which_the_clock_leapt_gets_its_coarse_slots(life):
    life.record(0, HOUR // 2)
    life.record(YEARS, YEARS + MINUTE)
    life.record(HOUR // 2 + MINUTE, HOUR + 70)
    rows = life.bench.rows(1)
    life.bench.connection.execute("DELETE FROM points WHERE tier=0 AND start<?", (BEGIN_MS // 1_000 + HOUR,))
    expected = [*range(0, HOUR // 2, 10), *range(HOUR // 2 + MINUTE, HOUR, 10)]
    assert sorted(life.rates(0, HOUR, step_s=10)) == expected
    assert rows > 0


def test_a_start_with_such_a_clock_and_one_after_it_was_put_right(bench, life):
    life.record(0, HOUR + 70)
    for _start in range(3):
        bench.recorder.end_run()
        life.start()
        life.record(YEARS + _start * 200, YEARS + _start * 200 + 70)
    bench.recorder.end_run()
    life.start()
    life.record(2 * HOUR, 2 * HOUR + 70)
    assert life.rates(0, 3 * HOUR) == as_it_was(range(HOUR + 70)) | as_it_was(range(2 * HOUR, 2 * HOUR + 70))


def test_what_was_recorded_with_the_wrong_clock_is_no_part_of_the_extent(life):
    life.record(0, 200)
    life.record(YEARS, YEARS + MINUTE)
    life.record(300, 410)
    _begin_ms, end_ms = extent(life.bench.connection)
    assert end_ms <= BEGIN_MS + 410_000


def test_half_a_day_ahead_for_a_minute_drops_no_seconds(life):
    life.record(0, HOUR + 70)
    life.record(DAY + HOUR // 2, DAY + HOUR // 2 + MINUTE)
    life.record(HOUR + 130, HOUR + 200)
    assert life.rates(0, HOUR + 70) == as_it_was(range(HOUR + 70))
    assert life.bench.rows(0) > HOUR // MINUTE


def test_a_pause_of_weeks_is_believed_when_a_day_was_recorded_after_it(bench, life):
    weeks = 21 * DAY
    life.record(0, HOUR + 70)
    life.record(weeks, weeks + 70)
    assert retained_from_ms(bench.connection, 0) < BEGIN_MS
    bench.recorder.end_run()
    bench.connection.execute("INSERT INTO runs VALUES (?, ?)", [BEGIN_MS + (weeks + at) * 1_000 for at in (100, DAY)])
    life.start()
    life.record(weeks + DAY, weeks + DAY + 70)
    assert retained_from_ms(bench.connection, 0) >= BEGIN_MS + HOUR * 1_000
    assert max(life.rates(weeks, weeks + 80)) == weeks + 69
    assert sorted(life.rates(0, HOUR, step_s=10)) == list(range(0, HOUR, MINUTE))


def test_a_history_that_a_leap_had_hidden_is_readable_again(bench, life):
    life.record(0, HOUR + 70)
    for tier in (1, 2, 3):
        set_meta(bench.connection, f"rolled_{tier}", BEGIN_MS + YEARS * 1_000)
    for tier in range(4):
        set_meta(bench.connection, f"retained_{tier}", BEGIN_MS + (YEARS - DAY) * 1_000)
    life.start()
    life.record(2 * HOUR, 3 * HOUR + 70)
    assert life.rates(2 * HOUR, 3 * HOUR + 70) == as_it_was(range(2 * HOUR, 3 * HOUR + 70))
    assert sorted(life.rates(2 * HOUR, 3 * HOUR, step_s=10)) == list(range(2 * HOUR, 3 * HOUR, 10))


@pytest.mark.parametrize("bytes_max", [1 << 30, 1])
def test_a_clock_that_is_behind_for_a_while_costs_nothing_of_what_is_ahead_of_it(life, bytes_max):
    life.record(YEARS, YEARS + 2 * HOUR + 70)
    kept = life.bench.rows(0), life.bench.rows(1)
    life.start(bytes_max=bytes_max)
    life.record(0, 70)
    assert len(life.rates(0, 70)) == 70
    assert (life.bench.rows(0), life.bench.rows(1)) >= kept
    life.start()
    life.record(YEARS + 2 * HOUR + 130, YEARS + 3 * HOUR + 70)
    assert life.rates(YEARS, YEARS + 2 * HOUR + 70) == as_it_was(range(YEARS, YEARS + 2 * HOUR + 70))
    assert len(life.rates(YEARS, YEARS + 3 * HOUR, step_s=10)) == 3 * 360 - 6


def test_coarse_slots_are_not_made_less_when_they_are_made_again(bench, life):
    life.record(0, HOUR + 70)
    bench.connection.execute("DELETE FROM points WHERE tier=0 AND start<?", (BEGIN_MS // 1_000 + HOUR // 2,))
    set_meta(bench.connection, "rolled_1", BEGIN_MS)
    life.tidy(HOUR + 80)
    assert sorted(life.rates(0, HOUR, step_s=10)) == list(range(0, HOUR, 10))


def test_the_last_minute_of_an_hour_is_in_its_coarse_slots(life):
    for second in range(HOUR - 120, HOUR + 70):
        life.bench.recorder.add(saw(second))
        life.tidy(second)
    life.bench.connection.execute("DELETE FROM points WHERE tier=0 AND start<?", (BEGIN_MS // 1_000 + HOUR,))
    assert sorted(life.rates(HOUR - 120, HOUR, step_s=10)) == list(range(HOUR - 120, HOUR, 10))


def test_the_time_of_a_wrong_clock_does_not_stand_for_that_of_subscriptions(life):
    with life.bench.connection as connection:
        connection.executemany(
            "INSERT INTO subscriptions (at_ms, grp, data) VALUES (?, ?, '{}')",
            [(BEGIN_MS, ""), (BEGIN_MS + YEARS * 1_000, "billing"), (BEGIN_MS + 5_000, ""), (BEGIN_MS + 6_000, "billing")],
        )
    forget_subscriptions(connection, BEGIN_MS + 5_500)
    (since_ms,) = connection.execute("SELECT value FROM meta WHERE name=?", (SINCE,)).fetchone()
    assert since_ms <= BEGIN_MS + 6_000


@pytest.mark.parametrize("starts_anew", [False, True])
def test_the_present_goes_on_over_what_was_recorded_ahead_of_it(bench, life, starts_anew):
    life.record(0, 200)
    life.record(600, 600 + 90)
    if starts_anew:
        bench.recorder.end_run()
        life.start()
    life.record(200, 1_000)
    assert life.lags(0, 1_000) == list(range(1_000))
    assert life.rates(0, 1_000) == as_it_was(range(1_000))


def test_a_run_within_another_replaces_the_rows_that_it_goes_over_and_no_more(bench, life):
    row_end = 300
    life.record(0, 500)
    bench.recorder.end_run()
    life.start()
    for second in range(100, 290):
        bench.recorder.add(state_of(BEGIN_MS + second * 1_000, put_rate=777.0, lag=9.0))
    bench.recorder.end_run()
    assert life.lags(0, 500) == [*range(100), *range(290, 500)]
    replaced = dict.fromkeys(map(float, range(100, 290)), 777.0)
    assert life.rates(0, 500) == as_it_was(range(100)) | replaced | as_it_was(range(row_end, 500))
