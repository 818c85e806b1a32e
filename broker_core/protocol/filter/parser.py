"""SQL92 filters: text → expression tree, with RocketMQ's rules on what may be compared (Source: docs/spec/broker.md §9.2).

    selector := or                              and := equality (AND equality)*
    or       := and (OR and)*                   equality := compare (('=' | '<>') compare | IS [NOT] NULL)*
    compare  := unary (('<' | '<=' | '>' | '>=') unary | [NOT] BETWEEN unary AND unary | [NOT] IN '(' text (',' text)* ')'
                       | [NOT] (CONTAINS | STARTSWITH | ENDSWITH) text)*
    unary    := ('+' | '-' | NOT) unary | text | number | TRUE | FALSE | NULL | name | '(' or ')'

NOT binds tighter than comparisons. Unlike in RocketMQ, text after a complete expression is an error. CONTAINS, STARTSWITH and
ENDSWITH, of RocketMQ 5.1.3, are keywords only after an operand, so properties may have these names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeGuard

from broker_core.errors import FilterSyntaxError
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
)
from broker_core.protocol.filter.lexer import SqlWordKind, Token, syntax_error, tokens, unexpected

DEPTH_MAX = 50
"""Bound on nested parentheses, signs, NOTs and chained comparisons."""

_INT_MAX = (1 << 31) - 1
_LONG_MAX = (1 << 63) - 1
_DOUBLE_MIN, _DOUBLE_MAX = 5e-324, 1.7976931348623157e308
_ORDERINGS = ("<", "<=", ">", ">=")
_TEXT_TESTS = frozenset(test.value for test in TextTest)


def parse_filter(text: str) -> Condition:
    """Read a filter; raises `FilterSyntaxError`, whose message says where and why."""
    return _FilterParser(text).selector()


class _FilterParser:
    """Recursive descent; depth is bounded, time linear."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens(text)
        self._at = 0
        self._depth = 0

    def selector(self) -> Condition:
        start = self._token
        operand = self._or()
        if self._token.kind is not SqlWordKind.END:
            raise unexpected(self._text, self._token, "the end of the expression")
        return self._condition(operand, start)

    # ---- words ----

    @property
    def _token(self) -> Token:
        return self._tokens[self._at]

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token

    def _take(self, *words: str) -> str | None:
        """Consume the next word if it is one of these keywords or operators."""
        token = self._token
        if token.kind in (SqlWordKind.KEYWORD, SqlWordKind.OPERATOR) and token.text in words:
            self._at += 1
            return token.text
        return None

    def _expect(self, word: str) -> None:
        if self._take(word) is None:
            raise unexpected(self._text, self._token, word)

    def _fault(self, token: Token, problem: str) -> FilterSyntaxError:
        return syntax_error(self._text, token.position, problem)

    # ---- grammar ----

    def _or(self) -> Operand:
        return self._joined("OR", self._and, Or)

    def _and(self) -> Operand:
        return self._joined("AND", self._equality, And)

    def _joined(self, word: str, part: Callable[[], Operand], join: type[Or | And]) -> Operand:
        start = self._token
        first = part()
        if self._token.kind is not SqlWordKind.KEYWORD or self._token.text != word:
            return first
        operands = [self._condition(first, start)]
        while self._take(word):
            start = self._token
            operands.append(self._condition(part(), start))
        return join(tuple(operands))

    def _equality(self) -> Operand:
        start, depth = self._token, self._depth
        left = self._compare()
        while True:
            sign = self._token
            if word := self._take("=", "<>"):
                self._deeper(sign)
                self._not_null(left, start)
                start_right = self._token
                right = self._compare()
                self._not_null(right, start_right)
                self._same_kind(left, right, sign)
                equal = Equal(left, right)
                left = equal if word == "=" else Not(equal)
            elif self._take("IS"):
                self._deeper(sign)
                negated = self._take("NOT")
                self._expect("NULL")
                left = Not(IsNull(left)) if negated else IsNull(left)
            else:
                self._depth = depth
                return left

    def _compare(self) -> Operand:
        start = self._token
        left = self._unary()
        while True:
            word = self._take(*_ORDERINGS)
            if word:
                low = self._ordered(left, start)
                after = self._token
                left = Order(word, low, self._ordered(self._unary(), after))
                continue
            # NOT belongs to the word after it; alone it may not follow an operand.
            negated = self._token.text == "NOT" and self._token.kind is SqlWordKind.KEYWORD
            ahead = self._tokens[self._at + 1] if negated else self._token
            if ahead.kind is SqlWordKind.KEYWORD and ahead.text in ("BETWEEN", "IN"):
                self._at += 2 if negated else 1
                make = self._between if ahead.text == "BETWEEN" else self._in
                left = make(left, start, negated)
            elif ahead.kind is SqlWordKind.NAME and ahead.text.upper() in _TEXT_TESTS:
                self._at += 2 if negated else 1
                left = Like(TextTest(ahead.text.upper()), left, self._text_constant(), negated)
            else:
                return left

    def _between(self, left: Operand, start: Token, negated: bool) -> Condition:
        value = self._ordered(left, start)
        low_token = self._token
        low = self._ordered(self._unary(), low_token)
        self._expect("AND")
        high_token = self._token
        high = self._ordered(self._unary(), high_token)
        if negated:
            return Or((Order("<", value, low), Order(">", value, high)))
        if _is_plain(low) and _is_plain(high) and high.value < low.value:
            problem = f"BETWEEN {low.value} AND {high.value} holds for nothing: the first must not be greater"
            raise self._fault(low_token, problem)
        return And((Order(">=", value, low), Order("<=", value, high)))

    def _in(self, left: Operand, start: Token, negated: bool) -> Condition:
        if not isinstance(left, Property):
            raise self._fault(start, "IN asks for a property on its left")
        self._expect("(")
        texts = [self._text_constant()]
        while self._take(","):
            texts.append(self._text_constant())
        self._expect(")")
        return In(left, frozenset(texts), negated)

    def _text_constant(self) -> str:
        if self._token.kind is not SqlWordKind.STRING:
            raise unexpected(self._text, self._token, "a text in quotes")
        return self._next().text

    def _unary(self) -> Operand:
        token = self._next()
        if token.kind is SqlWordKind.OPERATOR and token.text in ("+", "-", "("):
            return self._nested(token)
        if token.kind is SqlWordKind.STRING:
            return Text(token.text)
        if token.kind is SqlWordKind.INTEGER:
            return self._integer(token)
        if token.kind is SqlWordKind.FLOAT:
            return self._float(token)
        if token.kind is SqlWordKind.NAME:
            return Property(token.text)
        if token.kind is SqlWordKind.KEYWORD:
            if token.text == "NOT":
                return self._nested(token)
            if token.text in ("TRUE", "FALSE", "NULL"):
                return Truth({"TRUE": True, "FALSE": False, "NULL": None}[token.text])
        raise unexpected(self._text, token, "a value")

    def _nested(self, token: Token) -> Operand:
        depth = self._depth
        self._deeper(token)
        if token.text == "(":
            operand = self._or()
            self._expect(")")
        else:
            start = self._token
            operand = self._unary()
            if token.text == "NOT":
                operand = Not(self._condition(operand, start))
            elif token.text == "-":
                operand = _negative(operand)
        self._depth = depth
        return operand

    def _deeper(self, token: Token) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise self._fault(token, f"the expression is nested more than {DEPTH_MAX} deep")

    def _integer(self, token: Token) -> Number:
        value = int(token.text.rstrip("lL")) if len(token.text) < 24 else _LONG_MAX + 1
        if value > _LONG_MAX:
            raise self._fault(token, f"{token.text[:40]} is more than a 64-bit number holds ({_LONG_MAX})")
        return Number(value, NumberClass.INT if value <= _INT_MAX else NumberClass.LONG)

    def _float(self, token: Token) -> Number:
        value = float(token.text)
        if not _DOUBLE_MIN <= value <= _DOUBLE_MAX:
            text = f"{token.text[:40]} is not from {_DOUBLE_MIN} to {_DOUBLE_MAX}; for zero write 0"
            raise self._fault(token, text)
        return Number(value, NumberClass.DOUBLE)

    # ---- comparable operands ----

    def _condition(self, operand: Operand, token: Token) -> Condition:
        if isinstance(operand, Condition):
            return operand
        if isinstance(operand, Property):
            return Cast(operand)
        raise self._fault(token, "a condition is expected here, and this is a value")

    def _ordered(self, operand: Operand, token: Token) -> Value:
        if isinstance(operand, Text):
            raise self._fault(token, f"the text '{operand.value[:40]}' cannot be compared by size; write a number")
        if isinstance(operand, Condition):
            raise self._fault(token, "only numbers and properties can be compared by size")
        return operand

    def _not_null(self, operand: Operand, token: Token) -> None:
        if operand == Truth(None):
            raise self._fault(token, "NULL equals nothing; write IS NULL or IS NOT NULL")

    def _same_kind(self, left: Operand, right: Operand, sign: Token) -> None:
        if isinstance(left, Truth) and (isinstance(right, Text) or _is_plain(right)):
            raise self._fault(sign, "TRUE and FALSE cannot be compared with a text or a number")


def _is_plain(operand: Operand) -> TypeGuard[Number]:
    """Whether this is a number constant without a sign."""
    return isinstance(operand, Number) and not operand.signed


def _negative(operand: Operand) -> Value:
    if isinstance(operand, Number):
        return Number(-operand.value, operand.kind, signed=True)
    return NoValue()
