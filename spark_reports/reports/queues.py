"""Report ``queues``: even, silent and incomplete queues."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from broker_core.protocol.names import SCHEDULE_TOPIC
from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars_of, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import number
from spark_reports.transforms.origin import first_and_last
from spark_reports.vocabulary import ValueUnit

QUEUE_COLUMNS = ("store", "topic", "queue_id", "queue_offset", "store_time", "store_bytes", "kind")
FIRST = ("queues",)


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, *QUEUE_COLUMNS)
    queues = queue_rows(source.messages).persist()
    return {ACCOUNTING: source.accounting, "queues": queues, "topics": topic_rows(queues.where(f"topic != '{SCHEDULE_TOPIC}'"))}


def first(found: QueryResults) -> ReportTable:
    queues = ordered(found["queues"], "store", "topic", "queue_id")
    return table("by_queue", "By queue", queues, totals=("messages", "store_bytes", "offsets_missing"))


def result(found: QueryResults) -> ReportResult:
    of_queues = first(found)
    queues = of_queues.data
    topics = ordered(found["topics"], "-skewness", "store", "topic")
    missing, silent = total(topics, "offsets_missing"), total(topics, "silent")
    return found.result(
        headlines=(
            KeyFigure(queues.num_rows, ValueUnit.COUNT, "queues", f"of {number(topics.num_rows, 'topic')}"),
            KeyFigure(silent, ValueUnit.COUNT, "silent queues", "ids below the highest seen"),
            KeyFigure(missing, ValueUnit.COUNT, "offsets missing"),
        ),
        findings=_findings(topics, queues),
        charts=(bars_of("skewness", "Fullest queue by the mean", topics, "topic", "skewness", ValueUnit.RATIO),),
        tables=(
            table("by_topic", "By topic", topics, totals=("queues", "silent", "messages", "offsets_missing")),
            of_queues,
        ),
        notes=(
            "The queues of waiting messages are delay levels; they are in the list by queue alone.",
            "A queue that never got a message is seen only if one with a higher id did.",
            (
                "Offsets are missing where records are damaged or were cut away; messages before the first "
                "offset of the range are not."
            ),
            "Batch queues and compaction leave gaps lawfully; a changed number of queues makes late queues emptier.",
        ),
    )


def _findings(topics: pa.Table, queues: pa.Table) -> list[str]:
    gaps = [row for row in rows_of(queues) if row["offsets_missing"]]
    quiet = [row for row in rows_of(topics) if row["silent"]]
    sentences = [
        f"{number(total(topics, 'offsets_missing'), 'offset')} of {number(queues.num_rows, 'queue')} "
        f"{'is' if total(topics, 'offsets_missing') == 1 else 'are'} missing"
        + (
            f", in {gaps[0]['topic']} queue {gaps[0]['queue_id']} and {len(gaps) - 1} more."
            if len(gaps) > 1
            else f", in {gaps[0]['topic']} queue {gaps[0]['queue_id']}."
            if gaps
            else "."
        ),
        f"{number(total(topics, 'silent'), 'queue')} {'is' if total(topics, 'silent') == 1 else 'are'} silent"
        + (f", most of them of {max(quiet, key=lambda row: row['silent'])['topic']}." if quiet else "."),
    ]
    sentences += [
        (
            f"{row['largest']:,} of {row['messages']:,} messages of {row['topic']} are in one of its "
            f"{number(row['queues'], 'queue')}, {row['skewness']:.1f} times the mean."
        )
        for row in rows_of(topics.slice(0, 1))
        if row["largest"] * row["queues"] > row["messages"]
    ]
    return sentences


def queue_rows(messages: DataFrame) -> DataFrame:
    """One row for each queue.

    Returns:
        store, topic, queue_id, messages, store_bytes, offset_first, offset_last, offsets_missing (between the two),
        first_time, last_time.
    """
    grouped = messages.groupBy("store", "topic", "queue_id").agg(
        F.count("*").alias("messages"),
        F.sum("store_bytes").alias("store_bytes"),
        F.min("queue_offset").alias("offset_first"),
        F.max("queue_offset").alias("offset_last"),
        F.countDistinct("queue_offset").alias("offsets"),
        *first_and_last(),
    )
    missing = F.col("offset_last") - F.col("offset_first") + 1 - F.col("offsets")
    return grouped.select(
        "store", "topic", "queue_id", "messages", "store_bytes", "offset_first", "offset_last",
        missing.alias("offsets_missing"), "first_time", "last_time",
    )  # fmt: skip


def topic_rows(queues: DataFrame) -> DataFrame:
    """One row for each topic.

    Returns:
        store, topic, queues, silent (ids below the highest without a message), messages, largest (of one queue), skewness
        (largest by mean), offsets_missing.
    """
    silent = F.max("queue_id") + 1 - F.count("*")
    mean = F.sum("messages") / F.count("*")
    return queues.groupBy("store", "topic").agg(
        F.count("*").alias("queues"),
        silent.alias("silent"),
        F.sum("messages").alias("messages"),
        F.max("messages").alias("largest"),
        F.round(F.max("messages") / mean, 6).alias("skewness"),
        F.sum("offsets_missing").alias("offsets_missing"),
    )
