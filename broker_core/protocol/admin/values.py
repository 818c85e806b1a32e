"""Members of the JSON bodies of administration as typed values; a body of another shape is refused."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from broker_core.protocol.json_body import JsonBodyError, parse_object

Body = bytes | bytearray | memoryview


@contextmanager
def reading(what: str, body: Body) -> Iterator[dict[Any, Any]]:
    """The object that a body holds, for a block that takes members out of it.

    Raises:
        JsonBodyError: The body is no JSON object, or the block finds a member missing or of another type.
    """
    value = parse_object(body)
    try:
        yield value
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise JsonBodyError(f"{what} cannot be read: {bytes(body[:120])!r}") from error


def members_of(value: object) -> dict[Any, Any]:
    """A member that is an object; an empty one where it is missing or something else."""
    return value if isinstance(value, dict) else {}


def items_of(value: object) -> list[Any]:
    """A member that is a list; an empty one where it is missing or something else."""
    return value if isinstance(value, list) else []


def whole_number(text: str | None) -> int | None:
    """A figure of a broker as a number; None where it is none."""
    return int(text) if text is not None and text.lstrip("-").isdecimal() else None


def number_or_nan(value: object) -> float:
    """A member that is a number or the text of one; NaN for all else."""
    try:
        return float(str(value))
    except ValueError:
        return math.nan
