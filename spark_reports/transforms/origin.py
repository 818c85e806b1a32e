"""Which records a producer wrote itself, and where copies come from."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  the name every Spark program uses

ORIGIN_COLUMNS = ("kind", "reconsume_times", "check_times", "cancelled_key")
"""What `first_stored` needs."""


def first_stored(messages: DataFrame) -> DataFrame:
    """Records of messages as producers sent them: no delivered, committed, retried or checked copy of an earlier record."""
    kind = F.col("kind")
    sent = kind.isin("normal", "fifo", "trace")
    waiting = (kind == "delay") & (F.col("reconsume_times") == 0) & F.col("cancelled_key").isNull()
    half = (kind == "half") & F.col("check_times").isNull()
    return messages.where(sent | waiting | half)


def meant_topic() -> Column:
    """The topic a message was first sent to: of a retried one that before the retry. Needs retry_topic, real_topic."""
    return F.coalesce(F.col("retry_topic"), F.col("real_topic"))


def of_topics(messages: DataFrame, topics: tuple[str, ...], topic: str = "topic") -> DataFrame:
    """Only these topics; all if there are none named."""
    return messages.where(F.col(topic).isin(*topics)) if topics else messages


def host_of(column: str) -> Column:
    """Address without the port."""
    return F.regexp_replace(F.col(column), r":\d+$", "")


def milliseconds_between(later: str, earlier: str) -> Column:
    """How much later one time is than another, bigint."""
    return F.unix_millis(later) - F.unix_millis(earlier)


def spread(column: str) -> list[Column]:
    """Exact percentiles and the longest of a column of milliseconds: p50_ms, p90_ms, p99_ms, max_ms.

    Exact, because approximate ones depend on how the rows are spread over tasks.
    """
    parts = [(0.5, "p50_ms"), (0.9, "p90_ms"), (0.99, "p99_ms")]
    return [*(F.round(F.percentile(column, share), 3).alias(name) for share, name in parts), F.max(column).alias("max_ms")]
