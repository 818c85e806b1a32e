"""The tree of a SQL92 filter, of frozen values. The parser makes it, the evaluator compiles it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum


class NumberClass(Enum):
    """Class of a number constant, which decides how a property compared with it is read."""

    INT = "int"
    LONG = "long"
    DOUBLE = "double"


@dataclass(frozen=True, slots=True)
class Property:
    """A message property by name; its value is a text, or null when the message has none."""

    name: str


@dataclass(frozen=True, slots=True)
class Text:
    value: str


@dataclass(frozen=True, slots=True)
class Number:
    """A number constant; ``signed`` when it has a minus."""

    value: int | float
    kind: NumberClass
    signed: bool = False


@dataclass(frozen=True, slots=True)
class NoValue:
    """The minus of an operand that is no number: always null."""


@dataclass(frozen=True, slots=True)
class Truth:
    """TRUE, FALSE, or the NULL constant (None)."""

    value: bool | None


@dataclass(frozen=True, slots=True)
class Cast:
    """A bare property as a condition: null when it is missing, else false, because a text is never true."""

    operand: Property


@dataclass(frozen=True, slots=True)
class Not:
    operand: Condition


@dataclass(frozen=True, slots=True)
class And:
    """Two or more conditions that must all hold."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Two or more conditions of which one must hold."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Equal:
    left: Operand
    right: Operand


@dataclass(frozen=True, slots=True)
class Order:
    """``<``, ``<=``, ``>`` or ``>=``."""

    operator: str
    left: Value
    right: Value


@dataclass(frozen=True, slots=True)
class IsNull:
    operand: Operand


@dataclass(frozen=True, slots=True)
class In:
    """IN a list of texts."""

    operand: Property
    texts: frozenset[str]
    negated: bool


class TextTest(Enum):
    """RocketMQ's tests on a part of a text, since 5.1.3."""

    CONTAINS = "CONTAINS"
    STARTSWITH = "STARTSWITH"
    ENDSWITH = "ENDSWITH"


@dataclass(frozen=True, slots=True)
class Like:
    """A property that contains, starts with or ends with a text, or not."""

    test: TextTest
    operand: Operand
    text: str
    negated: bool


Value = Property | Text | Number | NoValue
Condition = Truth | Cast | Not | And | Or | Equal | Order | IsNull | In | Like
Operand = Value | Condition


def property_names(node: Operand) -> Iterator[str]:
    """Names of the properties in an expression, in its order, possibly repeated."""
    match node:
        case Property(name):
            yield name
        case Cast(operand) | Not(operand) | IsNull(operand) | In(operand) | Like(operand=operand):
            yield from property_names(operand)
        case And(operands) | Or(operands):
            for item in operands:
                yield from property_names(item)
        case Equal(left, right) | Order(_, left, right):
            yield from property_names(left)
            yield from property_names(right)
