"""Business keys and ordering keys: frequency, queues, evenness."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms.origin import ORIGIN_COLUMNS, first_and_last, first_stored

KEY_COLUMNS = ("store", "real_topic", "real_queue_id", "keys", "ordering_key", "store_time", *ORIGIN_COLUMNS)


def key_counts(messages: DataFrame, column: str) -> DataFrame:
    """Messages as sent, by topic and key: those of ``keys`` (a message counts for each of its keys) or ``ordering_key``.

    Returns:
        topic, key, messages, queues (number of queues of all stores with the key), queue_share (greatest share of this key
        among the uses of keys in a queue), first_time, last_time.
    """
    key = F.explode("keys") if column == "keys" else F.col(column)
    queue = F.struct("store", "real_queue_id").alias("queue")
    keyed = first_stored(messages).select(F.col("real_topic").alias("topic"), key.alias("key"), queue, "store_time")
    by_queue = (
        keyed.where("key is not null").groupBy("topic", "queue", "key").agg(F.count("*").alias("uses"), *first_and_last())
    )
    in_queue = F.sum("uses").over(Window.partitionBy("topic", "queue"))
    return (
        by_queue.withColumn("of_queue", F.col("uses") / in_queue)
        .groupBy("topic", "key")
        .agg(
            F.sum("uses").alias("messages"),
            F.count("*").alias("queues"),
            F.max("of_queue").alias("queue_share"),
            F.min("first_time").alias("first_time"),
            F.max("last_time").alias("last_time"),
        )
    )


def with_share_of_topic(counts: DataFrame) -> DataFrame:
    """Key counts with their share of the keyed messages of the topic."""
    whole = F.sum("messages").over(Window.partitionBy("topic"))
    return counts.withColumn("share", F.col("messages") / whole)


def evenness(counts: DataFrame) -> DataFrame:
    """Evenness of the messages of a topic over its keys.

    Returns:
        topic, distinct_values (keys), keyed (messages with a key), messages_max (of one key), gini (0: even, near 1: one key
        has all).
    """
    place = F.row_number().over(Window.partitionBy("topic").orderBy("messages", "key"))
    ranked = counts.withColumn("place", place)
    summed = ranked.groupBy("topic").agg(
        F.count("*").alias("distinct_values"),
        F.sum("messages").alias("keyed"),
        F.max("messages").alias("messages_max"),
        F.sum(F.col("place") * F.col("messages")).alias("weighted"),
    )
    size = F.col("distinct_values")
    gini = 2 * F.col("weighted") / (size * F.col("keyed")) - (size + 1) / size
    return summed.select("topic", "distinct_values", "keyed", "messages_max", F.round(gini, 6).alias("gini"))
