"""Rows as columns: lists for pages, packed numbers for snapshots."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Iterable, Sequence
from typing import Any


def columns_of(rows: Sequence[object], names: Iterable[str]) -> dict[str, Any]:
    """One list for each of these attributes of the rows, under its name."""
    return {name: [getattr(row, name) for row in rows] for name in names}


def packed(values: Iterable[float], kind: str = "q") -> bytes:
    """The raw little-endian bytes of numbers: int64, or float64 for the kind ``d``."""
    column: array[Any] = array(kind, values)
    if sys.byteorder == "big":
        column.byteswap()
    return column.tobytes()
