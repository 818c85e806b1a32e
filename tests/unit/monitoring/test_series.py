import math
import tracemalloc
from collections.abc import Callable
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitoring import sample_blocks
from monitoring.series import GAP_MS, UNREAD_MS, History, SlidingRate, thin_out

NAN = float("nan")


def filled(values: list[float], *, samples_max: int = 100, start_ms: int = 1_000_000) -> History:
    history = History(samples_max=samples_max)
    for number, value in enumerate(values):
        history.record(start_ms + number * 1_000, ["a"], [value])
    return history


def test_a_window_has_the_points_within_it_in_seconds():
    x, y = filled([1, 2, 3, 4]).series("a").window(1_001_000, 1_002_000, 100)
    assert x.tolist() == [1_001.0, 1_002.0]
    assert y.tolist() == [2, 3]


def test_a_full_ring_forgets_the_oldest():
    x, y = filled(list(range(25)), samples_max=10).series("a").window(0, 10**10, 100)
    assert y.tolist() == list(range(15, 25))
    assert np.all(np.diff(x) > 0)


def test_an_unknown_series_is_empty():
    history = filled([1, 2])
    x, y = history.series("b").window(0, 10**10, 100)
    assert len(x) == len(y) == 0
    assert math.isnan(history.series("b").last)


def test_a_series_that_came_later_begins_with_gaps_and_one_that_went_ends_with_them():
    history = filled([1, 2])
    history.record(1_002_000, ["b"], [5])
    assert history.series("b").window(0, 10**10, 100)[1].tolist() == pytest.approx([NAN, NAN, 5], nan_ok=True)
    assert history.series("a").window(0, 10**10, 100)[1].tolist() == pytest.approx([1, 2, NAN], nan_ok=True)


def test_a_long_silence_is_a_gap():
    history = filled([1])
    history.record(1_000_000 + GAP_MS + 1, ["a"], [2])
    assert history.series("a").window(0, 10**10, 100)[1].tolist() == pytest.approx([1, NAN, 2], nan_ok=True)


@pytest.mark.parametrize("samples_max", [4, 100])
def test_a_clock_set_back_replaces_what_came_after_it(samples_max: int):
    history = filled([1, 2, 3, 4, 5, 6], samples_max=samples_max)
    history.record(1_003_500, ["a"], [9])
    x, y = history.series("a").window(0, 10**10, 100)
    assert np.all(np.diff(x) > 0)
    assert y.tolist() == [1, 2, 3, 4, 9][-len(y) :]
    assert history.series("a").last == 9


def test_a_clock_set_back_before_everything_begins_anew():
    history = filled([1, 2, 3], samples_max=3)
    history.record(5_000, ["a"], [9])
    assert history.series("a").window(0, 10**10, 100)[1].tolist() == [9]


@given(
    samples=st.lists(st.tuples(st.sampled_from([1, 1, 1, -1, -3]), st.sampled_from([0.0, 0.0, 7.0, NAN, None])), max_size=30),
    samples_max=st.sampled_from([3, 100]),
    block_samples=st.sampled_from([1, 2, 60]),
)
def test_a_figure_reads_as_it_was_recorded_whether_it_stood_still_or_moved(samples, samples_max: int, block_samples: int):
    with mock.patch.object(sample_blocks, "BLOCK_SAMPLES", block_samples):
        check_that_it_reads_as_recorded(samples, samples_max)


def check_that_it_reads_as_recorded(samples, samples_max: int) -> None:
    history, kept, now = History(samples_max=samples_max), {}, 100
    for step, value in samples:
        now = max(1, now + step)
        history.record(now * 1_000, *(([], []) if value is None else (["a"], [value])))
        kept = {second: before for second, before in kept.items() if second < now} | {now: NAN if value is None else value}
    x, y = history.series("a").window(0, 10**10, 1_000)
    if "a" in history.names():
        # A small ring has forgotten what was before those samples that a clock set back replaced.
        assert len(x) == len(kept) or (samples_max == 3 and 0 < len(x) <= samples_max)
        assert x.tolist() == [float(second) for second in kept][-len(x) :]
        assert y.tolist() == pytest.approx(list(kept.values())[-len(x) :], nan_ok=True)
    assert history.series("a").last == pytest.approx(next(reversed(kept.values()), NAN), nan_ok=True)


