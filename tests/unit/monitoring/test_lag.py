import math
import subprocess
import sys

import numpy as np
import pytest

from monitoring.lag import Forecast, LagOutlook, forecast
from tests.support.lag_series import batched_lag, drained_lag, turned_lag

NAN = float("nan")
T = np.arange(180.0)


@pytest.mark.parametrize(
    ("lag", "outlook"),
    [
        (20_000 - 50 * T, LagOutlook.DRAINING),
        (1_000 + 50 * T, LagOutlook.GROWING),
        (500 + 0 * T, LagOutlook.STEADY),
        (500_000 + 20 * T, LagOutlook.STEADY),
        (0 * T, LagOutlook.CAUGHT_UP),
        (np.full_like(T, NAN), LagOutlook.UNKNOWN),
    ],
)
def test_the_outlook_follows_the_slope(lag, outlook):
    assert forecast(T, lag).outlook is outlook


def test_a_direction_that_the_band_leaves_open_is_unknown():
    assert Forecast(2_000, 10, -1, 30).outlook is LagOutlook.UNKNOWN


def test_a_burst_does_not_turn_the_slope():
    lag = 20_000 - 50 * T
    lag[60:75] += 9_000
    found = forecast(T, lag)
    assert found.slope == pytest.approx(-50, abs=3)
    assert found.slope_low <= found.slope <= found.slope_high
    assert found.drained_in_ms == pytest.approx(found.lag_messages / 50 * 1_000, rel=0.1)


@pytest.mark.parametrize("jump_s", [1, 4])
@pytest.mark.parametrize("height", [1_000, -1_500])
def test_a_lag_that_jumped_and_rests_is_steady_at_once(jump_s, height):
    random = np.random.default_rng(11)
    calm = 2_000.0 + random.integers(0, 10, 180)
    risen = np.clip(np.arange(180) - 120, 0, jump_s) * (height / jump_s)
    found = [forecast(T[:end], (calm + risen)[:end]).outlook for end in range(120 + jump_s + 2, 181)]
    assert set(found) == {LagOutlook.STEADY}


def test_a_growth_from_a_calm_lag_is_unknown_for_ten_seconds_at_most_and_never_called_steady():
    for seed in range(20):
        arrived = np.cumsum(np.random.default_rng(seed).poisson(100, 180))
        lag = (40 + arrived - np.where(np.arange(180) < 120, arrived, arrived[119])).astype(float)
        found = [forecast(T[:end], lag[:end]).outlook for end in range(121, 180)]
        assert set(found[:10]) <= {LagOutlook.UNKNOWN, LagOutlook.GROWING}
        assert set(found[10:]) == {LagOutlook.GROWING}


def test_while_the_lag_is_unknown_nothing_is_said_of_the_past():
    lag = np.concatenate([1_000 + 50 * T[:174], 9_700 - 60 * T[:6]])
    lag[-2:] = NAN
    found = forecast(T, lag, NAN)
    assert found.outlook is LagOutlook.UNKNOWN
    assert math.isnan(found.turned_ms)


def test_a_backlog_that_was_reset_drains_as_before():
    lag = 20_000 - 50 * T
    lag[120:] += 30_000
    assert forecast(T, lag).slope == pytest.approx(-50)


def test_the_band_mostly_holds_the_true_slope_and_widens_with_noise():
    widths = {}
    for size in (20, 800):
        found = [forecast(T, 30_000 - 71 * T + size * np.random.default_rng(seed).normal(size=180)) for seed in range(40)]
        assert sum(one.slope_low < -71 < one.slope_high for one in found) >= 30
        widths[size] = np.median([one.slope_high - one.slope_low for one in found])
    assert widths[800] > 20 * widths[20]


def test_the_time_to_drain_has_a_band():
    found = forecast(T, 30_000 - 71 * T + 100 * np.random.default_rng(7).normal(size=180))
    early, late = found.drained_between_ms
    assert early < found.drained_in_ms < late


