import numpy as np
import pytest

from monitoring.queue_lags import POSITIONS_MAX, QueueLags

NAN = float("nan")


def filled(samples: int = 30) -> QueueLags:
    lags = QueueLags()
    for second in range(samples):
        lags.record(second * 1_000, np.array([1_000.0 - 10 * second, 50.0, NAN]))
    return lags


def slopes(lags: QueueLags, *rows: int, over_ms: float = 20_000) -> list[float]:
    found: list[float] = lags.slopes(np.array(rows), over_ms).tolist()
    return found


def test_slopes_are_of_the_newest_stretch():
    lags = filled()
    lags.record(30_000, np.array([710.0 + 290, 50.0, 1.0]))
    assert slopes(lags, 0, 1, 2, over_ms=1_000) == pytest.approx([290.0, 0.0, NAN], nan_ok=True)
    assert slopes(filled(400), 0) == [-10.0]


def test_one_sample_has_no_slope():
    assert slopes(filled(1), 0) == pytest.approx([NAN], nan_ok=True)
    assert slopes(QueueLags(), 0) == pytest.approx([NAN], nan_ok=True)


def test_positions_keep_their_lags_when_the_catalog_changes():
    lags = filled()
    lags.rearrange(np.array([1, -1, 0]))
    assert slopes(lags, 0, 1, 2) == pytest.approx([0.0, NAN, -10.0], nan_ok=True)


def test_a_clock_that_goes_back_begins_anew():
    lags = filled()
    lags.record(5_000, np.array([1.0, 1.0, 1.0]))
    assert slopes(lags, 0) == pytest.approx([NAN], nan_ok=True)


def test_positions_beyond_the_bound_are_unknown():
    lags = QueueLags()
    for second in range(3):
        lags.record(second * 1_000, np.full(POSITIONS_MAX + 5, float(second)))
    assert slopes(lags, POSITIONS_MAX - 1, POSITIONS_MAX + 1) == pytest.approx([1.0, NAN], nan_ok=True)
    lags.rearrange(np.arange(POSITIONS_MAX + 9) - 1)
    assert slopes(lags, 1) == [1.0]
