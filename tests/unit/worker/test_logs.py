"""Bursts of log lines."""

import logging

from broker_core.worker.logs import BURST_LINES, BurstFilter


def record(text, *values, created=0.0, level=logging.WARNING):
    made = logging.LogRecord("broker", level, __file__, 1, text, values, None)
    made.created = created
    return made


def written(bursts, records):
    return [one.getMessage() for one in records if bursts.filter(one)]


def test_a_burst_of_one_kind_is_cut_and_says_so():
    bursts = BurstFilter(lines_max=3, window_seconds=60)
    lines = written(bursts, [record("connection of %s is closed", number) for number in range(10)])
    left_out = " (more lines like this are left out for up to 60 s)"
    assert lines == [
        "connection of 0 is closed",
        "connection of 1 is closed",
        f"connection of 2 is closed{left_out}",
    ]


def test_the_first_line_after_a_burst_tells_how_many_were_left_out():
    bursts = BurstFilter(lines_max=3, window_seconds=60)
    written(bursts, [record("%s", number, created=number) for number in range(10)])
    lines = written(bursts, [record("%s", "later", created=60.0), record("%s", "last", created=61.0)])
    assert lines == ["later (7 lines like this were left out before)", "last"]


def test_lines_of_other_kinds_pass_during_a_burst():
    bursts = BurstFilter(lines_max=1)
    written(bursts, [record("%s", number) for number in range(5)])
    assert len(written(bursts, [record("other %s", 1), record("%s", 1, level=logging.ERROR)])) == 2


def test_what_is_decided_of_a_line_holds_for_every_handler():
    bursts = BurstFilter()
    for number in range(BURST_LINES + 5):
        one = record("%s", number)
        assert [bursts.filter(one), bursts.filter(one)] == [number < BURST_LINES] * 2
