"""Report ``transactions``: outcomes, checks, time to decision, and undecided or given up ones.

Transactions from half, op, committed and given-up records.

Half messages are written again at each check, so one transaction is all half records of one store, group and unique key. An op
record names queue offsets of half messages; a committed message names the physical offset of its half message.

Source: docs/spec/broker.md §4.2 to §4.7.
"""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import duration_text, number, part
from spark_reports.transforms.origin import host_of, of_topics, spread
from spark_reports.vocabulary import ValueUnit, title_of

TRANSACTION_COLUMNS = (
    "store", "real_topic", "queue_offset", "physical_offset", "store_time", "kind", "unique_key", "keys", "producer_group",
    "born_host", "check_times", "prepared_offset", "decided_offsets",
)  # fmt: skip
COMMITTED, ROLLED_BACK, GIVEN_UP, UNDECIDED = "committed", "rolled_back", "given_up", "undecided"
OUTCOMES = (COMMITTED, ROLLED_BACK, GIVEN_UP, UNDECIDED)
FIRST = ("groups",)
OPEN_MAX = 10_000


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    source = read(reading, *TRANSACTION_COLUMNS, topics_of="all")
    lives = transactions(source.messages).transform(of_topics, reading.parameters.topics).persist()
    unfinished = lives.where(lives.outcome.isin(GIVEN_UP, UNDECIDED)).orderBy("first_time", "store", "group", "unique_key")
    return {
        ACCOUNTING: source.accounting,
        "groups": outcomes_by(lives, "group", "topic"),
        "hosts": outcomes_by(lives, "host"),
        "checks": lives.groupBy("checks").count().withColumnRenamed("count", "transactions"),
        "unfinished": unfinished.limit(OPEN_MAX).drop("store", "decided_ms", "extra_copies"),
    }


def first(found: QueryResults) -> ReportTable:
    groups = ordered(found["groups"], "-transactions", "group", "topic")
    return table("by_group", "By group and topic", groups, totals=("transactions", *OUTCOMES, "checks", "extra_copies"))


def result(found: QueryResults) -> ReportResult:
    of_groups = first(found)
    groups = of_groups.data
    checks = ordered(found["checks"], "checks")
    sums = {name: total(groups, name) for name in ("transactions", "checks", "extra_copies", *OUTCOMES)}
    return found.result(
        headlines=(
            KeyFigure(sums["transactions"], ValueUnit.COUNT, "transactions", f"in {found.messages:,} records read"),
            *(KeyFigure(sums[name], ValueUnit.COUNT, title_of(name).lower()) for name in OUTCOMES),
        ),
        findings=_findings(sums, groups),
        charts=(
            bars("outcomes", "Outcomes", [title_of(name) for name in OUTCOMES], [sums[name] for name in OUTCOMES], words=True),
            bars(
                "checks",
                "Transactions by number of checks",
                [str(one) for one in checks["checks"].to_pylist()],
                checks["transactions"].to_pylist(),
            ),
        ),
        tables=(
            of_groups,
            table(
                "by_host",
                "By host",
                ordered(found["hosts"], "-transactions", "host"),
                totals=("transactions", *OUTCOMES, "checks", "extra_copies"),
            ),
            table("by_checks", "By number of checks", checks, totals=("transactions",)),
            table(
                "unfinished",
                "Given up or undecided",
                found["unfinished"],
                note=f"The oldest {OPEN_MAX:,}." if found["unfinished"].num_rows == OPEN_MAX else "",
            ),
        ),
        notes=(
            "A check writes the half message again; records of one group and unique key are one transaction.",
            (
                "A transaction whose decision lies outside the range, or whose half message is cleaned "
                "away, is not told rightly: take a range with some room at both ends."
            ),
            "Brokers of 5.x commit some once more, or give up what they committed: such a transaction is committed, once.",
            "Time to decision runs from the first half record to the commit or rollback, or to the giving up.",
        ),
    )


def _findings(sums: dict[str, int], groups: pa.Table) -> list[str]:
    whole = sums["transactions"]
    sentences = [
        (
            f"{part(sums['committed'], whole)} transactions are committed, {sums['rolled_back']:,} rolled back, "
            f"{sums['given_up']:,} given up, {sums['undecided']:,} undecided."
        ),
        f"The broker asked {number(sums['checks'], 'time')} what had become of them.",
    ]
    if sums["extra_copies"]:
        copies = part(sums["extra_copies"], sums["committed"] + sums["extra_copies"])
        sentences.append(f"{copies} committed messages are copies of one that was committed before: consumers got them again.")
    slowest = max((row for row in rows_of(groups) if row["p99_ms"] is not None), key=lambda row: row["p99_ms"], default=None)
    if slowest:
        sentences.append(
            f"Of {number(slowest['transactions'], 'transaction')} of {slowest['group']}, 99 % are decided within "
            f"{duration_text(slowest['p99_ms'])}, the slowest in {duration_text(slowest['max_ms'])}."
        )
    return sentences


