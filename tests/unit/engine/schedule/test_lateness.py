"""Lateness of the last minute, and of the last hour."""

from math import isnan

from broker_core.engine.schedule.lateness import LATE_FROM_MS, LatenessHour, LatenessWindow


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


def test_deliveries_of_the_last_hour_are_counted_by_how_late_they_were():
    hour = LatenessHour()
    assert hour.counts(1_000) == ((0,) * len(LATE_FROM_MS), 0)
    for late_ms in (0, 1, 2, 99, 100, 199, 10**9):
        hour.add(late_ms, 1_001)
    counts, seconds = hour.counts(1_010)
    filled = {start: count for start, count in zip(LATE_FROM_MS, counts, strict=True) if count}
    assert (filled, seconds) == ({0: 2, 2: 1, 50: 1, 100: 2, 60_000: 1}, 10)


def test_what_is_older_than_an_hour_is_not_in_the_histogram():
    hour = LatenessHour()
    hour.counts(0)
    hour.add(5, 30)
    hour.add(5, 3_000)
    assert (sum(hour.counts(3_599).deliveries), hour.counts(3_599).seconds) == (2, 3_599)
    assert (sum(hour.counts(3_600).deliveries), hour.counts(9_000).seconds) == (1, 3_600)
    assert sum(hour.counts(9_000).deliveries) == 0


def test_the_histogram_takes_no_more_room_however_long_it_counts():
    hour = LatenessHour()
    for minute in range(500):
        hour.add(minute, minute * 60)
    assert len(hour._minutes) == 60
