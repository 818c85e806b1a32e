"""Report ``retries``: the number of attempts of messages that consumers failed on.

Chains of messages that consumers failed on: the attempts of each.

One chain is one message in one consumer group: by ORIGIN_MESSAGE_ID, which stays through all attempts; for POP consumers, whose
broker makes the copies and sets none, by the unique key.

Source: docs/spec/broker.md §8.1, §6.7.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from broker_core.protocol.names import DLQ_PREFIX, RETRY_PREFIX
from broker_core.protocol.retry_names import NOTHING_KNOWN, KnownNames
from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import number, part, verb
from spark_reports.transforms.origin import dead_group, first_and_last, host_of, meant_topic, one_of, pop_names, pop_retry_topic
from spark_reports.vocabulary import ValueUnit

RETRY_COLUMNS = (
    "store", "topic", "real_topic", "retry_topic", "kind", "origin_id", "unique_key", "reconsume_times", "tag", "store_time",
    "born_host", "physical_offset",
)  # fmt: skip
DEAD, WAITING, NOT_SEEN_AGAIN = "dead", "waiting", "not seen again"

SHARED_TOLD = 3
"""Shared retry topics with a sentence of their own."""
FIRST = ("topics",)
_SHARED_NOTE = "A slash between groups or topics means one of them: their retry topics have one name."
_SUMS = ("messages", "last_seen", "waiting", "dead", "attempts")


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, *RETRY_COLUMNS, topics_of="meant")
    lives = chains(source.messages, reading.known_names).persist()
    return {
        ACCOUNTING: source.accounting,
        "attempts": chains_by(lives, "group", "attempt"),
        "topics": chains_by(lives, "group", "topic", "tag"),
        "hosts": chains_by(lives, "group", "host"),
        "shared": chains_by(lives.where("shared is not null"), "shared", "pairs"),
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
        findings=[*_findings(sums, found["attempts"], topics), *_shared(found["shared"])],
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
            *([_SHARED_NOTE] if found["shared"].num_rows else []),
        ),
    )


def _shared(shared: pa.Table) -> list[str]:
    """Sentences about chains whose group is not certain."""
    rows = rows_of(ordered(shared, "-messages", "shared"))
    return [
        (
            f"{number(row['messages'], 'message')} {'is' if row['messages'] == 1 else 'are'} in retry topic {row['shared']}, "
            f"which fits several pairs of group and topic: {row['pairs']}."
        )
        for row in rows[:SHARED_TOLD]
    ]


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


def chains(messages: DataFrame, known: KnownNames = NOTHING_KNOWN) -> DataFrame:
    """One row for each message that a group failed on.

    Where several pairs of group and topic share a retry topic, a dead letter of the message tells the group; without one the
    chain has all that it may be.

    Returns:
        group, topic (its origin), tag, host (of its producer), attempt (last one delivered; 0: dead at once), state,
        first_time, last_time, shared (its retry topic, if that is ambiguous), pairs (its possible groups and topics).
    """
    target = F.when(F.col("kind") == "delay", F.col("real_topic")).otherwise(F.col("topic"))
    records = messages.withColumns({"target": target, "pop": pop_retry_topic(), "dead_group": dead_group()})
    records = records.where(F.col("target").startswith(RETRY_PREFIX) | F.col("target").startswith(DLQ_PREFIX))
    records = _with_owners(records, pop_names(messages, known))
    itself = F.col("physical_offset").cast("string")
    chain = F.when(F.col("pop").isNull(), F.col("origin_id"))
    records = _told_by_dead_letters(records.withColumn("chain", F.coalesce(chain, "unique_key", "origin_id", itself)))
    attempt = F.when(F.col("kind") == "retry", F.col("reconsume_times"))
    waiting = F.when(F.col("kind") == "delay", F.col("reconsume_times"))
    dead = F.max(F.when(F.col("kind") == "dead_letter", 1)).isNotNull()
    is_shared = F.size("groups") > 1
    origin = F.coalesce(one_of("pop_topics"), meant_topic())  # of the records of a chain, that with the most possible ones
    lives = records.groupBy("store", one_of("groups").alias("group"), "chain").agg(
        F.min(F.struct(-F.coalesce(F.size("pop_topics"), F.lit(0)), origin.alias("origin")))["origin"].alias("topic"),
        F.min("tag").alias("tag"),
        F.min(host_of("born_host")).alias("host"),
        F.coalesce(F.max(attempt), F.lit(0)).alias("attempt"),
        F.coalesce(F.max(waiting), F.lit(0)).alias("awaited"),
        dead.alias("is_dead"),
        F.min(F.when(is_shared, F.col("pop"))).alias("shared"),
        F.min(F.when(is_shared, F.col("pop_pairs"))).alias("pairs"),
        *first_and_last(),
    )
    state = F.when(F.col("is_dead"), DEAD).when(F.col("awaited") > F.col("attempt"), WAITING).otherwise(NOT_SEEN_AGAIN)
    return lives.select(
        "group", "topic", "tag", "host", "attempt", state.alias("state"), "first_time", "last_time", "shared", "pairs"
    )


def _with_owners(records: DataFrame, names: DataFrame) -> DataFrame:
    """Records with their possible groups; of those of pops with their topics, in the same order."""
    same = F.col("pop").eqNullSafe(F.col("of_pop")) & F.col("dead_group").eqNullSafe(F.col("of_dead"))
    renamed = names.withColumnsRenamed({"pop": "of_pop", "dead_group": "of_dead"})
    own = F.array(F.coalesce("dead_group", F.regexp_replace("target", f"^({RETRY_PREFIX}|{DLQ_PREFIX})", "")))
    joined = records.join(F.broadcast(renamed), same, "left").drop("of_pop", "of_dead")
    return joined.withColumn("groups", F.when(F.col("dead_group").isNull(), F.coalesce("pop_groups", own)).otherwise(own))


def _told_by_dead_letters(records: DataFrame) -> DataFrame:
    """Records whose group is that of the one dead letter of the message, where it is one of the possible groups."""
    of_message = Window.partitionBy("store", "chain")
    dead = F.collect_set(F.when(F.size("groups") == 1, F.col("dead_group"))).over(of_message)
    found = F.array_intersect("groups", "dead")
    place = F.array_position("groups", found[0]).cast("int")
    is_told = (F.size("groups") > 1) & (F.size(found) == 1)
    topics = F.when(is_told, F.array(F.get("pop_topics", place - 1))).otherwise(F.col("pop_topics"))
    told = records.withColumn("dead", dead).withColumn("pop_topics", topics)
    return told.withColumn("groups", F.when(is_told, found).otherwise(F.col("groups")))


def chains_by(lives: DataFrame, *keys: str) -> DataFrame:
    """Chains by some columns: messages, last_seen (not seen again), waiting, dead, attempts (their sum)."""
    counts = ((NOT_SEEN_AGAIN, "last_seen"), (WAITING, "waiting"), (DEAD, "dead"))
    return lives.groupBy(*keys).agg(
        F.count("*").alias("messages"),
        *(F.count(F.when(F.col("state") == state, 1)).alias(name) for state, name in counts),
        F.sum("attempt").alias("attempts"),
    )
