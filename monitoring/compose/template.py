"""Variables in composed messages: ``${n}`` and others, replaced for each message.

    ${n}            number of the message, from 1          ${n:6}          the same with zeros in front, here 000001
    ${uuid}         a random UUID                          ${random:1-9}   a whole number from 1 to 9
    ${now}          milliseconds since the epoch           ${now:iso}      the same as 2026-11-21T10:15:02.640Z
    ${pick:a|b|c}   one of the words                       $${             the characters ${

Other text stays unchanged. ``${`` without a known variable is refused with its position, so no message is sent with a typing
error.
"""

from __future__ import annotations

import random
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass

from broker_core.api import UsageError, utc_text

VARIABLES = ("${n}", "${n:6}", "${uuid}", "${now}", "${now:iso}", "${random:1-9}", "${pick:a|b}")
DIGITS_MAX = 20

_PLACE = re.compile(r"\$\$\{|\$\{([^{}]*)\}?")
_RANGE = re.compile(r"(-?\d{1,18})-(-?\d{1,18})")


class TemplateError(UsageError):
    """A variable is invalid; ``context`` has its ``position`` and ``length``, in characters."""


@dataclass(frozen=True, slots=True)
class Moment:
    """The values for the variables of one message."""

    number: int
    """From 1."""
    now_ms: int
    chance: random.Random


Piece = str | Callable[[Moment], str]


class Template:
    """A text with variables, parsed once and filled in often; a `TemplateError` says where ``${`` begins no known variable."""

    def __init__(self, text: str) -> None:
        self._pieces = tuple(_pieces(text))

    @property
    def varies(self) -> bool:
        return any(not isinstance(piece, str) for piece in self._pieces)

    def fill(self, moment: Moment) -> str:
        return "".join(piece if isinstance(piece, str) else piece(moment) for piece in self._pieces)


def _pieces(text: str) -> list[Piece]:
    found: list[Piece] = []
    at = 0
    for place in _PLACE.finditer(text):
        found.append(text[at : place.start()])
        found.append("${" if place[1] is None else _variable(place))
        at = place.end()
    return [*found, text[at:]]


def _variable(place: re.Match[str]) -> Piece:
    name, _, rest = place[1].partition(":")
    made = _MADE[name](rest) if name in _MADE and place[0].endswith("}") else None
    if made is None:
        raise TemplateError(
            f"{place[0]} is no variable; there are {', '.join(VARIABLES)}; for the characters themselves write $${{",
            position=place.start(),
            length=len(place[0]),
        )
    return made


def _number(rest: str) -> Piece | None:
    if not rest:
        return lambda moment: str(moment.number)
    digits = int(rest) if rest.isdecimal() and len(rest) <= 2 else 0
    return (lambda moment: f"{moment.number:0{digits}d}") if 1 <= digits <= DIGITS_MAX else None


def _uuid(rest: str) -> Piece | None:
    return None if rest else lambda moment: str(uuid.UUID(int=moment.chance.getrandbits(128), version=4))


def _now(rest: str) -> Piece | None:
    return {"": lambda moment: str(moment.now_ms), "iso": lambda moment: utc_text(moment.now_ms)}.get(rest)


def _random(rest: str) -> Piece | None:
    bounds = _RANGE.fullmatch(rest)
    if bounds is None or (low := int(bounds[1])) > (high := int(bounds[2])):
        return None
    return lambda moment: str(moment.chance.randint(low, high))


def _pick(rest: str) -> Piece | None:
    words = rest.split("|")
    return (lambda moment: moment.chance.choice(words)) if rest else None


_MADE: dict[str, Callable[[str], Piece | None]] = {
    "n": _number,
    "uuid": _uuid,
    "now": _now,
    "random": _random,
    "pick": _pick,
}
