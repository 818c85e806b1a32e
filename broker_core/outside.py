"""Parsers of what came from outside, whose only error is `ValueError`: of broker answers, bodies, files, settings and fields.

Python's parsers raise more than they promise: `json.loads` raises `RecursionError` for some 1,000 nested brackets, and
`int` refuses more than 4,300 digits.
"""

from __future__ import annotations

import json
import re
from typing import Any

DIGITS_MAX = 19
"""Digits of a number of 64 bits with a sign."""
_WHOLE_MAX = (1 << 63) - 1
_SIGNED = re.compile(r"[+-]?[0-9]{1,100}")


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
    """The number of a text of ASCII digits, if it fits 64 bits with a sign; None where it does not, or is none."""
    if not text.isascii() or not text.isdecimal() or len(text) > DIGITS_MAX:
        return None
    number = int(text)
    return number if number <= _WHOLE_MAX else None


def signed_of(text: str) -> int | None:
    """The number of a text of ASCII digits with or without a sign; None for any other, also for blanks and ``1_000``."""
    return int(text) if _SIGNED.fullmatch(text) else None
