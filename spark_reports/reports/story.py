"""Report ``story``: every record of one message or key, in order, and its meaning."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, read, rows_of, table
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import clock, duration_text, number
from spark_reports.vocabulary import ValueUnit

STORY_COLUMNS = (
    "store", "topic", "real_topic", "retry_topic", "queue_id", "queue_offset", "physical_offset", "store_time", "born_time",
    "born_host", "kind", "keys", "unique_key", "tag", "reconsume_times", "check_times", "deliver_time", "prepared_offset",
    "decided_offsets", "cancelled_key", "body_bytes", "member_key",
)  # fmt: skip
FIRST = ("records",)
ROWS_MAX = 10_000
Row = dict[str, Any]

_STEPS: Mapping[str, Callable[[Row], str]] = {
    "normal": lambda row: f"stored by the producer {row['born_host']}",
    "fifo": lambda row: f"stored in order by the producer {row['born_host']}",
    "delay": lambda row: "cancels a timer message" if row["cancelled_key"] else f"waits for its time, for {row['real_topic']}",
    "delivered": lambda _: "delivered after its delay",
    "half": lambda row: (
        f"half message, check {row['check_times']}" if row["check_times"] else f"half message for {row['real_topic']}"
    ),
    "op": lambda _: "the half message is decided",
    "committed": lambda _: "committed",
    "given_up": lambda _: "given up after its checks",
    "retry": lambda row: f"delivered again, attempt {row['reconsume_times']}",
    "dead_letter": lambda row: f"dead letter after {row['reconsume_times']} attempts",
    "trace": lambda _: "trace record",
}
_SHOWN = (
    "store_time", "step", "topic", "queue_id", "queue_offset", "physical_offset", "tag", "keys", "unique_key", "body_bytes",
)  # fmt: skip


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, *STORY_COLUMNS, topics_of="all")
    return {ACCOUNTING: source.accounting, "records": story(source.messages, reading.parameters.text("key")).limit(ROWS_MAX)}


def first(found: QueryResults) -> ReportTable:
    """The records in order, with their meanings."""
    rows = rows_of(found["records"])
    steps = pa.array([_STEPS[row["kind"]](row) for row in rows], pa.string())
    told = found["records"].combine_chunks().append_column("step", steps).select(list(_SHOWN))
    return table("story", "Story", told, note=f"The first {ROWS_MAX:,}." if len(rows) == ROWS_MAX else "")


def result(found: QueryResults) -> ReportResult:
    rows = rows_of(found["records"])
    key = found.shown(found.parameters.text("key"))
    messages = len({row["member_key"] or row["unique_key"] for row in rows if row["kind"] != "op"})
    return found.result(
        headlines=(
            KeyFigure(len(rows), ValueUnit.COUNT, "records", f"of {found.messages:,} read"),
            KeyFigure(messages, ValueUnit.COUNT, "messages", "by unique key"),
        ),
        findings=_findings(rows, key),
        tables=(first(found),),
        notes=(
            "An op record does not say whether it commits: a committed copy does.",
            "That a consumer got a message is not in the log, only that it gave it back.",
            "Topics are not looked at here: a message passes through internal ones.",
        ),
    )


def _findings(rows: list[Row], key: str) -> list[str]:
    if not rows:
        return [f"0 records of “{key}” are in this range."]
    first, last = rows[0], rows[-1]
    took = (last["store_time"] - first["store_time"]).total_seconds() * 1000
    return [
        f"{number(len(rows), 'record')} of “{key}”, from {clock(first['store_time'])} within {duration_text(took)}.",
        f"First: {_STEPS[first['kind']](first)}, in {first['topic']}. Last: {_STEPS[last['kind']](last)}, in {last['topic']}.",
    ]


def story(messages: DataFrame, key: str) -> DataFrame:
    """Records of a business key or unique key, with the decisions on their half messages, oldest first.

    Records of one unique key belong together even if a copy lacks the business key; cancellations of a timer message and op
    records refer to it by other columns.
    """
    cancelled = F.element_at(F.split("cancelled_key", r"\+"), -1)
    member = F.col("member_key").eqNullSafe(key)
    named = F.array_contains("keys", key) | F.col("unique_key").eqNullSafe(key) | member | cancelled.eqNullSafe(key)
    # Members of a batch share one unique key, so it identifies no message.
    ids = messages.where(named).where("unique_key is not null and member_key is null").select("unique_key").distinct()
    own = messages.where(named).unionByName(messages.where(~named).join(ids, "unique_key", "left_semi"))
    halves = own.where("kind = 'half'").select("store", F.col("queue_offset").cast("string").alias("decided"))
    ops = messages.where("kind = 'op'")
    decided = ops.select("store", "physical_offset", F.explode(F.split("decided_offsets", ",")).alias("decided"))
    places = decided.join(halves, ["store", "decided"], "left_semi")
    decisions = ops.join(places, ["store", "physical_offset"], "left_semi")  # once, however many halves it decides
    rows = own.unionByName(decisions).withColumn("keys", F.concat_ws(" ", "keys"))
    return rows.orderBy("store_time", "store", "physical_offset")
