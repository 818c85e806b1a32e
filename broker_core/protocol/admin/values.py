"""Typed members of the JSON bodies of administration requests."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from broker_core.outside import whole_of
from broker_core.protocol.json_body import JsonBodyError, parse_object

Body = bytes | bytearray | memoryview

_SIZE = re.compile(r"(?<![\d.])(\d{1,18}(?:\.\d{1,18})?)\s{0,4}([KMGTPE]?)i?B", re.IGNORECASE)
_SIZES = " KMGTPE"


@contextmanager
def reading(what: str, body: Body) -> Iterator[dict[Any, Any]]:
    """The object in a body, for a block that reads its members.

    Raises `JsonBodyError` when the body is no JSON object, or a member is missing, of another type or out of range.
    """
    value = parse_object(body)
    try:
        yield value
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise JsonBodyError(f"{what} cannot be read: {bytes(body[:120])!r}") from error


def members_of(value: object) -> dict[Any, Any]:
    """A member that is an object; empty when it is missing or something else."""
    return value if isinstance(value, dict) else {}


def items_of(value: object) -> list[Any]:
    """A member that is a list; empty when it is missing or something else."""
    return value if isinstance(value, list) else []


def whole_number(text: str | None) -> int | None:
    """A figure of a broker as a number, or None."""
    number = None if text is None else whole_of(text.removeprefix("-"))
    return -number if number and text is not None and text.startswith("-") else number


def figure_of(text: str) -> float | None:
    """A figure of a broker of 0 or more; None for any other text."""
    try:
        number = float(text)
    except ValueError:
        return None
    return number if 0 <= number < math.inf else None


def size_of(text: str) -> float | None:
    """Bytes of a size with a unit, such as ``3.1 MiB``."""
    found = _SIZE.search(text)
    number = figure_of(found[1]) if found else None
    return None if found is None or number is None else float(number * 1_024 ** _SIZES.index(found[2].upper() or " "))


def whole(table: Mapping[Any, Any], key: str, default: int = 0) -> int:
    """A member that is a whole number, or ``default`` when it is missing; raises `JsonBodyError` for anything else."""
    value = table.get(key, default)
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise JsonBodyError(f"{key} should be a whole number, not {value!r}") from error


def number_or_nan(value: object) -> float:
    """A member that is a number or the text of one; else NaN."""
    try:
        return float(str(value))
    except ValueError:
        return math.nan
