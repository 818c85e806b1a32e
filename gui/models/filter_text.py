"""The text of a filter while it is edited: its pieces, completions and chips. Pure: no widget.

The text may be unfinished or wrong; `broker_core.api.parse_filter` alone decides its meaning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum

from broker_core.api import FILTER_FIELDS, FILTER_OPERATORS, FILTER_STATES, FilterKind, FilterOperator

COMPLETIONS_MAX = 200

_PIECE = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.)*(?:'|$)|"(?:[^"\\]|\\.)*(?:"|$))"""
    r"""|(?P<number>[-+]?\d[\w.:+-]*)"""
    r"""|(?P<word>[^\W\d]\w*(?:\.(?:[^\s.()\[\]"'=!<>~,]+|"[^"]*"?|'[^']*'?)?|\[[^\]]*\]?)*)"""
    r"""|(?P<symbol>!=|<=|>=|[=<>~(),])"""
    r"""|(?P<other>\S)""",
    re.DOTALL,
)
_JOINERS = ("and", "or", "not")
_WORD_OPERATORS = ("contains", "in")
_PLAIN_NAME = re.compile(r"[^\s.()\[\]\"'=!<>~,]+")
_TIMES = ("-15m", "-1h", "-24h", "-7d")
_SIZES = ("1KB", "10KB", "1MB")
_STORED_BOUND = re.compile(r"stored (?:>=|<) \d{10,}")
_ORDER = {operator.value: place for place, operator in enumerate(FilterOperator)}


class PieceKind(Enum):
    """Kind of a piece of the text, which decides its colour."""

    FIELD = "field"
    JOINER = "joiner"
    OPERATOR = "operator"
    TEXT = "text"
    NUMBER = "number"
    BRACKET = "bracket"
    OTHER = "other"


@dataclass(frozen=True, slots=True)
class Piece:
    """A word, literal or symbol, from ``start`` up to ``end``."""

    kind: PieceKind
    text: str
    start: int
    end: int


def pieces(text: str) -> list[Piece]:
    """All pieces, also of a text that is no filter."""
    return [Piece(_kind(found), found[0], found.start(), found.end()) for found in _PIECE.finditer(text)]


def _kind(found: re.Match[str]) -> PieceKind:
    word = found[0].lower()
    match found.lastgroup:
        case "text":
            return PieceKind.TEXT
        case "number":
            return PieceKind.NUMBER
        case "word" if word in _JOINERS:
            return PieceKind.JOINER
        case "word" if word in _WORD_OPERATORS:
            return PieceKind.OPERATOR
        case "word" if word in ("true", "false", "null", *FILTER_STATES):
            return PieceKind.TEXT
        case "word":
            return PieceKind.FIELD
        case "symbol":
            return PieceKind.BRACKET if found[0] in "()," else PieceKind.OPERATOR
    return PieceKind.OTHER


# ---- what may follow ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names of this cluster that completions offer; others are valid too."""

    topics: Sequence[str] = ()
    groups: Sequence[str] = ()
    tags: Sequence[str] = ()
    properties: Sequence[str] = ()
    paths: Sequence[str] = ()
    """Of JSON bodies: ``city``, ``items[0].sku``."""


@dataclass(frozen=True, slots=True)
class Completion:
    """Completions for the text from ``start`` up to ``end``."""

    start: int
    end: int
    words: tuple[str, ...]


def completion(text: str, cursor: int, vocabulary: Vocabulary) -> Completion:
    """Completions at the cursor, those with the typed beginning first."""
    before = [piece for piece in pieces(text[:cursor]) if piece.start < cursor]
    begun = before.pop() if before and before[-1].end == cursor and _can_grow(before[-1]) else None
    typed = begun.text if begun is not None else ""
    offered = _expected(before, vocabulary)
    start = begun.start if begun is not None else cursor
    return Completion(start, cursor, tuple(_ranked(offered, typed)[:COMPLETIONS_MAX]))


def _can_grow(piece: Piece) -> bool:
    if piece.kind is PieceKind.TEXT and piece.text[0] in "'\"":
        return len(piece.text) == 1 or piece.text[-1] != piece.text[0]
    return piece.kind is not PieceKind.BRACKET and not (piece.kind is PieceKind.OPERATOR and not piece.text.isalpha())


def _ranked(offered: Iterable[str], typed: str) -> list[str]:
    wanted = typed.strip("\"'").casefold()
    bare = {word: word.strip("\"'").casefold() for word in dict.fromkeys(offered)}
    first = [word for word, shown in bare.items() if shown.startswith(wanted) and shown != wanted]
    return first + [word for word, shown in bare.items() if wanted in shown and not shown.startswith(wanted)]


def _expected(before: Sequence[Piece], vocabulary: Vocabulary) -> Iterable[str]:
    last = before[-1] if before else None
    if last is None or last.kind is PieceKind.JOINER:
        return _fields(vocabulary)
    in_list = _list_field(before)
    if last.kind is PieceKind.BRACKET:
        if last.text == ")":
            return _JOINERS[:2]
        return _fields(vocabulary) if in_list is None else _values(in_list, vocabulary)
    if last.kind is PieceKind.FIELD:
        return _operators(last.text)
    if last.kind is PieceKind.OPERATOR:
        if last.text.lower() == "in":
            return ("(",)
        field = before[-2].text if len(before) > 1 else ""
        return _values(field, vocabulary)
    return (",", ")") if in_list is not None else _JOINERS[:2]


