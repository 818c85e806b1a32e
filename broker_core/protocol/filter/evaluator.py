"""SQL92 filters: expression tree → function of a message's properties (Source: docs/spec/broker.md §9.3).

Three values: true, false and null (None). Property values are texts; the constant that one is compared with decides how it is
read. A text that cannot be read so fails the whole expression, which then does not match. Operands are evaluated from left to
right and only as far as needed, so a fault after a deciding operand has no effect, as in RocketMQ.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from functools import lru_cache

from broker_core.protocol.filter.expression import (
    And,
    Cast,
    Condition,
    Equal,
    In,
    IsNull,
    Like,
    Not,
    NoValue,
    Number,
    NumberClass,
    Operand,
    Or,
    Order,
    Property,
    Text,
    TextTest,
    Truth,
    Value,
    property_names,
)
from broker_core.protocol.filter.parser import parse_filter

Properties = Mapping[str, str]
Test = Callable[[Properties], bool | None]

_COMPILED_MAX = 1024
_JAVA_INTEGER = re.compile(r"[+-]?\d+")
_JAVA_DOUBLE = re.compile(r"[+-]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d+)?[fFdD]?|NaN|Infinity)", re.ASCII)
_JAVA_HEX_DOUBLE = re.compile(r"[+-]?0[xX](?:[0-9a-fA-F]++(?:\.[0-9a-fA-F]*+)?|\.[0-9a-fA-F]++)[pP][+-]?\d+[fFdD]?", re.ASCII)
_JAVA_SPACE = "".join(map(chr, range(0x21)))
_NOT_A_NUMBER_YET = 400  # digits; longer texts are beyond a 64-bit number whatever they say
_ORDER_TESTS: dict[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


class Filter:
    """A compiled filter, immutable and usable by any thread; ``names`` are the properties that it reads."""

    __slots__ = ("_test", "names", "text")

    def __init__(self, text: str, condition: Condition) -> None:
        self.text = text
        self.names = frozenset(property_names(condition))
        self._test = _compile(condition)

    def matches(self, properties: Properties) -> bool:
        try:
            return self._test(properties) is True
        except ValueError:
            # A property could not be read as the constant requires: the message does not match.
            return False

    def evaluate(self, properties: Properties) -> bool | None:
        """True, false, or None for null; raises `ValueError` when a property is no number where one is needed."""
        return self._test(properties)


@lru_cache(maxsize=_COMPILED_MAX)
def compile_filter(text: str) -> Filter:
    """Read and compile a filter, each text once; raises `FilterSyntaxError` as `parse_filter`."""
    return Filter(text, parse_filter(text))


def _compile(node: Condition) -> Test:
    match node:
        case Truth(value):
            return lambda _: value
        case Cast(Property(name)):
            return lambda properties: False if name in properties else None
        case Not(operand):
            return _negated(_compile(operand))
        case And(operands):
            return _joined([_compile(item) for item in operands], decisive=False)
        case Or(operands):
            return _joined([_compile(item) for item in operands], decisive=True)
        case IsNull(operand):
            return _is_null(_getter(operand))
        case In():
            return _is_in(node)
        case Like():
            return _is_like(node)
        case Equal(left, right):
            return _equal(left, right)
        case Order(sign, left, right):
            return _order(_ORDER_TESTS[sign], left, right)


def _negated(test: Test) -> Test:
    def negated(properties: Properties) -> bool | None:
        value = test(properties)
        return None if value is None else not value

    return negated


def _joined(tests: list[Test], *, decisive: bool) -> Test:
    """All of some tests, or any of them: the first ``decisive`` answer counts, else one that is not known."""

    def joined(properties: Properties) -> bool | None:
        result: bool | None = not decisive
        for test in tests:
            value = test(properties)
            if value is decisive:
                return decisive
            if value is None:
                result = None
        return result

    return joined


def _is_null(get: Callable[[Properties], object]) -> Test:
    return lambda properties: get(properties) is None


def _is_in(node: In) -> Test:
    name, texts, negated = node.operand.name, node.texts, node.negated

    def is_in(properties: Properties) -> bool | None:
        value = properties.get(name)
        return None if value is None else (value in texts) is not negated

    return is_in


_TEXT_TESTS: dict[TextTest, Callable[[str, str], bool]] = {
    TextTest.CONTAINS: operator.contains,
    TextTest.STARTSWITH: str.startswith,
    TextTest.ENDSWITH: str.endswith,
}


def _is_like(node: Like) -> Test:
    get, test, text, negated = _getter(node.operand), _TEXT_TESTS[node.test], node.text, node.negated
    if not text:
        return lambda _: False

    def is_like(properties: Properties) -> bool | None:
        value = get(properties)
        return test(value, text) is not negated if isinstance(value, str) else False

    return is_like


def _getter(node: Operand) -> Callable[[Properties], str | float | bool | None]:
    match node:
        case Property(name):
            return lambda properties: properties.get(name)
        case Text(value) | Number(value):
            return lambda _: value
        case NoValue():
            return lambda _: None
        case _:
            return _compile(node)


# ---- comparisons ----


def _equal(left: Operand, right: Operand) -> Test:
    """``=``: null on the left gives null, on the right false, on both true."""
    get_left, get_right = _getter(left), _getter(right)
    same = _sameness(left, right)

    def equal(properties: Properties) -> bool | None:
        a, b = get_left(properties), get_right(properties)
        if a is None:
            return True if b is None else None
        return False if b is None else same(a, b)

    return equal


def _sameness(left: Operand, right: Operand) -> Callable[[object, object], bool]:
    """How two values that are not null are compared, by the operands."""
    if isinstance(left, Condition) or isinstance(right, Condition):
        return _same_truth
    if isinstance(left, Number) and isinstance(right, Number):
        return operator.eq
    if isinstance(right, Number):
        read = _READERS[right.kind]
        return lambda a, b: read(str(a)) == b
    if isinstance(left, Number):
        read = _READERS[left.kind]
        return lambda a, b: a == read(str(b))
    return operator.eq


def _same_truth(a: object, b: object) -> bool:
    """Equality where one operand is a condition: a text is read as true or false, a number equals neither."""
    a, b = (value.lower() == "true" if isinstance(value, str) else value for value in (a, b))
    return isinstance(a, bool) and isinstance(b, bool) and a is b


def _order(holds: Callable[[int, int], bool], left: Value, right: Value) -> Test:
    """``<``, ``<=``, ``>`` and ``>=``: null on either side gives null."""
    get_left, get_right = _getter(left), _getter(right)
    constant = right if isinstance(right, Number) else left
    kind = constant.kind if isinstance(constant, Number) else NumberClass.DOUBLE
    read = _READERS[kind]

    def order(properties: Properties) -> bool | None:
        a, b = get_left(properties), get_right(properties)
        if a is None or b is None:
            return None
        return holds(_compared(read(a) if isinstance(a, str) else a, read(b) if isinstance(b, str) else b), 0)

    return order


def _compared(a: float, b: float) -> int:
    """-1, 0 or 1 as Java orders numbers: not-a-number is the greatest and equals itself, -0.0 is less than 0.0."""
    if a < b:
        return -1
    if a > b:
        return 1
    rank_a, rank_b = _rank(a), _rank(b)
    return (rank_a > rank_b) - (rank_a < rank_b)


def _rank(value: float) -> int:
    if math.isnan(value):
        return 2
    return 0 if value == 0 and math.copysign(1, value) < 0 else 1


def _whole_number(text: str, bits: int) -> int:
    if not _JAVA_INTEGER.fullmatch(text) or len(text) > _NOT_A_NUMBER_YET:
        raise ValueError(f"“{text[:40]}” is no whole number")
    value = int(text)
    if not -(1 << bits - 1) <= value < 1 << bits - 1:
        raise ValueError(f"{text[:40]} needs more than {bits} bits")
    return value


def _read_int(text: str) -> int:
    return _whole_number(text, 32)


def _read_long(text: str) -> int:
    return _whole_number(text, 64)


def _read_double(text: str) -> float:
    stripped = text.strip(_JAVA_SPACE)
    if _JAVA_DOUBLE.fullmatch(stripped):
        return float(stripped.rstrip("fFdD") if stripped[-1] in "fFdD" else stripped)
    if _JAVA_HEX_DOUBLE.fullmatch(stripped):
        return _hex_double(stripped.rstrip("fFdD") if stripped[-1] in "fFdD" else stripped)
    raise ValueError(f"“{text[:40]}” is no number")


def _hex_double(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return float("-inf") if text.startswith("-") else float("inf")


_READERS: dict[NumberClass, Callable[[str], float]] = {
    NumberClass.INT: _read_int,
    NumberClass.LONG: _read_long,
    NumberClass.DOUBLE: _read_double,
}
