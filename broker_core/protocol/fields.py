"""Header fields of a request, read once as typed values.

A missing field or one of another type is the client's mistake: the request is refused with SYSTEM_ERROR and a remark that
names the field, instead of the NullPointerException text of the reference implementation (Source: docs/spec/remoting.md §1.5).
`broker_core.protocol.mandatory` refuses requests of clients that lack a field before their processor reads them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from broker_core.errors import RequestRefusedError
from broker_core.outside import signed_of
from broker_core.protocol.codes import ResponseCode

Fields = Mapping[str, str]

INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1
INT64_MIN, INT64_MAX = -(1 << 63), (1 << 63) - 1


def text_field(fields: Fields, name: str) -> str:
    """A mandatory text that is not empty."""
    value = fields.get(name)
    if not value:
        _refuse(f"the header field {name} is missing")
    return value


def int_field(fields: Fields, name: str, default: int | None = None) -> int:
    """A 32-bit number; mandatory without ``default``."""
    return _number(fields, name, default, INT32_MIN, INT32_MAX)


def long_field(fields: Fields, name: str, default: int | None = None) -> int:
    """A 64-bit number; mandatory without ``default``."""
    return _number(fields, name, default, INT64_MIN, INT64_MAX)


def bool_field(fields: Fields, name: str, *, default: bool = False) -> bool:
    """True only for the text ``true`` in any case, and for ``1``, which clients in C++ write."""
    value = fields.get(name)
    return default if value is None else value.lower() in ("true", "1")


def refuse_empty(fields: Fields, *names: str) -> None:
    """Refuse optional numbers without a digit, as RocketMQ does in the headers that it reads without reflection."""
    for name in names:
        if fields.get(name) == "":
            _refuse(f"the header field {name} should be a whole number, not “”")


def _number(fields: Fields, name: str, default: int | None, low: int, high: int) -> int:
    text = fields.get(name)
    if text is None or text == "":
        if default is None:
            _refuse(f"the header field {name} is missing")
        return default
    value = signed_of(text)
    if value is None:
        _refuse(f"the header field {name} should be a whole number, not “{text[:100]}”")
    if not low <= value <= high:
        _refuse(f"the header field {name} is {value}, allowed are {low} to {high}")
    return value


def _refuse(remark: str) -> NoReturn:
    raise RequestRefusedError(remark, code=int(ResponseCode.SYSTEM_ERROR))