def _list_field(before: Sequence[Piece]) -> str | None:
    """Field of the list ``in (…`` that is open at the end."""
    for place in range(len(before) - 1, 1, -1):
        if before[place].text == ")":
            return None
        if before[place].text == "(":
            return before[place - 2].text if before[place - 1].text.lower() == "in" else None
    return None


def _fields(vocabulary: Vocabulary) -> list[str]:
    plain = [name for name in FILTER_FIELDS if name != "prop"]
    props = [property_field(name) for name in vocabulary.properties]
    return [*plain, *props, *(f"body.{path}" for path in vocabulary.paths), "prop.", "not"]


def _operators(field: str) -> list[str]:
    kind = FILTER_FIELDS.get(field)
    if field.startswith("prop."):
        kind = FilterKind.PROPERTY
    elif field.startswith(("body.", "body[")):
        kind = FilterKind.JSON
    if kind is None:
        return []
    return sorted((operator.value for operator in FILTER_OPERATORS[kind]), key=_ORDER.__getitem__)


def _values(field: str, vocabulary: Vocabulary) -> list[str]:
    known = {"topic": vocabulary.topics, "group": vocabulary.groups, "tag": vocabulary.tags}
    if field in known:
        return [quoted(name) for name in known[field]]
    kind = FILTER_FIELDS.get(field)
    if kind is FilterKind.STATE:
        return list(FILTER_STATES)
    if kind is FilterKind.TIME:
        return list(_TIMES)
    return list(_SIZES) if kind is FilterKind.SIZE else []


def quoted(text: str) -> str:
    """A text as the language writes it."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def property_field(name: str) -> str:
    return f"prop.{name}" if all(_PLAIN_NAME.fullmatch(part) for part in name.split(".")) else f"prop.{quoted(name)}"


# ---- chips -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Clause:
    """One of the conditions joined by ``and``, from ``start`` up to ``end``."""

    text: str
    start: int
    end: int


def clauses(text: str) -> list[Clause]:
    """The conditions joined by ``and`` on the outermost level; a filter with ``or`` there is one condition."""
    found = pieces(text)
    if not found:
        return []
    outer = _outer_joiners(found)
    if any(piece.text.lower() == "or" for piece in outer):
        return [_clause(text, found[0].start, found[-1].end)]
    cuts = [piece for piece in outer if piece.text.lower() == "and"]
    starts = [found[0].start, *(cut.end for cut in cuts)]
    ends = [*(cut.start for cut in cuts), found[-1].end]
    return [_clause(text, start, end) for start, end in zip(starts, ends, strict=True) if text[start:end].strip()]


def with_brokers(text: str, queue_text: Callable[[int], str]) -> str:
    """A condition as it is shown: the numbers of queues as pages write them, such as ``queue = broker-b 1``."""
    shown, done, is_of_queue = "", 0, False
    for piece in pieces(text):
        is_of_queue = piece.text.lower() == "queue" if piece.kind is PieceKind.FIELD else is_of_queue
        if is_of_queue and piece.text.isdecimal():
            shown, done = shown + text[done : piece.start] + queue_text(int(piece.text)), piece.end
    return shown + text[done:]


def _outer_joiners(found: Sequence[Piece]) -> list[Piece]:
    depth, joiners = 0, []
    for piece in found:
        depth += {"(": 1, ")": -1}.get(piece.text, 0) if piece.kind is PieceKind.BRACKET else 0
        if depth == 0 and piece.kind is PieceKind.JOINER:
            joiners.append(piece)
    return joiners


def _clause(text: str, start: int, end: int) -> Clause:
    part = text[start:end]
    start += len(part) - len(part.lstrip())
    return Clause(part.strip(), start, start + len(part.strip()))


def without(text: str, clause: Clause) -> str:
    return " and ".join(one.text for one in clauses(text) if one != clause)


def narrowed(text: str, condition: str) -> str:
    """The filter with one more condition, unless it has it."""
    parts = clauses(text)
    if any(part.text == condition for part in parts):
        return text
    if any(piece.text.lower() == "or" for piece in _outer_joiners(pieces(text))):
        return f"({text.strip()}) and {condition}"
    return " and ".join([*(part.text for part in parts), condition])


def within_times(text: str, start_ms: int, end_ms: int) -> str:
    """The filter limited to messages stored from ``start_ms`` to ``end_ms`` (exclusive), which replaces a limit that it has."""
    rest = text
    for clause in clauses(text):
        if _STORED_BOUND.fullmatch(clause.text):
            rest = without(rest, next(one for one in clauses(rest) if one.text == clause.text))
    return narrowed(narrowed(rest, f"stored >= {start_ms}"), f"stored < {end_ms}")
