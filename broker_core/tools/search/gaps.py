"""Sentences on what a search could not search: the reasons why its outcome is partial. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Collection

REASONS_MAX = 20
NEAR_NAMES = 3


class Gaps:
    """Collects reasons; the first `REASONS_MAX` are kept word for word, further ones are counted."""

    def __init__(self) -> None:
        self._reasons: dict[str, None] = {}
        self._more = 0

    def add(self, reason: str) -> None:
        """Add a reason; equal ones are kept once."""
        if reason in self._reasons:
            return
        if len(self._reasons) < REASONS_MAX:
            self._reasons[reason] = None
        else:
            self._more += 1

    def reasons(self) -> list[str]:
        more = [f"and {self._more:,} more faults like these"] if self._more else []
        return [*self._reasons, *more]


def unknown_topic(topic: str, known: Collection[str]) -> str:
    """The reason for an unknown topic in a filter, with similar names."""
    near = difflib.get_close_matches(topic, known, n=NEAR_NAMES, cutoff=0.7)
    hint = f"; near are {', '.join(near)}" if near else ""
    return f"topic {topic} is not known to the name server{hint}"
