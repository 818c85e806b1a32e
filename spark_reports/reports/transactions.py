"""Report ``transactions``: outcomes, checks, time to decision, and undecided or given up ones."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import duration_text, number, part
from spark_reports.transforms.origin import of_topics
from spark_reports.transforms.transactions import (
    GIVEN_UP,
    OUTCOMES,
    TRANSACTION_COLUMNS,
    UNDECIDED,
    outcomes_by,
    transactions,
)
from spark_reports.vocabulary import ValueUnit, title_of

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
