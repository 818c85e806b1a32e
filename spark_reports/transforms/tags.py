"""Tags and properties in use."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812  the name every Spark program uses

TAG_COLUMNS = ("topic", "tag", "store_time", "properties")


def tag_rows(messages: DataFrame) -> DataFrame:
    """One row for each topic and tag.

    Returns:
        topic, tag (null: none), messages, first_time, last_time, silent_ms (how much longer the topic went on).
    """
    rows = messages.groupBy("topic", "tag").agg(
        F.count("*").alias("messages"), F.min("store_time").alias("first_time"), F.max("store_time").alias("last_time")
    )
    end = F.max("last_time").over(Window.partitionBy("topic"))
    return rows.withColumn("silent_ms", F.unix_millis(end) - F.unix_millis("last_time"))


def property_rows(messages: DataFrame) -> DataFrame:
    """One row for each topic and property: messages, distinct_values, example, first_time, last_time."""
    pairs = messages.select("topic", "store_time", F.explode("properties").alias("property", "value"))
    return pairs.groupBy("topic", "property").agg(
        F.count("*").alias("messages"),
        F.countDistinct("value").alias("distinct_values"),
        F.min("value").alias("example"),
        F.min("store_time").alias("first_time"),
        F.max("store_time").alias("last_time"),
    )
