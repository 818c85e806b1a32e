"""Columns and figures of the Reports page."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from PySide6.QtGui import QFont, QFontMetrics

from gui.models.reports import (
    COLUMNS_SHOWN_MAX,
    PastRun,
    ReportUnit,
    ResultRow,
    ResultTable,
    RunState,
    cell_number,
    column_unit,
)
from gui.models.table import CellKind, Column
from gui.theme.fonts import text_font
from gui.theme.tokens import Size, State
from gui.views.reports.words import report_text
from gui.widgets.row_painter import CELL_PADDING, cell_font
from gui.words.plain_text import table_text
from gui.words.text import UNKNOWN, TimeZoneChoice, bytes_text, count_text, duration_text, percent_text, rate_text, tr
from spark_reports.vocabulary import is_free, title_of, word_columns

ROWS_MEASURED = 100
"""First rows that decide the widths of columns."""
ARROW_WIDTH = 16
WIDTH_MAX = 320
"""Px; longer texts are cut and shown by the tip."""
RUN_STATES: dict[RunState, tuple[str, State]] = {
    RunState.RUNNING: ("Running", State.INFO),
    RunState.COMPLETE: ("Complete", State.HEALTHY),
    RunState.PARTIAL: ("Partial", State.PENDING),
    RunState.FAILED: ("Failed", State.CRITICAL),
    RunState.CANCELLED: ("Cancelled", State.IDLE),
}


def run_columns(times: TimeZoneChoice) -> list[Column[PastRun]]:
    return [
        Column("report", "Report", lambda run: tr(run.title), kind=CellKind.STRONG, tip=lambda run: str(run.folder)),
        Column("made", "Made", lambda run: minute_text(run.created_ms, times), sort=lambda run: run.created_ms,
               tip=lambda run: times.full(run.created_ms), dim=True, width=92),
        Column("state", "Result", lambda run: tr(RUN_STATES[run.state][0]), kind=CellKind.CHIP,
               state=lambda run: RUN_STATES[run.state][1], width=112),
    ]  # fmt: skip


def minute_text(at_ms: int, times: TimeZoneChoice) -> str:
    """``10:02`` today, ``20.11. 10:02`` on other days."""
    if at_ms < 0:
        return UNKNOWN
    moment = times.moment(at_ms)
    if moment.date() == datetime.now(tz=times.zone).date():
        return f"{moment:%H:%M}"
    return f"{moment:%d.%m. %H:%M}"


def result_columns(table: ResultTable, times: TimeZoneChoice, report: str) -> list[Column[ResultRow]]:
    """Columns of a report's table: the first ones of the file, as wide as their content.

    The store is left out where it is the same in all rows.
    """
    translated = word_columns(report)
    left_out = "store" if not is_free(report) and _is_of_one_store(table) else ""
    shown = [(index, name) for index, name in enumerate(table.columns[:COLUMNS_SHOWN_MAX]) if name != left_out]
    return [
        _result_column(index, name, table.rows, times, is_first=place == 0, translates=name in translated)
        for place, (index, name) in enumerate(shown)
    ]


def _result_column(
    index: int, name: str, rows: Sequence[ResultRow], times: TimeZoneChoice, *, is_first: bool, translates: bool
) -> Column[ResultRow]:
    unit = column_unit(name)
    words = unit is ReportUnit.TEXT
    as_numbers = _are_numbers(index, rows) if words else unit is not ReportUnit.TIME

    def text(row: ResultRow) -> str:
        shown = cell_text(row.cells[index], unit, times) if index < len(row.cells) else UNKNOWN
        return report_text(shown) if translates else shown

    def order(row: ResultRow) -> object:
        return cell_number(row.cells[index]) if as_numbers else row.cells[index]

    kind = CellKind.STRONG if is_first else CellKind.TEXT
    wide = _width(tr(title_of(name)), map(text, rows[:ROWS_MEASURED]), kind)
    width, least = (0, wide) if is_first else (wide, 0)
    return Column(name, title_of(name), text, sort=order, kind=kind, right=not words, width=width, least=least,
                  term=f"result/{name}")  # fmt: skip


def _are_numbers(index: int, rows: Sequence[ResultRow]) -> bool:
    """Whether a column, e.g. of hours or of a query, holds numbers, by which it is sorted, and nothing else."""
    cells = [row.cells[index] for row in rows if index < len(row.cells) and row.cells[index]]
    return not any(math.isnan(cell_number(cell)) for cell in cells)


def _width(title: str, texts: Iterable[str], kind: CellKind) -> int:
    """Width in px for a heading with its arrow and for texts."""
    cells, heading = QFontMetrics(cell_font(kind)), QFontMetrics(text_font(Size.SECONDARY, QFont.Weight.Medium))
    widest = max((cells.horizontalAdvance(table_text(text)) for text in texts), default=0)
    return min(max(widest, heading.horizontalAdvance(title) + ARROW_WIDTH) + 2 * CELL_PADDING + 2, WIDTH_MAX)


def _is_of_one_store(table: ResultTable) -> bool:
    if "store" not in table.columns or len(table.columns) == 1 or table.row_count > len(table.rows):
        return False
    place = table.columns.index("store")
    return len({row.cells[place] for row in table.rows if place < len(row.cells)}) == 1


def cell_text(text: str, unit: ReportUnit, times: TimeZoneChoice) -> str:
    """The shown text of a table's cell; an empty cell is unknown."""
    if not text:
        return UNKNOWN
    if unit is ReportUnit.TEXT:
        return text
    if unit is ReportUnit.TIME:
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:
            return text
        # A day of the report's zone is no moment.
        return text if moment.tzinfo is None else times.full(moment.timestamp() * 1_000)
    return figure_text(cell_number(text), unit)


def figure_text(value: float, unit: ReportUnit) -> str:
    """A figure with its unit; changes and differences of clocks may be negative."""
    if math.isnan(value):
        return UNKNOWN
    if value < 0:
        return f"−{figure_text(-value, unit)}"
    writers: dict[ReportUnit, Callable[[float], str]] = {
        ReportUnit.COUNT: count_text,
        ReportUnit.BYTES: bytes_text,
        ReportUnit.SHARE: percent_text,
        ReportUnit.RATE: rate_text,
        ReportUnit.TIME: duration_text,
        ReportUnit.DURATION: _duration,
        ReportUnit.RATIO: lambda figure: f"{figure:,.3f}",
        ReportUnit.TEXT: count_text,
    }
    return writers[unit](value)


def _duration(milliseconds: float) -> str:
    """A duration of a result, in ms where it is shorter than a second."""
    return tr("{count} ms", count=f"{milliseconds:.3g}") if milliseconds < 999.5 else duration_text(milliseconds)


def range_text(from_ms: int, to_ms: int, times: TimeZoneChoice) -> str:
    """A span of time in one line; the date once if it is one day."""
    if from_ms < 0 or to_ms < 0:
        return UNKNOWN
    first, last = times.moment(from_ms), times.moment(to_ms)
    if first.date() == last.date():
        return f"{first:%Y-%m-%d %H:%M:%S} – {last:%H:%M:%S}"
    return f"{first:%Y-%m-%d %H:%M} – {last:%Y-%m-%d %H:%M}"
