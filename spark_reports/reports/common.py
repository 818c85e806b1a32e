"""Shared code of reports: from the rows of Spark's queries to a result whose manifest adds up.

A report is a module of `spark_reports.reports` with three functions:

    queries(reading)  the queries, as named data frames; one of them ``accounting``
    first(found)      the table that is sent before the rest is ready, made of the results of the queries in ``FIRST``: one of
                      the result's, or rows of one under its own title
    result(found)     tables, charts and findings of the results of the queries

A report of a single query (`throughput`) has no ``first``, because nothing is ready before the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import ModuleType
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame

from spark_reports.datasource.skipped import OTHER_TOPIC, OUTSIDE_RANGE
from spark_reports.masking import ReportMask
from spark_reports.parameters import ReportParameters
from spark_reports.report_input import ReportInput, TopicsOf
from spark_reports.reports.result import KeyFigure, ReportChart, ReportResult, ReportSeries, ReportTable, Skip
from spark_reports.reports.wording import first_of, say
from spark_reports.transforms.accounting import ACCOUNTED, accounting, messages_of
from spark_reports.vocabulary import ValueUnit, title_of, unit_of

NOTHING = say("No message is stored in this range.")
UNREAD = say("No message of this range could be read; what was left out, and why, is listed.")
NO_SAMPLE = say("No sample was taken in this range: nobody looked.")
CHART_BARS_MAX = 15
CHART_POINTS_MAX = 400
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3_600_000, 86_400_000
ACCOUNTING = "accounting"
NO_TAG = "(no tag)"


@dataclass(frozen=True, slots=True)
class Read:
    """The messages of a report and their accounting (`spark_reports.transforms.accounting`)."""

    messages: DataFrame
    accounting: DataFrame


def read(reading: ReportInput, *columns: str, topics_of: TopicsOf = "stored", from_ms: int | None = None) -> Read:
    """Read columns for a report of several queries: the bytes are parsed once and cached while it runs."""
    names = list(dict.fromkeys((*columns, *ACCOUNTED)))
    rows = reading.records(names, topics_of=topics_of, from_ms=from_ms)
    if reading.driver_messages is None:
        rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
    return Read(messages_of(rows), accounting(rows))


@dataclass(frozen=True, slots=True)
class QueryResults:
    """Results of a report's queries, by name; ``shown`` masks a text in which the user named messages."""

    tables: Mapping[str, pa.Table]
    parameters: ReportParameters
    shown: Callable[[str], str] = str

    def masked(self, mask: ReportMask | None, report: ModuleType) -> QueryResults:
        """The results with masked values."""
        if not mask:
            return self
        return replace(self, tables=mask.tables(self.tables, self.parameters, report), shown=mask.text)

    def __getitem__(self, name: str) -> pa.Table:
        return self.tables[name]

    @property
    def messages(self) -> int:
        return total(self.read_rows, "messages")

    @property
    def read_rows(self) -> pa.Table:
        """The accounting rows of the messages read."""
        rows = self.tables[ACCOUNTING]
        return rows.filter(pc.is_null(rows["skipped_reason"]))

    def result(
        self,
        *,
        headlines: Sequence[KeyFigure],
        findings: Sequence[str],
        tables: Sequence[ReportTable],
        charts: Sequence[ReportChart] = (),
        notes: Sequence[str] = (),
        nothing: str = NOTHING,
    ) -> ReportResult:
        """The report, with the read and skipped records of the accounting rows. Without any row its finding is ``nothing``.

        A chart without a point is left out.
        """
        rows = self.read_rows
        skipped = _skips(self.tables[ACCOUNTING])
        return ReportResult(
            rows=self.messages,
            found_from_ms=_milliseconds(pc.min(rows["first_time"])),
            found_to_ms=_milliseconds(pc.max(rows["last_time"])),
            skipped=skipped,
            headlines=tuple(headlines),
            findings=tuple(findings) if self.messages else (UNREAD if any(skip.damaged for skip in skipped) else nothing,),
            charts=tuple(chart for chart in charts if any(one.y for one in chart.series)) if self.messages else (),
            tables=tuple(tables),
            notes=tuple(notes),
        )


def _skips(rows: pa.Table) -> tuple[Skip, ...]:
    """Skipped records, from rows with the columns of `accounting`."""
    skipped = rows.filter(pc.is_valid(rows["skipped_reason"])).sort_by(
        [("skipped_reason", "ascending"), ("skipped_store", "ascending")]
    )
    return tuple(
        Skip(
            reason=row["skipped_reason"],
            rows=row["skipped_rows"],
            bytes=row["skipped_bytes"],
            damaged=row["skipped_reason"] not in (OUTSIDE_RANGE, OTHER_TOPIC),
            store=row["skipped_store"],
            first_offset=row["skipped_offset"],
        )
        for row in skipped.to_pylist()
    )


