import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.engine.tables.latency import LatencyWindow

BUCKETS_END_US = 15 << 38
"""All that is longer is counted in the last bucket."""


def test_without_samples_nothing_is_known():
    assert all(math.isnan(figure) for figure in LatencyWindow().figures(5.0))


def test_figures_are_within_a_bucket_of_the_truth():
    source = random.Random(1)
    samples = [source.lognormvariate(-8, 1) for _ in range(5_000)]
    window = LatencyWindow()
    for index, sample in enumerate(samples):
        window.add(sample, 100 + index % 9)
    figures = window.figures(108.5)
    ordered = sorted(samples)
    assert figures.p50_ms == pytest.approx(ordered[2_500] * 1e3, rel=0.13)
    assert figures.p99_ms == pytest.approx(ordered[4_950] * 1e3, rel=0.13)
    assert figures.max_ms == ordered[-1] * 1e3


def test_samples_older_than_ten_seconds_are_forgotten():
    window = LatencyWindow()
    window.add(9.0, 100.5)
    window.add(0.001, 105.5)
    assert window.figures(109.9).max_ms == 9_000
    assert window.figures(110.0).max_ms == 1
    window.add(0.002, 115.0)
    assert window.figures(115.1).p50_ms == pytest.approx(2, rel=0.13)


@given(st.integers(0, 1 << 60))
def test_a_latency_lies_in_its_bucket(micros):
    window = LatencyWindow()
    window.add(micros / 1e6, 100)
    window.add((1 << 62) / 1e6, 100)  # else the figure would be cut at the maximum
    assert micros >= BUCKETS_END_US or window.figures(100).p50_ms * 1e3 == pytest.approx(micros, rel=0.07, abs=0.6)
