"""Report ``compare``: a period against one of the same length some days earlier."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from broker_core.clock import utc_text
from broker_core.errors import UsageError
from spark_reports.parameters import ReportParameters
from spark_reports.report_input import ReportInput
from spark_reports.reports.common import (
    ACCOUNTING,
    DAY_MS,
    QueryResults,
    bars,
    ordered,
    per,
    read,
    rows_of,
    table,
    topic_tag_labels,
    total,
)
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import change_text, duration_text, number
from spark_reports.vocabulary import ValueUnit

COMPARE_COLUMNS = ("topic", "tag", "store_time", "store_bytes")
THEN, NOW = "then", "now"
FIRST = ("changes",)


def check(parameters: ReportParameters) -> None:
    """Refuse parameters without a beginning of the period by a `UsageError`."""
    if parameters.from_ms is None:
        raise UsageError("compare needs a period: say where it begins with --from (and where it ends with --to; else now).")


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    from_ms, to_ms, earlier_ms = _period(reading.parameters)
    source = read(reading, *COMPARE_COLUMNS, from_ms=from_ms - earlier_ms)
    changes = by_period(source.messages, from_ms=from_ms, to_ms=to_ms, earlier_ms=earlier_ms)
    return {ACCOUNTING: source.accounting, "changes": changes}


def first(found: QueryResults) -> ReportTable:
    size = pc.abs(found["changes"]["messages_change"])
    changes = ordered(found["changes"].append_column("order", size), "-order", "topic", "tag").drop_columns("order")
    sums = ("messages", "messages_before", "messages_change", "store_bytes", "store_bytes_before")
    return table("changes", "By topic and tag", changes, totals=sums)


def result(found: QueryResults) -> ReportResult:
    from_ms, to_ms, earlier_ms = _period(found.parameters)
    by_topic_tag = first(found)
    changes = by_topic_tag.data
    now, then = total(changes, "messages"), total(changes, "messages_before")
    return found.result(
        headlines=(
            KeyFigure(now, ValueUnit.COUNT, "messages in the period", f"from {utc_text(from_ms)}"),
            KeyFigure(then, ValueUnit.COUNT, "messages before", f"from {utc_text(from_ms - earlier_ms)}"),
            KeyFigure(per(now - then, then), ValueUnit.SHARE, "change"),
        ),
        findings=_findings(changes, now, then),
        charts=(
            bars(
                "changes",
                "Change in messages by topic and tag",
                topic_tag_labels(changes),
                changes["messages_change"].to_pylist(),
            ),
        ),
        tables=(by_topic_tag,),
        notes=(
            f"Both periods are {duration_text(to_ms - from_ms)} long; the earlier one begins at "
            f"{utc_text(from_ms - earlier_ms)}. Rows read are those of both and of the time between."
            + (" They overlap." if to_ms - from_ms > earlier_ms else ""),
            "Compare the same weekdays; and remember that retention may have cut the earlier period.",
        ),
    )


def _period(parameters: ReportParameters) -> tuple[int, int, int]:
    check(parameters)
    assert parameters.from_ms is not None
    to_ms = parameters.now_ms if parameters.to_ms is None else parameters.to_ms
    return parameters.from_ms, to_ms, parameters.number("earlier-days") * DAY_MS


def _findings(changes: pa.Table, now: int, then: int) -> list[str]:
    rows = rows_of(changes)
    relative = change_text((now - then) / then) if then else "there were none"
    new = [row for row in rows if row["messages"] and not row["messages_before"]]
    gone = [row for row in rows if row["messages_before"] and not row["messages"]]
    sentences = [f"{number(now, 'message')} against {then:,} before ({relative})."]
    if rows:
        sentences.append(f"{rows[0]['messages_change']:+,} messages are the largest change, of {_name(rows[0])}.")
    for some, words in ((new, "new"), (gone, "gone")):
        if some:
            sentences.append(
                f"{number(len(some), 'topic and tag').replace('topic and tags', 'topics and tags')} "
                f"{'is' if len(some) == 1 else 'are'} {words}, first of all {_name(some[0])}."
            )
    return sentences


def _name(row: dict[str, object]) -> str:
    return f"{row['topic']} · {row['tag']}" if row["tag"] else str(row["topic"])


def by_period(messages: DataFrame, *, from_ms: int, to_ms: int, earlier_ms: int) -> DataFrame:
    """Messages by topic and tag in a period and in one of the same length earlier.

    Returns:
        topic, tag, messages, messages_before, store_bytes, store_bytes_before, messages_change, relative_change (null: there
        were none before).
    """
    at = F.unix_millis("store_time")
    now = (at >= from_ms) & (at < to_ms)
    then = (at >= from_ms - earlier_ms) & (at < to_ms - earlier_ms)
    stored = F.col("store_bytes")
    sums = (
        messages.where(now | then)
        .groupBy("topic", "tag")
        .agg(
            F.count(F.when(now, 1)).alias("messages"),
            F.count(F.when(then, 1)).alias("messages_before"),
            F.coalesce(F.sum(F.when(now, stored)), F.lit(0)).alias("store_bytes"),
            F.coalesce(F.sum(F.when(then, stored)), F.lit(0)).alias("store_bytes_before"),
        )
    )
    change = F.col("messages") - F.col("messages_before")
    relative = F.when(F.col("messages_before") > 0, change / F.col("messages_before"))
    return sums.withColumns({"messages_change": change, "relative_change": relative})