def traced_mib(act: Callable[[], None]) -> float:
    tracemalloc.start()
    act()
    taken = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return taken / 2**20


@pytest.mark.parametrize("what", ["silence", "unknown for a moment", "unknown for half a minute"])
def test_figures_that_stand_still_take_no_room_whatever_is_missing_between(what: str):
    history, names, values = History(), tuple(f"s{number}" for number in range(5_000)), np.arange(5_000.0)
    unknown = {0, *range(300, 330 if what == "unknown for half a minute" else 301)}

    def record() -> None:
        for second in range(600):
            time_ms = (second if second < 300 or what != "silence" else second + 60) * 1_000
            history.record(time_ms, names, np.full(5_000, NAN) if second in unknown else values)

    # The open rows and the names; as numbers they would take 23 MiB.
    assert traced_mib(record) < 5
    assert history.series("s7").window(0, 10**10, 1_000)[1][1:300].tolist() == [7.0] * 299


def test_where_very_many_figures_move_the_oldest_go_before_the_memory_does():
    history, names, random = History(bytes_max=2**20), tuple(f"s{number}" for number in range(500)), np.random.default_rng(1)

    def record() -> None:
        for second in range(1_000):
            history.record(second * 1_000, names, random.random(500))

    assert traced_mib(record) < 3
    assert history.first_ms is not None
    assert 0 < history.first_ms < 900_000
    x, y = history.series("s3").window(0, 10**10, 1_000)
    assert x.tolist() == list(range(history.first_ms // 1_000, 1_000))
    assert not np.isnan(y).any()


def test_what_is_left_after_others_were_forgotten_reads_as_before():
    history, random = History(), np.random.default_rng(2)
    kept: dict[str, list[float]] = {"a": [], "b": [], "c": [], "d": []}
    for second in range(150):
        sample = {"a": random.random(), "b": 2.0, "c": random.random(), "d": 4.0 if second < 70 else 5.0}
        names = list(sample) if second >= 65 else ["a", "b", "c"]
        history.record(second * 1_000, names, [sample[name] for name in names])
        for name, values in kept.items():
            values.append(sample[name] if name in names else NAN)
    history.forget(["a", "never there"])
    for name in ("b", "c", "d"):
        assert history.series(name).window(0, 10**10, 1_000)[1].tolist() == pytest.approx(kept[name], nan_ok=True)
    assert len(history.series("a").window(0, 10**10, 1_000)[1]) == 0
    history.record(150_000, ["d", "a"], [6.0, 7.0])
    assert [history.series(name).last for name in ("a", "b", "d")] == pytest.approx([7.0, NAN, 6.0], nan_ok=True)
    assert np.isnan(history.series("a").window(0, 149_000, 1_000)[1]).all()


def test_forgotten_series_are_gone():
    history = filled([1, 2])
    history.forget(["a", "never there"])
    assert list(history.names()) == []


def test_the_number_of_series_is_bounded():
    history = History(samples_max=5, series_max=3)
    history.record(1, [f"s{number}" for number in range(10)], [1.0] * 10)
    assert len(history.names()) == 3


def test_thinning_keeps_peaks_and_gaps():
    y = np.zeros(1_000)
    y[617] = 80
    y[300:420] = NAN
    x = np.arange(1_000.0)
    thin_x, thin_y = thin_out(x, y, max_points=50)
    assert len(thin_x) <= 50
    assert np.nanmax(thin_y) == 80
    assert thin_x[np.nanargmax(thin_y)] == 617
    assert np.isnan(thin_y[(thin_x >= 320) & (thin_x < 400)]).all()


@given(st.lists(st.one_of(st.just(NAN), st.floats(-1e6, 1e6)), max_size=300), st.integers(4, 40), st.integers(0, 1_000))
def test_thinning_returns_points_of_the_line_in_order_within_the_bound(values: list[float], max_points: int, first: int):
    x, y = np.arange(float(len(values))), np.array(values, float)
    thin_x, thin_y = thin_out(x, y, max_points=max_points, first=first)
    assert len(thin_x) == len(thin_y) <= max(max_points, 0)
    assert np.all(np.diff(thin_x) >= 0)
    assert np.array_equal(y[thin_x.astype(int)], thin_y, equal_nan=True)
    if len(values) and not np.isnan(y).all():
        assert np.nanmax(thin_y) == np.nanmax(y)
        assert np.nanmin(thin_y) == np.nanmin(y)


def test_a_scrolling_line_keeps_its_shape():
    y = np.random.default_rng(1).random(1_010)
    x = np.arange(1_010.0)
    before = thin_out(x[:1_000], y[:1_000], max_points=60, first=0)
    after = thin_out(x[7:1_007], y[7:1_007], max_points=60, first=7)
    assert set(before[0][4:-4]) <= set(after[0])


def test_a_rate_is_growth_over_time():
    rate = SlidingRate()
    rate.add(0, np.array([0, 100]))
    assert rate.add(2_000, np.array([10, 400])).tolist() == [5, 150]


def test_a_rate_is_unknown_until_there_is_a_span():
    rate = SlidingRate(span_ms_min=400)
    assert np.isnan(rate.add(0, np.array([0]))).all()
    assert np.isnan(rate.add(399, np.array([5]))).all()
    assert rate.add(400, np.array([8])).tolist() == [20]


def test_a_rate_forgets_what_is_older_than_its_window():
    rate = SlidingRate(window_ms=4_000)
    count = 0
    for second in range(20):
        count += 1_000 if second < 10 else 0
        latest = rate.add(second * 1_000, np.array([count]))
    assert latest.tolist() == [0]


def test_unknown_and_fallen_counters_have_no_rate():
    rate = SlidingRate()
    rate.add(0, np.array([-1, 500, 0]))
    assert rate.add(1_000, np.array([10, 10, -1])).tolist() == pytest.approx([NAN, NAN, NAN], nan_ok=True)


def test_counters_keep_their_rates_when_their_places_change():
    rate = SlidingRate()
    rate.add(0, np.array([100, 200]))
    rate.rearrange(np.array([1, -1, 0]))
    assert rate.add(1_000, np.array([210, 7, 130])).tolist() == [10, 7, 30]


def test_a_rate_begins_anew_after_a_reset_and_when_the_clock_is_set_back():
    rate = SlidingRate()
    rate.add(0, np.array([100]))
    rate.add(10_000, np.array([200]))
    assert np.isnan(rate.add(5_000, np.array([210]))).all()
    rate.reset()
    assert np.isnan(rate.add(9_000, np.array([300]))).all()


def test_what_a_rate_keeps_is_bounded():
    rate = SlidingRate(window_ms=4_000, spacing_ms=200)
    for time_ms in range(0, 60_000, 10):
        rate.add(time_ms, np.array([time_ms]))
    assert len(rate._kept) <= 4_000 // 200 + 2


def looked_at(rate: SlidingRate, pause_ms: int, seconds: int, *, per_second: float = 60.0) -> list[float]:
    """Rates at ten moments a second, of a counter that is read after each pause."""
    found, read_ms = [], 0
    for time_ms in range(0, seconds * 1_000, 100):
        read_ms = time_ms - time_ms % pause_ms
        counters = np.array([int(per_second * read_ms / 1_000)])
        found.append(float(rate.add(time_ms, counters, np.array([read_ms]))[0]))
    return found


@pytest.mark.parametrize("pause_ms", [100, 1_000, 1_150, 1_700, 20_000])
def test_a_counter_that_stands_still_between_looks_has_a_steady_rate(pause_ms):
    settled = looked_at(SlidingRate(), pause_ms, 90)[2 * pause_ms // 100 + 60 :]
    assert min(settled) > 59
    assert max(settled) < 61


def test_a_counter_that_is_read_and_stands_still_has_no_rate():
    rate = SlidingRate()
    looked_at(rate, 1_150, 30)
    assert rate.add(36_000, np.array([1_759]), np.array([35_650]))[0] > 0
    for time_ms in range(36_100, 42_000, 100):
        last = rate.add(time_ms, np.array([1_759]), np.array([time_ms - time_ms % 1_150]))
    assert last[0] == 0


def test_a_counter_that_is_unknown_or_was_not_read_for_long_has_no_rate():
    rate = SlidingRate()
    assert looked_at(rate, 1_150, 30)[-1] == pytest.approx(60, rel=0.02)
    assert math.isnan(rate.add(30_100, np.array([-1]), np.array([-1]))[0])
    looked_at(rate, 1_150, 30)
    for time_ms in range(30_000, UNREAD_MS + 40_000, 1_000):
        last = rate.add(time_ms, np.array([1_759]), np.array([29_900]))
    assert math.isnan(last[0])
