"""Bounds of numbers, and keys of every match, derived from a filter alone."""

from __future__ import annotations

from typing import NamedTuple

from broker_core.tools.search.expression import AnyCondition, Comparison, EveryCondition, Expression, NotCondition, Operator

LOWEST = -(1 << 63)
HIGHEST = (1 << 63) - 1


class Interval(NamedTuple):
    """Whole numbers from ``low`` to ``high``, both included; empty when ``low`` is the greater."""

    low: int = LOWEST
    high: int = HIGHEST

    def widened(self, by: int) -> Interval:
        """The same with ``by`` more on each side that has a bound."""
        return Interval(
            self.low if self.low == LOWEST else self.low - by, self.high if self.high == HIGHEST else self.high + by
        )


EVERYTHING = Interval()


class Lookup(NamedTuple):
    """A key (``key``) or an id (``id``) that a match must have."""

    field: str
    text: str


def interval_of(expression: Expression, field: str) -> Interval:
    """Numbers of a field outside of which no message matches."""
    match expression:
        case Comparison():
            return _of_comparison(expression) if expression.field.name == field else EVERYTHING
        case NotCondition():
            return EVERYTHING
        case EveryCondition(items):
            found = [interval_of(item, field) for item in items]
            return Interval(max(one.low for one in found), min(one.high for one in found))
        case AnyCondition(items):
            found = [one for one in (interval_of(item, field) for item in items) if one.low <= one.high]
            return Interval(min((one.low for one in found), default=0), max((one.high for one in found), default=-1))


def _of_comparison(comparison: Comparison) -> Interval:
    numbers = [value for value in comparison.values if isinstance(value, int)]
    match comparison.operator:
        case Operator.EQUAL | Operator.IN:
            return Interval(min(numbers), max(numbers))
        case Operator.LESS:
            return Interval(high=numbers[0] - 1)
        case Operator.LESS_OR_EQUAL:
            return Interval(high=numbers[0])
        case Operator.GREATER:
            return Interval(low=numbers[0] + 1)
        case Operator.GREATER_OR_EQUAL:
            return Interval(low=numbers[0])
    return EVERYTHING


def lookups_of(expression: Expression) -> frozenset[Lookup] | None:
    """Keys and ids of which every match has one; None when a match need not have any known one."""
    match expression:
        case Comparison(field, Operator.EQUAL | Operator.IN, values) if field.name in ("key", "id"):
            return frozenset(Lookup(field.name, str(value)) for value in values)
        case EveryCondition(items):
            found = [one for one in map(lookups_of, items) if one is not None]
            return min(found, key=len, default=None)
        case AnyCondition(items):
            every = [lookups_of(item) for item in items]
            known = [one for one in every if one is not None]
            return frozenset().union(*known) if len(known) == len(every) else None
    return None


def literal_topics(expression: Expression) -> frozenset[str]:
    match expression:
        case Comparison(field, Operator.EQUAL | Operator.IN, values) if field.name == "topic":
            return frozenset(map(str, values))
        case NotCondition(item):
            return literal_topics(item)
        case EveryCondition(items) | AnyCondition(items):
            return frozenset().union(*map(literal_topics, items))
    return frozenset()
