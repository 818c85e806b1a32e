"""Words of a SQL92 filter: text → tokens with their positions (Source: docs/spec/broker.md §9.2).

It knows only the spelling; the parser knows which words may follow each other.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import NamedTuple

from broker_core.errors import FilterSyntaxError

CHARACTERS_MAX = 32_768
"""Bound on the length of an expression."""

_SHOWN_CHARACTERS = 60


class SqlWordKind(Enum):
    STRING = "a text"
    INTEGER = "a whole number"
    FLOAT = "a number"
    NAME = "a name"
    KEYWORD = "a keyword"
    OPERATOR = "an operator"
    END = "the end"


KEYWORDS = frozenset({"AND", "OR", "NOT", "BETWEEN", "IN", "IS", "NULL", "TRUE", "FALSE"})


class Token(NamedTuple):
    """One word of an expression: a keyword in capitals, a text without its quotes; ``position`` counts characters from 0."""

    kind: SqlWordKind
    text: str
    position: int


_SPACE = re.compile(r"(?:[ \t\n\r\f]+|--[^\n\r]*|/\*.*?\*/)+", re.DOTALL)
_TOKEN = re.compile(
    r"""
    (?P<STRING>'(?:[^']|'')*')
    |(?P<FLOAT>[0-9]+\.[0-9]*(?:[eE][+-]?[0-9]+)?|\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+)
    |(?P<INTEGER>0(?![0-9])|[1-9][0-9]*[lL]?)
    |(?P<NAME>[A-Za-z_$][A-Za-z0-9_$]*)
    |(?P<OPERATOR><>|<=|>=|[=<>(),+-])
    """,
    re.VERBOSE,
)


def tokens(text: str) -> list[Token]:
    """Split an expression into its words, the last of kind `SqlWordKind.END`.

    Raises `FilterSyntaxError` when it is too long, or a character belongs to no word.
    """
    if len(text) > CHARACTERS_MAX:
        problem = f"a filter has at most {CHARACTERS_MAX:,} characters, this one {len(text):,}"
        raise FilterSyntaxError(problem, position=CHARACTERS_MAX)
    found: list[Token] = []
    at = 0
    while at < len(text):
        space = _SPACE.match(text, at)
        if space is not None:
            at = space.end()
            continue
        match = _TOKEN.match(text, at)
        if match is None:
            raise syntax_error(text, at, _lexical_fault(text, at))
        found.append(_token(match))
        at = match.end()
    found.append(Token(SqlWordKind.END, "", len(text)))
    return found


def _token(match: re.Match[str]) -> Token:
    kind, word, position = SqlWordKind[str(match.lastgroup)], match[0], match.start()
    if kind is SqlWordKind.STRING:
        return Token(kind, word[1:-1].replace("''", "'"), position)
    if kind is SqlWordKind.NAME and word.upper() in KEYWORDS:
        return Token(SqlWordKind.KEYWORD, word.upper(), position)
    return Token(kind, word, position)


def _lexical_fault(text: str, at: int) -> str:
    if text[at] == "'":
        return "a text has no closing quote"
    if text.startswith("/*", at):
        return "a comment has no end"
    if text[at] == "0":
        return "a whole number does not begin with 0"
    return f"“{text[at]}” has no meaning here"


def syntax_error(text: str, position: int, problem: str) -> FilterSyntaxError:
    """The error for a fault in an expression; its message shows the place."""
    before = text[max(position - _SHOWN_CHARACTERS, 0) : position]
    after = text[position : position + _SHOWN_CHARACTERS]
    return FilterSyntaxError(f"{problem}, at character {position + 1}: {before}⟨here⟩{after}", position=position)


def unexpected(text: str, token: Token, wanted: str) -> FilterSyntaxError:
    """The error for a word where another is expected."""
    found = "the expression ends" if token.kind is SqlWordKind.END else f"“{token.text[:_SHOWN_CHARACTERS]}” stands"
    return syntax_error(text, token.position, f"{found} where {wanted} is expected")
