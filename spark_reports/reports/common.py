"""What reports share: from the rows that Spark found to a result whose manifest adds up.

A report is a module of `spark_reports.reports` with three functions:

    queries(reading)  what Spark computes, as named data frames; one of them ``accounting``
    first(found)      the table that is told before the rest is there, made of what the queries named in ``FIRST`` gave: one of
                      the result's, or rows of one under a title of their own
    result(found)     tables, charts and findings of what the queries gave

A report of a single query (`throughput`) does without ``first``: nothing is there before the rest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame

from spark_reports.datasource.skipped import OTHER_TOPIC, OUTSIDE_RANGE
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
MINUTE_MS, DAY_MS = 60_000, 86_400_000
ACCOUNTING = "accounting"


@dataclass(frozen=True, slots=True)
class Read:
    """The messages of a report and their accounting.

    Args:
        messages: Without the accounting rows.
        accounting: See `spark_reports.transforms.accounting`.
    """

    messages: DataFrame
    accounting: DataFrame


def read(reading: ReportInput, *columns: str, topics_of: TopicsOf = "stored", from_ms: int | None = None) -> Read:
    """Read columns for a report of several queries: the bytes are taken apart once and kept while it runs."""
    names = list(dict.fromkeys((*columns, *ACCOUNTED)))
    rows = reading.records(names, topics_of=topics_of, from_ms=from_ms)
    if reading.driver_messages is None:
        rows = rows.persist(StorageLevel.MEMORY_AND_DISK)
    return Read(messages_of(rows), accounting(rows))


@dataclass(frozen=True, slots=True)
class QueryResults:
    """What the queries of a report gave.

    Args:
        tables: Name of the query → its rows.
        parameters: What the report was told.
        shown: What may be shown of a text that a person named messages by.
    """

    tables: Mapping[str, pa.Table]
    parameters: ReportParameters
    shown: Callable[[str], str] = str

    def __getitem__(self, name: str) -> pa.Table:
        return self.tables[name]

    @property
    def messages(self) -> int:
        """Messages read."""
        return total(self._read_rows(), "messages")

    def _read_rows(self) -> pa.Table:
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
        """The report; what was read and left out is taken from the accounting rows. Without any row ``nothing`` is found.

        A chart without a point is left out.
        """
        rows = self._read_rows()
        skipped = skips(self.tables[ACCOUNTING])
        return ReportResult(
            rows=self.messages,
            found_from_ms=milliseconds(pc.min(rows["first_time"])),
            found_to_ms=milliseconds(pc.max(rows["last_time"])),
            skipped=skipped,
            headlines=tuple(headlines),
            findings=tuple(findings) if self.messages else (nothing_found(skipped, nothing),),
            charts=tuple(chart for chart in charts if any(one.y for one in chart.series)) if self.messages else (),
            tables=tuple(tables),
            notes=tuple(notes),
        )


def skips(rows: pa.Table) -> tuple[Skip, ...]:
    """What was left out, from rows with the columns that `accounting` gives."""
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


def nothing_found(skipped: Sequence[Skip], nothing: str = NOTHING) -> str:
    """What is said without any message: that there is none is not known where something was not read."""
    return UNREAD if any(skip.damaged for skip in skipped) else nothing


# ---- tables and charts -------------------------------------------------------------------------------------------------


def table(name: str, title: str, data: pa.Table, *, totals: Sequence[str] = (), note: str = "") -> ReportTable:
    """A result table whose headings and units are those of the vocabulary.

    Args:
        name: File name without ending.
        title: Heading.
        data: The rows, in the order they are shown.
        totals: Columns whose sum stands under the table.
        note: Sentence under the table.
    """
    names = data.column_names
    sums = {column: float(total(data, column)) for column in totals}
    return ReportTable(
        name, title, data, {one: unit_of(one) for one in names}, {one: title_of(one) for one in names}, sums, note
    )


def ordered(data: pa.Table, *keys: str) -> pa.Table:
    """Rows in the order of some columns; a minus before a name turns it round. Equal in all of them: as they came."""
    order = [(key.lstrip("-"), "descending" if key.startswith("-") else "ascending") for key in keys]
    return data.combine_chunks().sort_by(order)


def with_share(data: pa.Table, column: str = "messages") -> pa.Table:
    """The rows with their share of a column's sum."""
    whole = float(total(data, column)) or 1.0
    return data.append_column("share", pc.divide(data[column].cast(pa.float64()), whole))


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
        data: With the column bucket_ms, in its order; column step_ms, where it is there, is the time that a row stands for.
        by: Column with the names of the lines.
        value: Column with the values.
        unit: Of the values.
        width_ms: Time from one point to the next; where there is none for longer, nothing is known, and the line has a gap.
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

    Args:
        parameters: The range; its end is when the report was asked for, if it has none.
        span_ms: Length of the range if it has no beginning.
    """
    if parameters.from_ms is not None:
        span_ms = (parameters.now_ms if parameters.to_ms is None else parameters.to_ms) - parameters.from_ms
    return max(1, -(-span_ms // CHART_POINTS_MAX // MINUTE_MS)) * MINUTE_MS


# ---- figures -----------------------------------------------------------------------------------------------------------


def rows_of(data: pa.Table) -> list[dict[str, Any]]:
    """Rows as dictionaries."""
    rows: list[dict[str, Any]] = data.to_pylist()
    return rows


def total(data: pa.Table, column: str) -> int:
    """Sum of a column; 0 without rows."""
    return int(pc.sum(data[column]).as_py() or 0)


def per(some: float, whole: float) -> float:
    """A mean or a share; of nothing it is not known, which is NaN."""
    return some / whole if whole else math.nan


def milliseconds(moment: pa.Scalar) -> int | None:
    """Epoch milliseconds of a timestamp; None of a null."""
    value = moment.as_py()
    return None if value is None else round(value.timestamp() * 1000)
