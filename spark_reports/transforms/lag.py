"""Consumer lag from samples: how long groups were within their bounds, and when they were not.

An interval is late if its largest lag or its longest wait is above the bounds; times without samples are neither.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def judged(samples: DataFrame, *, lag_max: int, behind_ms_max: int) -> DataFrame:
    """Rows of table ``lag`` with ``late``: whether the group was above one of the bounds, or beyond the end of a queue.

    A group beyond the end has no lag: nothing tells what it will read.
    """
    is_beyond = F.coalesce("beyond_messages_max", F.lit(0.0)) > 0
    lag, behind = F.coalesce("lag_messages_max", F.lit(0.0)), F.coalesce("behind_ms_max", F.lit(0.0))
    known = samples.where(F.col("lag_messages_max").isNotNull() | is_beyond)
    return known.withColumn("late", (lag > lag_max) | (behind > behind_ms_max) | is_beyond)


def by_group(stretches: DataFrame, *keys: str) -> DataFrame:
    """Service level of `judged` intervals by group and further columns.

    Returns:
        group, the keys, samples, sampled_ms, late_ms, within_share (0 … 1), lag_avg, lag_max, behind_max_ms, lag_last,
        beyond_max (messages beyond the end), lost_max (deleted before the group read them); both null if not sampled.
    """
    late_ms = F.sum(F.when(F.col("late"), F.col("step_ms")).otherwise(0))
    return stretches.groupBy("store", "group", *keys).agg(
        F.count("*").alias("samples"),
        F.sum("step_ms").alias("sampled_ms"),
        late_ms.alias("late_ms"),
        (1 - late_ms / F.sum("step_ms")).alias("within_share"),
        F.round(F.sum(F.col("lag_messages") * F.col("step_ms")) / F.sum("step_ms"), 3).alias("lag_avg"),
        _whole(F.max("lag_messages_max")).alias("lag_max"),
        F.max("behind_ms_max").alias("behind_max_ms"),
        _whole(F.max_by("lag_messages", "time")).alias("lag_last"),
        _whole(F.max("beyond_messages_max")).alias("beyond_max"),
        _whole(F.max("lost_messages_max")).alias("lost_max"),
    )


def by_hour(stretches: DataFrame) -> DataFrame:
    """`by_group` for each hour in UTC: ``hour_time`` is its beginning."""
    return by_group(stretches.withColumn("hour_time", F.date_trunc("hour", F.col("time"))), "hour_time")


def episodes(stretches: DataFrame) -> DataFrame:
    """Times in which a group was late without a break.

    Returns:
        store, group, first_time, last_time (end of the last late interval), late_ms, lag_max, peak_time, drain_ms (from the
        peak to the end).
    """
    order = Window.partitionBy("store", "group").orderBy("time")
    begin = F.unix_millis("time")
    former_end = F.lag(begin + F.col("step_ms")).over(order)
    follows = F.lag("late").over(order) & (former_end == begin)
    numbered = stretches.withColumn("begins", F.when(F.col("late") & ~F.coalesce(follows, F.lit(False)), 1).otherwise(0))
    numbered = numbered.withColumn("episode", F.sum("begins").over(order)).where("late")
    end_ms = F.max(begin + F.col("step_ms"))
    found = numbered.groupBy("store", "group", "episode").agg(
        F.min("time").alias("first_time"),
        F.timestamp_millis(end_ms).alias("last_time"),
        F.sum("step_ms").alias("late_ms"),
        _whole(F.max("lag_messages_max")).alias("lag_max"),
        F.max_by("time", F.struct("lag_messages_max", "time")).alias("peak_time"),
    )
    drain = F.unix_millis("last_time") - F.unix_millis("peak_time")
    return found.withColumn("drain_ms", drain).drop("episode")


def over_time(stretches: DataFrame, bucket_ms: int, groups: int) -> DataFrame:
    """Largest lag of the groups with the largest: group, bucket_ms (its beginning), lag_max, step_ms (its longest interval)."""
    largest = stretches.groupBy("group").agg(F.max("lag_messages_max").alias("lag_max")).orderBy(F.desc("lag_max"), "group")
    chosen = stretches.join(largest.limit(groups).select("group"), "group", "left_semi")
    bucket = F.floor(F.unix_millis("time") / bucket_ms) * bucket_ms
    return chosen.groupBy("group", bucket.cast("bigint").alias("bucket_ms")).agg(
        F.max("lag_messages_max").alias("lag_max"), F.max("step_ms").alias("step_ms")
    )


def _whole(column: Column) -> Column:
    return column.cast("bigint")
