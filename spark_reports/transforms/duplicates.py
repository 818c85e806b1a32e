"""Repeated messages: the same unique key, the same business key under another unique key, the same body.

A repeat is a record within a time limit after the one before it in its case; later ones are regarded as intended.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms.origin import ORIGIN_COLUMNS, first_and_last, first_stored, own_key

DUPLICATE_COLUMNS = (
    "store", "real_topic", "keys", "unique_key", "member_key", "body_crc", "body_bytes", "store_time", "physical_offset",
    *ORIGIN_COLUMNS,
)  # fmt: skip
UNIQUE_KEY, BUSINESS_KEY, BODY = "unique key", "business key", "body"
BEFORE = "before"
_BODY = ("body_crc", "body_bytes")


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
