"""The result of a report: findings, tables and charts, without any presentation.

Charts use columns of the tables, so that pictures and figures agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

from spark_reports.vocabulary import ValueUnit


@dataclass(frozen=True, slots=True)
class KeyFigure:
    value: float
    unit: ValueUnit
    label: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A result table.

    Attributes:
        name: File name without ending.
        units: Column → format of its values; in display order.
        titles: Column → heading.
        totals: Column → total shown under the table.
        note: Sentence under the table.
    """

    name: str
    title: str
    data: pa.Table
    units: Mapping[str, ValueUnit]
    titles: Mapping[str, str]
    totals: Mapping[str, float] = field(default_factory=dict)
    note: str = ""


@dataclass(frozen=True, slots=True)
class ReportSeries:
    name: str
    x: list[object]
    y: list[float]


@dataclass(frozen=True, slots=True)
class ReportChart:
    """A chart.

    Attributes:
        name: Key of the chart on the page.
        kind: ``stack`` (bars over time, stacked), ``lines`` (lines over time), ``bars`` (horizontal bars by name) or ``heat``
            (one row of cells for each series).
        series: In drawing order.
        note: Sentence under the chart, such as the width of its bars.
        words: Labels of bars or lines are words of the report, which are translated, instead of names.
    """

    name: str
    title: str
    kind: str
    unit: ValueUnit
    series: tuple[ReportSeries, ...]
    note: str = ""
    words: bool = False


@dataclass(frozen=True, slots=True)
class Skip:
    """Records that were read and are not in the report, by reason; or damaged places."""

    reason: str
    rows: int
    bytes: int
    damaged: bool
    store: str | None = None
    first_offset: int | None = None


@dataclass(frozen=True, slots=True)
class ReportResult:
    """All of one report; charts and tables in page order.

    Attributes:
        rows: Messages in the report.
        found_from_ms: Store time of the first of them in epoch milliseconds; None if there are none.
        headlines: Figures at the top.
        findings: Sentences, the most important first.
        notes: Explanations that are needed to read the figures correctly.
    """

    rows: int
    found_from_ms: int | None
    found_to_ms: int | None
    skipped: tuple[Skip, ...]
    headlines: tuple[KeyFigure, ...]
    findings: tuple[str, ...]
    charts: tuple[ReportChart, ...]
    tables: tuple[ReportTable, ...]
    notes: tuple[str, ...] = ()

    @property
    def looked_at(self) -> int:
        """Records read: in the report, and left out for a reason other than damage."""
        return self.rows + sum(skip.rows for skip in self.skipped if not skip.damaged)

    @property
    def complete(self) -> bool:
        """Whether everything that belongs in the report could be read."""
        return not any(skip.damaged for skip in self.skipped)
