"""`GroupProgress` follows groups and positions through changes of the catalog."""

from __future__ import annotations

import math

import numpy as np
import pytest

from monitoring.group_progress import SAMPLES_MAX, GroupProgress


def ints(*values: int) -> np.ndarray:
    return np.array(values, np.int64)


@pytest.fixture
def progress():
    """Two groups with 2 and 1 positions, of which the first consumes 30/s and the second 5/s, for 20 s."""
    made = GroupProgress()
    for second in range(20):
        made.record(second * 1_000, ints(10 * second, 20 * second, 5 * second), ints(0, 0, 1), 2)
    return made


def test_rates_are_those_of_each_group(progress):
    assert (progress.rate(0, 15_000), progress.rate(1, 15_000)) == (30, 5)
    assert progress.rates(2).tolist() == [30, 5]


def test_unknown_and_new_positions_do_not_count(progress):
    progress.rearrange(ints(1, 0), ints(-1, 2, 0, 1))
    for second in range(20, 40):
        progress.record(second * 1_000, ints(900_000, 5 * second, 10 * second, -1), ints(0, 0, 1, 1), 2)
    assert (progress.rate(0, 15_000), progress.rate(1, 15_000)) == (5, 10)


def test_a_new_group_begins_at_nothing(progress):
    progress.rearrange(ints(0, 1, -1), ints(0, 1, 2, -1))
    progress.record(20_000, ints(200, 400, 100, 7), ints(0, 0, 1, 2), 3)
    assert progress.rate(2, 15_000) == 0
    assert (progress.rate(0, 15_000), progress.rate(1, 15_000)) == (30, 5)


def test_one_sample_is_no_rate(progress):
    progress.clear()
    assert math.isnan(progress.rate(0, 15_000))
    progress.record(30_000, ints(1, 2, 3), ints(0, 0, 1), 2)
    assert math.isnan(progress.rate(0, 15_000))


def test_a_group_without_known_offsets_has_no_rate(progress):
    progress.rearrange(ints(0, 1, -1), ints(0, 1, -1))
    progress.record(20_000, ints(200, 400, -1), ints(0, 0, 1), 3)
    assert progress.rates(3).tolist()[0] == 30
    assert np.isnan(progress.rates(3)).tolist() == [False, True, True]


def test_a_clock_that_is_set_back_begins_anew(progress):
    progress.record(5_000, ints(1_000, 1_000, 1_000), ints(0, 0, 1), 2)
    assert math.isnan(progress.rate(0, 15_000))


def test_the_ring_goes_on_beyond_its_length():
    made = GroupProgress()
    for second in range(2 * SAMPLES_MAX):
        made.record(second * 1_000, ints(3 * second), ints(0), 1)
    assert made.rate(0, 180_000) == 3


@pytest.mark.parametrize("every_s", [7, 10, 15, 30])
def test_clients_that_store_their_offsets_seldom_consume_all_the_time(every_s):
    random = np.random.default_rng(every_s)
    consumed = np.cumsum(random.poisson(100, 200))
    at = np.arange(200)
    stored = consumed[at - at % every_s]
    progress = GroupProgress()
    found = []
    for second in range(200):
        progress.record(second * 1_000, stored[[second]], np.zeros(1, np.int64), 1)
        if second > 3 * every_s + 2:
            found.append(float(progress.rates(1)[0]))
    assert np.median(found) == pytest.approx(100, rel=0.06)
    assert min(found) > 60, "between two stored offsets it has not stopped"


def test_clients_that_store_seldom_have_stopped_when_an_offset_is_overdue():
    progress = GroupProgress()
    for second in range(200):
        stored = np.array([100 * (min(second, 120) // 30 * 30)])
        progress.record(second * 1_000, stored, np.zeros(1, np.int64), 1)
        if second in (130, 145):
            assert progress.rates(1)[0] == pytest.approx(100)
    assert progress.rates(1)[0] == 0


def test_offsets_that_advance_now_and_then_are_no_rate_of_a_regular_client():
    progress = GroupProgress()
    for second in range(100):
        stored = np.array([5_000 * (second >= 10) + (second >= 14) + (second >= 80)])
        progress.record(second * 1_000, stored, np.zeros(1, np.int64), 1)
    assert progress.rates(1)[0] == 0
