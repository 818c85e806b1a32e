import math
from datetime import UTC, datetime

import pyarrow as pa

from spark_reports.datasource.skipped import OUTSIDE_RANGE
from spark_reports.parameters import ReportParameters
from spark_reports.reports import throughput
from spark_reports.reports.common import QueryResults
from spark_reports.reports.result import Skip

MINUTE = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
SCHEMA = pa.schema(
    [
        ("minute", pa.timestamp("us", "UTC")), ("topic", pa.string()), ("tag", pa.string()), ("host", pa.string()),
        ("skipped_store", pa.string()), ("skipped_reason", pa.string()), ("messages", pa.int64()), ("body_bytes", pa.int64()),
        ("store_bytes", pa.int64()), ("body_bytes_max", pa.int32()), ("store_bytes_max", pa.int32()),
        ("first_time", pa.timestamp("us", "UTC")), ("last_time", pa.timestamp("us", "UTC")), ("skipped_rows", pa.int64()),
        ("skipped_bytes", pa.int64()), ("skipped_offset", pa.int64()),
    ]
)  # fmt: skip


def traffic(topic, tag, messages, body_bytes, *, minute=0, host="10.0.0.1"):
    at = MINUTE.replace(minute=minute)
    return {
        "minute": at, "topic": topic, "tag": tag, "host": host, "messages": messages, "body_bytes": body_bytes,
        "store_bytes": body_bytes + 100 * messages, "body_bytes_max": body_bytes, "store_bytes_max": body_bytes + 100,
        "first_time": at, "last_time": at.replace(second=59), "skipped_rows": 0, "skipped_bytes": 0,
    }  # fmt: skip


def result_of(*rows):
    table = pa.Table.from_pylist(list(rows), schema=SCHEMA)
    return throughput.result(QueryResults({throughput.TRAFFIC: table}, ReportParameters()))


def table(result, name):
    return next(table for table in result.tables if table.name == name)


def test_tables_are_sums_of_the_traffic_rows():
    result = result_of(traffic("a", "x", 3, 30), traffic("a", None, 1, 50, minute=2), traffic("b", "x", 2, 2))
    assert result.rows == 6
    assert table(result, "by_topic").data.select(["topic", "messages", "body_bytes", "body_bytes_avg"]).to_pylist() == [
        {"topic": "a", "messages": 4, "body_bytes": 80, "body_bytes_avg": 20.0},
        {"topic": "b", "messages": 2, "body_bytes": 2, "body_bytes_avg": 1.0},
    ]
    assert table(result, "by_minute").data["messages"].to_pylist() == [5, 1]
    assert [one.totals["messages"] for one in result.tables] == [6.0] * 6


def test_what_each_producer_sent_is_told_by_topic_and_tag():
    result = result_of(
        traffic("a", "x", 3, 30), traffic("a", "x", 2, 8, minute=1), traffic("a", "x", 4, 9, host="10.0.0.2"),
        traffic("b", None, 1, 5, host="10.0.0.2"),
    )  # fmt: skip
    assert table(result, "by_producer").data.select(["host", "messages"]).to_pylist() == [
        {"host": "10.0.0.1", "messages": 5}, {"host": "10.0.0.2", "messages": 5},
    ]  # fmt: skip
    names = ["host", "topic", "tag", "messages"]
    assert [tuple(row.values()) for row in table(result, "by_producer_topic_tag").data.select(names).to_pylist()] == [
        ("10.0.0.1", "a", "x", 5), ("10.0.0.2", "a", "x", 4), ("10.0.0.2", "b", None, 1),
    ]  # fmt: skip
    assert table(result, "by_minute_topic_tag").data["messages"].to_pylist() == [7, 1, 2]
    assert "5 of 10 (50.0 %) messages come from 10.0.0.1, one of 2 hosts." in result.findings


def test_findings_begin_with_counts():
    result = result_of(traffic("a", "x", 3, 30), traffic("b", None, 1, 5_000, minute=1))
    assert result.findings == (
        "3 of 4 messages (75.0 %) are in a.",
        "b takes the most room: 93.9 % of the stored bytes.",
        "The most frequent tag is x of a with 3 messages.",
        "4 of 4 (100.0 %) messages come from 10.0.0.1, one of 1 host.",
        "The busiest minute was 2026-03-01 08:00 UTC with 3 messages, 1.5 times the mean of the 2 minutes that have any.",
    )


def test_charts_add_up_to_the_tables():
    result = result_of(*(traffic(f"topic-{index}", None, index + 1, 10, minute=index) for index in range(9)))
    stack = next(chart for chart in result.charts if chart.name == "messages")
    assert [series.name for series in stack.series] == ["topic-8", "topic-7", "topic-6", "topic-5", "topic-4", "(other topics)"]
    assert sum(sum(series.y) for series in stack.series) == result.rows == 45


def test_long_ranges_are_drawn_in_wider_bars():
    result = result_of(traffic("a", None, 1, 1), traffic("a", None, 1, 1) | {"minute": MINUTE.replace(month=5)})
    assert result.charts[0].note == "Counted by 6 hours."


def test_skipped_rows_are_told_apart_from_damage():
    skipped = {"skipped_reason": OUTSIDE_RANGE, "messages": 0, "skipped_rows": 7, "skipped_bytes": 700}
    damaged = {
        "skipped_store": "/s", "skipped_reason": "zeros", "messages": 0, "skipped_rows": 1, "skipped_bytes": 9,
        "skipped_offset": 5,
    }  # fmt: skip
    result = result_of(traffic("a", None, 3, 30), skipped, damaged)
    assert result.looked_at == 10
    assert not result.complete
    assert result.skipped == (Skip(OUTSIDE_RANGE, 7, 700, damaged=False), Skip("zeros", 1, 9, True, "/s", 5))


def test_nothing_stored_is_said_and_not_a_fault():
    result = result_of()
    assert result.findings == ("No message is stored in this range.",)
    assert (result.rows, result.found_from_ms, result.charts) == (0, None, ())
    known, unknown = [[one.label for one in result.headlines if math.isnan(one.value) is gone] for gone in (False, True)]
    assert (known, unknown) == (["messages", "stored"], ["average body", "messages/s in the busiest minute"])
    assert [one.note for one in result.headlines[1:]] == ["", "", ""]
