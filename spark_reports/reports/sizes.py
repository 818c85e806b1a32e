"""Report ``sizes``: message sizes by topic and tag, the largest, and the savings of compression."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import (
    ACCOUNTING,
    QueryResults,
    bars,
    bars_of,
    ordered,
    per,
    read,
    rows_of,
    table,
    topic_tag_labels,
    total,
)
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import number, part, share_text
from spark_reports.transforms.sizes import SAMPLE_COLUMNS, SIZE_COLUMNS, compression_trial, size_classes, size_rows
from spark_reports.vocabulary import ValueUnit

FIRST = ("topics",)
LARGEST_MAX = 100
LIMIT_BYTES = 4 << 20
"""Default limit of a broker (maxMessageSize)."""
NEAR_LIMIT = 0.75
TRIAL = "trial"


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, *SIZE_COLUMNS)
    largest = source.messages.orderBy(F.desc("body_bytes"), "store", "physical_offset").limit(LARGEST_MAX)
    made = {
        ACCOUNTING: source.accounting,
        "topics": size_rows(source.messages, "topic", "tag"),
        "classes": size_classes(source.messages),
        "largest": largest.select("topic", "tag", "queue_id", "queue_offset", "body_bytes", "store_bytes", "store_time"),
        "near": source.messages.where(F.col("body_bytes") >= LIMIT_BYTES * NEAR_LIMIT).groupBy().count(),
    }
    every = reading.parameters.number("sample")
    return made | ({TRIAL: compression_trial(reading.records(SAMPLE_COLUMNS), every)} if every else {})


def first(found: QueryResults) -> ReportTable:
    topics = ordered(found["topics"], "-store_bytes", "topic", "tag")
    return table("by_topic_tag", "By topic and tag", topics, totals=("messages", "body_bytes", "store_bytes", "overhead_bytes"))


def result(found: QueryResults) -> ReportResult:
    by_topic_tag = first(found)
    topics = by_topic_tag.data
    classes = _named(ordered(found["classes"], "size_class"))
    trial = _with_saving(found[TRIAL]) if TRIAL in found.tables else None
    stored, bodies = total(topics, "store_bytes"), total(topics, "body_bytes")
    tables = [
        by_topic_tag,
        table("by_size", "By size of the body", classes, totals=("messages", "body_bytes")),
        table("largest", "Largest", found["largest"], note=f"At most {LARGEST_MAX}."),
    ]
    if trial is not None:
        tables.append(
            table(
                "compression",
                "Compression on trial",
                trial,
                totals=("messages", "body_bytes", "compressed_bytes"),
                note="Bodies that no client had compressed; one of "
                f"{found.parameters.number('sample'):,} was tried, with zlib.",
            )
        )
    near = total(found["near"], "count")
    return found.result(
        headlines=(
            KeyFigure(stored, ValueUnit.BYTES, "stored", f"{share_text(bodies, stored)} are message bodies" if stored else ""),
            KeyFigure(per(bodies, found.messages), ValueUnit.BYTES, "average body"),
            KeyFigure(near, ValueUnit.COUNT, "near the limit", f"{100 * NEAR_LIMIT:.0f} % of {LIMIT_BYTES:,} bytes or more"),
        ),
        findings=_findings(found.messages, topics, trial, near),
        charts=(
            bars_of("classes", "Messages by size of the body", classes, "size", "messages", words=True),
            bars(
                "topics",
                "Stored bytes by topic and tag",
                topic_tag_labels(topics),
                topics["store_bytes"].to_pylist(),
                ValueUnit.BYTES,
            ),
        ),
        tables=tables,
        notes=(
            (
                "Sizes are those on disk: of a body that its client compressed, the compressed one. "
                "Headers and properties can weigh more than the body; they stand beside it."
            ),
        ),
    )


def _named(classes: pa.Table) -> pa.Table:
    names = ["empty" if one == 0 else f"under {4**one:,} bytes" for one in classes["size_class"].to_pylist()]
    return classes.set_column(classes.column_names.index("size_class"), "size", pa.array(names, pa.string()))


def _with_saving(trial: pa.Table) -> pa.Table:
    shrink = pc.subtract(
        1.0, pc.divide(trial["compressed_bytes"].cast(pa.float64()), pc.max_element_wise(trial["body_bytes"], 1))
    )
    return ordered(trial.append_column("saved_share", shrink), "-body_bytes", "topic")


def _findings(messages: int, topics: pa.Table, trial: pa.Table | None, near: int) -> list[str]:
    if not messages:
        return []
    first = rows_of(topics.slice(0, 1))[0]
    stored = total(topics, "store_bytes")
    tag = f" with tag {first['tag']}" if first["tag"] else ""
    sentences = [
        (
            f"{part(first['messages'], messages)} messages are of {first['topic']}{tag} and take "
            f"{share_text(first['store_bytes'], stored)} of the stored bytes."
        ),
        f"{part(total(topics, 'overhead_bytes'), stored)} bytes are headers and properties.",
        f"{number(near, 'message')} {'comes' if near == 1 else 'come'} near the limit of {LIMIT_BYTES:,} bytes.",
    ]
    if trial is not None and trial.num_rows:
        tried, left = total(trial, "body_bytes"), total(trial, "compressed_bytes")
        how, change = ("shrank", "less") if left <= tried else ("grew", "more")
        sentences.append(
            f"{number(total(trial, 'messages'), 'body')} on trial {how} from {tried:,} to {left:,} bytes "
            f"({share_text(abs(tried - left), tried)} {change})."
        )
    return sentences
