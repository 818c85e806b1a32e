"""Queues: their sizes, and missing queue offsets."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.transforms.origin import first_and_last

QUEUE_COLUMNS = ("store", "topic", "queue_id", "queue_offset", "store_time", "store_bytes", "kind")


def queue_rows(messages: DataFrame) -> DataFrame:
    """One row for each queue.

    Returns:
        store, topic, queue_id, messages, store_bytes, offset_first, offset_last, offsets_missing (between the two),
        first_time, last_time.
    """
    grouped = messages.groupBy("store", "topic", "queue_id").agg(
        F.count("*").alias("messages"),
        F.sum("store_bytes").alias("store_bytes"),
        F.min("queue_offset").alias("offset_first"),
        F.max("queue_offset").alias("offset_last"),
        F.countDistinct("queue_offset").alias("offsets"),
        *first_and_last(),
    )
    missing = F.col("offset_last") - F.col("offset_first") + 1 - F.col("offsets")
    return grouped.select(
        "store", "topic", "queue_id", "messages", "store_bytes", "offset_first", "offset_last",
        missing.alias("offsets_missing"), "first_time", "last_time",
    )  # fmt: skip


def topic_rows(queues: DataFrame) -> DataFrame:
    """One row for each topic.

    Returns:
        store, topic, queues, silent (ids below the highest without a message), messages, largest (of one queue), skewness
        (largest by mean), offsets_missing.
    """
    silent = F.max("queue_id") + 1 - F.count("*")
    mean = F.sum("messages") / F.count("*")
    return queues.groupBy("store", "topic").agg(
        F.count("*").alias("queues"),
        silent.alias("silent"),
        F.sum("messages").alias("messages"),
        F.max("messages").alias("largest"),
        F.round(F.max("messages") / mean, 6).alias("skewness"),
        F.sum("offsets_missing").alias("offsets_missing"),
    )
