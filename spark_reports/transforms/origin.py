"""Records that a producer wrote itself, and origins of copies."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from broker_core.protocol.names import RETRY_PREFIX

ORIGIN_COLUMNS = ("kind", "reconsume_times", "check_times", "cancelled_key", "roll_times")
"""Columns that `first_stored` needs."""


def first_stored(messages: DataFrame) -> DataFrame:
    """Messages as producers sent them: no delivered, committed, retried, checked or rolled copy of an earlier record."""
    kind = F.col("kind")
    sent = kind.isin("normal", "fifo", "trace")
    waiting = (kind == "delay") & (F.col("reconsume_times") == 0)
    waiting = waiting & F.col("cancelled_key").isNull() & F.col("roll_times").isNull()
    half = (kind == "half") & F.col("check_times").isNull()
    return messages.where(sent | waiting | half)


def own_key() -> Column:
    """The client's key of a message; members of a batch have one each. Needs member_key, unique_key."""
    return F.coalesce(F.col("member_key"), F.col("unique_key"))


def meant_topic() -> Column:
    """The topic a message was first sent to; of a retried one that before the retry. Needs retry_topic, real_topic."""
    return F.coalesce(F.col("retry_topic"), F.col("real_topic"))


def pop_names(messages: DataFrame) -> DataFrame:
    """Groups and topics of the retry topics of POP consumers, ``%RETRY%group_topic`` or ``%RETRY%group+topic``.

    Their records have neither a retry topic nor an origin id, and their dead letters name them as their origin. An underscore
    may be part of both names: the longest known topic that fits is used. Needs topic, real_topic, retry_topic, origin_id.

    Returns:
        pop (the retry topic), pop_group, pop_topic (null if no topic fits).
    """
    names = messages.select(pop_retry_topic().alias("pop")).where("pop is not null").distinct()
    topics = messages.select(F.col("real_topic").alias("seen")).where(~F.col("real_topic").startswith("%")).distinct()
    fits = F.col("pop").endswith(F.concat(F.lit("_"), "seen"))
    found = names.join(F.broadcast(topics), fits, "left").groupBy("pop").agg(F.max_by("seen", F.length("seen")).alias("seen"))
    rest = F.regexp_replace("pop", f"^{RETRY_PREFIX}", "")
    apart = F.split(rest, r"\+")
    before = F.substring(rest, F.lit(1), F.length(rest) - F.length("seen") - 1)
    return found.select(
        "pop",
        F.when(F.size(apart) == 2, F.get(apart, 0)).otherwise(F.coalesce(before, rest)).alias("pop_group"),
        F.coalesce(F.get(apart, 1), "seen").alias("pop_topic"),
    )


def pop_retry_topic() -> Column:
    """The POP consumer's retry topic of a record or its origin; else null. Needs the columns of `pop_names`."""
    own = F.col("topic").startswith(RETRY_PREFIX) & F.col("retry_topic").isNull() & F.col("origin_id").isNull()
    return F.when(own, F.col("topic")).when(F.col("retry_topic").startswith(RETRY_PREFIX), F.col("retry_topic"))


def of_topics(messages: DataFrame, topics: tuple[str, ...], topic: str = "topic") -> DataFrame:
    """Only these topics; all if there are none."""
    return messages.where(F.col(topic).isin(*topics)) if topics else messages


def host_of(column: str) -> Column:
    """Address without the port, and without the brackets of an IPv6 address."""
    return F.regexp_replace(F.col(column), r"^\[|\]?:\d+$", "")


def milliseconds_between(later: str, earlier: str) -> Column:
    """Milliseconds from the earlier time to the later one, bigint."""
    return F.unix_millis(later) - F.unix_millis(earlier)


def first_and_last(time: str = "store_time") -> tuple[Column, Column]:
    """Bounds of a column of times: first_time, last_time."""
    return F.min(time).alias("first_time"), F.max(time).alias("last_time")


def spread(column: str) -> list[Column]:
    """Exact percentiles and the longest of a column of milliseconds: p50_ms, p90_ms, p99_ms, max_ms.

    Exact, because approximate ones depend on how the rows are spread over tasks.
    """
    parts = [(0.5, "p50_ms"), (0.9, "p90_ms"), (0.99, "p99_ms")]
    return [*(F.round(F.percentile(column, share), 3).alias(name) for share, name in parts), F.max(column).alias("max_ms")]
