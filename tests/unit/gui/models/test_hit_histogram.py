"""Hits by time: whatever comes in whatever portions is counted once, in round bars."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gui.views.messages.hit_times import BARS_MAX, WIDTHS_MS, HitHistogram, bar_width_ms


@given(st.lists(st.lists(st.integers(0, 1 << 42), max_size=20), max_size=8))
def test_all_hits_are_in_the_bar_of_their_time(portions):
    histogram, times = HitHistogram(), np.zeros(0, dtype=np.int64)
    for portion in portions:
        times = np.concatenate((times, np.array(portion, dtype=np.int64)))
        histogram.update(times)
    assert int(histogram.counts.sum()) == len(times)
    assert len(histogram.counts) <= BARS_MAX
    assert histogram.start_ms % histogram.width_ms == 0
    for part, count in enumerate(histogram.counts.tolist()):
        start, end = histogram.span_ms(part, part)
        assert count == int(np.count_nonzero((times >= start) & (times < end)))


@pytest.mark.parametrize(("span_ms", "width_ms"), [(0, 10), (870, 10), (890, 100), (60_000, 1_000), (15 * 60_000, 15_000)])
def test_bars_have_round_widths(span_ms, width_ms):
    assert bar_width_ms(span_ms) == width_ms


def test_a_span_of_centuries_still_has_few_bars():
    span = 400 * 365 * 86_400_000
    assert span // bar_width_ms(span) < BARS_MAX
    assert bar_width_ms(span) % WIDTHS_MS[-1] == 0


def test_another_search_begins_anew():
    histogram = HitHistogram()
    histogram.update(np.array([5_000_000], dtype=np.int64))
    histogram.clear()
    histogram.update(np.array([7, 8], dtype=np.int64))
    assert (histogram.start_ms, histogram.counts.tolist()) == (0, [2])
