"""What was stored twice: the same unique key, the same business key under another unique key, the same body.

A repeat is a record that comes within a time of the one before it in its case; later ones are taken for lawful.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  the name every Spark program uses

from spark_reports.transforms.origin import ORIGIN_COLUMNS, first_stored, own_key

DUPLICATE_COLUMNS = (
    "store", "real_topic", "keys", "unique_key", "member_key", "body_crc", "body_bytes", "store_time", "physical_offset",
    *ORIGIN_COLUMNS,
)  # fmt: skip
UNIQUE_KEY, BUSINESS_KEY, BODY = "unique key", "business key", "body"


def cases(messages: DataFrame, within_ms: int) -> DataFrame:
    """One row for each case with a repeat.

    Args:
        messages: With `DUPLICATE_COLUMNS`.
        within_ms: Longest time between two records that count as repeats.

    Returns:
        sameness, topic, key (null for bodies), digest (of a body, else null), copies (all records of the case), repeats,
        first_time, last_time, apart_ms (the longest time between a repeat and the record before it).
    """
    store = F.xxhash64("store").alias("store")  # two stores may have records at the same offset
    place = F.struct("store_time", store, "physical_offset")
    sent = first_stored(messages).withColumnRenamed("real_topic", "topic").withColumns({"place": place, "id": own_key()})
    same_id = sent.where("id is not null").select("topic", F.col("id").alias("key"), "place")
    itself = F.concat_ws(" ", "physical_offset", F.xxhash64("store"))
    once = sent.groupBy("topic", F.coalesce("id", itself).alias("id")).agg(
        *(F.min_by(name, "place").alias(name) for name in ("keys", "body_crc", "body_bytes")), F.min("place").alias("place")
    )
    once = once.persist()  # for keys and for bodies
    same_key = once.select("topic", F.explode("keys").alias("key"), "place")
    same_body = once.where("body_bytes > 0").select("topic", "body_crc", "body_bytes", "place")
    digest = F.concat_ws(" ", F.format_string("crc %08x,", "body_crc"), "body_bytes", F.lit("bytes"))
    found = (
        _repeats(same_id, within_ms, "key").withColumn("sameness", F.lit(UNIQUE_KEY)),
        _repeats(same_key, within_ms, "key").withColumn("sameness", F.lit(BUSINESS_KEY)),
        _repeats(same_body, within_ms, "body_crc", "body_bytes").withColumns({"sameness": F.lit(BODY), "digest": digest}),
    )
    together = found[0].unionByName(found[1]).unionByName(found[2], allowMissingColumns=True)
    return together.select("sameness", "topic", "key", "digest", "copies", "repeats", "first_time", "last_time", "apart_ms")


def _repeats(rows: DataFrame, within_ms: int, *by: str) -> DataFrame:
    rows = rows.withColumn("store_time", F.col("place.store_time"))
    before = F.lag("store_time").over(Window.partitionBy("topic", *by).orderBy("place"))
    apart = rows.withColumn("apart_ms", F.unix_millis("store_time") - F.unix_millis(before))
    repeat = F.when(F.col("apart_ms") <= within_ms, F.col("apart_ms"))
    grouped = apart.groupBy("topic", *by).agg(
        F.count("*").alias("copies"),
        F.count(repeat).alias("repeats"),
        F.min("store_time").alias("first_time"),
        F.max("store_time").alias("last_time"),
        F.max(repeat).alias("apart_ms"),
    )
    return grouped.where("repeats > 0")
