"""Report ``duplicates``: the same unique key, business key or body stored again."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import duration_text, first_of, number
from spark_reports.transforms.duplicates import BODY, BUSINESS_KEY, DUPLICATE_COLUMNS, UNIQUE_KEY, by_sameness, cases, sums
from spark_reports.vocabulary import ValueUnit

FIRST = ("same_unique_key",)
SAMENESS = (UNIQUE_KEY, BUSINESS_KEY, BODY)


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, *DUPLICATE_COLUMNS, topics_of="meant")
    by_kind = by_sameness(source.messages, reading.parameters.number("within-s") * 1000)
    by_kind[UNIQUE_KEY] = by_kind[UNIQUE_KEY].persist()
    found = cases(by_kind).persist()
    first = found.orderBy(F.desc("repeats"), "sameness", "topic", "key", "digest").limit(reading.parameters.number("top"))
    return {ACCOUNTING: source.accounting, FIRST[0]: sums(by_kind[UNIQUE_KEY]), "sums": sums(found), "cases": first}


def first(found: QueryResults) -> ReportTable:
    """Sums of unique keys by topic, which are ready before keys and bodies are compared."""
    return _by_topic(found[FIRST[0]], "Same unique key, by topic")


def result(found: QueryResults) -> ReportResult:
    by_topic = _by_topic(found["sums"], "By sameness and topic")
    totals = by_topic.data
    repeats = {name: sum(row["repeats"] for row in rows_of(totals) if row["sameness"] == name) for name in SAMENESS}
    return found.result(
        headlines=[KeyFigure(repeats[name], ValueUnit.COUNT, f"repeats by {name}", _cases(totals, name)) for name in SAMENESS],
        findings=_findings(totals, repeats),
        charts=(
            bars(
                "repeats",
                "Repeats",
                [f"{row['topic']} · (same {row['sameness']})" for row in rows_of(totals)],
                totals["repeats"].to_pylist(),
            ),
        ),
        tables=(
            by_topic,
            table(
                "cases",
                "Cases",
                ordered(_named(found["cases"]), "-repeats", "sameness", "topic", "key"),
                note=first_of(found["cases"].num_rows, total(totals, "groups")),
            ),
        ),
        notes=(
            (
                f"Repeats come at most {duration_text(found.parameters.number('within-s') * 1000)} after "
                "the one before. Many are lawful, "
                "such as a customer number as key, or a heartbeat's body: choose topics and time with that in mind."
            ),
            "Bodies are compared by checksum (CRC-32) and length as stored; two different bodies can agree in both by chance.",
            "Copies that the broker makes are left out. Messages with the same unique key count once for keys and bodies.",
        ),
    )


def _by_topic(rows: pa.Table, title: str) -> ReportTable:
    return table("by_topic", title, ordered(rows, "-repeats", "sameness", "topic"), totals=("groups", "repeats"))


def _named(cases: pa.Table) -> pa.Table:
    key = pc.coalesce(cases["key"], cases["digest"])
    return cases.set_column(cases.column_names.index("key"), "key", key).drop_columns("digest")


def _cases(totals: pa.Table, name: str) -> str:
    return f"in {number(sum(row['groups'] for row in rows_of(totals) if row['sameness'] == name), 'case')}"


def _findings(totals: pa.Table, repeats: dict[str, int]) -> list[str]:
    sentences = [
        (
            f"{number(repeats[UNIQUE_KEY], 'message')} {'was' if repeats[UNIQUE_KEY] == 1 else 'were'} "
            "stored again under the same unique key: a producer sent again what had arrived."
        ),
        (
            f"{number(repeats[BUSINESS_KEY], 'message')} repeat a business key under another unique key, "
            f"{repeats[BODY]:,} repeat a body."
        ),
    ]
    sentences += [
        (
            f"{number(row['repeats'], 'repeat')} by {row['sameness']} are in {row['topic']}, at most "
            f"{duration_text(row['apart_ms'])} apart."
        )
        for row in rows_of(totals.slice(0, 1))
    ]
    return sentences
