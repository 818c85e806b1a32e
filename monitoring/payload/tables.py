from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from broker_core.api import JsonValue, json_text, values_named, without_half_pairs

TABLE_ROWS_MAX: Final = 10_000
TABLE_CELLS_MAX: Final = 200_000
"""Because objects without a common member would make a table of the square of their number, and a line may be all commas."""
TABLE_COLUMNS_MAX: Final = 10_000
"""The reader of a line of millions of cells keeps all other threads waiting, also that of the window."""


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under headings; ``is_cut`` if there are more rows."""

    headings: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    is_cut: bool = False


def table_of(value: object) -> Table | None:
    """A list of objects as a table, or None. Nested members stay JSON."""
    if not isinstance(value, list) or not value or not all(isinstance(item, dict) for item in value):
        return None
    rows = value[:TABLE_ROWS_MAX]
    places = {name: place for place, name in enumerate(dict.fromkeys(name for item in rows for name in item))}
    rows = rows[: max(1, TABLE_CELLS_MAX // max(1, len(places)))]
    cells = tuple(_row(item, places) for item in rows)
    return Table(tuple(map(without_half_pairs, places)), cells, is_cut=len(value) > len(rows))


def _row(item: Mapping[str, JsonValue], places: Mapping[str, int]) -> tuple[str, ...]:
    cells = [""] * len(places)
    for name in item:
        cells[places[name]] = _cell(values_named(item, name))
    return tuple(cells)


def _cell(values: Sequence[JsonValue]) -> str:
    """All values of one name, separated by commas."""
    return ", ".join(_text(value) for value in values if value is not None)


def _text(value: JsonValue) -> str:
    return without_half_pairs(value) if isinstance(value, str) else json_text(value)


def table_of_text(text: str, *, is_asked: bool) -> Table | None:
    """Lines with equal numbers of tabs, commas or semicolons as a table, the first being its headings; None if they are none.

    Unless asked for, two columns of commas are not enough, because two sentences with a comma each look like that.
    """
    first = text.partition("\n")[0]
    for separator in "\t,;":
        if separator not in first:
            continue
        reader = csv.reader(_bounded_lines(text, separator), delimiter=separator, strict=True)
        rows_found = (tuple(row) for row in reader if row)
        try:
            headings = next(rows_found, ())
            rows_max = min(TABLE_ROWS_MAX, TABLE_CELLS_MAX // max(1, len(headings)))
            rows = list(islice(rows_found, rows_max + 1))
        except csv.Error:
            continue
        is_likely = is_asked or separator == "\t" or len(headings) > 2 or len(rows) > 2
        if rows and is_likely and all(len(row) == len(headings) for row in rows):
            return Table(headings, tuple(rows[:rows_max]), is_cut=len(rows) > rows_max)
    return None


def _bounded_lines(text: str, separator: str) -> Iterator[str]:
    """Lines with their ends; `csv.Error` at one of more than `TABLE_COLUMNS_MAX` cells."""
    for line in io.StringIO(text, newline=""):
        if line.count(separator) >= TABLE_COLUMNS_MAX:
            raise csv.Error(f"a line has more than {TABLE_COLUMNS_MAX:,} cells")
        yield line
