"""Owners of queues over time: changes of owner from the table ``ownership`` of the samples."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms.origin import first_and_last

REBALANCE_MS = 30_000
"""Changes of one group within this time of each other belong to one rebalance; clients rebalance every 20 s."""

_QUEUE = ["store", "group", "topic", "queue_id"]


def changes(stretches: DataFrame) -> DataFrame:
    """One row for each change of owner; changes between samples are unknown and left out.

    Returns:
        store, group, topic, queue_id, change_time, owner_before, owner (null: none).
    """
    order = Window.partitionBy(*_QUEUE).orderBy("from_time")
    rows = stretches.withColumn("owner_before", F.lag("owner").over(order)).withColumn("turn", F.row_number().over(order))
    changed = (F.col("turn") > 1) & ~F.col("after_gap") & ~F.col("owner").eqNullSafe(F.col("owner_before"))
    return rows.where(changed).select(*_QUEUE, F.col("from_time").alias("change_time"), "owner_before", "owner")


def by_queue(stretches: DataFrame) -> DataFrame:
    """Figures of each queue: store, group, topic, queue_id, changes, owners (different ones), sampled_ms, unowned_ms."""
    length = F.unix_millis("to_time") - F.unix_millis("from_time")
    sums = stretches.groupBy(*_QUEUE).agg(
        F.count_distinct("owner").alias("owners"),
        F.sum(length).alias("sampled_ms"),
        F.sum(F.when(F.col("owner").isNull(), length).otherwise(0)).alias("unowned_ms"),
    )
    counted = changes(stretches).groupBy(*_QUEUE).agg(F.count("*").alias("changes"))
    return sums.join(counted, _QUEUE, "left").fillna(0, ["changes"])


def rebalances(moved: DataFrame) -> DataFrame:
    """Groups of simultaneous `changes`.

    Returns:
        store, group, first_time, last_time, changes, queues, apart_ms (from the first to the last change).
    """
    order = Window.partitionBy("store", "group").orderBy("change_time")
    since = F.unix_millis("change_time") - F.unix_millis(F.lag("change_time").over(order))
    begins = F.when(since.isNull() | (since > REBALANCE_MS), 1).otherwise(0)
    running = order.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    numbered = moved.withColumn("begins", begins).withColumn("number", F.sum("begins").over(running))
    found = numbered.groupBy("store", "group", "number").agg(
        *first_and_last("change_time"),
        F.count("*").alias("changes"),
        F.count_distinct("topic", "queue_id").alias("queues"),
    )
    apart = F.unix_millis("last_time") - F.unix_millis("first_time")
    return found.withColumn("apart_ms", apart).drop("number")