def transactions(messages: DataFrame) -> DataFrame:
    """One row for each transaction.

    Returns:
        store, unique_key, group, topic, host (of the producer), keys (separated by spaces), first_time, checks, outcome,
        decided_ms (first half record to decision; null while undecided), extra_copies (committed messages beyond the first:
        brokers of 5.x that collect op records commit a decided one again meanwhile).
    """
    # A record of a half message that was given up is of another topic: nothing names its offsets.
    records = messages.where("kind in ('half', 'given_up')").withColumns(
        {"id": _identity(), "half_offset": _of_half("queue_offset"), "half_at": _of_half("physical_offset")}
    )
    decided = records.join(_decisions(messages), ["store", "half_offset"], "left")
    committed = messages.where("kind = 'committed'").groupBy("store", F.col("prepared_offset").alias("half_at"))
    commits = committed.agg(F.min("store_time").alias("commit_time"), F.count("*").alias("copies"))
    decided = decided.join(commits, ["store", "half_at"], "left")
    lives = decided.groupBy("store", "id").agg(
        F.min_by("unique_key", "half_at").alias("unique_key"),
        F.min_by("producer_group", "half_at").alias("group"),
        F.min_by("real_topic", "half_at").alias("topic"),
        F.min_by(host_of("born_host"), "half_at").alias("host"),
        F.min_by(F.concat_ws(" ", "keys"), "half_at").alias("keys"),
        F.min(_of_half("store_time")).alias("first_time"),
        F.max("half_at").alias("last_half"),
        F.coalesce(F.max(_of_half("check_times")), F.lit(0)).alias("checks"),
        F.min("op_time").alias("op_time"),
        F.min("commit_time").alias("commit_time"),
        F.coalesce(F.sum("copies"), F.lit(0)).alias("copies"),
        F.max(_of_given_up("physical_offset")).alias("given_up_at"),
        F.max(_of_given_up("store_time")).alias("given_up_time"),
    )
    lives = lives.where("last_half is not null").withColumn("outcome", _outcome())
    decided_time = F.when(F.col("outcome") == GIVEN_UP, F.col("given_up_time")).otherwise(F.least("commit_time", "op_time"))
    decided_ms = F.unix_millis(decided_time) - F.unix_millis("first_time")
    return lives.select(
        "store", "unique_key", "group", "topic", "host", "keys", "first_time", "checks", "outcome",
        decided_ms.alias("decided_ms"), F.greatest(F.col("copies") - 1, F.lit(0)).alias("extra_copies"),
    )  # fmt: skip


def outcomes_by(lives: DataFrame, *keys: str) -> DataFrame:
    """By some columns: transactions, one count for each outcome, checks, extra copies, and the spread of the decision time."""
    return lives.groupBy(*keys).agg(
        F.count("*").alias("transactions"),
        *(F.count(F.when(F.col("outcome") == outcome, 1)).alias(outcome) for outcome in OUTCOMES),
        F.sum("checks").alias("checks"),
        F.sum("extra_copies").alias("extra_copies"),
        *spread("decided_ms"),
    )


def _of_half(name: str) -> Column:
    return F.when(F.col("kind") == "half", F.col(name))


def _of_given_up(name: str) -> Column:
    return F.when(F.col("kind") == "given_up", F.col(name))


def _identity() -> Column:
    """Group and unique key; a half message without a unique key is a transaction of its own."""
    named = F.when(F.col("unique_key").isNotNull(), F.concat_ws(" ", "producer_group", "unique_key"))
    return F.coalesce(named, F.col("physical_offset").cast("string"))


def _decisions(messages: DataFrame) -> DataFrame:
    offsets = F.explode(F.split("decided_offsets", ","))
    ops = messages.where("kind = 'op'").select("store", "store_time", offsets.alias("decided"))
    ops = ops.where(F.col("decided").rlike(r"^\d{1,18}$")).withColumn("half_offset", F.col("decided").cast("bigint"))
    return ops.groupBy("store", "half_offset").agg(F.min("store_time").alias("op_time"))


def _outcome() -> Column:
    """Given up only if it was not resumed since; this precedes the op record, which Orbit writes for it too."""
    given_up = F.col("given_up_at") > F.col("last_half")
    return (
        F.when(F.col("commit_time").isNotNull(), COMMITTED)
        .when(given_up, GIVEN_UP)
        .when(F.col("op_time").isNotNull(), ROLLED_BACK)
        .otherwise(UNDECIDED)
    )
