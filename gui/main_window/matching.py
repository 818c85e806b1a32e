"""Fuzzy matching for the command palette: pure functions over texts."""

from __future__ import annotations

from dataclasses import dataclass

_WORD_ENDS = " -_.%/@"


@dataclass(frozen=True, slots=True)
class Match:
    """How well a text fits a query, and where."""

    score: float
    """Higher is better."""
    spans: tuple[tuple[int, int], ...]
    """(start, length) of the matching parts, left to right."""


def match(query: str, text: str) -> Match | None:
    """Fit each word of ``query`` somewhere into ``text``, ignoring case; None where one does not fit.

    A word scores most at the start, then at the start of a word, then anywhere, then as scattered letters.
    """
    lowered = text.lower()
    score = 0.0
    spans: list[tuple[int, int]] = []
    for word in query.lower().split():
        found = _whole(word, lowered) or _scattered(word, lowered)
        if found is None:
            return None
        score += found.score
        spans.extend(found.spans)
    return Match(score - len(text) / 1_000, _joined(spans))


def _whole(word: str, text: str) -> Match | None:
    place = text.find(word)
    if place < 0:
        return None
    best, best_score = place, _place_score(text, place)
    while place >= 0:
        if _place_score(text, place) > best_score:
            best, best_score = place, _place_score(text, place)
        place = text.find(word, place + 1)
    return Match(best_score + len(word) / 10, ((best, len(word)),))


def _place_score(text: str, place: int) -> float:
    if place == 0:
        return 10.0
    return 7.0 if text[place - 1] in _WORD_ENDS else 4.0


def _scattered(word: str, text: str) -> Match | None:
    spans: list[tuple[int, int]] = []
    place = -1
    for letter in word:
        place = text.find(letter, place + 1)
        if place < 0:
            return None
        spans.append((place, 1))
    spread = spans[-1][0] - spans[0][0] + 1
    if spread > 3 * len(word):
        return None
    return Match(1.0 + len(word) / spread, tuple(spans))


def _joined(spans: list[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    joined: list[tuple[int, int]] = []
    for start, length in sorted(spans):
        if joined and start <= joined[-1][0] + joined[-1][1]:
            first, before = joined[-1]
            joined[-1] = (first, max(before, start + length - first))
        else:
            joined.append((start, length))
    return tuple(joined)
