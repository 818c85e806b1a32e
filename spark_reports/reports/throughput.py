"""Report ``throughput``: messages and bytes by minute, topic, tag and producer.

Counts stored records by broker time, as stored: a delayed or transactional message has one record in an internal topic and
another one in its target topic, and each is counted. Sizes are those of stored bodies (compressed ones as compressed) and of
whole records.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.datasource.schema import HOST, MINUTE, SKIPPED_BYTES, SKIPPED_COLUMNS, SKIPPED_REASON, SKIPPED_ROWS, sums
from spark_reports.report_input import ReportInput
from spark_reports.reports.common import (
    ACCOUNTING,
    CHART_BARS_MAX,
    QueryResults,
    bars_of,
    ordered,
    per,
    rows_of,
    table,
    topic_tag_labels,
    total,
    with_share,
)
from spark_reports.reports.result import KeyFigure, ReportChart, ReportResult, ReportSeries, ReportTable
from spark_reports.reports.wording import clock, first_of, number, part, share_text
from spark_reports.transforms.origin import host_of
from spark_reports.vocabulary import ValueUnit

TRAFFIC_KEYS = (MINUTE, "topic", "tag", HOST)
"""Sum keys that `by_traffic_keys` needs."""
MESSAGE_COLUMNS = (
    "store", "topic", "tag", "store_time", "born_host", "body_bytes", "store_bytes", "physical_offset", *SKIPPED_COLUMNS,
)  # fmt: skip
"""Columns that `each_a_sum` needs."""
TRAFFIC = ACCOUNTING
"""Traffic rows have the columns of the accounting, so that the bytes are read once."""
CHART_TOPICS_MAX = 5
CHART_BUCKETS_MAX = 400
OTHER = "(other topics)"

_BUCKETS = (
    (60, "minute"),
    (300, "5 minutes"),
    (900, "15 minutes"),
    (3_600, "hour"),
    (21_600, "6 hours"),
    (86_400, "day"),
    (604_800, "7 days"),
)
_COLUMNS = (
    "minute", "host", "topic", "tag", "messages", "share", "body_bytes", "store_bytes", "body_bytes_avg", "body_bytes_max",
    "store_bytes_max", "first_time", "last_time",
)  # fmt: skip
_MEASURES = [
    ("messages", "sum"), ("body_bytes", "sum"), ("store_bytes", "sum"), ("body_bytes_max", "max"), ("store_bytes_max", "max"),
    ("first_time", "min"), ("last_time", "max"),
]  # fmt: skip


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    parts = reading.sums(*TRAFFIC_KEYS)
    if parts is None:
        parts = reading.records(MESSAGE_COLUMNS).transform(each_a_sum)
    return {TRAFFIC: parts.transform(by_traffic_keys)}


def result(found: QueryResults) -> ReportResult:
    by_all = found.read_rows.combine_chunks()
    traffic = _grouped(by_all, ["minute", "topic", "tag"], "minute", "topic", "tag")
    by_host = _grouped(by_all, ["host"])
    by_topic = _grouped(traffic, ["topic"])
    by_topic_tag = _grouped(traffic, ["topic", "tag"])
    by_minute = _grouped(traffic, ["minute"], "minute")
    is_any = found.messages > 0
    return found.result(
        headlines=_headlines(by_topic, by_topic_tag, by_minute),
        findings=_findings(by_topic, by_topic_tag, by_host, by_minute) if is_any else (),
        charts=_charts(traffic, by_topic, by_topic_tag, by_host) if is_any else (),
        tables=(
            _table("by_topic", "By topic", by_topic),
            _table("by_topic_tag", "By topic and tag", by_topic_tag),
            _table("by_producer", "By producer", by_host),
            _table("by_producer_topic_tag", "By producer, topic and tag", _grouped(by_all, ["host", "topic", "tag"])),
            _table("by_minute", "By minute", by_minute),
            _table("by_minute_topic_tag", "By minute, topic and tag", traffic),
        ),
        notes=(
            (
                "Counted by the broker's time, as stored: a message that waits, or a half message, is one record in an "
                "internal topic and another one where it is delivered or committed, and a retried or dead one is a copy."
            ),
            "Sizes are those on disk: of a body that its client compressed, the compressed one.",
            "A producer is the address the broker saw; copies of the broker keep it, and report producers leaves them out.",
            "What retention has cleaned away is not in the log.",
        ),
    )


def _grouped(traffic: pa.Table, keys: list[str], *order: str) -> pa.Table:
    """Sums by some columns, sorted by some of these; else by messages, most first."""
    grouped = traffic.group_by(keys).aggregate(_MEASURES).rename_columns([*keys, *(name for name, _ in _MEASURES)])
    average = pc.divide(grouped["body_bytes"].cast(pa.float64()), grouped["messages"].cast(pa.float64()))
    return ordered(with_share(grouped.append_column("body_bytes_avg", average)), *(order or ("-messages", *keys)))


def _table(name: str, title: str, data: pa.Table) -> ReportTable:
    left_away = ("share",) if name == "by_minute_topic_tag" else ()
    shown = [column for column in _COLUMNS if column in data.column_names and column not in left_away]
    return table(name, title, data.select(shown), totals=("messages", "body_bytes", "store_bytes"))


def _headlines(by_topic: pa.Table, by_topic_tag: pa.Table, by_minute: pa.Table) -> tuple[KeyFigure, ...]:
    messages, bodies, stored = (total(by_topic, name) for name in ("messages", "body_bytes", "store_bytes"))
    peak = _row_of_max(by_minute, "messages")
    pairs = by_topic_tag.num_rows
    tags = f"{pairs} {'topic and tag' if pairs == 1 else 'topics and tags'}"
    return (
        KeyFigure(messages, ValueUnit.COUNT, "messages", f"in {number(by_topic.num_rows, 'topic')}, {tags}"),
        KeyFigure(stored, ValueUnit.BYTES, "stored", f"{share_text(bodies, stored)} are message bodies" if stored else ""),
        KeyFigure(per(bodies, messages), ValueUnit.BYTES, "average body", _largest(by_topic)),
        KeyFigure(
            float(peak["messages"]) / 60 if peak else math.nan,
            ValueUnit.RATE,
            "messages/s in the busiest minute",
            f"{number(peak['messages'], 'message')} at {clock(peak['minute'])}" if peak else "",
        ),
    )


def _findings(by_topic: pa.Table, by_topic_tag: pa.Table, by_host: pa.Table, by_minute: pa.Table) -> tuple[str, ...]:
    messages, minutes = total(by_topic, "messages"), by_minute.num_rows
    first, sender = rows_of(by_topic.slice(0, 1))[0], rows_of(by_host.slice(0, 1))[0]
    heaviest = _row_of_max(by_topic, "store_bytes")
    tagged = rows_of(by_topic_tag.filter(pc.is_valid(by_topic_tag["tag"])).slice(0, 1))
    peak = _row_of_max(by_minute, "messages")
    sentences = [
        f"{first['messages']:,} of {messages:,} messages ({share_text(first['messages'], messages)}) are in {first['topic']}.",
    ]
    if heaviest and heaviest["topic"] != first["topic"]:
        stored = total(by_topic, "store_bytes")
        sentences.append(
            f"{heaviest['topic']} takes the most room: {share_text(heaviest['store_bytes'], stored)} of the stored bytes."
        )
    if tagged:
        pair = tagged[0]
        sentences.append(
            f"The most frequent tag is {pair['tag']} of {pair['topic']} with {number(pair['messages'], 'message')}."
        )
    sentences.append(
        f"{part(sender['messages'], messages)} messages come from {sender['host']}, one of {number(by_host.num_rows, 'host')}."
    )
    if peak and minutes > 1:
        mean = messages / minutes
        sentences.append(
            f"The busiest minute was {clock(peak['minute'])} with {number(peak['messages'], 'message')}, "
            f"{peak['messages'] / mean:.1f} times the mean of the {minutes:,} minutes that have any."
        )
    return tuple(sentences)


def _charts(traffic: pa.Table, by_topic: pa.Table, by_topic_tag: pa.Table, by_host: pa.Table) -> tuple[ReportChart, ...]:
    seconds, width = _bucket(traffic["minute"])
    note = f"Counted by {width}."
    names = by_topic["topic"].to_pylist()[:CHART_TOPICS_MAX]
    messages, stored = (_stack(traffic, column, names, seconds) for column in ("messages", "store_bytes"))
    by_tag = by_topic_tag.slice(0, CHART_BARS_MAX)
    of_tags = ReportSeries("Messages", topic_tag_labels(by_tag), [float(value) for value in by_tag["messages"].to_pylist()])
    cut = first_of(by_tag.num_rows, by_topic_tag.num_rows)
    return (
        ReportChart("messages", "Messages over time by topic", "stack", ValueUnit.COUNT, messages, note),
        ReportChart("bytes", "Stored bytes over time by topic", "stack", ValueUnit.BYTES, stored, note),
        ReportChart("tags", "Messages by topic and tag", "bars", ValueUnit.COUNT, (of_tags,), cut),
        bars_of("producers", "Messages by producer", by_host, "host", "messages"),
    )


def _bucket(minutes: pa.ChunkedArray) -> tuple[int, str]:
    """Width of a chart's bars in seconds and in words: the narrowest that keeps their number readable."""
    first, last = pc.min(minutes).as_py(), pc.max(minutes).as_py()
    span = (last - first).total_seconds() + 60
    for seconds, name in _BUCKETS:
        if span / seconds <= CHART_BUCKETS_MAX:
            return seconds, name
    return _BUCKETS[-1]


