"""Result tables as files: Parquet and CSV always, JSON Lines and XLSX on demand.

CSV: as in docs/csv.md, with a header; times as ISO 8601 in UTC. JSON Lines: one object a row, times as in CSV. XLSX: one
workbook, a sheet for each table; times as dates in UTC, texts never as formulas or links; the last row lists what a sheet
cannot hold. Durations are ISO 8601 texts, such as ``P1DT12H``, and so are digits that a number of a sheet would lose. Lists
and maps are JSON if the form has none, bytes are hexadecimal digits. Parquet has the types of the query.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pa_parquet

from broker_core.delimited_text import csv_text as text_of_rows
from broker_core.delimited_text import new_csv, write_csv
from broker_core.errors import ReportError
from spark_reports.reports.result import ReportTable
from spark_reports.reports.wording import number, say
from spark_reports.vocabulary import ValueUnit

if TYPE_CHECKING:
    from xlsxwriter.worksheet import Worksheet

WORKBOOK = "tables.xlsx"
SHEET_ROWS_MAX = 1_048_576 - 2  # of the format, less the heading and the sentence about more rows
SHEET_NAME_CHARACTERS_MAX = 31
CELL_CHARACTERS_MAX = 32_767
CUT_NOTE = "{cells} of the workbook cut after 32,767 characters: the CSV files hold the whole texts."
YEARS = range(1900, 10_000)
"""Of times that a sheet can hold; the dates of Python end with them, too."""
_INTEGER_EXACT_MAX = 2**53  # a sheet's numbers are floats
_DIGITS_EXACT_MAX = 15

_NUMBER_FORMATS = {
    ValueUnit.COUNT: "#,##0",
    ValueUnit.BYTES: "#,##0",
    ValueUnit.SHARE: "0.0%",
    ValueUnit.RATE: "#,##0.0",
    ValueUnit.RATIO: "0.000",
    ValueUnit.DURATION: "#,##0.###",
}


def write_table(table: ReportTable, folder: Path, *, json_lines: bool = False) -> list[str]:
    """Write one table in its forms; return the names of the files."""
    parquet, csv = f"{table.name}.parquet", f"{table.name}.csv"
    pa_parquet.write_table(table.data, folder / parquet, compression="zstd")
    with new_csv(folder / csv) as file:
        write_csv(file, _csv_rows(table.data))
    if not json_lines:
        return [parquet, csv]
    lines = f"{table.name}.jsonl"
    with (folder / lines).open("w", encoding="utf-8") as file:
        for batch in _without_unknown(_with_text_times(with_common_types(table.data))).to_batches(max_chunksize=10_000):
            file.writelines(json.dumps(row, ensure_ascii=False, default=_json_value) + "\n" for row in batch.to_pylist())
    return [parquet, csv, lines]


def csv_text(table: ReportTable, rows: int) -> str:
    """The heading and the first ``rows`` rows of a table, as in its CSV."""
    return text_of_rows(_csv_rows(table.data.slice(0, rows)))


def with_common_types(data: pa.Table) -> pa.Table:
    """The table with text in place of columns that not every form has: durations, and times before 1900 or after 9999.

    Raises:
        ReportError: Such a time is in a list, map or structure.
    """
    for index, field in enumerate(data.schema):
        column = data.column(index)
        if pa.types.is_duration(field.type):
            data = data.set_column(index, field.name, _duration_texts(column))
        elif pa.types.is_timestamp(field.type) or pa.types.is_date(field.type):
            if _is_out_of_years(column):
                text = _utc_text(column) if pa.types.is_timestamp(field.type) else column.cast(pa.string())
                data = data.set_column(index, field.name, text)
        elif pa.types.is_nested(field.type):
            try:
                column.to_pylist()
            except OverflowError as error:
                raise ReportError(
                    f"the column {field.name} holds a time beyond the years 1 to 9999. Write it as text in the query"
                ) from error
    return data


def _is_out_of_years(moments: pa.ChunkedArray) -> bool:
    years = pc.min_max(pc.year(_zoneless(moments))).as_py()
    return years["min"] is not None and not (YEARS.start <= years["min"] <= years["max"] < YEARS.stop)


def _zoneless(moments: pa.ChunkedArray) -> pa.ChunkedArray:
    """Moments in UTC. Arrow gets no zone, because it reads files for one, which small systems lack."""
    return moments.cast(pa.timestamp("ms", tz="UTC"), safe=False).cast(pa.timestamp("ms"))


def _csv_rows(data: pa.Table) -> Iterator[Iterable[str | None]]:
    yield data.column_names
    for batch in _nested_as_text(_with_text_bytes(_with_text_times(data))).to_batches(max_chunksize=10_000):
        yield from zip(*(column.cast(pa.string()).to_pylist() for column in batch.columns), strict=True)


def write_workbook(tables: Sequence[ReportTable], folder: Path) -> tuple[str, ...]:
    """Write all tables as one workbook, `WORKBOOK`; return notes on cut texts."""
    import xlsxwriter

    options = {"constant_memory": True, "default_date_format": "yyyy-mm-dd hh:mm:ss", "strings_to_formulas": False,
               "strings_to_urls": False, "remove_timezone": True}  # fmt: skip
    all_cut = 0
    with xlsxwriter.Workbook(folder / WORKBOOK, options) as book:
        bold = book.add_format({"bold": True})
        formats = {unit: book.add_format({"num_format": text}) for unit, text in _NUMBER_FORMATS.items()}
        for table in tables:
            sheet = book.add_worksheet(table.name[:SHEET_NAME_CHARACTERS_MAX])
            sheet.freeze_panes(1, 0)
            columns = list(table.units)
            for place, column in enumerate(columns):
                sheet.set_column(place, place, 24 if table.units[column] in (ValueUnit.TEXT, ValueUnit.TIME) else 14,
                                 formats.get(table.units[column]))  # fmt: skip
                sheet.write_string(0, place, table.titles[column], bold)
            shown = with_common_types(table.data.select(columns).slice(0, SHEET_ROWS_MAX))
            cut = _fill(sheet, _nested_as_text(shown))
            all_cut += cut
            if lacks := _lacks(table.data.num_rows - shown.num_rows, cut):
                sheet.write_string(shown.num_rows + 1, 0, f"{lacks} in {table.name}.csv")
    return (say(CUT_NOTE, cells=number(all_cut, "cell")),) if all_cut else ()


def _lacks(more: int, cut: int) -> str:
    texts = f"{number(cut, 'cell')} cut after {CELL_CHARACTERS_MAX:,} characters, whole" if cut else ""
    return "; ".join(filter(None, (number(more, "more row") if more else "", texts)))


def _fill(sheet: Worksheet, data: pa.Table) -> int:
    """Write rows below the heading; return the number of texts that were too long for a cell."""
    cut = 0
    for index, row in enumerate(data.to_pylist(), start=1):
        for place, value in enumerate(row.values()):
            if value is None or (isinstance(value, float) and not math.isfinite(value)):
                continue
            given = _cell(value)
            cell = _fitting(given) if isinstance(given, str) else given
            cut += cell != given
            sheet.write(index, place, cell)
    return cut


def _cell(value: object) -> object:
    """The value in a type that a sheet holds exactly."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Decimal):
        return value if Decimal(f"{value:.{_DIGITS_EXACT_MAX}G}") == value else str(value)
    return str(value) if isinstance(value, int) and abs(value) > _INTEGER_EXACT_MAX else value


