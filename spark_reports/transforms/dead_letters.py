"""Dead letters by age and by what they have in common."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name every Spark program uses

from spark_reports.transforms.origin import meant_topic

DEAD_COLUMNS = (
    "topic",
    "real_topic",
    "retry_topic",
    "kind",
    "tag",
    "born_host",
    "store_time",
    "store_bytes",
    "reconsume_times",
    "properties",
)
AGES = ("under an hour", "under a day", "under a week", "under 30 days", "older")
_AGE_LIMITS_MS = (3_600_000, 86_400_000, 7 * 86_400_000, 30 * 86_400_000)
_OF_THE_SYSTEM = (
    "UNIQ_KEY", "KEYS", "WAIT", "CLUSTER", "ORIGIN_MESSAGE_ID", "RETRY_TOPIC", "REAL_TOPIC", "REAL_QID", "DELAY", "MSG_REGION",
    "TRACE_ON", "TRAN_MSG", "PGROUP", "DLQ_ORIGIN_MESSAGE_ID", "DLQ_ORIGIN_TOPIC", "MAX_RECONSUME_TIMES", "RECONSUME_TIME",
)  # fmt: skip


def dead_letters(messages: DataFrame, now_ms: int) -> DataFrame:
    """Dead letters with group, topic (where they came from) and age (index into `AGES`)."""
    age_ms = F.lit(now_ms) - F.unix_millis("store_time")
    age = F.lit(len(_AGE_LIMITS_MS))
    for index in range(len(_AGE_LIMITS_MS) - 1, -1, -1):
        age = F.when(age_ms < _AGE_LIMITS_MS[index], index).otherwise(age)
    dead = messages.where("kind = 'dead_letter'").withColumn("group", F.regexp_replace("topic", "^%DLQ%", ""))
    return dead.withColumn("topic", meant_topic()).withColumn("age", age)


def dead_by(dead: DataFrame, *keys: str) -> DataFrame:
    """Dead letters by some columns: dead, store_bytes, first_time, last_time."""
    return dead.groupBy(*keys).agg(
        F.count("*").alias("dead"),
        F.sum("store_bytes").alias("store_bytes"),
        F.min("store_time").alias("first_time"),
        F.max("store_time").alias("last_time"),
    )


def causes(dead: DataFrame) -> DataFrame:
    """Values of the application's own properties among dead letters: group, property, cause (the value), dead."""
    pairs = dead.select("group", F.explode("properties").alias("property", "cause"))
    own = pairs.where(~F.col("property").isin(*_OF_THE_SYSTEM)).where(~F.col("property").startswith("__"))
    return own.groupBy("group", "property", "cause").agg(F.count("*").alias("dead"))
