"""Lines over time have gaps where nothing is known, and say nothing where nothing was stored."""

import pyarrow as pa

from spark_reports.parameters import ReportParameters
from spark_reports.reports.common import lines
from spark_reports.reports.incident import _every_minute
from spark_reports.reports.wording import change_text, first_of, verb
from spark_reports.vocabulary import ValueUnit

MINUTE_MS = 60_000


def points(rows, width_ms=MINUTE_MS):
    chart = lines("lag", "Lag", pa.Table.from_pylist(rows), by="group", value="lag", unit=ValueUnit.COUNT, width_ms=width_ms)
    return {one.name: list(zip(one.x, map(str, one.y), strict=True)) for one in chart.series}


def test_a_line_is_broken_where_points_are_missing():
    rows = [{"group": name, "bucket_ms": minute * MINUTE_MS, "lag": 1.0} for minute in (0, 1, 4, 5) for name in "ab"]
    line = [(0, "1.0"), (60_000, "1.0"), (120_000, "nan"), (240_000, "1.0"), (300_000, "1.0")]
    assert points(rows) == {"a": line, "b": line}


def test_points_that_stand_for_a_longer_time_are_no_gap():
    rows = [{"group": "a", "bucket_ms": at * MINUTE_MS, "lag": 1.0, "step_ms": 15 * MINUTE_MS} for at in (0, 14, 28, 56)]
    assert [at // MINUTE_MS for at, value in points(rows, 7 * MINUTE_MS)["a"] if value == "nan"] == [49]


def test_a_minute_without_a_message_is_zero_and_its_latency_unknown():
    stored = {"messages": 3, "retried": 0, "dead": 1, "given_up": 0, "p99_ms": 7.0}
    minutes = pa.Table.from_pylist([stored | {"minute": 2 * MINUTE_MS * 1000}])
    minutes = minutes.set_column(5, "minute", minutes["minute"].cast(pa.timestamp("us", tz="UTC")))
    asked = ReportParameters(2 * MINUTE_MS, 9 * MINUTE_MS, values={"before-min": 2}, now_ms=4 * MINUTE_MS)
    every = _every_minute(minutes, asked).to_pylist()
    assert [row["bucket_ms"] // MINUTE_MS for row in every] == [0, 1, 2, 3]  # the rest is still to come
    assert [row["messages"] for row in every] == [0, 0, 3, 0]
    assert [row["p99_ms"] for row in every] == [None, None, 7.0, None]


def test_a_ranking_says_that_it_goes_on_only_where_it_does():
    assert (first_of(15, 1_200), first_of(41, 41)) == ("The first 15 of 1,200.", "")


def test_a_count_of_one_has_its_verb():
    assert [verb(count, "is", "are") for count in (0, 1, 2_000)] == ["0 are", "1 is", "2,000 are"]


def test_a_change_has_its_sign():
    assert (change_text(-0.7209), change_text(0.5)) == ("-72.1 %", "+50.0 %")
