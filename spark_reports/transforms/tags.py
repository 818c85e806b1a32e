"""Tags and properties in use, and the subscribers of tags."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from spark_reports.transforms.origin import first_and_last

TAG_COLUMNS = ("topic", "tag", "kind", "store_time", "properties")
FOR_CONSUMERS = ("normal", "fifo", "delivered", "committed")
"""Kinds of messages that consumers of users read."""
BY_TAG = ("TAG", "")
"""Types of expressions that name tags; an unknown type is taken for one of them."""


def tag_rows(messages: DataFrame) -> DataFrame:
    """One row for each topic and tag.

    Returns:
        topic, tag (null: none), messages, first_time, last_time, silent_ms (until the topic's last message), for_consumers
        (whether consumers of users read there).
    """
    rows = messages.groupBy("topic", "tag").agg(
        F.count("*").alias("messages"),
        *first_and_last(),
        F.max(F.col("kind").isin(*FOR_CONSUMERS)).alias("for_consumers"),
    )
    end = F.max("last_time").over(Window.partitionBy("topic"))
    return rows.withColumn("silent_ms", F.unix_millis(end) - F.unix_millis("last_time"))


def with_subscribers(tags: DataFrame, subscriptions: DataFrame) -> DataFrame:
    """Tag rows with the groups that subscribed them at any recorded time, by the table ``subscriptions`` of the samples.

    Returns:
        The columns of ``tags``, subscribers (groups whose tags match), filters (groups with another filter on the topic).
    """
    wants = subscriptions.where("group is not null")
    is_tag = F.col("expression_type").isin(*BY_TAG)
    all_of_topic = F.coalesce(F.trim("expression"), F.lit("")).isin("", "*")
    words = F.when(all_of_topic, F.array(F.lit("*"))).otherwise(F.split("expression", r"\s*\|\|\s*"))
    wanted = F.when(is_tag, F.transform(words, lambda word: F.struct("group", F.trim(word).alias("tag"))))
    by_topic = wants.groupBy("topic").agg(
        F.flatten(F.collect_list(wanted)).alias("wanted"),
        F.count_distinct(F.when(~is_tag, F.col("group"))).alias("filters"),
    )
    rows = tags.join(F.broadcast(by_topic), "topic", "left")
    takes = F.filter("wanted", lambda one: (one["tag"] == "*") | (one["tag"] == F.col("tag")))
    groups = F.size(F.array_distinct(F.transform(takes, lambda one: one["group"])))
    found = F.when(F.col("wanted").isNull(), 0).otherwise(groups)
    return rows.withColumns({"subscribers": found, "filters": F.coalesce("filters", F.lit(0))}).drop("wanted")


def property_rows(messages: DataFrame) -> DataFrame:
    """One row for each topic and property: messages, distinct_values, example, first_time, last_time."""
    pairs = messages.select("topic", "store_time", F.explode("properties").alias("property", "value"))
    return pairs.groupBy("topic", "property").agg(
        F.count("*").alias("messages"),
        F.countDistinct("value").alias("distinct_values"),
        F.min("value").alias("example"),
        *first_and_last(),
    )