def _stack(traffic: pa.Table, column: str, names: Sequence[str], seconds: int) -> tuple[ReportSeries, ...]:
    at = pc.multiply(pc.divide(traffic["minute"].cast(pa.int64()), seconds * 1_000_000), seconds * 1000)
    topic = pc.if_else(pc.is_in(traffic["topic"], value_set=pa.array(names, pa.string())), traffic["topic"], OTHER)
    sums = (
        pa.table({"at": at, "topic": topic, "value": traffic[column]}).group_by(["topic", "at"]).aggregate([("value", "sum")])
    )
    series: dict[str, dict[int, float]] = {}
    for row in sums.sort_by("at").to_pylist():
        series.setdefault(row["topic"], {})[row["at"]] = float(row["value_sum"])
    order = [name for name in (*names, OTHER) if name in series]
    return tuple(ReportSeries(name, list(series[name]), list(series[name].values())) for name in order)


def _row_of_max(table: pa.Table, column: str) -> dict[str, Any] | None:
    if not table.num_rows:
        return None
    row: dict[str, Any] = table.slice(int(pc.index(table[column], pc.max(table[column])).as_py()), 1).to_pylist()[0]
    return row


def _largest(by_topic: pa.Table) -> str:
    row = _row_of_max(by_topic, "body_bytes_max")
    return f"the largest has {row['body_bytes_max']:,} bytes, in {row['topic']}" if row else ""


