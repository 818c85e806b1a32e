"""Regular expressions of filters: compiled, and refused where a short text could keep the search busy for ever.

Python's matcher tries one way after the other. A repeat without bound inside a repeat without bound has so many ways that
thirty characters can take hours, and nothing can interrupt it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import NoReturn

PATTERN_CHARACTERS_MAX = 1_000
_REPEATS = "*+"
_OPEN_COUNT = re.compile(r"\{\d*,\}")


def compile_pattern(text: str, fail: Callable[[str], NoReturn]) -> re.Pattern[str]:
    """A compiled pattern; ``fail`` is called with what is wrong with one that cannot be used."""
    if len(text) > PATTERN_CHARACTERS_MAX:
        fail(f"the regular expression has {len(text):,} characters; it may have {PATTERN_CHARACTERS_MAX:,}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # about what a later Python may read otherwise
            pattern = re.compile(text)
    except (re.error, OverflowError, RecursionError) as error:
        fail(f"the regular expression cannot be read: {error}")
    if _has_nested_repeat(text):
        fail(
            "the regular expression has a repeat inside a repeat, such as (a+)+, which can take for ever; write it with one "
            "repeat, such as a+"
        )
    return pattern


def _has_nested_repeat(text: str) -> bool:
    """Whether a group with a repeat without bound is itself repeated without bound."""
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
    """Position behind a character class."""
    position = start + 1
    if text[position : position + 1] == "^":
        position += 1
    if text[position : position + 1] == "]":
        position += 1
    while position < len(text) and text[position] != "]":
        position += 2 if text[position] == "\\" else 1
    return position + 1
