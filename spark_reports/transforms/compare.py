from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

COMPARE_COLUMNS = ("topic", "tag", "store_time", "store_bytes")
THEN, NOW = "then", "now"


def by_period(messages: DataFrame, *, from_ms: int, to_ms: int, earlier_ms: int) -> DataFrame:
    """Messages by topic and tag in a period and in one of the same length earlier.

    Returns:
        topic, tag, messages, messages_before, store_bytes, store_bytes_before, messages_change, relative_change (null: there
        were none before).
    """
    at = F.unix_millis("store_time")
    now = (at >= from_ms) & (at < to_ms)
    then = (at >= from_ms - earlier_ms) & (at < to_ms - earlier_ms)
    stored = F.col("store_bytes")
    sums = (
        messages.where(now | then)
        .groupBy("topic", "tag")
        .agg(
            F.count(F.when(now, 1)).alias("messages"),
            F.count(F.when(then, 1)).alias("messages_before"),
            F.coalesce(F.sum(F.when(now, stored)), F.lit(0)).alias("store_bytes"),
            F.coalesce(F.sum(F.when(then, stored)), F.lit(0)).alias("store_bytes_before"),
        )
    )
    change = F.col("messages") - F.col("messages_before")
    relative = F.when(F.col("messages_before") > 0, change / F.col("messages_before"))
    return sums.withColumns({"messages_change": change, "relative_change": relative})
