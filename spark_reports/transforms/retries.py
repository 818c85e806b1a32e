"""Chains of messages that consumers failed on: the attempts of each.

One chain is one message in one consumer group: by ORIGIN_MESSAGE_ID, which stays through all attempts; for POP consumers, whose
broker makes the copies and sets none, by the unique key.

Source: docs/spec/broker.md §8.1, §6.7.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.transforms.origin import RETRY_PREFIX, first_and_last, host_of, meant_topic, pop_names, pop_retry_topic

RETRY_COLUMNS = (
    "store", "topic", "real_topic", "retry_topic", "kind", "origin_id", "unique_key", "reconsume_times", "tag", "store_time",
    "born_host", "physical_offset",
)  # fmt: skip
DEAD, WAITING, NOT_SEEN_AGAIN = "dead", "waiting", "not seen again"

_DLQ = "%DLQ%"


def chains(messages: DataFrame) -> DataFrame:
    """One row for each message that a group failed on.

    Returns:
        group, topic (its origin), tag, host (of its producer), attempt (last one delivered; 0: dead at once), state,
        first_time, last_time.
    """
    target = F.when(F.col("kind") == "delay", F.col("real_topic")).otherwise(F.col("topic"))
    records = messages.withColumns({"target": target, "pop": pop_retry_topic()})
    records = records.where(F.col("target").startswith(RETRY_PREFIX) | F.col("target").startswith(_DLQ))
    records = records.join(F.broadcast(pop_names(messages)), "pop", "left")
    group = F.regexp_replace("target", f"^({RETRY_PREFIX}|{_DLQ})", "")
    group = F.when(F.col("target").startswith(RETRY_PREFIX), F.coalesce("pop_group", group)).otherwise(group)
    itself = F.col("physical_offset").cast("string")
    chain = F.when(F.col("pop").isNull(), F.col("origin_id"))
    records = records.withColumns({"group": group, "chain": F.coalesce(chain, "unique_key", "origin_id", itself)})
    attempt = F.when(F.col("kind") == "retry", F.col("reconsume_times"))
    waiting = F.when(F.col("kind") == "delay", F.col("reconsume_times"))
    dead = F.max(F.when(F.col("kind") == "dead_letter", 1)).isNotNull()
    lives = records.groupBy("store", "group", "chain").agg(
        F.min(F.coalesce("pop_topic", meant_topic())).alias("topic"),
        F.min("tag").alias("tag"),
        F.min(host_of("born_host")).alias("host"),
        F.coalesce(F.max(attempt), F.lit(0)).alias("attempt"),
        F.coalesce(F.max(waiting), F.lit(0)).alias("awaited"),
        dead.alias("is_dead"),
        *first_and_last(),
    )
    state = F.when(F.col("is_dead"), DEAD).when(F.col("awaited") > F.col("attempt"), WAITING).otherwise(NOT_SEEN_AGAIN)
    return lives.select("group", "topic", "tag", "host", "attempt", state.alias("state"), "first_time", "last_time")


def chains_by(lives: DataFrame, *keys: str) -> DataFrame:
    """Chains by some columns: messages, last_seen (not seen again), waiting, dead, attempts (their sum)."""
    counts = ((NOT_SEEN_AGAIN, "last_seen"), (WAITING, "waiting"), (DEAD, "dead"))
    return lives.groupBy(*keys).agg(
        F.count("*").alias("messages"),
        *(F.count(F.when(F.col("state") == state, 1)).alias(name) for state, name in counts),
        F.sum("attempt").alias("attempts"),
    )
