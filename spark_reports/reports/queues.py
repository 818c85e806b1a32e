"""Report ``queues``: even, silent and incomplete queues."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars_of, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import number
from spark_reports.transforms.delay import SCHEDULE_TOPIC
from spark_reports.transforms.queues import QUEUE_COLUMNS, queue_rows, topic_rows
from spark_reports.vocabulary import ValueUnit

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