def test_gaps_are_left_out():
    lag = 20_000 - 50 * T
    lag[::3] = NAN
    lag[100:140] = NAN
    assert forecast(T, lag).slope == pytest.approx(-50)


def test_too_little_is_unknown_and_a_lag_that_grows_has_no_end():
    assert forecast(T[:9], T[:9] + 5).outlook is LagOutlook.UNKNOWN
    assert forecast(np.zeros(20), T[:20] + 5).outlook is LagOutlook.UNKNOWN
    assert math.isnan(forecast(T, 100 + 5 * T).drained_in_ms)
    assert all(math.isnan(end) for end in forecast(T, 100 + 5 * T).drained_between_ms)


def test_a_band_that_may_not_drain_has_no_late_end():
    assert Forecast(1_000, -10, -20, 0).drained_between_ms == (50_000, math.inf)


def test_the_lag_of_now_counts_more_than_the_last_sample():
    assert forecast(T, 20_000 - 50 * T, 0.0).outlook is LagOutlook.CAUGHT_UP


def test_a_forecast_imports_nothing_in_the_midst_of_a_turn_of_the_window():
    code = (
        "import sys, numpy as np; from monitoring.lag import forecast; before = set(sys.modules); "
        "at = np.arange(400.0); assert forecast(at, 1_000 - at).slope == -1; print(sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "[]"


def judged(since_turn_s: int, stores_every_s: int, rounds_s: tuple[int, int] = (1, 1)) -> tuple[int, int]:
    """Of 200 lags that turned, how many have the right sign, and how many the wrong one."""
    right = wrong = 0
    for seed in range(200):
        made = turned_lag(seed, since_turn_s=since_turn_s, stores_every_s=stores_every_s, rounds_s=rounds_s)
        found = forecast(made.seconds, made.lag).outlook
        right += found is (LagOutlook.GROWING if made.grows else LagOutlook.DRAINING)
        wrong += found is (LagOutlook.DRAINING if made.grows else LagOutlook.GROWING)
    return right, wrong


@pytest.mark.parametrize("stores_every_s", [1, 3, 5])
@pytest.mark.parametrize("since_turn_s", [15, 30])
def test_the_sign_is_right_within_15_s_of_a_turn(since_turn_s, stores_every_s):
    right, wrong = judged(since_turn_s, stores_every_s)
    assert right >= 190, f"{right} of 200"
    assert wrong <= 2, f"{wrong} of 200"


@pytest.mark.parametrize(
    ("tooth_s", "stores_every_s", "rounds_s"),
    [(7, 7, (1, 1)), (10, 10, (1, 1)), (15, 15, (1, 1)), (10, 5, (2, 2)), (15, 5, (3, 3)), (10, 5, (10, 10)), (20, 5, (4, 4))],
)
def test_a_lag_of_longer_teeth_has_the_right_sign_after_three_and_is_unknown_rather_than_wrong(
    tooth_s, stores_every_s, rounds_s
):
    right, wrong = judged(3 * tooth_s, stores_every_s, rounds_s)
    assert right >= 190, f"{right} of 200 after three teeth"
    assert wrong <= 2, f"{wrong} of 200 after three teeth"
    _right, wrong = judged(2 * tooth_s, stores_every_s, rounds_s)
    assert wrong <= 10, f"{wrong} of 200 after two teeth"


@pytest.mark.parametrize(("rounds_s", "right_of_200"), [((1, 3), 180), ((2, 5), 170)])
def test_uneven_rounds_of_reads_hide_no_turn(rounds_s, right_of_200):
    right, wrong = judged(45, 5, rounds_s)
    assert right >= right_of_200, f"{right} of 200"
    assert wrong <= 10, f"{wrong} of 200"


@pytest.mark.parametrize("batch_s", [7, 10, 20, 30, 60])
def test_batches_of_a_group_that_keeps_up_are_no_growth(batch_s):
    found = [forecast(np.arange(181.0), batched_lag(seed, batch_s=batch_s)).outlook for seed in range(100)]
    assert sum(one in (LagOutlook.GROWING, LagOutlook.DRAINING) for one in found) <= 3


@pytest.mark.parametrize("rounds_s", [(1, 3), (2, 5), (1, 8)])
def test_a_group_that_keeps_up_is_steady_however_uneven_the_reads_are(rounds_s):
    found = []
    for seed in range(60):
        lag = drained_lag(seed, drains_s=0, seconds=260, rounds_s=rounds_s)
        found += [forecast(T, lag[end - 180 : end]).outlook for end in range(190, 260, 10)]
    assert sum(one in (LagOutlook.STEADY, LagOutlook.CAUGHT_UP) for one in found) >= 0.9 * len(found)
    assert sum(one in (LagOutlook.GROWING, LagOutlook.DRAINING) for one in found) <= 0.05 * len(found)


@pytest.mark.parametrize(("since_s", "still_draining_of_200"), [(45, 40), (60, 20)])
def test_a_group_that_has_drained_its_backlog_does_not_drain_for_minutes(since_s, still_draining_of_200):
    lags = [drained_lag(seed, drains_s=38, seconds=38 + since_s, rounds_s=(1, 3)) for seed in range(200)]
    found = [forecast(np.arange(float(len(lag))), lag).outlook for lag in lags]
    assert sum(one is LagOutlook.DRAINING for one in found) <= still_draining_of_200
    assert sum(one is LagOutlook.GROWING for one in found) <= 10


@pytest.mark.parametrize("batch_s", [20, 30, 60])
def test_batches_do_not_hide_where_a_lag_goes(batch_s):
    for seed in range(50):
        lag = 50_000.0 + batched_lag(seed, batch_s=batch_s)
        size = float(np.ptp(lag)) / batch_s
        assert forecast(np.arange(181.0), lag - 0.3 * size * np.arange(181)).outlook is not LagOutlook.GROWING
        assert forecast(np.arange(181.0), lag + 0.3 * size * np.arange(181)).outlook is not LagOutlook.DRAINING


def test_the_turn_is_dated():
    lag = np.concatenate([1_000 + 50 * T[:140], 8_000 - 30 * T[:40]])
    found = forecast(T, lag)
    assert found.outlook is LagOutlook.DRAINING
    assert found.slope == pytest.approx(-30, abs=2)
    assert found.turned_ms == pytest.approx(40_000, abs=5_000)


def test_a_turn_of_a_moment_ago_leaves_the_direction_unknown():
    lag = np.concatenate([1_000 + 50 * T[:174], 9_700 - 60 * T[:6]])
    found = forecast(T, lag)
    assert (found.outlook, found.turned_ms) == (LagOutlook.UNKNOWN, 5_000)
    assert math.isnan(found.drained_in_ms)


def test_a_lag_that_only_grows_faster_has_not_turned():
    lag = np.concatenate([1_000 + 10 * T[:140], 2_400 + 100 * T[:40]])
    found = forecast(T, lag)
    assert found.slope == pytest.approx(100, rel=0.1)
    assert math.isnan(found.turned_ms)


def test_the_teeth_of_stored_offsets_are_no_turns():
    for seed in range(20):
        random = np.random.default_rng(seed)
        arrived = np.cumsum(random.poisson(400, 181)) + 50_000
        consumed = np.cumsum(random.poisson(450, 181))
        at = np.arange(181)
        found = forecast(at.astype(float), arrived - consumed[at - at % 5])
        assert found.outlook is LagOutlook.DRAINING
        assert math.isnan(found.turned_ms)


def test_a_whole_past_is_wanted_of_a_disk():
    lag = np.concatenate([1_000 + 50 * T[:140], 8_000 - 30 * T[:40]])
    assert forecast(T, lag, turns=False).slope > 0
