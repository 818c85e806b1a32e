"""Places of filter matches in a text, bounded so that the window stays responsive. Pure."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.api import MarkPattern

SPANS_MAX = 1_000
LITERAL_CHARACTERS_MAX = 1024 * 1024
EXPRESSION_CHARACTERS_MAX = 32 * 1024
EXPRESSION_LINE_MAX = 1_000
"""A regular expression can take the square of a line's length; literals take its length."""


def marked_spans(text: str, pattern: MarkPattern, *, is_literal: bool) -> list[tuple[int, int]]:
    """Start and length of the matches, in characters; of a long text only those at its beginning."""
    if is_literal:
        found = pattern.finditer(text, 0, LITERAL_CHARACTERS_MAX)
        return [(match.start(), len(match[0])) for match in islice(found, SPANS_MAX) if match[0]]
    spans: list[tuple[int, int]] = []
    start = 0
    for line in text[:EXPRESSION_CHARACTERS_MAX].splitlines(keepends=True):
        part = line[:EXPRESSION_LINE_MAX].rstrip("\r\n")
        spans += [(start + match.start(), len(match[0])) for match in pattern.finditer(part) if match[0]]
        start += len(line)
        if len(spans) >= SPANS_MAX:
            break
    return spans[:SPANS_MAX]
