"""Parsers of what came from outside, whose only error is `ValueError`: of broker answers, bodies, files, settings and fields.

Python's parsers raise more than they promise: `json.loads` raises `RecursionError` for some 1,000 nested brackets, and
`int` refuses more than 4,300 digits.
"""

from __future__ import annotations

import json
from typing import Any

DIGITS_MAX = 18
"""Digits of a number that surely fits 64 bits."""


def read_json(text: str | bytes) -> Any:  # noqa: ANN401  what JSON can hold
    """The value of a JSON text.

    Raises:
        ValueError: It is no JSON (`json.JSONDecodeError` says where), is nested too deeply, or holds a number of more than
            4,300 digits.
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except ValueError as error:
        raise ValueError("a number has more than 4,300 digits") from error


def whole_of(text: str) -> int | None:
    """The number of a text of at most `DIGITS_MAX` ASCII digits; None where it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= DIGITS_MAX else None
