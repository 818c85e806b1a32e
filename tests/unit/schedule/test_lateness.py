"""Lateness of the last minute."""

from math import isnan

from broker_core.schedule.lateness import LatenessWindow


def test_quantiles_of_the_last_minute():
    window = LatenessWindow()
    for late_ms in [1] * 98 + [3, 1_000]:
        window.add(late_ms, 100)
    assert window.figures(100) == (1.0, 3.0)
    window.add(1_000, 101)
    window.add(1_000, 101)
    p50, p99 = window.figures(101)
    assert (p50, 875 <= p99 <= 1_000) == (1.0, True)


def test_what_is_older_than_a_minute_does_not_count():
    window = LatenessWindow()
    window.add(500, 100)
    window.add(2, 130)
    assert window.figures(159).p99_ms >= 448
    assert window.figures(160) == (2.0, 2.0)
    assert isnan(window.figures(190).p50_ms)
