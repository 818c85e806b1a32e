"""JSON of messages without loss of how it is written: each digit, each member, each half of a surrogate pair.

`laid_out_json` works on the text, so that what is shown, copied and sent again has the tokens of the original. `read_document`
gives the value where a place in it is needed, and `json_text` writes such a value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from decimal import Decimal
from io import StringIO
from itertools import islice
from json.encoder import encode_basestring
from typing import Any, Final, Self

JsonValue = Any
"""What `read_document` gives: dict, list, str, int, `WrittenNumber`, bool or None."""

NUMBER_CHARACTERS_MAX: Final = 4_300
"""Of one number, because Python converts no longer one from text."""
INDENTED_LEVELS_MAX: Final = 32
"""Deeper values are indented like this level, because the indentation of hundreds of levels would be most of the text."""

_MARKED = re.compile(
    r"""("[^"\\]*+(?:\\.[^"\\]*+){0,999}+"?|(?:\\.[^"\\]*+){1,999}+"?|[^][{},:"\\\s]++)?\s*([][{},:]?)\s*""", re.DOTALL
)
"""A text or a bare word, if there is one, with the mark after it, if there is one.

A text of more escapes is found in parts, because a thread in a pattern keeps all others waiting, also that of the window.
"""
_HALF_PAIR = re.compile("[\ud800-\udfff]")
_EXACT = re.compile(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d{1,9})?|-?Infinity")


class WrittenNumber(float):
    """A number with a fraction, an exponent or the sign of ``-0``; its text is what is written, its float only near to it."""

    __slots__ = ("text",)
    text: str

    def __new__(cls, text: str) -> Self:
        if len(text) > NUMBER_CHARACTERS_MAX:
            raise ValueError(_TOO_LONG)
        made = super().__new__(cls, text)
        made.text = text
        return made

    def __str__(self) -> str:
        return self.text

    def __reduce__(self) -> tuple[type[WrittenNumber], tuple[str]]:
        return WrittenNumber, (self.text,)


_TOO_LONG: Final = f"a number has more than {NUMBER_CHARACTERS_MAX:,} digits"


class Members(dict[str, JsonValue]):
    """An object in which names come again: ``pairs`` has all members, a lookup finds the last of a name."""

    __slots__ = ("pairs",)

    def __init__(self, pairs: Sequence[tuple[str, JsonValue]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def object_of(pairs: Sequence[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    """The object with these members, in their order."""
    made = dict(pairs)
    return made if len(made) == len(pairs) else Members(pairs)


def members_of(value: Mapping[Any, JsonValue]) -> Collection[tuple[Any, JsonValue]]:
    """All members of an object in their order, also those of one name."""
    return value.pairs if isinstance(value, Members) else value.items()


def values_named(value: Mapping[str, JsonValue], name: str) -> Sequence[JsonValue]:
    """The values of the members of this name; none, one, or several."""
    if isinstance(value, Members):
        return [item for known, item in value.pairs if known == name]
    return (value[name],) if name in value else ()


def read_document(text: str) -> JsonValue:
    """The value of a JSON text.

    Raises:
        ValueError: It is no JSON (`json.JSONDecodeError` says where), is nested too deeply, or holds a number of more than
            `NUMBER_CHARACTERS_MAX`.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error


def exact_number(value: object) -> int | Decimal | None:
    """The number that a text or a JSON value writes, exactly; None for another value, and for an exponent of ten digits."""
    if isinstance(value, int):
        return None if isinstance(value, bool) else value
    text = value.text if isinstance(value, WrittenNumber) else value
    if not isinstance(text, str) or len(text) > NUMBER_CHARACTERS_MAX or _EXACT.fullmatch(text) is None:
        return None
    return int(text) if text.lstrip("+-").isdecimal() else Decimal(text)


def laid_out_json(text: str) -> str:
    """A JSON text with a line for each value; nothing but the space between tokens changes. Pure.

    The text must be JSON, which `read_document` tells.
    """
    out = StringIO()
    write = out.write
    level, line, is_empty = 0, "\n", False
    for found in _MARKED.finditer(text):
        word, mark = found.groups("")
        if is_empty and (word or mark not in "]}"):
            write(line)
            is_empty = False
        write(word)
        if mark == ",":
            write("," + line)
        elif mark == ":":
            write(": ")
        elif mark and mark in "[{":
            level, is_empty = level + 1, True
            line = _line(level)
            write(mark)
        elif mark:
            level -= 1
            line = _line(level)
            write(mark if is_empty else line + mark)
            is_empty = False
    return out.getvalue()


def containers_of(text: str, most: int) -> int:
    """The number of objects and arrays of a JSON text, at most ``most`` + 1. Pure."""
    if (marks := text.count("[") + text.count("{")) <= most:
        return marks
    # Some of them may be in texts.
    opening = (found for found in _MARKED.finditer(text) if found[2] and found[2] in "[{")
    return sum(1 for _found in islice(opening, most + 1))


def json_text(value: JsonValue) -> str:
    """A value on one line, of any depth; values that JSON does not know as text."""
    out = StringIO()
    opened = [(_items_of((value,)), "")]
    while opened:
        items, end = opened[-1]
        for start, item in items:
            out.write(start)
            if isinstance(item, dict | list | tuple):
                first, last = "{}" if isinstance(item, dict) else "[]"
                out.write(first)
                opened.append((_items_of(item), last))
                break
            out.write(_leaf_text(item))
        else:
            out.write(end)
            opened.pop()
    return out.getvalue()


def without_half_pairs(text: str) -> str:
    r"""Text with each half of a surrogate pair as its escape, ``\ud800``, because Qt and UTF-8 drop or refuse it."""
    return text if text.isascii() else _HALF_PAIR.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def _whole(text: str) -> int | WrittenNumber:
    if len(text) > NUMBER_CHARACTERS_MAX:
        raise ValueError(_TOO_LONG)
    return WrittenNumber(text) if text == "-0" else int(text)


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=object_of, parse_int=_whole, parse_float=WrittenNumber, parse_constant=WrittenNumber
)


def _line(level: int) -> str:
    return "\n" + "  " * min(level, INDENTED_LEVELS_MAX)


def _items_of(container: dict[Any, JsonValue] | Sequence[JsonValue]) -> Iterator[tuple[str, JsonValue]]:
    """Items with what is written before each."""
    between = ""
    if isinstance(container, dict):
        for name, item in members_of(container):
            yield f"{between}{_quoted(str(name))}: ", item
            between = ", "
    else:
        for item in container:
            yield between, item
            between = ", "


def _leaf_text(value: JsonValue) -> str:
    if isinstance(value, str):
        return _quoted(value)
    if isinstance(value, WrittenNumber):
        return value.text
    if value is None or isinstance(value, bool | float):
        return json.dumps(value)
    return str(value) if isinstance(value, int) else _quoted(str(value))


def _quoted(text: str) -> str:
    return without_half_pairs(encode_basestring(text))
