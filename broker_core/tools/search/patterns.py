"""Regular expressions of filters, bounded in time.

A matcher tries one way after the other, and a short expression may have so many ways that thirty characters take hours.
Expressions with visible nested repeats are refused; the others end with a time-out, which the library checks while it matches.
It lets other threads run meanwhile, so that a broker that searches continues.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NoReturn

from broker_core.errors import UsageError

if TYPE_CHECKING:
    import regex

PATTERN_CHARACTERS_MAX = 1_000
SEARCH_SECONDS = 2.0
"""For one value of one message; a search of a million of them has no time for more."""
MARK_SECONDS = 0.01
"""For one shown text, while the window waits."""
_REPEATS = "*+"
PARTS_MAX = 200_000
"""Of an expression with its counted repeats written out, as the library does: it compiles so many in a tenth of a second."""
_COUNT = re.compile(r"\{(\d+)(?:,\d*)?\}")
_COUNT_DIGITS_MAX = 9
_OPEN_COUNT = re.compile(r"\{\d*,\}")


class _Pattern:
    """A compiled regular expression; two of the same kind and text are equal."""

    __slots__ = ("_compiled", "pattern")

    def __init__(self, pattern: str) -> None:
        """Compile it; raises `UsageError` when it is no regular expression."""
        self.pattern = pattern
        self._compiled = _compiled(pattern)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and other.pattern == self.pattern

    def __hash__(self) -> int:
        return hash(self.pattern)


class SearchPattern(_Pattern):
    """Searches texts within `SEARCH_SECONDS` each."""

    __slots__ = ()

    def search(self, text: str) -> regex.Match[str] | None:
        """The first match in a text; raises `UsageError` when the expression takes too long on it."""
        try:
            return self._compiled.search(text, timeout=SEARCH_SECONDS)
        except TimeoutError as error:
            raise UsageError(
                f"the regular expression {self.pattern!r} takes more than {SEARCH_SECONDS:g} s on one message of {len(text):,} "
                "characters: it can match in too many ways; write it with fewer repeats and alternatives, or use contains"
            ) from error
        except MemoryError as error:
            raise UsageError(
                f"the regular expression {self.pattern!r} cannot be used: it calls itself without end, as (?R) does"
            ) from error


class MarkPattern(_Pattern):
    """Marks shown text, until it once takes longer than `MARK_SECONDS`."""

    __slots__ = ("_is_given_up",)

    def __init__(self, pattern: str) -> None:
        super().__init__(pattern)
        self._is_given_up = False

    def finditer(self, text: str, start: int = 0, end: int | None = None) -> Iterator[regex.Match[str]]:
        """Matches between two places of a text, up to the one that takes too long."""
        if self._is_given_up:
            return
        try:
            yield from self._compiled.finditer(text, start, end, timeout=MARK_SECONDS)
        except (TimeoutError, MemoryError):  # MemoryError: it calls itself without end
            self._is_given_up = True


def compile_pattern(text: str, fail: Callable[[str], NoReturn]) -> SearchPattern:
    """A compiled pattern; calls ``fail`` with the fault of an unusable one."""
    if len(text) > PATTERN_CHARACTERS_MAX:
        fail(f"the regular expression has {len(text):,} characters; it may have {PATTERN_CHARACTERS_MAX:,}")
    try:
        pattern = SearchPattern(text)
    except UsageError as error:
        fail(error.message)
    if _has_nested_repeat(text):
        fail(
            "the regular expression has a repeat inside a repeat, such as (a+)+, which can take for ever; write it with one "
            "repeat, such as a+"
        )
    return pattern


def compile_bounded(text: str) -> regex.Pattern[str]:
    """A compiled expression that is compiled at once: ``((((a{100}){100}){100}){100})`` would take minutes and gigabytes.

    Raises:
        regex.error: It is no regular expression. `OverflowError` and `RecursionError` also mean that.
        ValueError: The same, or it is larger than `PARTS_MAX`.
    """
    import regex

    if _parts_of(text) > PARTS_MAX:
        raise ValueError(f"its counted repeats make more than {PARTS_MAX:,} parts")
    return regex.compile(text)


def _parts_of(text: str) -> int:
    """Characters and classes of an expression with each counted repeat written out."""
    groups, last, position = [0], 0, 0
    while position < len(text):
        character = text[position]
        if character == "(":
            groups.append(0)
            last, position = 0, position + 1
            continue
        if count := _COUNT.match(text, position):
            times = int(count[1][: _COUNT_DIGITS_MAX + 1])
            groups[-1] += last * max(0, times - 1)
            last, position = last * max(1, times), count.end()
            continue
        last = groups.pop() if character == ")" and len(groups) > 1 else 1
        groups[-1] += last
        if character == "[":
            position = _class_end(text, position)
        else:
            position += 2 if character == "\\" else 1
    return sum(groups)


def _compiled(text: str) -> regex.Pattern[str]:
    import regex

    try:
        return compile_bounded(text)
    except (regex.error, ValueError, OverflowError, RecursionError) as error:  # ValueError: flags that contradict each other
        raise UsageError(f"the regular expression cannot be read: {error}") from error


def _has_nested_repeat(text: str) -> bool:
    """Whether a group with an unbounded repeat is itself repeated without bound."""
    groups = [False]
    position = 0
    while position < len(text):
        character = text[position]
        if character == "\\":
            position += 2
            continue
        if character == "[":
            position = _class_end(text, position)
            continue
        if character == "(":
            groups.append(False)
        elif character == ")" and len(groups) > 1:
            inner = groups.pop()
            if inner and _repeats_at(text, position + 1):
                return True
            groups[-1] = groups[-1] or inner
        elif _repeats_at(text, position):
            groups[-1] = True
        position += 1
    return False


def _repeats_at(text: str, position: int) -> bool:
    return text[position : position + 1] in tuple(_REPEATS) or _OPEN_COUNT.match(text, position) is not None


def _class_end(text: str, start: int) -> int:
    """Position after a character class."""
    position = start + 1
    if text[position : position + 1] == "^":
        position += 1
    if text[position : position + 1] == "]":
        position += 1
    while position < len(text) and text[position] != "]":
        position += 2 if text[position] == "\\" else 1
    return position + 1
