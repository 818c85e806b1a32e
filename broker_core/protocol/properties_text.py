"""Settings as lines ``key=value``: the body of UPDATE_BROKER_CONFIG and of ``.properties`` files."""

from __future__ import annotations

import re
from collections.abc import Mapping

_BLANKS = " \t\f"
"""Of Java's format, which takes no other characters for blanks, and CR and LF alone for the ends of lines."""
_LINE_END = re.compile(r"\r\n|\r|\n")
_PROPERTY = re.compile(rf"(?P<key>[^#!=:{_BLANKS}][^=:{_BLANKS}]*)[{_BLANKS}]*[=:]?[{_BLANKS}]*(?P<value>.*)")


def parse_properties(text: str) -> dict[str, str]:
    """Lines ``key=value`` as `java.util.Properties` reads them: ``:`` and spaces divide too, ``#`` and ``!`` begin a comment.

    A line without a divider is a key without a value. Lines that end in a backslash and escapes are not joined or resolved,
    because RocketMQ writes neither.
    """
    values: dict[str, str] = {}
    for line in _LINE_END.split(text):
        match = _PROPERTY.fullmatch(line.strip(_BLANKS))
        if match is not None:
            values[match["key"]] = match["value"]
    return values


def format_properties(values: Mapping[str, object]) -> str:
    return "".join(f"{key}={values[key]}\n" for key in sorted(values))
