from functools import partial

import numpy as np
import pytest

from monitoring.history.database import retained_from_ms, rolled_until_ms, set_meta, used_bytes
from monitoring.history.rows import Points
from monitoring.history.tiers import TIERS, encode
from monitoring.history.upkeep import summed_up
from tests.unit.monitoring.history.conftest import BEGIN_MS, state_of

HOUR, DAY = 3_600, 86_400


def at(second: int, **figures):
    return state_of(BEGIN_MS + second * 1_000, **figures)


def saw(second: int):
    return at(second, put_rate=float(second % 100), lag=5.0)


def test_an_hour_becomes_slots_of_ten_seconds_with_extremes(bench):
    bench.record(0, HOUR + 120, saw)
    bench.upkeep(HOUR + 120)
    assert rolled_until_ms(bench.connection, 1) == BEGIN_MS + HOUR * 1_000
    line = bench.line("topic:orders.put_rate", 0, HOUR, points=360)
    assert line["at"] == list(range(0, HOUR, 10))
    assert line["low"] == [float(second % 100) for second in range(0, HOUR, 10)]
    assert line["high"] == line["last"] == [float(second % 100 + 9) for second in range(0, HOUR, 10)]


def test_coarse_and_fine_join_without_a_seam(bench):
    bench.record(0, HOUR + 500, saw)
    bench.upkeep(HOUR + 500)
    line = bench.line("topic:orders.put_rate", 0, HOUR + 500, points=410)
    assert line["at"] == list(range(0, HOUR + 500, 10))
    assert not np.isnan(line["last"]).any()
    assert set(bench.line("group:billing.lag_messages", 0, HOUR + 500, points=410)["last"]) == {5.0}


def test_what_holds_goes_on_after_a_window_in_which_it_changed(bench):
    bench.record(0, 100, saw)
    bench.record(100, 2 * HOUR + 100, partial(at, put_rate=3.0))
    bench.upkeep(2 * HOUR + 100)
    line = bench.line("topic:orders.put_rate", 0, 2 * HOUR, points=720)
    assert line["at"] == list(range(0, 2 * HOUR, 10))
    assert set(line["last"][10:]) == {3.0}


def test_an_hour_without_a_run_is_passed_over_and_a_gap(bench):
    bench.record(100, 400, saw)
    bench.record(50 * HOUR, 51 * HOUR + 130, saw)
    bench.upkeep(51 * HOUR + 130)
    assert rolled_until_ms(bench.connection, 1) == BEGIN_MS + 51 * HOUR * 1_000
    line = bench.line("topic:orders.put_rate", 0, 51 * HOUR, points=51 * 360)
    assert line["at"] == [*range(100, 400, 10), 400, *range(50 * HOUR, 51 * HOUR, 10)]


