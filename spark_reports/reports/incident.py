"""Report ``incident``: a window of time on one page: messages, failures, latency, lag, owners, events and actions."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from broker_core.clock import utc_text
from broker_core.errors import UsageError
from spark_reports.parameters import ReportParameters
from spark_reports.report_input import ReportInput
from spark_reports.reports.common import (
    ACCOUNTING,
    MINUTE_MS,
    QueryResults,
    bars_of,
    lines,
    ordered,
    read,
    rows_of,
    table,
    total,
)
from spark_reports.reports.result import KeyFigure, ReportChart, ReportResult, ReportTable
from spark_reports.reports.wording import change_text, clock, duration_text, number, say
from spark_reports.transforms.incident import INCIDENT_COLUMNS, by_minute, by_topic
from spark_reports.transforms.lag import over_time
from spark_reports.transforms.ownership import changes
from spark_reports.vocabulary import ValueUnit, title_of

FIRST = ("topics",)
WINDOW_MS_MAX = 24 * 3_600_000
CHART_GROUPS_MAX = 5
ROWS_MAX = 10_000
_FAILURES = ("retried", "dead", "given_up")


def check(parameters: ReportParameters) -> None:
    """Refuse a window without a beginning, or longer than a day, by a `UsageError`."""
    if parameters.from_ms is None:
        raise UsageError("incident needs a window: say when it began with --from (and when it ended with --to; else now).")
    length_ms = _end_ms(parameters) - parameters.from_ms
    if length_ms > WINDOW_MS_MAX:
        raise UsageError(
            f"the window is {duration_text(length_ms)} long; an incident has a day at most. Name a shorter one, or use compare."
        )


def _end_ms(parameters: ReportParameters) -> int:
    return parameters.now_ms if parameters.to_ms is None else parameters.to_ms


def queries(reading: ReportInput) -> dict[str, DataFrame]:
    """The window and the time before it."""
    check(reading.parameters)
    from_ms = reading.parameters.from_ms
    assert from_ms is not None
    begin_ms = from_ms - reading.parameters.number("before-min") * MINUTE_MS
    source = read(reading, *INCIDENT_COLUMNS, from_ms=begin_ms)
    made = {
        ACCOUNTING: source.accounting,
        "topics": by_topic(source.messages, from_ms),
        "minutes": by_minute(source.messages),
        "actions": reading.samples("actions"),
    }
    return made | (_sampled(reading, begin_ms, from_ms) if reading.has_history else {})


def _sampled(reading: ReportInput, begin_ms: int, from_ms: int) -> dict[str, DataFrame]:
    earlier = replace(reading, parameters=replace(reading.parameters, from_ms=begin_ms))
    lag = earlier.samples("lag", step_ms=MINUTE_MS)
    now = F.unix_millis("time") >= from_ms
    delays = earlier.samples("delay", step_ms=MINUTE_MS)
    return {
        "lag": lag.groupBy("group").agg(
            F.max(F.when(~now, F.col("lag_messages_max"))).cast("bigint").alias("lag_before"),
            F.max(F.when(now, F.col("lag_messages_max"))).cast("bigint").alias("lag_max"),
            F.max(F.when(now, F.col("behind_ms_max"))).alias("behind_max_ms"),
        ),
        "lag_lines": over_time(lag, MINUTE_MS, CHART_GROUPS_MAX),
        "overdue": delays.where("overdue_ms_max > 0").select(
            F.concat(F.lit("level "), F.col("level").cast("string")).alias("level"),
            F.unix_millis("time").alias("bucket_ms"),
            F.col("overdue_ms_max").alias("max_ms"),
            "step_ms",
        ),
        "changes": changes(reading.samples("ownership"))
        .orderBy("change_time", "group", "topic", "queue_id", "store")
        .limit(ROWS_MAX),
        "events": reading.samples("events"),
    }


def first(found: QueryResults) -> ReportTable:
    return table(
        "by_topic", "By topic", _with_change(found["topics"], found), totals=("messages", "messages_before", "store_bytes")
    )


def result(found: QueryResults) -> ReportResult:
    parameters = found.parameters
    from_ms = parameters.from_ms
    assert from_ms is not None
    of_topics = first(found)
    topics = of_topics.data
    minutes = ordered(found["minutes"], "minute")
    window = minutes.filter(pc.greater_equal(_bucket(minutes), from_ms))
    acted = ordered(found["actions"], "time", "store")
    tables = [
        of_topics,
        table("by_minute", "By minute", minutes, totals=("messages", "store_bytes", *_FAILURES)),
        table("actions", "Actions", acted),
    ]
    charts = _charts(_every_minute(minutes, parameters), topics)
    sampled = "lag" in found.tables
    if sampled:
        tables += _sampled_tables(found)
        charts += _sampled_charts(found)
    messages = total(window, "messages")
    return found.result(
        headlines=(
            KeyFigure(messages, ValueUnit.COUNT, "messages in the window", f"{total(topics, 'messages_before'):,} before it"),
            *(KeyFigure(total(window, name), ValueUnit.COUNT, label)
              for name, label in zip(_FAILURES, ("retries", "dead letters", "transactions given up"), strict=True)),
            *([KeyFigure(found["events"].num_rows + acted.num_rows, ValueUnit.COUNT, "events and actions")] if sampled else []),
        ),
        findings=_findings(found, topics, window),
        charts=charts,
        tables=tables,
        notes=(
            (
                f"The window is from {utc_text(from_ms)} to {utc_text(_end_ms(parameters))}; the time before it is "
                f"{duration_text(parameters.number('before-min') * MINUTE_MS)} long, and rows read are those of both."
            ),
            "Latency is that of messages as producers sent them; negative ones are clocks that go wrong and are left out.",
            *([] if sampled else ["The store has no history: lag, owners and events of that time are not known."]),
        ),
    )  # fmt: skip


def _with_change(topics: pa.Table, found: QueryResults) -> pa.Table:
    """Change against the time before, both per minute, because the two differ in length."""
    parameters = found.parameters
    assert parameters.from_ms is not None
    minutes = (_end_ms(parameters) - parameters.from_ms) / MINUTE_MS
    scale = minutes / parameters.number("before-min")
    before = pc.multiply(topics["messages_before"].cast(pa.float64()), scale)
    relative = pc.divide(pc.subtract(topics["messages"].cast(pa.float64()), before), before)
    relative = pc.if_else(pc.greater(topics["messages_before"], 0), relative, pa.scalar(None, pa.float64()))
    return ordered(topics.append_column("relative_change", relative), "-messages", "topic")


def _bucket(minutes: pa.Table) -> pa.ChunkedArray:
    return pc.divide(minutes["minute"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()), 1000)


def _every_minute(minutes: pa.Table, parameters: ReportParameters) -> pa.Table:
    """The minutes as bucket_ms, also those without messages, which the table lacks; their p99_ms is null."""
    assert parameters.from_ms is not None
    known = dict(zip(_bucket(minutes).to_pylist(), rows_of(minutes), strict=True))
    begin_ms = parameters.from_ms - parameters.number("before-min") * MINUTE_MS
    every = range(begin_ms // MINUTE_MS * MINUTE_MS, min(_end_ms(parameters), parameters.now_ms), MINUTE_MS)
    nothing = dict.fromkeys(("messages", *_FAILURES), 0)
    schema = pa.schema([("bucket_ms", pa.int64()), *((name, pa.int64()) for name in nothing), ("p99_ms", pa.float64())])
    return pa.Table.from_pylist([known.get(at, nothing) | {"bucket_ms": at} for at in every], schema)


def _charts(minutes: pa.Table, topics: pa.Table) -> list[ReportChart]:
    named = minutes
    for name in ("messages", "p99_ms"):
        named = named.append_column(f"{name}_of", pa.repeat(pa.scalar(title_of(name)), minutes.num_rows))
    troubled = [name for name in _FAILURES if total(minutes, name)]
    failures = [
        named.select(["bucket_ms", name]).rename_columns(["bucket_ms", "failures"]).append_column(
            "kind", pa.repeat(pa.scalar(title_of(name)), named.num_rows)
        )
        for name in troubled
    ]  # fmt: skip
    made = [
        lines("messages", "Messages by minute", named, by="messages_of", value="messages", unit=ValueUnit.COUNT,
              width_ms=MINUTE_MS, words=True),
        lines("latency", "Born to store, 99 %", named, by="p99_ms_of", value="p99_ms", unit=ValueUnit.DURATION,
              width_ms=MINUTE_MS, words=True),
        bars_of("topics", "Messages of the window by topic", topics, "topic", "messages"),
    ]  # fmt: skip
    if failures:
        together = pa.concat_tables(failures)
        made.append(
            lines("failures", "Failures by minute", together, by="kind", value="failures", unit=ValueUnit.COUNT,
                  width_ms=MINUTE_MS, words=True)
        )  # fmt: skip
    return made


def _sampled_tables(found: QueryResults) -> list[ReportTable]:
    return [
        table("lag", "Lag by group", ordered(found["lag"], "-lag_max", "group")),
        table("changes", "Changes of owner", found["changes"]),
        table("events", "Events", ordered(found["events"], "time", "store")),
    ]


def _sampled_charts(found: QueryResults) -> list[ReportChart]:
    overdue = ordered(found["overdue"], "bucket_ms")
    made = [
        lines("lag", "Largest lag by minute", ordered(found["lag_lines"], "bucket_ms"), by="group", value="lag_max",
              unit=ValueUnit.COUNT, width_ms=MINUTE_MS),
    ]  # fmt: skip
    if overdue.num_rows:
        made.append(
            lines("overdue", "Overdue by level", overdue, by="level", value="max_ms", unit=ValueUnit.DURATION,
                  width_ms=MINUTE_MS, words=True)
        )  # fmt: skip
    return made


def _findings(found: QueryResults, topics: pa.Table, window: pa.Table) -> list[str]:
    messages = total(window, "messages")
    made: list[str] = [
        say("{messages} in the window: {retries}, {dead} and {given_up} given up among them.",
            messages=number(messages, "message"),
            retries=number(total(window, "retried"), "retry"), dead=number(total(window, "dead"), "dead letter"),
            given_up=number(total(window, "given_up"), "transaction"))
    ]  # fmt: skip
    gone = [row for row in rows_of(topics) if row["messages_before"] and not row["messages"]]
    if gone:
        largest = max(gone, key=lambda row: row["messages_before"])
        made.append(
            say("{topics} fell silent; {topic} had {before} before.", topics=number(len(gone), "topic"),
                topic=largest["topic"], before=number(largest["messages_before"], "message"))
        )  # fmt: skip
    grown = [row for row in rows_of(topics) if row["relative_change"] and row["messages"]]
    if grown:
        most = max(grown, key=lambda row: abs(row["relative_change"]))
        made.append(
            say("By minute, {topic} changed most: {change} against the time before.", topic=most["topic"],
                change=change_text(most["relative_change"]))
        )  # fmt: skip
    peak = max((row for row in rows_of(window) if row["p99_ms"] is not None), key=lambda row: row["p99_ms"], default=None)
    if peak:
        made.append(
            say("The slowest minute was {minute}: 99 % of its messages were stored within {late}.",
                minute=clock(peak["minute"]),
                late=duration_text(peak["p99_ms"]))
        )  # fmt: skip
    return made + (_sampled_findings(found) if "lag" in found.tables else [])


def _sampled_findings(found: QueryResults) -> list[str]:
    known = [row for row in rows_of(found["lag"]) if row["lag_max"] is not None]
    made: list[str] = []
    if known:
        worst = max(known, key=lambda row: row["lag_max"])
        made.append(
            say("{group} had the largest lag: {lag}, {before} before the window.", group=worst["group"],
                lag=number(worst["lag_max"], "message"),
                before="unknown" if worst["lag_before"] is None else f"{worst['lag_before']:,}")
        )  # fmt: skip
    made.append(
        say("{changes} of owner, {events} and {actions} were recorded.", changes=number(found["changes"].num_rows, "change"),
            events=number(found["events"].num_rows, "event"), actions=number(found["actions"].num_rows, "action"))
    )  # fmt: skip
    return made
