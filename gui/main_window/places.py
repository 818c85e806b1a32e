"""The history of places for Back and Forward. Uses no widget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PLACES_MAX = 100
_SUBJECTS = {"topic": "topic", "consumers": "group"}
"""Argument with the name of what a page is about."""


@dataclass(frozen=True, slots=True)
class PagePlace:
    """A page and the arguments it was opened with."""

    page_id: str
    arguments: Mapping[str, object] = field(default_factory=dict)

    @property
    def subject(self) -> str:
        """The topic or group that the page is about, by whose name its tab is called; empty for none."""
        name = self.arguments.get(_SUBJECTS.get(self.page_id, ""))
        return name if isinstance(name, str) else ""


class PlaceTrail:
    """The places that were visited, at most `PLACES_MAX`, and which of them is current."""

    def __init__(self) -> None:
        self._places: list[PagePlace] = []
        self._current = -1

    @property
    def current(self) -> PagePlace | None:
        return self._places[self._current] if self._current >= 0 else None

    @property
    def can_go_back(self) -> bool:
        return self._current > 0

    @property
    def can_go_forward(self) -> bool:
        return self._current < len(self._places) - 1

    def visit(self, place: PagePlace) -> None:
        """Go to a place and drop those ahead. The same place twice in a row counts once."""
        if place == self.current:
            return
        del self._places[self._current + 1 :]
        self._places.append(place)
        del self._places[:-PLACES_MAX]
        self._current = len(self._places) - 1

    def back(self) -> PagePlace | None:
        """Make the previous place current; None at the start."""
        if not self.can_go_back:
            return None
        self._current -= 1
        return self._places[self._current]

    def forward(self) -> PagePlace | None:
        """Make the next place current; None at the end."""
        if not self.can_go_forward:
            return None
        self._current += 1
        return self._places[self._current]
