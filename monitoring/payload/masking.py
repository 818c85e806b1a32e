"""Masking of values at given paths, and of text that matches given expressions, before anything is displayed or copied.

A rule is either a path into a structured body (``customer.card``, ``items.*.iban``; ``*`` is any name or index, ``**`` any
number of them) or a regular expression for text and numbers, whose first group, or whole match, is masked. The mask has a
fixed length. Values that cannot be judged are masked as well.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import regex

from broker_core.api import UsageError, members_of, object_of
from monitoring.payload.judging import JUDGE_SECONDS, MASK, Judging, compiled, judged

_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class MaskRules:
    """Paths and expressions to mask, else a `UsageError`. Without a judge each text may take `JUDGE_SECONDS`."""

    paths: tuple[str, ...] = ()
    expressions: tuple[str, ...] = ()
    judge: Judging | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        for path in self.paths:
            if not all(path.split(".")):
                raise UsageError(f"“{path}” is no path: write names with dots between them, as in customer.card", path=path)
        for expression in self.expressions:
            try:
                compiled(expression)
            except (regex.error, ValueError, OverflowError, RecursionError) as error:
                raise UsageError(
                    f"the expression {expression} cannot be read: {error}",
                    position=getattr(error, "pos", None),
                    expression=expression,
                ) from error

    def __bool__(self) -> bool:
        return bool(self.paths or self.expressions)

    def within(self, names: Sequence[str]) -> MaskRules | None:
        """The rules below a place of a structure, where ``*`` is any index of a list; None: all of it is masked."""
        paths: Sequence[Sequence[str]] = [path.split(".") for path in self.paths]
        for name in names:
            if _hides_all(paths):
                return None
            paths = _inside(paths, name)
        return (
            None if _hides_all(paths) else MaskRules(tuple(dict.fromkeys(map(".".join, paths))), self.expressions, self.judge)
        )

    def judged_by(self, judge: Judging) -> MaskRules:
        """The same rules with the time limits of a judge."""
        return replace(self, judge=judge)

    def mask_text(self, text: str) -> str:
        """Text with the matches masked; a single mask if it timed out."""
        if not self.expressions or not text:
            return text
        if self.judge is not None:
            return self.judge.masked(self.expressions, text)
        found = judged(self.expressions, text, JUDGE_SECONDS)
        return MASK if found is None else found

    def mask_value(self, value: object) -> object:
        """A structured body with paths and matches masked; a copy if something was masked."""
        return self._mask(value, [path.split(".") for path in self.paths], 0)

    def _mask(self, value: object, paths: Sequence[Sequence[str]], depth: int) -> object:
        if _hides_all(paths) or depth > _DEEPEST:
            return MASK
        if isinstance(value, dict):
            return self._mask_members(value, paths, depth)
        if isinstance(value, list):
            return [self._mask(item, _inside(paths, str(place)), depth + 1) for place, item in enumerate(value)]
        if isinstance(value, int | float) and not isinstance(value, bool):
            text = str(value)
            shown = self.mask_text(text)
            return value if shown == text else shown
        return self.mask_text(value) if isinstance(value, str) else value

    def _mask_members(self, value: dict[Any, Any], paths: Sequence[Sequence[str]], depth: int) -> dict[str, Any]:
        """Members with equal masked names are numbered, so that they can be told apart."""
        made: list[tuple[Any, Any]] = []
        alike: Counter[str] = Counter()
        for name, item in members_of(value):
            shown: object = self.mask_text(str(name))
            if shown == str(name):
                shown = name
            else:
                alike[str(shown)] += 1
                shown = shown if alike[str(shown)] == 1 else f"{shown} {alike[str(shown)]}"
            made.append((shown, self._mask(item, _inside(paths, str(name)), depth + 1)))
        return object_of(made)


def united(masks: Iterable[MaskRules]) -> MaskRules:
    """The union of several rules."""
    found = list(masks)
    paths = dict.fromkeys(path for mask in found for path in mask.paths)
    return MaskRules(tuple(paths), tuple(dict.fromkeys(text for mask in found for text in mask.expressions)))


HIDE_ALL: Final = MaskRules(("**",), ("(?s).+",))
"""Masks everything, for bodies whose rules are unknown."""


def _hides_all(paths: Sequence[Sequence[str]]) -> bool:
    return any(not path or list(path) == ["**"] for path in paths)


def _inside(paths: Sequence[Sequence[str]], name: str) -> list[Sequence[str]]:
    """The rest of the paths below a member."""
    left: list[Sequence[str]] = []
    for path in paths:
        head, rest = path[0], path[1:]
        if head == "**":
            left.append(path)
            if rest and (rest[0] in (name, "*") or (name == "*" and rest[0].isdecimal())):
                left.append(rest[1:])
        elif head in (name, "*") or (name == "*" and head.isdecimal()):
            left.append(rest)
    return left
