from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from broker_core.api import JsonValue, json_text, values_named, without_half_pairs

TABLE_ROWS_MAX: Final = 10_000
TABLE_CELLS_MAX: Final = 200_000
"""Of a list of objects, because objects without a common member would make a table of the square of their number."""


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
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
        try:
            rows = list(islice((tuple(row) for row in reader if row), TABLE_ROWS_MAX + 2))
        except csv.Error:
            continue
        is_likely = is_asked or separator == "\t" or len(rows[0]) > 2 or len(rows) > 3
        if len(rows) > 1 and is_likely and all(len(row) == len(rows[0]) for row in rows):
            return Table(rows[0], tuple(rows[1 : TABLE_ROWS_MAX + 1]), is_cut=len(rows) > TABLE_ROWS_MAX + 1)
    return None
