"""Patterns of a filter's texts, for marking the matches in a shown message. Pure.

Only what makes a message pass is marked: negated comparisons, and those with numbers and times, mark nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

from broker_core.errors import UsageError
from broker_core.tools.search.expression import (
    AnyCondition,
    Comparison,
    EveryCondition,
    Expression,
    FieldKind,
    NotCondition,
    Operator,
)
from broker_core.tools.search.patterns import MarkPattern

MARKS_MAX = 100
"""Most texts to mark at once."""
_LITERAL_OPERATORS = (Operator.EQUAL, Operator.NOT_EQUAL, Operator.IN, Operator.CONTAINS)
_FLAGS = re.compile(r"\(\?([aimsux]+)\)")
_NUMBER_EDGES = r"(?<![\w.]){}(?![\w.]*\d)"


@dataclass(frozen=True, slots=True)
class Marks:
    """Patterns by field; None for a field without one.

    Attributes:
        body: Of the body's text, also values at JSON paths.
        key, tag, topic: Of these fields.
        properties: Of values of any other properties.
        is_literal: Whether they are made of plain texts, without regular expressions of the filter.
    """

    body: MarkPattern | None = None
    key: MarkPattern | None = None
    tag: MarkPattern | None = None
    topic: MarkPattern | None = None
    properties: MarkPattern | None = None
    is_literal: bool = True


_FIELDS = ("body", "key", "tag", "topic", "properties")


def marks_of(expression: Expression) -> Marks:
    found: dict[str, list[str]] = {}
    wanted = list(_wanted(expression, denied=False))
    for comparison in wanted:
        field = comparison.field
        name = "body" if field.is_body else {"prop": "properties", "id": "properties"}.get(field.name, field.name)
        found.setdefault(name, []).extend(_texts(comparison))
    is_literal = all(comparison.operator is not Operator.MATCHES for comparison in wanted)
    body, key, tag, topic, properties = (_pattern(found.get(name, [])) for name in _FIELDS)
    return Marks(body, key, tag, topic, properties, is_literal)


def _wanted(expression: Expression, *, denied: bool) -> Iterator[Comparison]:
    match expression:
        case Comparison():
            if denied == (expression.operator is Operator.NOT_EQUAL):
                yield expression
        case NotCondition(item):
            yield from _wanted(item, denied=not denied)
        case EveryCondition(items) | AnyCondition(items):
            for item in items:
                yield from _wanted(item, denied=denied)


def _texts(comparison: Comparison) -> Iterator[str]:
    """Regular expressions of one comparison's texts."""
    if comparison.operator is Operator.MATCHES:
        assert comparison.pattern is not None
        yield _as_part(comparison.pattern.pattern)
        return
    if comparison.operator not in _LITERAL_OPERATORS:
        return
    for value in comparison.values:
        if isinstance(value, str) and value:
            yield re.escape(value)
        elif comparison.field.kind is FieldKind.JSON and isinstance(value, int | Decimal) and not isinstance(value, bool):
            yield _NUMBER_EDGES.format(re.escape(str(value)))


def _as_part(pattern: str) -> str:
    """An expression as one of several alternatives; its global flags become those of this part.

    One with flag x may end with a comment, which a line break ends.
    """
    flags = ""
    while (found := _FLAGS.match(pattern)) is not None:
        flags, pattern = flags + found[1], pattern[found.end() :]
    return f"(?{flags}:{pattern}\n)" if "x" in flags else f"(?{flags}:{pattern})"


def _pattern(texts: list[str]) -> MarkPattern | None:
    if not texts:
        return None
    # Longer texts first, so that of two with the same beginning the longer one is marked.
    ordered = sorted(dict.fromkeys(texts), key=len, reverse=True)[:MARKS_MAX]
    try:
        return MarkPattern("|".join(ordered))
    except UsageError:
        return None  # expressions that are none together: then nothing is marked
