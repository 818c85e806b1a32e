"""Report ``operations``: users' actions in the console, and events of the broker."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars_of, ordered, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import clock, number, part, say
from spark_reports.transforms.accounting import sample_accounting
from spark_reports.vocabulary import ValueUnit

FIRST = ("actions",)
FAILED = ".failed"
NOTHING_RECORDED = say("No action and no event was recorded in this range.")


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    acted = reading.samples("actions")
    happened = reading.samples("events") if reading.has_history else acted.limit(0).select(
        "store", "time", F.col("action").alias("kind"), "subject", F.col("details").alias("text")
    )  # fmt: skip
    return {
        ACCOUNTING: sample_accounting(acted.select("time").unionByName(happened.select("time"))),
        "actions": acted,
        "events": happened,
    }


def first(found: QueryResults) -> ReportTable:
    return table("by_action", "By action", _by_action(ordered(found["actions"], "time", "store")), totals=("times", "failed"))


def result(found: QueryResults) -> ReportResult:
    acted = ordered(found["actions"], "time", "store")
    happened = ordered(found["events"], "time", "store")
    of_actions = first(found)
    by_action = of_actions.data
    by_kind = _counted(happened, "kind")
    return found.result(
        headlines=(
            KeyFigure(total(by_action, "times"), ValueUnit.COUNT, "recorded actions", f"{total(by_action, 'failed'):,} failed"),
            KeyFigure(happened.num_rows, ValueUnit.COUNT, "events of the broker"),
        ),
        findings=_findings(by_action, acted, by_kind),
        charts=(
            bars_of("actions", "Recorded actions", by_action, "action", "times"),
            bars_of("events", "Events", by_kind, "kind", "times"),
        ),
        tables=(
            of_actions,
            table("by_kind", "Events by kind", by_kind, totals=("times",)),
            table("actions", "Actions", acted),
            table("events", "Events", happened),
        ),
        notes=(
            "Only what was done from this console is known: what other tools did to the broker is not recorded here.",
            "An action is recorded before it is carried out; one that failed has a second line that ends in “.failed”.",
            "The journal keeps its newest 16 MiB and the 16 MiB before them.",
        ),
        nothing=NOTHING_RECORDED,
    )


def _by_action(acted: pa.Table) -> pa.Table:
    """Actions by kind; a line of a failure belongs to the action before it."""
    failed = pc.ends_with(acted["action"], FAILED)
    names = pc.replace_substring_regex(acted["action"], pattern=r"\.failed$", replacement="")
    rows = pa.table({"action": names, "asked": pc.invert(failed).cast(pa.int64()), "failed": failed.cast(pa.int64()),
                     "time": acted["time"]})  # fmt: skip
    sums = rows.group_by(["action"]).aggregate([("asked", "sum"), ("failed", "sum"), ("time", "min"), ("time", "max")])
    return ordered(sums.rename_columns(["action", "times", "failed", "first_time", "last_time"]), "-times", "action")


def _counted(rows: pa.Table, column: str) -> pa.Table:
    sums = rows.group_by([column]).aggregate([("time", "count"), ("time", "min"), ("time", "max")])
    return ordered(sums.rename_columns([column, "times", "first_time", "last_time"]), "-times", column)


def _findings(by_action: pa.Table, acted: pa.Table, by_kind: pa.Table) -> list[str]:
    asked, failed = total(by_action, "times"), total(by_action, "failed")
    found: list[str] = [say("{share} recorded actions failed.", share=part(failed, asked))]
    if asked:
        first, last = rows_of(by_action)[0], rows_of(acted)[-1]
        found.append(
            say("{action} is the most frequent action: {times}. The last one of all was {last} on {subject} at {time}.",
                action=first["action"], times=number(first["times"], "time"), last=last["action"], subject=last["subject"],
                time=clock(last["time"]))
        )  # fmt: skip
    if by_kind.num_rows:
        kind = rows_of(by_kind)[0]
        found.append(
            say("{events} of the broker; {kind} is the most frequent one: {times}.",
                events=number(total(by_kind, "times"), "event"), kind=kind["kind"], times=number(kind["times"], "time"))
        )  # fmt: skip
    return found