def _fitting(text: str) -> str:
    """A text cut to the limit of a cell, which counts units of UTF-16; a cut text ends in an ellipsis."""
    if len(text) * 2 <= CELL_CHARACTERS_MAX:
        return text
    units = text.encode("utf-16-le", "surrogatepass")
    is_cut = len(units) > 2 * CELL_CHARACTERS_MAX
    return units[: 2 * (CELL_CHARACTERS_MAX - 1)].decode("utf-16-le", "ignore") + "…" if is_cut else text


def _nested_as_text(data: pa.Table) -> pa.Table:
    for index, field in enumerate(data.schema):
        if pa.types.is_nested(field.type):
            column = data.column(index)
            if pa.types.is_map(field.type):
                values = [None if value is None else json.dumps(dict(value), ensure_ascii=False, default=_json_value)
                          for value in column.to_pylist()]  # fmt: skip
            else:
                values = [None if value is None else json.dumps(value, ensure_ascii=False, default=_json_value)
                          for value in column.to_pylist()]  # fmt: skip
            data = data.set_column(index, field.name, pa.array(values, pa.string()))
    return data


def _without_unknown(data: pa.Table) -> pa.Table:
    """Null for NaN and infinities, which JSON does not have."""
    for index, field in enumerate(data.schema):
        if pa.types.is_floating(field.type):
            column = data.column(index)
            data = data.set_column(index, field.name, pc.if_else(pc.is_finite(column), column, pa.scalar(None, field.type)))
    return data


def _with_text_bytes(data: pa.Table) -> pa.Table:
    for index, field in enumerate(data.schema):
        if pa.types.is_binary(field.type) or pa.types.is_large_binary(field.type):
            digits = [None if value is None else value.hex() for value in data.column(index).to_pylist()]
            data = data.set_column(index, field.name, pa.array(digits, pa.string()))
    return data


def _json_value(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, timedelta):
        return _duration_text(value)
    return value.hex() if isinstance(value, bytes) else str(value)


def _with_text_times(data: pa.Table) -> pa.Table:
    for index, field in enumerate(data.schema):
        if pa.types.is_timestamp(field.type):
            data = data.set_column(index, field.name, _utc_text(data.column(index)))
        elif pa.types.is_duration(field.type):
            data = data.set_column(index, field.name, _duration_texts(data.column(index)))
    return data


def _duration_texts(column: pa.ChunkedArray) -> pa.Array:
    return pa.array([None if value is None else _duration_text(value) for value in column.to_pylist()], pa.string())


def _duration_text(lasts: timedelta) -> str:
    """A duration as in ISO 8601: ``P1DT12H``, ``-PT0.25S``."""
    sign, whole = ("-", -lasts) if lasts < timedelta(0) else ("", lasts)
    minutes, seconds = divmod(whole.seconds, 60)
    digits = f"{seconds}.{whole.microseconds:06}".rstrip("0").rstrip(".")
    parts = ((f"{minutes // 60}", "H"), (f"{minutes % 60}", "M"), (digits, "S"))
    clock = "".join(number + mark for number, mark in parts if number != "0")
    days = f"{whole.days}D" if whole.days else ""
    return f"{sign}P{days}{'T' if clock else ''}{clock}" if days or clock else "PT0S"


def _utc_text(moments: pa.ChunkedArray) -> pa.ChunkedArray:
    """Moments as ``2026-03-01T08:00:00.000Z``; those that Arrow cannot write as ``<value out of range: …>``."""
    text = _zoneless(moments).cast(pa.string())
    return pc.replace_substring_regex(text, pattern=r"^([-0-9]+) (\S+)$", replacement=r"\1T\2Z")
