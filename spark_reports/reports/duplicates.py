"""Report ``duplicates``: the same unique key, business key or body stored again.

Repeated messages: the same unique key, the same business key under another unique key, the same body.

A repeat is a record within a time limit after the one before it in its case; later ones are regarded as intended.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import duration_text, first_of, number
from spark_reports.transforms.origin import ORIGIN_COLUMNS, first_and_last, first_stored, own_key
from spark_reports.vocabulary import ValueUnit

DUPLICATE_COLUMNS = (
    "store", "real_topic", "keys", "unique_key", "member_key", "body_crc", "body_bytes", "store_time", "physical_offset",
    *ORIGIN_COLUMNS,
)  # fmt: skip
UNIQUE_KEY, BUSINESS_KEY, BODY = "unique key", "business key", "body"
BEFORE = "before"
_BODY = ("body_crc", "body_bytes")
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


def by_sameness(messages: DataFrame, within_ms: int) -> dict[str, DataFrame]:
    """For each sameness one row for each case with a repeat within ``within_ms``, from messages with `DUPLICATE_COLUMNS`.

    Returns:
        Sameness → sameness, topic, key (null for bodies), digest (of a body, else null), copies (all records of the case),
        repeats, first_time, last_time, apart_ms (the longest time between a repeat and the record before it).
    """
    store = F.xxhash64("store").alias("store")  # two stores may have records at the same offset
    place = F.struct("store_time", store, "physical_offset")
    itself = F.concat_ws(" ", "physical_offset", F.xxhash64("store"))
    sent = first_stored(messages).select(
        F.col("real_topic").alias("topic"), own_key().alias("key"), F.coalesce(own_key(), itself).alias("named"),
        place.alias("place"), "store_time", "keys", "body_crc", "body_bytes",
    )  # fmt: skip
    stored = Window.partitionBy("topic", "named").orderBy("place")
    sent = sent.withColumns({BEFORE: F.lag("store_time").over(stored), "nth": F.row_number().over(stored)}).persist()
    same_id, once = sent.where("key is not null"), sent.where("nth = 1")
    same_key = once.select("topic", F.explode("keys").alias("key"), "place")
    same_body = once.where("body_bytes > 0").select("topic", *_BODY, "place")
    digest = F.concat_ws(" ", F.format_string("crc %08x,", "body_crc"), "body_bytes", F.lit("bytes"))
    no_digest = F.lit(None).cast("string")
    found = {
        UNIQUE_KEY: _repeats(same_id, within_ms, "key").withColumn("digest", no_digest),
        BUSINESS_KEY: _repeats(_with_before(same_key, "key"), within_ms, "key").withColumn("digest", no_digest),
        BODY: _repeats(_with_before(same_body, *_BODY), within_ms, *_BODY).withColumns({
            "key": F.lit(None).cast("string"), "digest": digest,
        }),
    }  # fmt: skip
    return {
        name: rows.select(
            F.lit(name).alias("sameness"), "topic", "key", "digest", "copies", "repeats", "first_time", "last_time", "apart_ms"
        )
        for name, rows in found.items()
    }


def cases(found: Mapping[str, DataFrame]) -> DataFrame:
    return functools.reduce(DataFrame.unionByName, found.values())


def sums(cases: DataFrame) -> DataFrame:
    """Cases by sameness and topic: groups (how many cases), repeats, apart_ms (the longest)."""
    return cases.groupBy("sameness", "topic").agg(
        F.count("*").alias("groups"), F.sum("repeats").alias("repeats"), F.max("apart_ms").alias("apart_ms")
    )


def _with_before(rows: DataFrame, *by: str) -> DataFrame:
    rows = rows.withColumn("store_time", F.col("place.store_time"))
    return rows.withColumn(BEFORE, F.lag("store_time").over(Window.partitionBy("topic", *by).orderBy("place")))


def _repeats(rows: DataFrame, within_ms: int, *by: str) -> DataFrame:
    apart = rows.withColumn("apart_ms", F.unix_millis("store_time") - F.unix_millis(BEFORE))
    repeat = F.when(F.col("apart_ms") <= within_ms, F.col("apart_ms"))
    grouped = apart.groupBy("topic", *by).agg(
        F.count("*").alias("copies"),
        F.count(repeat).alias("repeats"),
        *first_and_last(),
        F.max(repeat).alias("apart_ms"),
    )
    return grouped.where("repeats > 0")
