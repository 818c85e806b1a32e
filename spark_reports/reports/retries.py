"""Report ``retries``: the number of attempts of messages that consumers failed on.

Chains of messages that consumers failed on: the attempts of each.

One chain is one message in one consumer group: by ORIGIN_MESSAGE_ID, which stays through all attempts; for POP consumers, whose
broker makes the copies and sets none, by the unique key.

Source: docs/spec/broker.md §8.1, §6.7.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from broker_core.protocol.names import DLQ_PREFIX, RETRY_PREFIX
from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import number, part, verb
from spark_reports.transforms.origin import first_and_last, host_of, meant_topic, pop_names, pop_retry_topic
from spark_reports.vocabulary import ValueUnit

RETRY_COLUMNS = (
    "store", "topic", "real_topic", "retry_topic", "kind", "origin_id", "unique_key", "reconsume_times", "tag", "store_time",
    "born_host", "physical_offset",
)  # fmt: skip
DEAD, WAITING, NOT_SEEN_AGAIN = "dead", "waiting", "not seen again"

FIRST = ("topics",)
_SUMS = ("messages", "last_seen", "waiting", "dead", "attempts")


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, *RETRY_COLUMNS, topics_of="meant")
    lives = chains(source.messages).persist()
    return {
        ACCOUNTING: source.accounting,
        "attempts": chains_by(lives, "group", "attempt"),
        "topics": chains_by(lives, "group", "topic", "tag"),
        "hosts": chains_by(lives, "group", "host"),
    }


def first(found: QueryResults) -> ReportTable:
    topics = ordered(found["topics"], "-messages", "group", "topic", "tag")
    return table("by_topic_tag", "By group, topic and tag", topics, totals=_SUMS)


def result(found: QueryResults) -> ReportResult:
    funnel = _funnel(found["attempts"])
    of_topics = first(found)
    topics = of_topics.data
    sums = {name: total(topics, name) for name in _SUMS}
    over_all = ordered(found["attempts"].group_by("attempt").aggregate([("messages", "sum")]), "attempt")
    return found.result(
        headlines=(
            KeyFigure(sums["messages"], ValueUnit.COUNT, "messages given back", f"in {found.messages:,} records read"),
            KeyFigure(sums["last_seen"], ValueUnit.COUNT, "not seen again", "handled, or their consumer is gone"),
            KeyFigure(sums["waiting"], ValueUnit.COUNT, "wait for the next attempt"),
            KeyFigure(sums["dead"], ValueUnit.COUNT, "became dead letters"),
        ),
        findings=_findings(sums, found["attempts"], topics),
        charts=(
            bars(
                "last",
                "Messages by their last attempt",
                [str(one) for one in over_all["attempt"].to_pylist()],
                over_all["messages_sum"].to_pylist(),
            ),
        ),
        tables=(
            table(
                "funnel",
                "Funnel by group",
                funnel,
                totals=("last_seen", "waiting", "dead"),
                note="Attempt 0: given up without a retry.",
            ),
            of_topics,
            table("by_host", "By group and host", ordered(found["hosts"], "-messages", "group", "host"), totals=_SUMS),
        ),
        notes=(
            "A message that is not seen again was handled, or nobody took it any more: the log does not tell the two apart.",
            "A dead letter that is sent again starts a new chain.",
            "Chains that began before the range miss their first attempts.",
        ),
    )


def _funnel(attempts: pa.Table) -> pa.Table:
    """For each group and attempt the number of messages that reached it, and the outcomes of those that went no further."""
    rows = []
    for group in sorted(set(attempts["group"].to_pylist())):
        of_group = ordered(attempts.filter(pc.equal(attempts["group"], group)), "attempt")
        reached = total(of_group, "messages")
        for row in rows_of(of_group):
            left = {name: row[name] for name in ("last_seen", "waiting", "dead")}
            rows.append({"group": group, "attempt": row["attempt"], "reached": reached} | left)
            reached -= row["messages"]
    schema = pa.schema(
        [("group", pa.string()), *((name, pa.int64()) for name in ("attempt", "reached", "last_seen", "waiting", "dead"))]
    )
    return pa.Table.from_pylist(rows, schema=schema)


def _findings(sums: dict[str, int], attempts: pa.Table, topics: pa.Table) -> list[str]:
    whole = sums["messages"]
    if not whole:
        return ["0 messages were given back by a consumer."]
    once = sum(row["last_seen"] for row in rows_of(attempts) if row["attempt"] == 1)
    worst = max(rows_of(topics), key=lambda row: row["dead"])
    sentences = [
        (
            f"{part(sums['dead'], whole)} messages given back became dead letters, "
            f"{verb(sums['last_seen'], 'was', 'were')} not seen again, {verb(sums['waiting'], 'waits', 'wait')}."
        ),
        f"{part(once, whole)} were not seen again after the first attempt.",
    ]
    if worst["dead"]:
        tag = f" with tag {worst['tag']}" if worst["tag"] else ""
        sentences.append(f"{number(worst['dead'], 'dead letter')} of {worst['group']} came from {worst['topic']}{tag}.")
    return sentences


def chains(messages: DataFrame) -> DataFrame:
    """One row for each message that a group failed on.

    Returns:
        group, topic (its origin), tag, host (of its producer), attempt (last one delivered; 0: dead at once), state,
        first_time, last_time.
    """
    target = F.when(F.col("kind") == "delay", F.col("real_topic")).otherwise(F.col("topic"))
    records = messages.withColumns({"target": target, "pop": pop_retry_topic()})
    records = records.where(F.col("target").startswith(RETRY_PREFIX) | F.col("target").startswith(DLQ_PREFIX))
    records = records.join(F.broadcast(pop_names(messages)), "pop", "left")
    group = F.regexp_replace("target", f"^({RETRY_PREFIX}|{DLQ_PREFIX})", "")
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
