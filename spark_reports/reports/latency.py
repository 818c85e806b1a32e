"""Report ``latency``: from the producer's clock to the broker's, by host, separately for clocks that run ahead.

Negative values are wrong clocks; they are counted and shown separately and are in no percentile. Messages without a time of
birth are counted.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, HOUR_MS, QueryResults, bars_of, lines, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportChart, ReportResult, ReportTable
from spark_reports.reports.wording import duration_text, number, part
from spark_reports.transforms.origin import ORIGIN_COLUMNS, first_stored, host_of, milliseconds_between, spread
from spark_reports.vocabulary import ValueUnit

LATENCY_COLUMNS = ("born_time", "store_time", "born_host", *ORIGIN_COLUMNS)
AHEAD, PLAUSIBLE, UNBORN = "ahead of the broker's", "plausible", "none"
FIRST = ("hosts",)


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, *LATENCY_COLUMNS, topics_of="meant")
    latencies = with_latency(source.messages)
    return {
        ACCOUNTING: source.accounting,
        "hosts": latency_by(latencies, "host", "skew"),
        "all": latency_by(latencies, "skew"),
        "hours": latency_by(latencies, "hour_time", "skew"),
    }


def first(found: QueryResults) -> ReportTable:
    return table("by_host", "By host", _with_skew(ordered(found["hosts"], "-p99_ms", "host"), PLAUSIBLE), totals=("messages",))


def result(found: QueryResults) -> ReportResult:
    hosts = ordered(found["hosts"], "-p99_ms", "host")
    by_host = first(found)
    plausible, ahead = by_host.data, _with_skew(hosts, AHEAD)
    overall = next((row for row in rows_of(found["all"]) if row["skew"] == PLAUSIBLE), None)
    sent, skewed = total(hosts, "messages"), total(ahead, "messages")
    return found.result(
        headlines=(
            KeyFigure(sent, ValueUnit.COUNT, "messages as sent", f"of {found.messages:,} records read"),
            *((KeyFigure(overall[key], ValueUnit.DURATION, title) for key, title in _PERCENTILES) if overall else ()),
            KeyFigure(skewed, ValueUnit.COUNT, "from clocks ahead", f"of {number(ahead.num_rows, 'host')}"),
        ),
        findings=_findings(hosts, sent, overall["p99_ms"] if overall else None),
        charts=(
            _over_time(found["hours"]),
            bars_of("hosts", "99 % by host", plausible, "host", "p99_ms", ValueUnit.DURATION),
        ),
        tables=(
            by_host,
            table(
                "clocks_ahead",
                "Clocks ahead of the broker's",
                ahead,
                totals=("messages",),
                note="Negative durations: the message was born later than it was stored.",
            ),
        ),
        notes=(
            "Copies that the broker makes (delivered, retried, checked, committed) keep the time of birth and are left out.",
            "A clock that runs behind makes latencies longer and cannot be told from a slow network.",
        ),
    )


def _with_skew(hosts: pa.Table, skew: str) -> pa.Table:
    return hosts.filter(pc.equal(hosts["skew"], skew)).drop_columns("skew")


_PERCENTILES = (("p50_ms", "median"), ("p99_ms", "99 %"))


def _findings(hosts: pa.Table, sent: int, p99: float | None) -> list[str]:
    plausible, ahead, unborn = (_with_skew(hosts, skew) for skew in (PLAUSIBLE, AHEAD, UNBORN))
    skewed = total(ahead, "messages")
    share = part(total(plausible, "messages"), sent)
    sentences = [f"{share} messages have a plausible latency; 99 % of them took at most {duration_text(p99)}."]
    if plausible.num_rows > 1:
        slowest = rows_of(plausible.slice(0, 1))[0]
        sentences.append(
            f"{number(slowest['messages'], 'message')} from {slowest['host']} "
            f"{'is' if slowest['messages'] == 1 else 'are'} the slowest: 99 % took at most {duration_text(slowest['p99_ms'])}."
        )
    if skewed:
        worst = min(rows_of(ahead), key=lambda row: row["min_ms"])
        sentences.append(
            f"{part(skewed, sent)} messages were born after they were stored: the clock of {worst['host']} is up to "
            f"{duration_text(-worst['min_ms'])} ahead."
        )
    if unborn.num_rows:
        sentences.append(f"{part(total(unborn, 'messages'), sent)} messages tell no time of birth: they are in no percentile.")
    return sentences


def _over_time(hours: pa.Table) -> ReportChart:
    rows = ordered(hours.filter(pc.equal(hours["skew"], PLAUSIBLE)), "hour_time")
    at = pc.divide(rows["hour_time"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()), 1000)
    both = pa.concat_tables(
        pa.table({"bucket_ms": at, "what": pa.repeat(pa.scalar(title), len(rows)), "ms": rows[key]})
        for key, title in _PERCENTILES
    )
    return lines(
        "hours", "Latency over time", both, by="what", value="ms", unit=ValueUnit.DURATION, width_ms=HOUR_MS,
        note="One point is one hour.", words=True,
    )  # fmt: skip


def with_latency(messages: DataFrame) -> DataFrame:
    """Messages as sent, with latency_ms and host.

    skew separates clocks ahead of the broker's, and messages without a time of birth (0).
    """
    sent = first_stored(messages).withColumn("latency_ms", milliseconds_between("store_time", "born_time"))
    return sent.select(
        host_of("born_host").alias("host"),
        F.date_trunc("hour", "store_time").alias("hour_time"),
        "latency_ms",
        F.when(F.unix_millis("born_time") <= 0, UNBORN).when(F.col("latency_ms") < 0, AHEAD).otherwise(PLAUSIBLE).alias("skew"),
    )


def latency_by(latencies: DataFrame, *keys: str) -> DataFrame:
    """Messages and their spread of latency_ms by some columns; min_ms is the shortest."""
    return latencies.groupBy(*keys).agg(
        F.count("*").alias("messages"), F.min("latency_ms").alias("min_ms"), *spread("latency_ms")
    )
