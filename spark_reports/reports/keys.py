"""Report ``keys``: hot keys, and how evenly ordering keys spread."""

from __future__ import annotations

import math

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import first_of, number, part
from spark_reports.transforms.keys import KEY_COLUMNS, evenness, key_counts, with_share_of_topic
from spark_reports.vocabulary import ValueUnit

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
