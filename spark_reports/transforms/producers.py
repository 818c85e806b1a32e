"""Producers: messages as sent, by the address the broker saw."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.transforms.origin import ORIGIN_COLUMNS, first_and_last, first_stored, host_of

PRODUCER_COLUMNS = ("born_host", "real_topic", "producer_group", "store_time", "store_bytes", *ORIGIN_COLUMNS)


def over_time(messages: DataFrame, bucket_ms: int, hosts: int) -> DataFrame:
    """Messages as sent by the hosts that sent most: host, bucket_ms (its beginning), messages."""
    sent = first_stored(messages).withColumn("host", host_of("born_host"))
    most = sent.groupBy("host").agg(F.count("*").alias("messages")).orderBy(F.desc("messages"), "host").limit(hosts)
    bucket = F.floor(F.unix_millis("store_time") / bucket_ms) * bucket_ms
    of_most = sent.join(F.broadcast(most.select("host")), "host", "left_semi")
    return of_most.groupBy("host", bucket.cast("bigint").alias("bucket_ms")).agg(F.count("*").alias("messages"))


def producer_rows(messages: DataFrame, *keys: str | Column) -> DataFrame:
    """Messages as sent, by some of host, topic, group or columns of time: messages, topics, store_bytes, first and last."""
    sent = first_stored(messages).withColumn("host", host_of("born_host"))
    sent = sent.withColumnsRenamed({"real_topic": "topic", "producer_group": "group"})
    return sent.groupBy(*keys).agg(
        F.count("*").alias("messages"),
        F.countDistinct("topic").alias("topics"),
        F.sum("store_bytes").alias("store_bytes"),
        *first_and_last(),
    )
