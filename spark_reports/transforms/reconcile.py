"""A list of keys against the stored messages."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.transforms.origin import ORIGIN_COLUMNS, first_and_last, first_stored, meant_topic, own_key

RECONCILE_COLUMNS = (
    "store", "real_topic", "retry_topic", "keys", "unique_key", "member_key", "store_time", "physical_offset", *ORIGIN_COLUMNS,
)  # fmt: skip
MISSING, ONCE, SEVERAL = "missing", "stored once", "stored several times"
STATES = (MISSING, ONCE, SEVERAL)


def reconciled(messages: DataFrame, wanted: DataFrame, column: str) -> DataFrame:
    """One row for each key of a list.

    Args:
        messages: With `RECONCILE_COLUMNS`.
        wanted: Columns key and list_row, its place; a key may occur several times.
        column: ``keys`` or ``unique_key``.

    Returns:
        key, list_row (its first one), listed (occurrences in the list), copies (messages as sent), retried, dead, topic (of
        the first), first_time, last_time, state.
    """
    listed = wanted.groupBy("key").agg(F.min("list_row").alias("list_row"), F.count("*").alias("listed"))
    keyed = messages.withColumn("key", F.explode("keys") if column == "keys" else own_key()).where("key is not null")
    keyed = keyed.join(listed.select("key"), "key", "left_semi")
    sent = (
        first_stored(keyed)
        .groupBy("key")
        .agg(
            F.count("*").alias("copies"),
            F.min_by(meant_topic(), F.struct("store_time", "store", "physical_offset")).alias("topic"),
            *first_and_last(),
        )
    )
    by_key = keyed.where("kind in ('retry', 'dead_letter')").groupBy("key")
    given_back = by_key.agg(*(F.count(F.when(F.col("kind") == kind, 1)).alias(name) for kind, name in
                                  (("retry", "retried"), ("dead_letter", "dead"))))  # fmt: skip
    rows = listed.join(sent, "key", "left").join(given_back, "key", "left").fillna(0, ["copies", "retried", "dead"])
    state = F.when(F.col("copies") == 0, MISSING).when(F.col("copies") == 1, ONCE).otherwise(SEVERAL)
    return rows.select(
        "key", "list_row", "listed", "copies", "retried", "dead", "topic", "first_time", "last_time", state.alias("state")
    )  # fmt: skip
