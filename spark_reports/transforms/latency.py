"""Latency from the producer's clock to the broker's."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.transforms.origin import ORIGIN_COLUMNS, first_stored, host_of, milliseconds_between, spread

LATENCY_COLUMNS = ("born_time", "store_time", "born_host", *ORIGIN_COLUMNS)
AHEAD, PLAUSIBLE, UNBORN = "ahead of the broker's", "plausible", "none"


def with_latency(messages: DataFrame) -> DataFrame:
    """Messages as sent, with latency_ms and host.

    skew separates clocks ahead of the broker's, and messages without a time of birth (0).
    """
    sent = first_stored(messages).withColumn("latency_ms", milliseconds_between("store_time", "born_time"))
    return sent.select(
        host_of("born_host").alias("host"),
        F.date_trunc("hour", "store_time").alias("hour_time"),
        "latency_ms",
        F.when(F.unix_millis("born_time") <= 0, UNBORN).when(F.col("latency_ms") < 0, AHEAD).otherwise(PLAUSIBLE).alias("skew"),
    )


def latency_by(latencies: DataFrame, *keys: str) -> DataFrame:
    """Messages and their spread of latency_ms by some columns; min_ms is the shortest."""
    return latencies.groupBy(*keys).agg(
        F.count("*").alias("messages"), F.min("latency_ms").alias("min_ms"), *spread("latency_ms")
    )
