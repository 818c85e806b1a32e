import math
import subprocess
import sys

import numpy as np
import pytest

from monitoring.lag import Forecast, LagOutlook, forecast

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
