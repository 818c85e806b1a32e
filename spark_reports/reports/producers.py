"""Report ``producers``: the hosts that send, since when, and what."""

from __future__ import annotations

from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.parameters import ReportParameters
from spark_reports.report_input import ReportInput
from spark_reports.reports.common import (
    ACCOUNTING,
    HOUR_MS,
    QueryResults,
    bars_of,
    bucket_ms,
    ordered,
    read,
    rows_of,
    table,
    with_share,
)
from spark_reports.reports.result import KeyFigure, ReportChart, ReportResult, ReportSeries, ReportTable
from spark_reports.reports.wording import clock, duration_text, number, part, say
from spark_reports.transforms.origin import ORIGIN_COLUMNS, first_and_last, first_stored, host_of
from spark_reports.vocabulary import ValueUnit

PRODUCER_COLUMNS = ("born_host", "real_topic", "producer_group", "store_time", "store_bytes", *ORIGIN_COLUMNS)
FIRST = ("hosts",)
NEW_WITHIN = timedelta(days=1)
CHART_HOSTS_MAX = 5


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, *PRODUCER_COLUMNS, topics_of="meant")
    return {
        ACCOUNTING: source.accounting,
        "hosts": producer_rows(source.messages, "host"),
        "topics": producer_rows(source.messages, "host", "topic", "group").drop("topics"),
        "times": over_time(source.messages, _width_ms(reading.parameters), CHART_HOSTS_MAX),
        "days": producer_rows(source.messages, "host", F.date_format("store_time", "yyyy-MM-dd").alias("day")).drop("topics"),
    }


def first(found: QueryResults) -> ReportTable:
    hosts = ordered(with_share(found["hosts"]), "-messages", "host")
    return table("by_host", "By host", hosts, totals=("messages", "store_bytes"))


def result(found: QueryResults) -> ReportResult:
    of_hosts = first(found)
    hosts = of_hosts.data
    newest = max((row["last_time"] for row in rows_of(hosts)), default=None)
    new = [row for row in rows_of(hosts) if newest - row["first_time"] < NEW_WITHIN]
    gone = [row for row in rows_of(hosts) if newest - row["last_time"] >= NEW_WITHIN]
    return found.result(
        headlines=(
            KeyFigure(hosts.num_rows, ValueUnit.COUNT, "producer hosts"),
            KeyFigure(len(new), ValueUnit.COUNT, "new in the last day", ", ".join(row["host"] for row in new[:3])),
            KeyFigure(len(gone), ValueUnit.COUNT, "silent in the last day", ", ".join(row["host"] for row in gone[:3])),
        ),
        findings=_findings(hosts, new, gone),
        charts=(
            _over_time(found["times"], _width_ms(found.parameters)),
            bars_of("hosts", "Messages by host", hosts, "host", "messages"),
        ),
        tables=(
            of_hosts,
            table(
                "by_topic",
                "By host and topic",
                ordered(found["topics"], "host", "-messages", "topic", "group"),
                totals=("messages", "store_bytes"),
            ),
            table("by_day", "By host and day", ordered(found["days"], "host", "day"), totals=("messages", "store_bytes")),
            table("over_time", "The busiest hosts over time", _timed(found["times"]), totals=("messages",)),
        ),
        notes=(
            "A host is the address the broker saw: behind address translation many hosts are one.",
            "The producer group is stored with transactional messages only; the client's version is not stored at all.",
            "New and silent refer to the newest message of the range.",
        ),
    )


def _width_ms(parameters: ReportParameters) -> int:
    """Width of the bars over time: hours, finer if a range was requested."""
    return HOUR_MS if parameters.from_ms is None else bucket_ms(parameters)


def _timed(times: pa.Table) -> pa.Table:
    rows = ordered(times, "host", "bucket_ms")
    at = pc.multiply(rows["bucket_ms"], 1_000).cast(pa.timestamp("us", tz="UTC"))
    return pa.table({"host": rows["host"], "time": at, "messages": rows["messages"]})


def _over_time(times: pa.Table, width_ms: int) -> ReportChart:
    by_host: dict[str, dict[object, float]] = {}
    for row in rows_of(ordered(times, "host", "bucket_ms")):
        by_host.setdefault(str(row["host"]), {})[row["bucket_ms"]] = float(row["messages"])
    series = tuple(ReportSeries(host, list(found), list(found.values())) for host, found in by_host.items())
    note = say("The {hosts} hosts that sent most; one bar is {width}.", hosts=CHART_HOSTS_MAX, width=duration_text(width_ms))
    return ReportChart("times", "Messages over time by host", "stack", ValueUnit.COUNT, series, note)


def _findings(hosts: pa.Table, new: list[dict[str, object]], gone: list[dict[str, object]]) -> list[str]:
    rows = rows_of(hosts)
    if not rows:
        return ["0 messages were sent by a producer in this range."]
    messages = sum(row["messages"] for row in rows)
    sentences = [
        f"{part(rows[0]['messages'], messages)} messages come from {rows[0]['host']}, one of {number(len(rows), 'host')}."
    ]
    if new:
        sentences.append(f"{number(len(new), 'host')} sent for the first time in the last day: {_names(new)}.")
    if gone:
        sentences.append(
            f"{number(len(gone), 'host')} did not send in the last day: {_names(gone)}, last {clock(gone[0]['last_time'])}."
        )
    return sentences


def _names(rows: list[dict[str, object]]) -> str:
    names = ", ".join(str(row["host"]) for row in rows[:5])
    return f"{names} and {len(rows) - 5} more" if len(rows) > 5 else names


def over_time(messages: DataFrame, bucket_ms: int, hosts: int) -> DataFrame:
    """Messages as sent by the hosts that sent most: host, bucket_ms (its beginning), messages."""
    sent = first_stored(messages).withColumn("host", host_of("born_host"))
    most = sent.groupBy("host").agg(F.count("*").alias("messages")).orderBy(F.desc("messages"), "host").limit(hosts)
    bucket = F.floor(F.unix_millis("store_time") / bucket_ms) * bucket_ms
    of_most = sent.join(F.broadcast(most.select("host")), "host", "left_semi")
    return of_most.groupBy("host", bucket.cast("bigint").alias("bucket_ms")).agg(F.count("*").alias("messages"))


def producer_rows(messages: DataFrame, *keys: str | Column) -> DataFrame:
    """Messages as sent, by some of host, topic, group or columns of time: messages, topics, store_bytes, first and last."""
    sent = first_stored(messages).withColumn("host", host_of("born_host"))
    sent = sent.withColumnsRenamed({"real_topic": "topic", "producer_group": "group"})
    return sent.groupBy(*keys).agg(
        F.count("*").alias("messages"),
        F.countDistinct("topic").alias("topics"),
        F.sum("store_bytes").alias("store_bytes"),
        *first_and_last(),
    )
