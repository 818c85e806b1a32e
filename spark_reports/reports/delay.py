"""Report ``delay``: planned and real delivery, by level and for timers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from broker_core.outside import whole_of
from spark_reports.parameters import durations_ms
from spark_reports.report_input import ReportInput
from spark_reports.reports.common import ACCOUNTING, QueryResults, bars_of, ordered, read, rows_of, table, total
from spark_reports.reports.result import KeyFigure, ReportResult, ReportTable
from spark_reports.reports.wording import duration_text, number, part, verb
from spark_reports.transforms.delay import DELAY_COLUMNS, by_level, deliveries
from spark_reports.vocabulary import ValueUnit

FIRST = ("levels",)
_SUMS = ("messages", "delivered", "waiting", "cancelled", "early", "late")


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    parameters = reading.parameters
    source = read(reading, *DELAY_COLUMNS, topics_of="meant")
    waits = deliveries(source.messages, durations_ms(parameters.text("levels"))).persist()
    late_ms = parameters.number("late-ms")
    return {
        ACCOUNTING: source.accounting,
        "levels": by_level(waits, "level", late_ms=late_ms),
        "topics": by_level(waits, "level", "topic", late_ms=late_ms),
    }


def first(found: QueryResults) -> ReportTable:
    return table("by_level", "By level", _named(found["levels"], found.parameters.text("levels").split()), totals=_SUMS)


def result(found: QueryResults) -> ReportResult:
    of_levels = first(found)
    levels = of_levels.data
    topics = _named(found["topics"], found.parameters.text("levels").split(), "topic")
    sums = {name: total(levels, name) for name in _SUMS}
    late_ms = found.parameters.number("late-ms")
    return found.result(
        headlines=(
            KeyFigure(sums["messages"], ValueUnit.COUNT, "waits", f"of {found.messages:,} records read"),
            KeyFigure(sums["delivered"], ValueUnit.COUNT, "delivered", f"{sums['early']:,} before their time"),
            KeyFigure(sums["late"], ValueUnit.COUNT, "late", f"by {duration_text(late_ms)} or more"),
            KeyFigure(
                sums["waiting"],
                ValueUnit.COUNT,
                "not delivered yet",
                f"{verb(sums['cancelled'], 'more was', 'more were')} cancelled",
            ),
        ),
        findings=_findings(sums, rows_of(levels), late_ms),
        charts=(bars_of("late", "99 % of lateness by level", levels, "level", "p99_ms", ValueUnit.DURATION, words=True),),
        tables=(
            of_levels,
            table("by_level_topic", "By level and topic", topics, totals=_SUMS),
        ),
        notes=(
            (
                "The plan of a level is the store time of the waiting record plus the level's duration as "
                "given; a broker whose levels were changed needs the levels of that time."
            ),
            "A timer's plan is TIMER_OUT_MS, which the broker rounds down to whole seconds.",
            (
                "A wait whose delivery lies outside the range counts as not delivered. What Orbit's own "
                "window cancelled is not in the log and counts so too."
            ),
            "Messages without a unique key cannot be paired and are left out.",
        ),
    )


def _findings(sums: Mapping[str, int], levels: Sequence[Mapping[str, Any]], late_ms: int) -> tuple[str, ...]:
    waits = (
        f"{part(sums['delivered'], sums['messages'])} waits are delivered, {verb(sums['waiting'], 'is', 'are')} not yet, "
        f"{verb(sums['cancelled'], 'was', 'were')} cancelled."
    )
    lateness = (
        f"{part(sums['late'], sums['delivered'])} deliveries were late by {duration_text(late_ms)} or more, "
        f"{sums['early']:,} came before their time."
    )
    worst = max((row for row in levels if row["max_ms"] is not None), key=lambda row: row["max_ms"], default=None)
    if worst is None:
        return waits, lateness
    latest = f"The latest of {number(worst['delivered'], 'delivery')} of level {worst['level']} came"
    return waits, lateness, f"{latest} {duration_text(worst['max_ms'])} behind its plan."


def _named(levels: pa.Table, durations: list[str], *more: str) -> pa.Table:
    """Rows in order of level, each with its duration: ``3 (10s)``."""
    texts = levels["level"].to_pylist()
    numbers = [whole_of(text) for text in texts]
    names = [
        f"{text} ({durations[number - 1]})" if number and number <= len(durations) else text
        for text, number in zip(texts, numbers, strict=True)
    ]
    order = pa.array([10_000 if number is None else number for number in numbers], pa.int64())
    named = levels.set_column(0, "level", pa.array(names, pa.string())).append_column("order", order)
    return ordered(named, "order", *more).drop_columns("order")
