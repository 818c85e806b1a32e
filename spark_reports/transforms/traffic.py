"""How much is stored, when and by whom: message rows to traffic rows."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name every Spark program uses

from spark_reports.datasource.schema import SKIPPED_BYTES, SKIPPED_REASON, SKIPPED_ROWS

MESSAGE_COLUMNS = ("store", "topic", "tag", "store_time", "body_bytes", "store_bytes", "physical_offset")
"""What `by_minute_topic_tag` needs of the messages, besides the accounting columns."""


def by_minute_topic_tag(messages: DataFrame) -> DataFrame:
    """One row for each minute of store time, topic and tag; and one for each store and reason of what was skipped.

    Returns:
        minute (timestamp), topic, tag (null: none), messages, body_bytes, store_bytes, body_bytes_max, store_bytes_max,
        first_time, last_time, and for skipped rows only: skipped_store, skipped_reason, skipped_rows, skipped_bytes,
        skipped_offset (physical offset of the first damaged place).
    """
    skipped = F.col(SKIPPED_REASON).isNotNull()
    keys = [
        F.date_trunc("minute", F.col("store_time")).alias("minute"),
        F.col("topic"),
        F.col("tag"),
        F.when(skipped, F.col("store")).alias("skipped_store"),
        F.col(SKIPPED_REASON),
    ]
    return messages.groupBy(*keys).agg(
        F.count(F.when(~skipped, 1)).alias("messages"),
        _sum("body_bytes"),
        _sum("store_bytes"),
        F.max("body_bytes").alias("body_bytes_max"),
        F.max("store_bytes").alias("store_bytes_max"),
        F.min("store_time").alias("first_time"),
        F.max("store_time").alias("last_time"),
        _sum(SKIPPED_ROWS),
        _sum(SKIPPED_BYTES),
        F.min(F.when(skipped, F.col("physical_offset"))).alias("skipped_offset"),
    )


def _sum(name: str) -> Column:
    return F.coalesce(F.sum(name), F.lit(0)).cast("bigint").alias(name)
