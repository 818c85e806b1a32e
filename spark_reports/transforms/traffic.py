"""Stored messages by time and origin: message rows to traffic rows."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.datasource.schema import HOST, MINUTE, SKIPPED_BYTES, SKIPPED_COLUMNS, SKIPPED_REASON, SKIPPED_ROWS, sums
from spark_reports.transforms.origin import host_of

TRAFFIC_KEYS = (MINUTE, "topic", "tag", HOST)
"""Sum keys that `by_traffic_keys` needs."""
MESSAGE_COLUMNS = (
    "store", "topic", "tag", "store_time", "born_host", "body_bytes", "store_bytes", "physical_offset", *SKIPPED_COLUMNS,
)  # fmt: skip
"""Columns that `each_a_sum` needs."""


def each_a_sum(messages: DataFrame) -> DataFrame:
    """Messages that were not summed at the read, in the columns of sums: each is a sum of one."""
    body_bytes, store_bytes, at = F.col("body_bytes"), F.col("store_bytes"), F.col("store_time")
    made = {
        MINUTE: F.date_trunc("minute", at),
        HOST: host_of("born_host"),
        "messages": F.when(F.col(SKIPPED_REASON).isNull(), 1),
        "body_bytes_max": body_bytes,
        "store_bytes_max": store_bytes,
        "first_time": at,
        "last_time": at,
    }
    types = sums(*TRAFFIC_KEYS)
    return messages.select(*(made.get(one.name, F.col(one.name)).cast(one.dataType).alias(one.name) for one in types))


def by_traffic_keys(parts: DataFrame) -> DataFrame:
    """Sums by `TRAFFIC_KEYS` added up: a row for each minute, topic, tag and host; a row for each store and skip reason.

    Returns:
        minute (timestamp), topic, tag (null: none), host (of the producer), messages, body_bytes, store_bytes,
        body_bytes_max, store_bytes_max, first_time, last_time, and for skipped rows only: skipped_store, skipped_reason,
        skipped_rows, skipped_bytes, skipped_offset (physical offset of the first damaged place).
    """
    skipped = F.col(SKIPPED_REASON).isNotNull()
    keys = [
        *(F.col(name) for name in TRAFFIC_KEYS),
        F.when(skipped, F.col("store")).alias("skipped_store"),
        F.col(SKIPPED_REASON),
    ]
    return parts.groupBy(*keys).agg(
        _sum("messages"),
        _sum("body_bytes"),
        _sum("store_bytes"),
        F.max("body_bytes_max").alias("body_bytes_max"),
        F.max("store_bytes_max").alias("store_bytes_max"),
        F.min("first_time").alias("first_time"),
        F.max("last_time").alias("last_time"),
        _sum(SKIPPED_ROWS),
        _sum(SKIPPED_BYTES),
        F.min(F.when(skipped, F.col("physical_offset"))).alias("skipped_offset"),
    )


def _sum(name: str) -> Column:
    return F.coalesce(F.sum(name), F.lit(0)).cast("bigint").alias(name)
