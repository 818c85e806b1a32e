from __future__ import annotations

import pytest

from broker_core.search.patterns import compile_pattern


class RefusedError(Exception):
    pass


def refuse(text):
    raise RefusedError(text)


@pytest.mark.parametrize(
    "text", ["", "a+", "(a|b)*c", r"\(a+\)+", "[(a+)]", "(a{2})+", "(a+){3}", "(a+)b+", r"[]a+)]+", "a*b*"]
)
def test_patterns_that_end_soon_are_taken(text):
    assert compile_pattern(text, refuse).pattern == text


@pytest.mark.parametrize("text", ["(a+)+", "(a*)*b", "((a|b)+c?)*", "(a{2,})+", "(a+){2,}", "(?:(x+)y)*", "([a-z]+)*$"])
def test_a_repeat_within_a_repeat_is_refused(text):
    with pytest.raises(RefusedError, match="for ever"):
        compile_pattern(text, refuse)


@pytest.mark.parametrize("text", ["(", "a{2,1}", "[b-a]", "x" * 1_001, "(?P<a>x)(?P<a>y)"])
def test_what_is_no_pattern_is_refused(text):
    with pytest.raises(RefusedError):
        compile_pattern(text, refuse)
