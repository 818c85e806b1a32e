"""Records that a producer wrote itself, and origins of copies."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from broker_core.protocol.message.properties import RETRY_TOPIC
from broker_core.protocol.names import DLQ_PREFIX, RETRY_PREFIX
from broker_core.protocol.retry_names import (
    ALTERNATIVES,
    NOTHING_KNOWN,
    KnownNames,
    origins_of,
    owners_of,
    owners_text,
    topic_popped_by,
)

ORIGIN_COLUMNS = ("kind", "reconsume_times", "check_times", "cancelled_key", "roll_times")
"""Columns that `first_stored` needs."""
_NAMES = ArrayType(StringType())
_OWNERS = StructType(
    [StructField("pop_groups", _NAMES), StructField("pop_topics", _NAMES), StructField("pop_pairs", StringType())]
)


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


def pop_names(messages: DataFrame, known: KnownNames = NOTHING_KNOWN) -> DataFrame:
    """Groups and topics of the retry topics of POP consumers, by `broker_core.protocol.retry_names`.

    Their records have neither a retry topic nor an origin id, and their dead letters name them as their origin. Needs topic,
    real_topic, retry_topic, origin_id.

    Args:
        messages: Their topics and the groups of their dead letters are known besides.
        known: Groups and topics of the source.

    Returns:
        pop (the retry topic), dead_group (of a dead letter; null for a retry), pop_groups and pop_topics (as many), pop_pairs
        (in words).
    """
    columns = messages.select("topic", "real_topic", pop_retry_topic().alias("pop"), dead_group().alias("dead_group"))
    names = columns.where("pop is not null").select("pop", "dead_group").distinct()
    seen = columns.agg(
        F.collect_set(F.when(~F.col("real_topic").startswith("%"), F.col("real_topic"))).alias("topics"),
        F.collect_set("dead_group").alias("groups"),
    )
    owners = F.udf(_OwnersOf(known), _OWNERS, useArrow=False)("pop", "dead_group", "groups", "topics")
    return (
        names.crossJoin(F.broadcast(seen))
        .select("pop", "dead_group", owners.alias("owners"))
        .select("pop", "dead_group", "owners.*")
    )


class _OwnersOf:
    """The owners of a retry topic, in a process of Spark."""

    def __init__(self, known: KnownNames) -> None:
        self._known = known

    def __call__(
        self, name: str, dead_group: str | None, groups: list[str], topics: list[str]
    ) -> tuple[list[str], list[str | None], str]:
        known = KnownNames({*self._known.groups, *groups}, {*self._known.topics, *topics})
        origins = origins_of({RETRY_TOPIC: name}, dead_group, known) if dead_group and topic_popped_by(dead_group, name) else ()
        if origins:
            return [dead_group or ""] * len(origins), [*origins], ""
        owners = owners_of(name, known, popped=True)
        return [one.group for one in owners], [one.topic or None for one in owners], owners_text(owners)


def dead_group() -> Column:
    """The group of a dead letter; else null."""
    return F.when(F.col("topic").startswith(DLQ_PREFIX), F.substring("topic", len(DLQ_PREFIX) + 1, 1 << 16))


def one_of(names: str) -> Column:
    """The names of a column of several in one cell, of which one is meant: ``g / g_a``; null for none."""
    return F.when(F.size(F.array_compact(names)) > 0, F.array_join(F.array_distinct(names), ALTERNATIVES))


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
