"""Dead letters by age and by common properties."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.transforms.origin import first_and_last, meant_topic, pop_names, pop_retry_topic

DEAD_COLUMNS = (
    "topic", "real_topic", "retry_topic", "origin_id", "kind", "tag", "born_host", "store_time", "store_bytes",
    "reconsume_times", "properties",
)  # fmt: skip
AGES = ("under an hour", "under a day", "under a week", "under 30 days", "older")
_AGE_LIMITS_MS = (3_600_000, 86_400_000, 7 * 86_400_000, 30 * 86_400_000)
_OF_THE_SYSTEM = (
    "UNIQ_KEY", "KEYS", "WAIT", "CLUSTER", "ORIGIN_MESSAGE_ID", "RETRY_TOPIC", "REAL_TOPIC", "REAL_QID", "DELAY", "MSG_REGION",
    "TRACE_ON", "TRAN_MSG", "PGROUP", "DLQ_ORIGIN_MESSAGE_ID", "DLQ_ORIGIN_TOPIC", "MAX_RECONSUME_TIMES", "RECONSUME_TIME",
    "MIN_OFFSET", "MAX_OFFSET", "BUYER_ID", "TRANSFER_FLAG", "CORRECTION_FLAG", "MQ2_FLAG", "CONSUME_START_TIME",
    "TRAN_PREPARED_QUEUE_OFFSET", "TRANSACTION_CHECK_TIMES", "CHECK_IMMUNITY_TIME_IN_SECONDS", "INSTANCE_ID", "CORRELATION_ID",
    "REPLY_TO_CLIENT", "TTL", "ARRIVE_TIME", "PUSH_REPLY_TIME", "MSG_TYPE", "INNER_MULTI_DISPATCH", "INNER_MULTI_QUEUE_OFFSET",
    "INNER_NUM", "INNER_BASE", "POP_CK", "POP_CK_OFFSET", "1ST_POP_TIME", "ORIGIN_GROUP", "EXTEND_UNIQ_INFO", "DUP_INFO",
    "PROPERTY_FORWARD_QUEUE_ID", "REDIRECT", "TRACE_CONTEXT", "BORN_TIMESTAMP",
)  # fmt: skip
"""Names that clients and brokers set; those of timers begin with TIMER_, some of 5.x with two underscores."""


def dead_letters(messages: DataFrame, now_ms: int) -> DataFrame:
    """Dead letters with group, original topic and age (index into `AGES`)."""
    age_ms = F.lit(now_ms) - F.unix_millis("store_time")
    age = F.lit(len(_AGE_LIMITS_MS))
    for index in range(len(_AGE_LIMITS_MS) - 1, -1, -1):
        age = F.when(age_ms < _AGE_LIMITS_MS[index], index).otherwise(age)
    dead = messages.where("kind = 'dead_letter'").withColumn("pop", pop_retry_topic())
    dead = dead.join(F.broadcast(pop_names(messages)), "pop", "left").withColumn(
        "group", F.regexp_replace("topic", "^%DLQ%", "")
    )
    return dead.withColumn("topic", F.coalesce("pop_topic", meant_topic())).withColumn("age", age)


def dead_by(dead: DataFrame, *keys: str) -> DataFrame:
    """Dead letters by some columns: dead, store_bytes, first_time, last_time."""
    return dead.groupBy(*keys).agg(
        F.count("*").alias("dead"),
        F.sum("store_bytes").alias("store_bytes"),
        *first_and_last(),
    )


def causes(dead: DataFrame) -> DataFrame:
    """Values of the application's own properties among dead letters: group, property, cause (the value), dead."""
    pairs = dead.select("group", F.explode("properties").alias("property", "cause"))
    own = pairs.where(~F.col("property").isin(*_OF_THE_SYSTEM)).where(~F.col("property").rlike("^(__|TIMER_)"))
    return own.groupBy("group", "property", "cause").agg(F.count("*").alias("dead"))
