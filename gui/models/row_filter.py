"""A filter of a list as words: ``type:FIFO lag>1000 group:settle -name:test orders``. Pure: no widget, no text of the window.

Words are separated by spaces, and all must hold. A word is a text that a row must contain somewhere, or a field, an operator
and a value. ``:`` tests for a part of a text or for the exact number, ``=`` for the whole text, ``!= > >= < <=`` as usual;
``:>`` is ``>``. Texts separated by commas are alternatives, one with spaces stands in quotes, ``-`` before a word negates it.
A missing value makes both a condition and its negation false (as in SQL). `offers` completes a word. `with_words` is a filter
of plain words, for lists without fields.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

R = TypeVar("R")

_WORD = re.compile(r"""-?(?:"[^"]*(?:"|$)|[^\s"])+""")
_CONDITION = re.compile(r"(?P<not>-?)(?P<field>[^\W\d]\w*)(?P<operator>:?(?:!=|>=|<=|[=<>])|:)(?P<value>.*)", re.DOTALL)
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([^\W\d]*)")
_COUNTS = {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000}
_SIZES = {"": 1, "b": 1} | {
    f"{letter}{end}": 1024**power for power, letter in enumerate("kmgt", start=1) for end in ("", "b", "ib")
}
_TIMES = {"ms": 1, "s": 1_000, "m": 60_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}


class WordKind(Enum):
    """What a field is compared with; the value is an example."""

    TEXT = "orders"
    COUNT = "1000"
    SIZE = "10MiB"
    TIME = "5m"


_UNITS = {WordKind.COUNT: _COUNTS, WordKind.SIZE: _SIZES, WordKind.TIME: _TIMES}


class FaultKind(Enum):
    """Why a word cannot be read, in English."""

    FIELD = "there is no such field"
    VALUE = "its value cannot be read"
    OPERATOR = "texts are not compared by size"


@dataclass(frozen=True)  # with slots, Python 3.11 cannot make a RowField[Row](…)
class RowField(Generic[R]):
    """A field of the filter.

    Attributes:
        name: As typed.
        title: English.
        kind: What it is compared with.
        of: Of a row: texts, one of which must match, for `WordKind.TEXT`; else a number in units of one, bytes or ms, NaN or
            negative where it is not known.
        offered: Values to choose from now.
    """

    name: str
    title: str
    kind: WordKind
    of: Callable[[R], Sequence[str] | float]
    offered: Callable[[], Sequence[str]] = tuple

    @property
    def sign(self) -> str:
        """The operator where none was typed."""
        return ":" if self.kind is WordKind.TEXT else ">"


@dataclass(frozen=True, slots=True)
class FilterFault:
    """An unreadable word, from ``start`` up to ``end`` of the text."""

    kind: FaultKind
    field: str
    example: str
    start: int
    end: int


@dataclass(frozen=True)  # as `RowField`
class RowTerm(Generic[R]):
    """One word of a filter as a test of rows."""

    text: str
    is_condition: bool
    accepts: Callable[[R], bool]


@dataclass(frozen=True)  # as `RowField`
class RowFilter(Generic[R]):
    """A parsed text. Words with faults are ignored."""

    terms: tuple[RowTerm[R], ...] = ()
    faults: tuple[FilterFault, ...] = ()

    def accepts(self, row: R) -> bool:
        return all(term.accepts(row) for term in self.terms)


def read_row_filter(text: str, fields: Sequence[RowField[R]], text_of: Callable[[R], str]) -> RowFilter[R]:
    """Parse a filter. The last word may be unfinished: ``lag>`` is ignored without a fault.

    ``text_of`` is the text of a row in which words without a field are found, ignoring case.
    """
    known = {field.name: field for field in fields}
    terms: list[RowTerm[R]] = []
    faults: list[FilterFault] = []
    for found in _WORD.finditer(text):
        read = _read_word(found[0], known, text_of)
        if isinstance(read, RowTerm):
            terms.append(read)
        elif read is not None and not (found.end() == len(text) and found[0][-1] in ":=<>!"):
            kind, name, example = read
            faults.append(FilterFault(kind, name, example, found.start(), found.end()))
    return RowFilter(tuple(terms), tuple(faults))


def with_words(text: str, text_of: Callable[[R], str]) -> Callable[[R], bool] | None:
    """A filter for rows whose text contains all words, in any case; None where there is no word."""
    words = text.casefold().split()

    def accepts(row: R) -> bool:
        have = text_of(row).casefold()
        return all(word in have for word in words)

    return accepts if words else None


def words_of(text: str) -> list[str]:
    return _WORD.findall(text)


def condition_text(field: str, value: str, *, wanted: bool = True) -> str:
    """The word that matches one value of a field, or any other one."""
    return f"{'' if wanted else '-'}{field}:{quoted_word(value)}"


def quoted_word(value: str) -> str:
    return f'"{value}"' if any(mark.isspace() or mark == "," for mark in value) else value


def offers(typed: str, fields: Sequence[RowField[R]]) -> list[str]:
    """Completions of a word: fields, then their values."""
    sign = "-" if typed.startswith("-") else ""
    begun = typed.removeprefix("-")
    found = _CONDITION.fullmatch(typed)
    if found is None:
        names = [f"{sign}{field.name}{field.sign}" for field in fields]
        return [name for name in names if name.removeprefix("-").startswith(begun.casefold())] if begun else names
    field = next((one for one in fields if one.name == found["field"].casefold()), None)
    if field is None:
        return []
    *before, last = found["value"].split(",")
    head = f"{sign}{found['field']}{found['operator']}" + "".join(f"{one}," for one in before)
    wanted = last.strip('"').casefold()
    values = [value for value in field.offered() if wanted in value.casefold()]
    return [f"{head}{quoted_word(value)}" for value in values]


# ---- one word ----------------------------------------------------------------------------------------------------------


def _read_word(
    word: str, fields: dict[str, RowField[R]], text_of: Callable[[R], str]
) -> RowTerm[R] | tuple[FaultKind, str, str] | None:
    found = _CONDITION.fullmatch(word)
    if found is None:
        return _text_term(word, text_of)
    field = fields.get(found["field"].casefold())
    if field is None:
        return FaultKind.FIELD, found["field"], ""
    operator = found["operator"].removeprefix(":") or ":"
    values = [value.strip('"') for value in re.findall(r'"[^"]*"?|[^,"]+', found["value"])]
    if not any(values):
        return FaultKind.VALUE, field.name, field.kind.value
    is_text = field.kind is WordKind.TEXT
    test = _text_test(operator, values) if is_text else _number_test(operator, found["value"], field.kind)
    if isinstance(test, FaultKind):
        return test, field.name, field.kind.value
    wanted = not found["not"]
    return RowTerm(word, is_condition=True, accepts=lambda row: test(field.of(row)) is wanted)


def _text_term(word: str, text_of: Callable[[R], str]) -> RowTerm[R] | None:
    wanted = len(word) == 1 or not word.startswith("-")
    text = (word if wanted else word[1:]).strip('"').casefold()
    if not text:
        return None
    return RowTerm(word, is_condition=False, accepts=lambda row: (text in text_of(row).casefold()) is wanted)


Test = Callable[[object], bool | None]
"""Whether a condition holds; None: not known."""


def _text_test(operator: str, values: Sequence[str]) -> Test | FaultKind:
    asked = [value.casefold() for value in values]
    if operator in ("<", ">", "<=", ">="):
        return FaultKind.OPERATOR

    def holds(texts: object) -> bool | None:
        assert isinstance(texts, Sequence)
        have = [str(text).casefold() for text in texts]
        if operator == ":":
            return any(one in text for text in have for one in asked)
        return any(one in have for one in asked) is (operator == "=")

    return holds


def _number_test(operator: str, value: str, kind: WordKind) -> Test | FaultKind:
    asked = _number(value.strip('"').replace(",", ""), _UNITS[kind])
    if asked is None:
        return FaultKind.VALUE

    def holds(have: object) -> bool | None:
        assert isinstance(have, float | int)
        return None if math.isnan(have) or have < 0 else _compares(operator, have, asked)

    return holds


def _compares(operator: str, have: float, asked: float) -> bool:
    match operator:
        case ">":
            return have > asked
        case ">=":
            return have >= asked
        case "<":
            return have < asked
        case "<=":
            return have <= asked
        case "!=":
            return have != asked
    return have == asked


def _number(text: str, units: dict[str, int]) -> float | None:
    found = _NUMBER.fullmatch(text.strip())
    known = found is not None and found[2].casefold() in units
    return float(found[1]) * units[found[2].casefold()] if found is not None and known else None
