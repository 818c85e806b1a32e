"""Report ``ownership``: owners of queues over time, how often queues moved, and how long they had no owner."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, NO_SAMPLE, QueryResults, bars_of, ordered, rows_of, table, total
from spark_reports.reports.gaps import gap_findings, gap_rows
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import clock, duration_text, first_of, number, say
from spark_reports.transforms.accounting import sample_accounting
from spark_reports.transforms.ownership import by_queue, changes, rebalances
from spark_reports.vocabulary import ValueUnit

FIRST = ("queues",)
CHANGES_MAX = 10_000


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    stretches = reading.samples("ownership")
    if reading.parameters.text("group"):
        stretches = stretches.where(stretches["group"] == reading.parameters.text("group"))
    stretches = stretches.persist()
    moved = changes(stretches)
    return {
        ACCOUNTING: sample_accounting(stretches, "from_time"),
        "queues": by_queue(stretches),
        "changes": moved.orderBy("change_time", "group", "topic", "queue_id", "store").limit(CHANGES_MAX),
        "rebalances": rebalances(moved),
        "runs": reading.samples("runs"),
    }


def first(found: QueryResults) -> ReportTable:
    queues = ordered(found["queues"], "-changes", "-unowned_ms", "group", "topic", "queue_id", "store")
    return table("by_queue", "By queue", queues, totals=("changes", "sampled_ms", "unowned_ms"))


def result(found: QueryResults) -> ReportResult:
    of_queues = first(found)
    queues = of_queues.data
    moves = ordered(found["rebalances"], "-changes", "first_time", "group", "store")
    groups = _by_group(queues)
    gaps = gap_rows(found["runs"])
    return found.result(
        headlines=(
            KeyFigure(
                total(queues, "changes"), ValueUnit.COUNT, "changes of owner", f"in {number(moves.num_rows, 'rebalance')}"
            ),
            KeyFigure(queues.num_rows, ValueUnit.COUNT, "queues with an owner"),
            KeyFigure(total(queues, "unowned_ms"), ValueUnit.DURATION, "without owner", "all queues together"),
        ),
        findings=[*_findings(queues, groups, moves), *gap_findings(gaps)],
        charts=(bars_of("groups", "Changes of owner by group", groups, "group", "changes"),),
        tables=(
            table("by_group", "By group", groups, totals=("queues", "changes", "unowned_ms")),
            of_queues,
            table("rebalances", "Rebalances", moves, totals=("changes",), note="Changes of a group within 30 s of each other."),
            table(
                "changes",
                "Changes of owner",
                found["changes"],
                note=first_of(found["changes"].num_rows, total(queues, "changes")),
            ),
            table("gaps", "Times without samples", gaps, totals=("length_ms",)),
        ),
        notes=(
            "Each change is a moment in which messages on their way to the former owner can come again to the new one.",
            (
                "Owners are sampled once a second and kept so for a day, by ten seconds for a week, then by the minute: "
                "what came and went in between is not seen."
            ),
            "What changed while nothing was sampled is not counted.",
        ),
        nothing=NO_SAMPLE,
    )


def _by_group(queues: pa.Table) -> pa.Table:
    sums = queues.group_by(["group"]).aggregate([("queue_id", "count"), ("changes", "sum"), ("unowned_ms", "sum")])
    return ordered(sums.rename_columns(["group", "queues", "changes", "unowned_ms"]), "-changes", "group")


def _findings(queues: pa.Table, groups: pa.Table, moves: pa.Table) -> list[str]:
    if not queues.num_rows:
        return []
    found: list[str] = [
        say("{changes} of owner in {queues} of {groups}.", changes=number(total(queues, "changes"), "change"),
            queues=number(queues.num_rows, "queue"), groups=number(groups.num_rows, "group"))
    ]  # fmt: skip
    first = rows_of(queues)[0]
    if first["changes"]:
        found.append(
            say("Queue {queue} of {topic} moved most often: {changes} in group {group}, {owners} had it.",
                queue=first["queue_id"], topic=first["topic"], changes=number(first["changes"], "change"), group=first["group"],
                owners=number(first["owners"], "client"))
        )  # fmt: skip
        largest = rows_of(moves)[0]
        found.append(
            say("The largest rebalance was at {time} in {group}: {changes} of {queues}.", time=clock(largest["first_time"]),
                group=largest["group"], changes=number(largest["changes"], "change"), queues=number(largest["queues"], "queue"))
        )  # fmt: skip
    if total(queues, "unowned_ms"):
        idle = max(rows_of(queues), key=lambda row: row["unowned_ms"])
        found.append(
            say("Queue {queue} of {topic} had no owner in group {group} for {length}, the longest of all.",
                queue=idle["queue_id"], topic=idle["topic"], group=idle["group"], length=duration_text(idle["unowned_ms"]))
        )  # fmt: skip
    return found
