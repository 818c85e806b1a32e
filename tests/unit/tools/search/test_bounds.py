from __future__ import annotations

import pytest

from broker_core.tools.search.bounds import (
    EVERYTHING,
    HIGHEST,
    LOWEST,
    Interval,
    Lookup,
    interval_of,
    literal_topics,
    lookups_of,
)
from broker_core.tools.search.language import parse_filter


def parsed(text):
    return parse_filter(text, now_ms=0)


@pytest.mark.parametrize(
    ("text", "bounds"),
    [
        ("offset = 5", (5, 5)),
        ("offset in (7, 3, 5)", (3, 7)),
        ("offset > 5 and offset <= 9", (6, 9)),
        ("offset < 5 or offset >= 3", (LOWEST, HIGHEST)),
        ("offset = 5 or offset = 9", (5, 9)),
        ("offset = 5 or queue = 9", (LOWEST, HIGHEST)),
        ("(offset > 9 and offset < 3) or offset = 4", (4, 4)),
        ("not offset = 5", (LOWEST, HIGHEST)),
        ("offset != 5", (LOWEST, HIGHEST)),
        ("queue = 5", (LOWEST, HIGHEST)),
    ],
)
def test_bounds_of_a_number(text, bounds):
    assert interval_of(parsed(text), "offset") == Interval(*bounds)
    assert (interval_of(parsed(text), "offset") == EVERYTHING) == (bounds == (LOWEST, HIGHEST))


@pytest.mark.parametrize(
    ("text", "lookups"),
    [
        ('key = "a"', {("key", "a")}),
        ('id in ("a", "b") and key = "c"', {("key", "c")}),
        ('key = "a" or id = "b"', {("key", "a"), ("id", "b")}),
        ('key = "a" or tag = "b"', None),
        ('not key = "a"', None),
        ('key != "a"', None),
        ('key contains "a"', None),
        ('queue = 1 and (key = "a" or key = "b")', {("key", "a"), ("key", "b")}),
    ],
)
def test_keys_that_a_match_must_have(text, lookups):
    assert lookups_of(parsed(text)) == (None if lookups is None else {Lookup(*one) for one in lookups})


def test_topics_that_are_named():
    assert literal_topics(parsed('topic = "a" or not (topic in ("b", "c") and topic ~ "d")')) == {"a", "b", "c"}
    assert literal_topics(parsed("queue = 1")) == set()


def test_only_what_has_a_bound_is_widened():
    assert Interval(5, 9).widened(3) == Interval(2, 12)
    assert Interval(low=5).widened(3) == Interval(low=2)
    assert EVERYTHING.widened(3) == EVERYTHING