# ---- tables and charts -------------------------------------------------------------------------------------------------


def table(name: str, title: str, data: pa.Table, *, totals: Sequence[str] = (), note: str = "") -> ReportTable:
    """A result table with the headings and units of the vocabulary; for the arguments see `ReportTable`.

    The rows are in display order; ``totals`` are columns whose sum is shown.
    """
    names = data.column_names
    sums = {column: float(total(data, column)) for column in totals}
    return ReportTable(
        name, title, data, {one: unit_of(one) for one in names}, {one: title_of(one) for one in names}, sums, note
    )


def ordered(data: pa.Table, *keys: str) -> pa.Table:
    """Rows sorted by some columns; a minus before a name means descending. The sort is stable."""
    order = [(key.lstrip("-"), "descending" if key.startswith("-") else "ascending") for key in keys]
    return data.combine_chunks().sort_by(order)


def with_share(data: pa.Table, column: str = "messages") -> pa.Table:
    """The rows with their share of a column's sum."""
    whole = float(total(data, column)) or 1.0
    return data.append_column("share", pc.divide(data[column].cast(pa.float64()), whole))


def topic_tag_labels(rows: pa.Table) -> list[object]:
    """Labels of rows with a topic and a tag."""
    return [f"{row['topic']} · {row['tag'] or NO_TAG}" for row in rows_of(rows)]


def bars(
    name: str,
    title: str,
    labels: Sequence[object],
    values: Sequence[float],
    unit: ValueUnit = ValueUnit.COUNT,
    *,
    words: bool = False,
) -> ReportChart:
    """Horizontal bars, the first few; ``words``: see `ReportChart`."""
    note = first_of(min(len(labels), CHART_BARS_MAX), len(labels))
    series = ReportSeries(title, list(labels[:CHART_BARS_MAX]), [float(value) for value in values[:CHART_BARS_MAX]])
    return ReportChart(name, title, "bars", unit, (series,), note, words)


def bars_of(  # noqa: PLR0917  as `bars`, with the columns in place of the lists
    name: str, title: str, data: pa.Table, label: str, value: str, unit: ValueUnit = ValueUnit.COUNT, *, words: bool = False
) -> ReportChart:
    """Horizontal bars of two columns of a table, see `bars`."""
    labels, values = data[label].to_pylist(), data[value].to_pylist()
    return bars(name, title, labels, [math.nan if one is None else one for one in values], unit, words=words)


def lines(
    name: str,
    title: str,
    data: pa.Table,
    *,
    by: str,
    value: str,
    unit: ValueUnit,
    width_ms: int,
    note: str = "",
    words: bool = False,
) -> ReportChart:
    """Lines over time, one for each name in a column.

    Args:
        name: Key of the chart.
        title: Heading.
        data: With the column bucket_ms, sorted by it; the optional column step_ms is the time that a row covers.
        by: Column with the names of the lines.
        value: Column with the values.
        unit: Of the values.
        width_ms: Time from one point to the next; a longer time without one is a gap of the line.
        note: Sentence under the chart.
        words: See `ReportChart`.
    """
    found: dict[str, tuple[list[object], list[float]]] = {}
    ends: dict[str, int] = {}
    for row in rows_of(data):
        at, values = found.setdefault(str(row[by]), ([], []))
        if row["bucket_ms"] > ends.get(str(row[by]), row["bucket_ms"]):
            at.append(ends[str(row[by])])
            values.append(math.nan)
        ends[str(row[by])] = row["bucket_ms"] + -(-row.get("step_ms", 1) // width_ms) * width_ms
        at.append(row["bucket_ms"])
        values.append(float(row[value]) if row[value] is not None else math.nan)
    series = tuple(ReportSeries(one, at, values) for one, (at, values) in sorted(found.items()))
    return ReportChart(name, title, "lines", unit, series, note, words)


def bucket_ms(parameters: ReportParameters, span_ms: int = DAY_MS) -> int:
    """Width of the points of a chart over the range of a report, in whole minutes.

    Without an end the range ends at the request; ``span_ms`` is the length of one without a beginning.
    """
    if parameters.from_ms is not None:
        span_ms = (parameters.now_ms if parameters.to_ms is None else parameters.to_ms) - parameters.from_ms
    return max(1, -(-span_ms // CHART_POINTS_MAX // MINUTE_MS)) * MINUTE_MS


# ---- figures -----------------------------------------------------------------------------------------------------------


def rows_of(data: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = data.to_pylist()
    return rows


def total(data: pa.Table, column: str) -> int:
    """Sum of a column; 0 without rows."""
    return int(pc.sum(data[column]).as_py() or 0)


def per(some: float, whole: float) -> float:
    """A mean or a share; NaN if the whole is 0."""
    return some / whole if whole else math.nan


def _milliseconds(moment: pa.Scalar) -> int | None:
    value = moment.as_py()
    return None if value is None else round(value.timestamp() * 1000)
