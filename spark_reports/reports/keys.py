"""Report ``keys``: hot keys, and how evenly ordering keys spread."""

from __future__ import annotations

import math

import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import first_of, number, part
from spark_reports.transforms.origin import ORIGIN_COLUMNS, first_and_last, first_stored
from spark_reports.vocabulary import ValueUnit

KEY_COLUMNS = ("store", "real_topic", "real_queue_id", "keys", "ordering_key", "store_time", *ORIGIN_COLUMNS)
FIRST = ("keys",)
_SORTS = (("keys", "business key"), ("ordering_key", "ordering key"))


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, *KEY_COLUMNS, topics_of="meant")
    top = reading.parameters.number("top")
    made = {ACCOUNTING: source.accounting}
    for column, _ in _SORTS:
        counts = key_counts(source.messages, column)
        made[column] = with_share_of_topic(counts).orderBy(F.desc("messages"), "topic", "key").limit(top)
        made[f"{column}_evenness"] = evenness(counts)
    return made


def first(found: QueryResults) -> ReportTable:
    """The first business keys; the number of further ones is unknown at this point."""
    column, noun = _SORTS[0]
    return _ranking(column, noun, _ranked(found, column))


def result(found: QueryResults) -> ReportResult:
    ranking = {column: _ranked(found, column) for column, _ in _SORTS}
    even = {column: ordered(found[f"{column}_evenness"], "-gini", "topic") for column, _ in _SORTS}
    hot = rows_of(ranking["ordering_key"].slice(0, 1)) or rows_of(ranking["keys"].slice(0, 1))
    return found.result(
        headlines=(
            KeyFigure(total(even["keys"], "distinct_values"), ValueUnit.COUNT, "business keys"),
            KeyFigure(total(even["ordering_key"], "distinct_values"), ValueUnit.COUNT, "ordering keys"),
            KeyFigure(
                hot[0]["share"] if hot else math.nan, ValueUnit.SHARE, "share of the hottest", hot[0]["key"] if hot else ""
            ),
        ),
        findings=[sentence for column, noun in _SORTS for sentence in _findings(noun, ranking[column], even[column])],
        charts=tuple(
            bars(
                column,
                f"First {noun}s",
                [f"{row['topic']} · {row['key']}" for row in rows_of(ranking[column])],
                [row["messages"] for row in rows_of(ranking[column])],
            )
            for column, noun in _SORTS
            if ranking[column].num_rows
        ),
        tables=[made for column, noun in _SORTS for made in _tables(column, noun, ranking[column], even[column])],
        notes=(
            "Keys are separated by spaces; a message counts for each of its keys.",
            (
                "Ordering keys are known of clients that store them (5.x message groups); older ordered "
                "sends leave no trace but the queue. Gini: 0 even, near 1 one key has all."
            ),
            "Counted exactly, over messages as they were sent; copies of the broker are left out.",
        ),
    )


def _findings(noun: str, ranking: pa.Table, even: pa.Table) -> list[str]:
    sentences = [
        f"{total(even, 'keyed'):,} uses of {number(total(even, 'distinct_values'), noun)} in {number(even.num_rows, 'topic')}."
    ]
    for row in rows_of(ranking.slice(0, 1)):
        whole = next(one["keyed"] for one in rows_of(even) if one["topic"] == row["topic"])
        sentences.append(
            f"{part(row['messages'], whole)} uses in {row['topic']} are of the {noun} {row['key']}, "
            f"in {number(row['queues'], 'queue')}."
        )
    return sentences


def _ranked(found: QueryResults, column: str) -> pa.Table:
    return ordered(found[column], "-messages", "topic", "key")


def _ranking(column: str, noun: str, ranked: pa.Table, note: str = "") -> ReportTable:
    return table(f"{column}_first", f"First {noun}s", ranked, note=note)


def _tables(column: str, noun: str, ranking: pa.Table, even: pa.Table) -> list[ReportTable]:
    names = ["largest" if name == "messages_max" else name for name in even.column_names]
    note = first_of(ranking.num_rows, total(even, "distinct_values"))
    return [
        _ranking(column, noun, ranking, note),
        table(f"{column}_by_topic", f"Spread of {noun}s by topic", even.rename_columns(names), totals=("keyed",)),
    ]


def key_counts(messages: DataFrame, column: str) -> DataFrame:
    """Messages as sent, by topic and key: those of ``keys`` (a message counts for each of its keys) or ``ordering_key``.

    Returns:
        topic, key, messages, queues (number of queues of all stores with the key), queue_share (greatest share of this key
        among the uses of keys in a queue), first_time, last_time.
    """
    key = F.explode("keys") if column == "keys" else F.col(column)
    queue = F.struct("store", "real_queue_id").alias("queue")
    keyed = first_stored(messages).select(F.col("real_topic").alias("topic"), key.alias("key"), queue, "store_time")
    by_queue = (
        keyed.where("key is not null").groupBy("topic", "queue", "key").agg(F.count("*").alias("uses"), *first_and_last())
    )
    in_queue = F.sum("uses").over(Window.partitionBy("topic", "queue"))
    return (
        by_queue.withColumn("of_queue", F.col("uses") / in_queue)
        .groupBy("topic", "key")
        .agg(
            F.sum("uses").alias("messages"),
            F.count("*").alias("queues"),
            F.max("of_queue").alias("queue_share"),
            F.min("first_time").alias("first_time"),
            F.max("last_time").alias("last_time"),
        )
    )


def with_share_of_topic(counts: DataFrame) -> DataFrame:
    """Key counts with their share of the keyed messages of the topic."""
    whole = F.sum("messages").over(Window.partitionBy("topic"))
    return counts.withColumn("share", F.col("messages") / whole)


def evenness(counts: DataFrame) -> DataFrame:
    """Evenness of the messages of a topic over its keys.

    Returns:
        topic, distinct_values (keys), keyed (messages with a key), messages_max (of one key), gini (0: even, near 1: one key
        has all).
    """
    place = F.row_number().over(Window.partitionBy("topic").orderBy("messages", "key"))
    ranked = counts.withColumn("place", place)
    summed = ranked.groupBy("topic").agg(
        F.count("*").alias("distinct_values"),
        F.sum("messages").alias("keyed"),
        F.max("messages").alias("messages_max"),
        F.sum(F.col("place") * F.col("messages")).alias("weighted"),
    )
    size = F.col("distinct_values")
    gini = 2 * F.col("weighted") / (size * F.col("keyed")) - (size + 1) / size
    return summed.select("topic", "distinct_values", "keyed", "messages_max", F.round(gini, 6).alias("gini"))