def fill_minutes(bench, days: int) -> None:
    """One figure by the minute, counting up, as the upkeep makes them; and the samples that it would be made from."""
    bench.record(0, 70, saw)
    bench.record(days * DAY - 70, days * DAY + 61, saw)
    (subject,) = bench.connection.execute("SELECT id FROM subjects WHERE kind='topic'").fetchone()
    layout = bench.recorder._numbers.layout(("put_rate",))
    for day in range(days):
        minutes = np.arange(day * 1_440, (day + 1) * 1_440, dtype=np.float64)
        row = (2, subject, BEGIN_MS // 60_000 + day * 1_440, 0, layout, encode(np.stack([minutes] * 3, axis=1)))
        bench.connection.execute("INSERT INTO points VALUES (?, ?, ?, ?, ?, ?)", row)
    for tier in (1, 2):
        set_meta(bench.connection, f"rolled_{tier}", BEGIN_MS + days * DAY * 1_000)


def test_minutes_become_hours(bench):
    fill_minutes(bench, 40)
    bench.upkeep(40 * DAY)
    begin_ms = rolled_until_ms(bench.connection, 3)
    assert BEGIN_MS < begin_ms <= BEGIN_MS + 40 * DAY * 1_000
    line = bench.line("topic:orders.put_rate", 0, 30 * DAY, points=720)
    assert line["at"] == list(range(0, 30 * DAY, HOUR))
    assert line["low"] == list(range(0, 30 * 1_440, 60))
    assert line["high"] == list(range(59, 30 * 1_440, 60))


def test_seconds_are_dropped_after_a_day_and_read_from_the_coarser_tier(bench):
    bench.record(0, HOUR + 70, saw)
    bench.upkeep(HOUR + 70)
    bench.upkeep(DAY + HOUR)
    assert retained_from_ms(bench.connection, 0) == BEGIN_MS + HOUR * 1_000
    line = bench.line("topic:orders.put_rate", 0, HOUR, points=3_600)
    assert line["at"] == list(range(0, HOUR, 10))
    assert bench.line("topic:orders.put_rate", HOUR, HOUR + 70)["at"] == list(range(HOUR, HOUR + 70))


def test_nothing_is_dropped_before_the_coarser_tier_has_it(bench):
    bench.record(0, HOUR // 2, saw)
    bench.upkeep(400 * DAY)
    assert bench.line("topic:orders.put_rate", 0, HOUR // 2)["at"] == list(range(HOUR // 2))


def test_what_holds_survives_the_deletion_of_older_rows(bench):
    bench.record(0, HOUR + 70, partial(at, put_rate=3.0))
    bench.upkeep(HOUR + 70)
    bench.upkeep(DAY + HOUR)
    assert set(bench.line("topic:orders.put_rate", HOUR, HOUR + 70)["last"]) == {3.0}


def test_a_run_that_ended_before_the_cut_leaves_nothing(bench):
    bench.record(0, 70, partial(at, put_rate=3.0))
    bench.record(3 * HOUR, 4 * HOUR + 70, saw)
    bench.upkeep(4 * HOUR + 70)
    bench.upkeep(DAY + 4 * HOUR)
    (oldest,) = bench.connection.execute("SELECT MIN(start) FROM points WHERE tier=0").fetchone()
    assert oldest == BEGIN_MS // 1_000 + 3 * HOUR


def test_beyond_its_size_it_gives_up_the_finest_oldest_samples(bench):
    bench.record(0, 2 * HOUR + 70, saw)
    bench.upkeep(2 * HOUR + 70)
    before, rows = used_bytes(bench.connection), bench.rows()
    bench.upkeep(2 * HOUR + 70, bytes_max=before - 1)
    assert used_bytes(bench.connection) < before
    assert bench.rows() < rows
    assert retained_from_ms(bench.connection, 0) == BEGIN_MS + HOUR * 1_000
    assert bench.line("topic:orders.put_rate", 0, 2 * HOUR, points=720)["at"] == list(range(0, 2 * HOUR, 10))


def test_slots_without_a_point_stay_empty():
    times = BEGIN_MS + np.array([0, 1_000, 25_000])
    values = np.array([[1.0], [4.0], [np.nan]])
    matrix = summed_up(Points(times, values, values, values), BEGIN_MS, TIERS[1], 1)
    assert matrix[:3].ravel() == pytest.approx([1, 4, 4] + [np.nan] * 6, nan_ok=True)
    assert np.isnan(matrix[3:]).all()


@pytest.mark.parametrize("torn", [{"data": b"\x78\x9c torn"}, {"data": b""}, {"layout": 99}, {"held": 1}])
def test_a_row_that_is_torn_is_a_gap_and_stops_nothing(bench, torn, caplog):
    bench.record(0, HOUR + 70, saw)
    for name, value in torn.items():
        bench.connection.execute(f"UPDATE points SET {name}=? WHERE start=?", (value, BEGIN_MS // 1_000 + 600))
    bench.upkeep(HOUR + 80)
    assert rolled_until_ms(bench.connection, 1) == BEGIN_MS + HOUR * 1_000
    assert "cannot be unpacked" in caplog.text
    line = bench.line("topic:orders.put_rate", 0, HOUR, points=3_600)
    assert [at for at, last in zip(line["at"], line["last"], strict=True) if np.isnan(last)] == [600]
    line = bench.line("topic:orders.put_rate", 0, HOUR, points=360)
    assert [at for at, last in zip(line["at"], line["last"], strict=True) if not np.isnan(last)] == [
        at for at in range(0, HOUR, 10) if not 600 <= at < 660
    ]
