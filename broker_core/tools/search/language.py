"""The filter language: text to tree, with the position of every error.

    filter      = both { "or" both }
    both        = one { "and" one }
    one         = "not" one | "(" filter ")" | comparison
    comparison  = field operator value | field "in" "(" value { "," value } ")"
    operator    = "=" | "!=" | "<" | "<=" | ">" | ">=" | "~" | "contains"
    field       = name | "prop." name | "body" { "." name | "[" number "]" | "[*]" }
    value       = text in " or ' | number | time | size | true | false | null

Words of the language may be written in capitals. In text, a backslash makes the next quote or backslash part of it, and is
itself a character before anything else. Names after a dot may be in quotes. `broker_core.tools.search.facts` has the meaning
of comparisons.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NoReturn

from broker_core.errors import FilterError, UnclearTimeError
from broker_core.json_document import exact_number
from broker_core.protocol.addresses import compared_text
from broker_core.protocol.message.message_id import offset_in_id
from broker_core.tools.search.expression import (
    ANY_ITEM,
    AnyCondition,
    Comparison,
    EveryCondition,
    Expression,
    Field,
    FieldKind,
    NotCondition,
    Operator,
    PathStep,
    Scalar,
)
from broker_core.tools.search.fields import KINDS, OPERATORS, STATES
from broker_core.tools.search.literals import parse_size, parse_time
from broker_core.tools.search.patterns import compile_pattern

TEXT_CHARACTERS_MAX = 20_000
NESTING_MAX = 50
LIST_VALUES_MAX = 1_000

_SPACE = re.compile(r"\s*")
_STRING = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_ESCAPED = re.compile(r"\\([\\'\"])")
_SYMBOL = re.compile(r"!=|<=|>=|[=<>~(),]")
_WORD = re.compile(r"[^\W\d]\w*")
_LITERAL = re.compile(r"[-+]?\d[\w.:+-]*")
_STEP_NAME = re.compile(r"\.(?:([^\s.()\[\]\"'=!<>~,]+)|(?=[\"']))")
_STEP_INDEX = re.compile(r"\[\s*(\d{1,9}|\*)\s*\]")

_SYMBOLS = {operator.value: operator for operator in Operator}
_CONSTANTS: dict[str, Scalar] = {"true": True, "false": False, "null": None}
_KEYWORDS = ("and", "or", "not", "in", "contains")


@dataclass(frozen=True, slots=True)
class _Token:
    """A piece of the text. ``kind`` is ``text``, ``literal``, ``word``, ``symbol`` or ``end``."""

    kind: str
    text: str
    start: int
    end: int

    def is_word(self, word: str) -> bool:
        return self.kind == "word" and self.text.lower() == word

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else f"“{self.text}”"


def parse_filter(text: str, *, now_ms: int) -> Expression:
    """The tree of a filter; times like ``-15m`` count from ``now_ms``, milliseconds since the epoch.

    Raises `FilterError`, whose ``context`` has ``position`` and ``length`` of the place, in characters.
    """
    return _SearchParser(text, now_ms).parse()


def parse_field(text: str) -> Field:
    """A single field, e.g. the heading of a column: ``prop.region``, ``body.items[0].sku``; raises `FilterError`."""
    return _SearchParser(text, 0).parse_field()


class _SearchParser:
    def __init__(self, text: str, now_ms: int) -> None:
        self._text = text
        self._now_ms = now_ms
        self._depth = 0
        self._at = 0
        if len(text) > TEXT_CHARACTERS_MAX:
            self._fail(f"the filter has {len(text):,} characters; it may have {TEXT_CHARACTERS_MAX:,}", TEXT_CHARACTERS_MAX, 1)
        self._token = self._next()

    def parse(self) -> Expression:
        if self._token.kind == "end":
            self._fail('the filter is empty; write for example: topic = "orders"', 0, 0)
        found = self._any()
        if self._token.kind != "end":
            self._expect_failed("“and”, “or” or the end")
        return found

    def parse_field(self) -> Field:
        found = self._field()
        if self._token.kind != "end":
            self._expect_failed("a field alone")
        return found

    # ---- filters -------------------------------------------------------------------------------------------------------

    def _any(self) -> Expression:
        items = [self._all()]
        while self._take_word("or"):
            items.append(self._all())
        return items[0] if len(items) == 1 else AnyCondition(tuple(items))

    def _all(self) -> Expression:
        items = [self._one()]
        while self._take_word("and"):
            items.append(self._one())
        return items[0] if len(items) == 1 else EveryCondition(tuple(items))

    def _one(self) -> Expression:
        token = self._token
        is_open = token.kind == "symbol" and token.text == "("
        if not is_open and not token.is_word("not"):
            return self._comparison()
        self._depth += 1
        if self._depth > NESTING_MAX:
            self._fail(f"the filter is nested more than {NESTING_MAX} deep", token.start, 1)
        self._token = self._next()
        if is_open:
            found = self._any()
            self._take_symbol(")")
        else:
            found = NotCondition(self._one())
        self._depth -= 1
        return found

    def _comparison(self) -> Comparison:
        start = self._token.start
        field = self._field()
        operator_token = self._token
        operator = self._operator(field)
        values = self._list(field) if operator is Operator.IN else (self._value(field, operator),)
        if field.name == "host" and operator is not Operator.MATCHES:
            values = tuple(compared_text(str(value)) for value in values)
        if field.name == "id" and operator in (Operator.EQUAL, Operator.NOT_EQUAL, Operator.IN):
            values = _written_ids(values)
        pattern = None
        if operator is Operator.MATCHES:
            place = self._value_start
            pattern = compile_pattern(str(values[0]), lambda fault: self._fail(fault, place, self._value_end - place))
        if operator in (Operator.LESS, Operator.LESS_OR_EQUAL, Operator.GREATER, Operator.GREATER_OR_EQUAL) and (
            values[0] is None or isinstance(values[0], bool)
        ):
            self._fail("true, false and null have no order; use = or !=", operator_token.start, len(operator_token.text))
        return Comparison(field, operator, values, pattern, start)

    # ---- fields and operators ------------------------------------------------------------------------------------------

    def _field(self) -> Field:
        token = self._token
        if token.kind != "word":
            self._expect_failed("a field, “not” or “(”")
        kind = KINDS.get(token.text)
        if kind is None:
            self._unknown_field(token)
        assert kind is not None
        self._at = token.end
        path = self._path() if token.text in ("prop", "body") else ()
        self._token = self._next()
        if token.text == "prop":
            return Field("prop", kind, prop=self._property_name(token, path))
        if path:
            return Field("body", FieldKind.JSON, path=path)
        return Field(token.text, kind)

    def _property_name(self, token: _Token, path: tuple[PathStep, ...]) -> str:
        names = [step for step in path if isinstance(step, str)]
        if not names or len(names) < len(path):
            self._fail("“prop” is followed by a dot and the name of a property: prop.region", token.start, len(token.text))
        return ".".join(names)

    def _path(self) -> tuple[PathStep, ...]:
        steps: list[PathStep] = []
        while True:
            if named := _STEP_NAME.match(self._text, self._at):
                self._at = named.end()
                steps.append(named[1] if named[1] is not None else self._string_at(self._at).text)
                if named[1] is None:
                    self._at = self._string_at(self._at).end
            elif index := _STEP_INDEX.match(self._text, self._at):
                self._at = index.end()
                steps.append(ANY_ITEM if index[1] == "*" else int(index[1]))
            else:
                return tuple(steps)

    def _unknown_field(self, token: _Token) -> NoReturn:
        near = difflib.get_close_matches(token.text.lower(), KINDS, n=1)
        if token.text.lower() in _KEYWORDS:
            self._expect_failed("a field")
        hint = f"did you mean {near[0]}?" if near else f"fields are {', '.join(KINDS)}"
        self._fail(f"there is no field “{token.text}”; {hint}", token.start, len(token.text))

    def _operator(self, field: Field) -> Operator:
        token = self._token
        name = token.text.lower() if token.kind == "word" else token.text
        operator = _SYMBOLS.get(name) if token.kind in ("word", "symbol") else None
        allowed = OPERATORS[field.kind]
        if operator is None:
            self._expect_failed(_listed(one.value for one in Operator if one in allowed))
        assert operator is not None
        if operator not in allowed:
            words = _listed(one.value for one in Operator if one in allowed)
            self._fail(f"{field.name} is {field.kind.value}; it is compared by {words}", token.start, len(token.text))
        self._token = self._next()
        return operator

    # ---- values --------------------------------------------------------------------------------------------------------

    def _list(self, field: Field) -> tuple[Scalar, ...]:
        self._take_symbol("(")
        values = [self._value(field, Operator.EQUAL)]
        while self._token.kind == "symbol" and self._token.text == ",":
            if len(values) >= LIST_VALUES_MAX:
                self._fail(f"a list may have {LIST_VALUES_MAX:,} values", self._token.start, 1)
            self._token = self._next()
            values.append(self._value(field, Operator.EQUAL))
        self._take_symbol(")")
        return tuple(values)

    def _value(self, field: Field, operator: Operator) -> Scalar:
        token = self._token
        if token.kind in ("end", "symbol"):
            self._expect_failed("a value")
        self._value_start, self._value_end = token.start, token.end
        self._token = self._next()
        if operator in (Operator.MATCHES, Operator.CONTAINS):
            return self._text_of(token, "a regular expression" if operator is Operator.MATCHES else "text")
        match field.kind:
            case FieldKind.TEXT | FieldKind.BODY:
                return self._text_of(token, "text")
            case FieldKind.INTEGER:
                return self._checked(token, _whole_number(token.text), "a whole number")
            case FieldKind.SIZE:
                return self._checked(token, parse_size(token.text), "a size such as 200, 10KB or 1.5MB")
            case FieldKind.TIME:
                words = "a time such as 2026-11-21T10:00:00, milliseconds since 1970, or -15m"
                return self._checked(token, self._time(token), words)
            case FieldKind.STATE:
                return self._checked(token, token.text if token.text in STATES else None, f"one of {', '.join(STATES)}")
            case FieldKind.PROPERTY | FieldKind.JSON:
                return self._any_value(token, field)

    def _text_of(self, token: _Token, what: str) -> str:
        if token.kind != "text":
            self._fail(f"expected {what} in quotes, found {token}", token.start, token.end - token.start)
        return token.text

    def _any_value(self, token: _Token, field: Field) -> Scalar:
        if token.kind == "text":
            return token.text
        if token.kind == "literal" and (number := exact_number(token.text)) is not None:
            return number
        if field.kind is FieldKind.JSON and token.kind == "word" and token.text in _CONSTANTS:
            return _CONSTANTS[token.text]
        what = "a number, true, false, null" if field.kind is FieldKind.JSON else "a number"
        return self._fail(f"expected {what} or text in quotes, found {token}", token.start, token.end - token.start)

    def _time(self, token: _Token) -> int | None:
        try:
            return parse_time(token.text, self._now_ms)
        except UnclearTimeError as error:
            self._fail(error.message, token.start, token.end - token.start)

    def _checked(self, token: _Token, value: Scalar, what: str) -> Scalar:
        if value is None:
            self._fail(f"expected {what}, found {token}", token.start, token.end - token.start)
        return value

    # ---- tokens --------------------------------------------------------------------------------------------------------

    def _take_word(self, word: str) -> bool:
        if not self._token.is_word(word):
            return False
        self._token = self._next()
        return True

    def _take_symbol(self, symbol: str) -> None:
        if self._token.kind != "symbol" or self._token.text != symbol:
            self._expect_failed(f"“{symbol}”")
        self._token = self._next()

    def _next(self) -> _Token:
        spaces = _SPACE.match(self._text, self._at)
        self._at = start = spaces.end() if spaces else self._at
        if start == len(self._text):
            return _Token("end", "", start, start)
        if self._text[start] in "'\"":
            token = self._string_at(start)
        else:
            for kind, pattern in (("symbol", _SYMBOL), ("literal", _LITERAL), ("word", _WORD)):
                if found := pattern.match(self._text, start):
                    token = _Token(kind, found[0], start, found.end())
                    break
            else:
                self._fail(f"“{self._text[start]}” means nothing here", start, 1)
        self._at = token.end
        return token

    def _string_at(self, start: int) -> _Token:
        found = _STRING.match(self._text, start)
        if found is None:
            self._fail(f"the text that begins with {self._text[start]} has no closing quote", start, len(self._text) - start)
        content = found[1] if found[1] is not None else found[2]
        return _Token("text", _ESCAPED.sub(r"\1", content), start, found.end())

    def _expect_failed(self, what: str) -> NoReturn:
        self._fail(f"expected {what}, found {self._token}", self._token.start, self._token.end - self._token.start)

    def _fail(self, message: str, position: int, length: int) -> NoReturn:
        raise FilterError(f"at character {position + 1}: {message}", position=position, length=length, text=self._text[:500])


def _written_ids(values: tuple[Scalar, ...]) -> tuple[Scalar, ...]:
    """Ids as they are written, and those of brokers in capital letters too, which brokers write."""
    brokers_own = [str(value).upper() for value in values if offset_in_id(str(value)) >= 0]
    return tuple(dict.fromkeys((*values, *brokers_own)))


def _whole_number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[-+]?\d{1,19}", text) else None


def _listed(words: Iterable[str]) -> str:
    names = list(words)
    return f"{', '.join(names[:-1])} or {names[-1]}"
