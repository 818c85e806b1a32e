"""Waiting messages paired with their deliveries.

A waiting record names its target in REAL_TOPIC; the delivered copy keeps unique key, target and number of attempts. If the
same message waits several times, the n-th wait belongs to the n-th delivery.

Source: docs/spec/broker.md §3.2, §3.4, §3.6.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from broker_core.protocol.names import SCHEDULE_TOPIC
from spark_reports.transforms.origin import meant_topic, spread

DELAY_COLUMNS = (
    "store", "topic", "real_topic", "retry_topic", "queue_id", "physical_offset", "store_time", "kind", "unique_key",
    "reconsume_times", "deliver_time", "cancelled_key",
)  # fmt: skip
TIMER = "timer"
DELIVERED, WAITING, CANCELLED = "delivered", "waiting", "cancelled"

_PAIR = ["store", "unique_key", "real_topic", "reconsume_times"]


def deliveries(messages: DataFrame, levels_ms: Sequence[int]) -> DataFrame:
    """One row for each wait.

    Args:
        messages: With `DELAY_COLUMNS`.
        levels_ms: Duration of each delay level, the first is level 1.

    Returns:
        level (its number as text, or ``timer``), topic (as meant by the producer), unique_key, planned (timestamp), real
        (timestamp, null while waiting), late_ms (negative: early), outcome.
    """
    records = messages.where("unique_key is not null").where("kind in ('delay', 'delivered', 'retry')")
    records = records.where("cancelled_key is null or kind != 'delay'").withColumn("waits", F.col("kind") == "delay")
    pairs = _paired(_once(records).withColumn("planned", F.when(F.col("waits"), _planned(levels_ms))))
    cancels = messages.where("cancelled_key is not null").select("store", _cancelled_key().alias("unique_key"))
    pairs = pairs.join(cancels.groupBy("store", "unique_key").agg(F.lit(1).alias("cancel")), ["store", "unique_key"], "left")
    outcome = F.when(F.col("real").isNotNull(), DELIVERED).when(F.col("cancel").isNotNull(), CANCELLED).otherwise(WAITING)
    return pairs.select(
        F.when(F.col("topic") == SCHEDULE_TOPIC, (F.col("queue_id") + 1).cast("string")).otherwise(TIMER).alias("level"),
        meant_topic().alias("topic"),
        "unique_key",
        "planned",
        "real",
        (F.unix_millis("real") - F.unix_millis("planned")).alias("late_ms"),
        outcome.alias("outcome"),
    )


def by_level(waits: DataFrame, *keys: str, late_ms: int) -> DataFrame:
    """Counts and lateness of `deliveries` by some of its columns.

    Returns:
        The keys, messages, delivered, waiting, cancelled, early, late, p50_ms, p90_ms, p99_ms, max_ms.
    """
    return waits.groupBy(*keys).agg(
        F.count("*").alias("messages"),
        *(F.count(F.when(F.col("outcome") == outcome, 1)).alias(outcome) for outcome in (DELIVERED, WAITING, CANCELLED)),
        F.count(F.when(F.col("late_ms") < 0, 1)).alias("early"),
        F.count(F.when(F.col("late_ms") >= late_ms, 1)).alias("late"),
        *spread("late_ms"),
    )


def _once(records: DataFrame) -> DataFrame:
    """Drop the further records of a timer that was rolled."""
    is_timer = F.col("waits") & (F.col("topic") != SCHEDULE_TOPIC)
    turns = Window.partitionBy(*_PAIR, is_timer, "deliver_time").orderBy("physical_offset")
    return records.withColumn("roll", F.row_number().over(turns)).where(~is_timer | (F.col("roll") == 1))


def _paired(records: DataFrame) -> DataFrame:
    """One row for each wait, with the time of its delivery (``real``)."""
    turns = Window.partitionBy(*_PAIR, "waits").orderBy("physical_offset")
    known = ("topic", "retry_topic", "queue_id", "planned")
    waiting = (F.max(F.when(F.col("waits"), F.col(name))).alias(name) for name in known)
    real = F.max(F.when(~F.col("waits"), F.col("store_time"))).alias("real")
    pairs = records.withColumn("turn", F.row_number().over(turns)).groupBy(*_PAIR, "turn").agg(*waiting, real)
    return pairs.where("topic is not null")


def _planned(levels_ms: Sequence[int]) -> Column:
    durations = F.array(*(F.lit(duration) for duration in levels_ms))
    level_ms = F.get(durations, F.least(F.col("queue_id"), F.lit(len(levels_ms) - 1)))
    by_level = F.timestamp_millis(F.unix_millis("store_time") + level_ms)
    return F.when(F.col("topic") == SCHEDULE_TOPIC, by_level).otherwise(F.col("deliver_time"))


def _cancelled_key() -> Column:
    """The recall command of 5.3 writes ``topic+key``, senders write the key alone."""
    return F.element_at(F.split("cancelled_key", r"\+"), -1)