def each_a_sum(messages: DataFrame) -> DataFrame:
    """Messages that were not summed at the read, in the columns of sums: each is a sum of one."""
    body_bytes, store_bytes, at = F.col("body_bytes"), F.col("store_bytes"), F.col("store_time")
    made = {
        MINUTE: F.date_trunc("minute", at),
        HOST: host_of("born_host"),
        "messages": F.when(F.col(SKIPPED_REASON).isNull(), 1),
        "body_bytes_max": body_bytes,
        "store_bytes_max": store_bytes,
        "first_time": at,
        "last_time": at,
    }
    types = sums(*TRAFFIC_KEYS)
    return messages.select(*(made.get(one.name, F.col(one.name)).cast(one.dataType).alias(one.name) for one in types))


def by_traffic_keys(parts: DataFrame) -> DataFrame:
    """Sums by `TRAFFIC_KEYS` added up: a row for each minute, topic, tag and host; a row for each store and skip reason.

    Returns:
        minute (timestamp), topic, tag (null: none), host (of the producer), messages, body_bytes, store_bytes,
        body_bytes_max, store_bytes_max, first_time, last_time, and for skipped rows only: skipped_store, skipped_reason,
        skipped_rows, skipped_bytes, skipped_offset (physical offset of the first damaged place).
    """
    skipped = F.col(SKIPPED_REASON).isNotNull()
    keys = [
        *(F.col(name) for name in TRAFFIC_KEYS),
        F.when(skipped, F.col("store")).alias("skipped_store"),
        F.col(SKIPPED_REASON),
    ]
    return parts.groupBy(*keys).agg(
        _sum("messages"),
        _sum("body_bytes"),
        _sum("store_bytes"),
        F.max("body_bytes_max").alias("body_bytes_max"),
        F.max("store_bytes_max").alias("store_bytes_max"),
        F.min("first_time").alias("first_time"),
        F.max("last_time").alias("last_time"),
        _sum(SKIPPED_ROWS),
        _sum(SKIPPED_BYTES),
        F.min(F.when(skipped, F.col("physical_offset"))).alias("skipped_offset"),
    )


def _sum(name: str) -> Column:
    return F.coalesce(F.sum(name), F.lit(0)).cast("bigint").alias(name)
