"""The filter as a tree of values, and three-valued logic over it, without text or messages.

A filter is a `Comparison`, or a `NotCondition`, `EveryCondition` or `AnyCondition` of filters.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from broker_core.tools.search.patterns import SearchPattern


class FieldKind(Enum):
    TEXT = "text"
    INTEGER = "a whole number"
    SIZE = "a size"
    TIME = "a time"
    STATE = "a state"
    PROPERTY = "text or a number"
    BODY = "the body's text"
    JSON = "a value in the body's JSON"


class Operator(Enum):
    EQUAL = "="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_OR_EQUAL = "<="
    GREATER = ">"
    GREATER_OR_EQUAL = ">="
    MATCHES = "~"
    CONTAINS = "contains"
    IN = "in"


Scalar = str | int | Decimal | bool | None
"""A literal; numbers are exact. Times are milliseconds since the epoch, sizes are bytes."""


class AnyItem(Enum):
    """``[*]`` in a JSON path."""

    STEP = "*"


ANY_ITEM = AnyItem.STEP

PathStep = str | int | AnyItem


@dataclass(frozen=True, slots=True)
class Field:
    """A field to compare.

    Attributes:
        name: As in the language: ``topic``, ``prop``, ``body``, …
        prop: Name of the property, for ``prop``.
        path: Place in the body's JSON; not empty for `FieldKind.JSON` alone.
    """

    name: str
    kind: FieldKind
    prop: str = ""
    path: tuple[PathStep, ...] = ()

    @property
    def is_body(self) -> bool:
        """Whether its values are in the body."""
        return self.kind in (FieldKind.BODY, FieldKind.JSON)


@dataclass(frozen=True, slots=True)
class Comparison:
    """One field against one literal, or against several: for `Operator.IN`, and for an id that is written in two ways."""

    field: Field
    operator: Operator
    values: tuple[Scalar, ...]
    pattern: SearchPattern | None = None
    """The compiled regular expression of `Operator.MATCHES`."""
    position: int = dataclasses.field(default=0, compare=False)
    """Position of its first character in the text of the filter."""


@dataclass(frozen=True, slots=True)
class NotCondition:
    """The opposite."""

    item: Expression


@dataclass(frozen=True, slots=True)
class EveryCondition:
    """All of at least two."""

    items: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class AnyCondition:
    """Any of at least two."""

    items: tuple[Expression, ...]


Expression = Comparison | NotCondition | EveryCondition | AnyCondition


def comparisons(expression: Expression) -> Iterator[Comparison]:
    """All comparisons, from left to right."""
    match expression:
        case Comparison():
            yield expression
        case NotCondition(item):
            yield from comparisons(item)
        case EveryCondition(items) | AnyCondition(items):
            for item in items:
                yield from comparisons(item)


def verdict(expression: Expression, known: Callable[[Comparison], bool | None]) -> bool | None:
    """Truth of a filter when some comparisons are not known (None): None unless the known ones decide it."""
    match expression:
        case Comparison():
            return known(expression)
        case NotCondition(item):
            found = verdict(item, known)
            return None if found is None else not found
        case EveryCondition(items):
            return _decided((verdict(item, known) for item in items), by=False)
        case AnyCondition(items):
            return _decided((verdict(item, known) for item in items), by=True)


def _decided(verdicts: Iterator[bool | None], *, by: bool) -> bool | None:
    unknown = False
    for found in verdicts:
        if found is by:
            return by
        unknown = unknown or found is None
    return None if unknown else not by
