"""A window of time around an incident, and the time before it."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.transforms.origin import ORIGIN_COLUMNS, first_stored, milliseconds_between

INCIDENT_COLUMNS = ("topic", "store_time", "born_time", "store_bytes", *ORIGIN_COLUMNS)
TROUBLES = ("retry", "dead_letter", "given_up")
"""Kinds of records that indicate a failure."""


def in_window(from_ms: int) -> Column:
    """Whether a message was stored in the window and not before it."""
    return F.unix_millis("store_time") >= from_ms


def by_topic(messages: DataFrame, from_ms: int) -> DataFrame:
    """Messages of each topic in the window and before it: topic, messages, messages_before, store_bytes (of the window)."""
    now = in_window(from_ms)
    return messages.groupBy("topic").agg(
        F.count(F.when(now, 1)).alias("messages"),
        F.count(F.when(~now, 1)).alias("messages_before"),
        F.coalesce(F.sum(F.when(now, F.col("store_bytes"))), F.lit(0)).cast("bigint").alias("store_bytes"),
    )


def by_minute(messages: DataFrame) -> DataFrame:
    """Figures of each minute.

    Returns:
        minute, messages, store_bytes, retried, dead, given_up, p99_ms (born to store of messages as sent; negative ones, which
        are wrong clocks, are left out).
    """
    rows = messages.groupBy(F.date_trunc("minute", F.col("store_time")).alias("minute")).agg(
        F.count("*").alias("messages"),
        F.sum("store_bytes").alias("store_bytes"),
        *(F.count(F.when(F.col("kind") == kind, 1)).alias(name) for kind, name in zip(TROUBLES, _NAMES, strict=True)),
    )
    latency = first_stored(messages).withColumn("latency_ms", milliseconds_between("store_time", "born_time"))
    slow = latency.where("latency_ms >= 0").groupBy(F.date_trunc("minute", F.col("store_time")).alias("minute"))
    percentiles = slow.agg(F.round(F.percentile("latency_ms", 0.99), 3).alias("p99_ms"))
    return rows.join(percentiles, "minute", "left")


_NAMES = ("retried", "dead", "given_up")
