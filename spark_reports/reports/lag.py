"""Report ``lag``: consumer lag from samples, the service level of each group, and the times in which it was missed."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from spark_reports.report_input import ReportInput
from spark_reports.reports.common import (
    ACCOUNTING,
    MINUTE_MS,
    NO_SAMPLE,
    QueryResults,
    bars_of,
    bucket_ms,
    lines,
    ordered,
    rows_of,
    table,
    total,
)
from spark_reports.reports.gaps import gap_findings, gap_rows
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import clock, duration_text, number, part, say
from spark_reports.transforms.accounting import sample_accounting
from spark_reports.transforms.lag import by_group, by_hour, episodes, judged, over_time
from spark_reports.vocabulary import ValueUnit

FIRST = ("groups",)
CHART_GROUPS_MAX = 5


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    parameters = reading.parameters
    samples = reading.samples("lag", step_ms=MINUTE_MS)
    if parameters.text("group"):
        samples = samples.where(samples["group"] == parameters.text("group"))
    stretches = judged(
        samples, lag_max=parameters.number("lag-max"), behind_ms_max=parameters.number("behind-s") * 1000
    ).persist()
    return {
        ACCOUNTING: sample_accounting(stretches),
        "groups": by_group(stretches),
        "hours": by_hour(stretches),
        "episodes": episodes(stretches),
        "lines": over_time(stretches, bucket_ms(parameters), CHART_GROUPS_MAX),
        "runs": reading.samples("runs"),
    }


def first(found: QueryResults) -> ReportTable:
    """Service levels, the lowest first."""
    groups = ordered(found["groups"], "within_share", "-lag_max", "group", "store")
    return table("by_group", "By group", groups, totals=("samples", "sampled_ms", "late_ms"))


def result(found: QueryResults) -> ReportResult:
    of_groups = first(found)
    groups = of_groups.data
    hours = ordered(found["hours"], "-late_ms", "-lag_max", "hour_time", "group", "store")
    wrong = groups.filter(pc.greater(pc.add(_or_0(groups["beyond_max"]), _or_0(groups["lost_max"])), 0))
    late = ordered(found["episodes"], "-late_ms", "first_time", "group", "store")
    target = found.parameters.number("target-percent")
    missed = groups.filter(pc.less(groups["within_share"], target / 100))
    gaps = gap_rows(found["runs"])
    sampled, late_ms = total(groups, "sampled_ms"), total(groups, "late_ms")
    return found.result(
        headlines=(
            KeyFigure(groups.num_rows, ValueUnit.COUNT, "groups", f"{missed.num_rows} below {target} %"),
            KeyFigure(1 - late_ms / sampled if sampled else float("nan"), ValueUnit.SHARE, "of the sampled time within bounds"),
            KeyFigure(late.num_rows, ValueUnit.COUNT, "times late", _longest(late)),
            KeyFigure(gaps.num_rows, ValueUnit.COUNT, "gaps", "times without samples"),
        ),
        findings=[*_standing_findings(wrong), *_findings(groups, missed, hours, late, target), *gap_findings(gaps)],
        charts=(
            lines("lag", "Largest lag over time", ordered(found["lines"], "bucket_ms"), by="group", value="lag_max",
                  unit=ValueUnit.COUNT, width_ms=bucket_ms(found.parameters),
                  note=f"The {CHART_GROUPS_MAX} groups with the largest lag."),
            bars_of("late", "Time late by group", groups, "group", "late_ms", ValueUnit.DURATION),
        ),
        tables=(
            of_groups,
            table("episodes", "Times late", late, totals=("late_ms",)),
            table("by_hour", "By group and hour", hours, totals=("samples", "sampled_ms", "late_ms")),
            table("gaps", "Times without samples", gaps, totals=("length_ms",)),
        ),
        notes=(
            "Lag exists only where it was sampled: nothing is known of the gaps, and they count neither as within nor as late.",
            "A minute counts as late when its largest lag or longest wait is above the bounds, or the group is beyond an end.",
            "The running minute is not in the history yet.",
        ),
        nothing=NO_SAMPLE,
    )  # fmt: skip


def _or_0(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.fill_null(column, 0)


def _standing_findings(wrong: pa.Table) -> list[str]:
    """Groups that were beyond an end or lost messages, which no lag tells."""
    found = []
    for row in rows_of(wrong):
        if row["beyond_max"]:
            found.append(
                say("{group} was beyond the end of its queues by {count:,}: its offset is none, so it has no lag.",
                    group=row["group"], count=row["beyond_max"])
            )  # fmt: skip
        if row["lost_max"]:
            found.append(
                say("{count:,} messages were deleted before {group} read them.", count=row["lost_max"], group=row["group"])
            )
    return found


def _longest(late: pa.Table) -> str:
    rows = rows_of(late.slice(0, 1))
    return f"the longest {duration_text(rows[0]['late_ms'])}" if rows else ""


def _findings(groups: pa.Table, missed: pa.Table, hours: pa.Table, late: pa.Table, target: int) -> list[str]:
    if not groups.num_rows:
        return []
    worst = rows_of(groups)[0]
    found: list[str] = [
        say("{share} groups are below the service level of {target} %.", share=part(missed.num_rows, groups.num_rows),
            target=target),
    ]  # fmt: skip
    if worst["late_ms"]:
        hour = rows_of(hours)[0]
        found.append(
            say("{group} was late for {late} of {sampled}; its lag was {lag:,} messages at most.", group=worst["group"],
                late=duration_text(worst["late_ms"]), sampled=duration_text(worst["sampled_ms"]), lag=worst["lag_max"] or 0)
        )  # fmt: skip
        found.append(
            say("The worst hour began at {hour}: {group} was late for {late}.", hour=clock(hour["hour_time"]),
                group=hour["group"], late=duration_text(hour["late_ms"]))
        )  # fmt: skip
        first = rows_of(late)[0]
        found.append(
            say("{times} late in all; the longest began at {begin} and took {length}, {drain} of it from its peak on.",
                times=number(late.num_rows, "time"), begin=clock(first["first_time"]), length=duration_text(first["late_ms"]),
                drain=duration_text(first["drain_ms"]))
        )  # fmt: skip
    else:
        found.append(say("No group was above its bounds; the largest lag was {lag:,} messages, of {group}.",
                         **_largest(groups)))  # fmt: skip
    return found


def _largest(groups: pa.Table) -> dict[str, object]:
    row = max(rows_of(groups), key=lambda one: one["lag_max"] or 0)
    return {"lag": row["lag_max"] or 0, "group": row["group"]}
