"""Light topics in a filter: their messages lie in other topics, and a property names the light ones.

Source: docs/spec/store.md §14.2 (multi-dispatch).
"""

from __future__ import annotations

import re

from broker_core.protocol.message.properties import INNER_MULTI_DISPATCH
from broker_core.protocol.names import LMQ_PREFIX
from broker_core.tools.search.expression import (
    AnyCondition,
    Comparison,
    EveryCondition,
    Expression,
    Field,
    FieldKind,
    NotCondition,
    Operator,
)
from broker_core.tools.search.patterns import SearchPattern

_DISPATCHED = Field("prop", FieldKind.PROPERTY, prop=INNER_MULTI_DISPATCH)


def told_by_records(expression: Expression) -> Expression:
    """The filter with its light topics replaced by conditions on that property."""
    match expression:
        case Comparison():
            return _comparison(expression)
        case NotCondition(item):
            return NotCondition(told_by_records(item))
        case EveryCondition(items):
            return EveryCondition(tuple(map(told_by_records, items)))
        case AnyCondition(items):
            return AnyCondition(tuple(map(told_by_records, items)))


def _comparison(comparison: Comparison) -> Expression:
    names = [value for value in comparison.values if isinstance(value, str)]
    light = [name for name in names if name.startswith(LMQ_PREFIX)]
    is_named = comparison.operator in (Operator.EQUAL, Operator.NOT_EQUAL, Operator.IN)
    if comparison.field.name != "topic" or not is_named or not light:
        return comparison
    ends = "|".join(map(re.escape, light))
    pattern = SearchPattern(f"(?:^|,)(?:{ends})(?:,|$)")
    dispatched = Comparison(_DISPATCHED, Operator.MATCHES, (pattern.pattern,), pattern, comparison.position)
    if comparison.operator is Operator.NOT_EQUAL:
        return NotCondition(dispatched)
    own = tuple(name for name in names if not name.startswith(LMQ_PREFIX))
    return (
        AnyCondition((Comparison(comparison.field, Operator.IN, own, None, comparison.position), dispatched))
        if own
        else dispatched
    )
