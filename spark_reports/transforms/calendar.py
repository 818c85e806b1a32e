from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def by_hour(messages: DataFrame, zone: str) -> DataFrame:
    """A row for each hour in a time zone: day (date as text), weekday (0 is Monday), hour, messages, store_bytes."""
    local = F.from_utc_timestamp("store_time", zone)
    keys = [
        F.date_format(local, "yyyy-MM-dd").alias("day"),
        F.weekday(local).alias("weekday"),
        F.hour(local).alias("hour"),
    ]
    return messages.groupBy(*keys).agg(F.count("*").alias("messages"), F.sum("store_bytes").alias("store_bytes"))
