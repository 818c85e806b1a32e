from __future__ import annotations

import pytest

from broker_core.errors import UsageError
from broker_core.tools.search import patterns
from broker_core.tools.search.patterns import MarkPattern, SearchPattern, compile_pattern
from monitoring.payload.judging import compiled, judged


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


@pytest.mark.parametrize("text", ["(", "a{2,1}", "[b-a]", "x" * 1_001, "(?P<1a>x)", "(?V0)(?V1)x", "a{99999999999999999999}"])
def test_what_is_no_pattern_is_refused(text):
    with pytest.raises(RefusedError):
        compile_pattern(text, refuse)


@pytest.mark.parametrize("text", ["(a|aa)+$", "(a|a?)+$"])
def test_a_pattern_that_takes_for_ever_on_a_message_ends_with_what_to_do(monkeypatch, text):
    monkeypatch.setattr(patterns, "SEARCH_SECONDS", 0.05)
    pattern = compile_pattern(text, refuse)
    assert pattern.search("xaa") is not None
    with pytest.raises(UsageError, match=r"on one message of 5,001 characters: .* or use contains"):
        pattern.search("a" * 5_000 + "c")


@pytest.mark.parametrize(
    "text", ["((((a{100}){100}){100}){100})", "a{100000000}", "(?:a{1000}|b){1000}", "[a-z]{9999}" * 30, r"(\w{9999}){9999,}"]
)
def test_counted_repeats_that_take_long_to_compile_are_refused(text):
    with pytest.raises(UsageError, match="its counted repeats make more than 200,000 parts"):
        SearchPattern(text)
    with pytest.raises(ValueError, match="counted repeats"):
        compiled(text)


@pytest.mark.parametrize(
    "text", [r"\d{1000}", "[{]{3}[}]", r"\{100000000}", "(?:[0-9a-f]{2}:){5}", "a{2,}(b{3}c{4}){100}", "{5"]
)
def test_counted_repeats_of_a_usual_size_are_compiled(text):
    assert SearchPattern(text).pattern == text


@pytest.mark.parametrize("text", ["(?R)", "(?(DEFINE)(?<q>(?&q)))(?&q)"])
def test_an_expression_that_calls_itself_without_end_is_refused_or_marks_nothing(text):
    with pytest.raises(UsageError, match="calls itself without end"):
        SearchPattern(text).search("aaa")
    assert list(MarkPattern(text).finditer("aaa")) == []
    assert judged((text,), "aaa", 1.0) is None
