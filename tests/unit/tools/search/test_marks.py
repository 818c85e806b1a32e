"""What a filter looks for in texts."""

from __future__ import annotations

import pytest

from broker_core.tools.search.language import parse_filter
from broker_core.tools.search.marks import Marks, marks_of


def found(pattern, text):
    return [] if pattern is None else [match[0] for match in pattern.finditer(text)]


def marks(text):
    return marks_of(parse_filter(text, now_ms=0))


def test_each_field_has_its_own_texts():
    made = marks('body contains "杭州" and tag in ("PAID", "NEW") and key = "SO-1" and topic = "orders" and prop.region = "eu"')
    assert found(made.body, "在杭州的") == ["杭州"]
    assert found(made.tag, "NEW PAID") == ["NEW", "PAID"]
    assert found(made.key, "SO-1 SO-2") == ["SO-1"]
    assert found(made.topic, "orders") == ["orders"]
    assert found(made.properties, "eu") == ["eu"]
    assert made.is_literal


def test_special_characters_are_meant_as_they_are_and_longer_texts_win():
    made = marks('body contains "a.b" or body contains "a.b*c"')
    assert found(made.body, "a.b*c axb a.b") == ["a.b*c", "a.b"]


def test_regular_expressions_are_marked_with_the_rest():
    made = marks('body ~ "SO-[0-9]+" and body.city = "x|y"')
    assert found(made.body, "SO-17 and x|y") == ["SO-17", "x|y"]
    assert not made.is_literal


@pytest.mark.parametrize(
    ("pattern", "texts"),
    [("(?i)so-[0-9]+", ["SO-17", "x|y"]), ("(?i)(?s)so.17", ["SO-17", "x|y"]), ("(?x)SO-1 # so", ["SO-1", "x|y"])],
)
def test_flags_of_an_expression_are_those_of_its_part_only(pattern, texts):
    made = marks(f'body ~ "{pattern}" or body contains "x|y"')
    assert found(made.body, "SO-17 X|Y x|y") == texts


def test_numbers_of_json_are_marked_whole():
    assert found(marks("body.amount = 12").body, "12 112 12.5 3.12 120 {12}") == ["12", "12"]


@pytest.mark.parametrize(
    "text",
    ['not body contains "x"', 'tag != "x"', "queue = 3", "stored >= -2h", "body.a > 3", "body.a = true", 'not (tag = "x")'],
)
def test_what_is_denied_or_no_text_marks_nothing(text):
    made = marks(text)
    assert (made.body, made.tag, made.key) == (None, None, None)


def test_what_is_denied_twice_is_marked():
    assert found(marks('not tag != "x"').tag, "axb") == ["x"]


def test_expressions_that_name_a_group_alike_are_marked_both():
    made = marks('body ~ "(?P<a>x)" and body ~ "(?P<a>y)"')
    assert (found(made.body, "xyz"), made.is_literal) == (["x", "y"], False)


def test_expressions_that_do_not_go_together_mark_nothing():
    assert marks('body ~ "(?V0)x" and body ~ "(?V1)y"') == Marks(is_literal=False)


def test_what_takes_too_long_is_marked_no_more():
    made = marks('body ~ "(a|aa)+$"')
    assert found(made.body, "aaa") == ["aaa"]
    assert found(made.body, "a" * 5_000 + "b") == []
    assert found(made.body, "aaa") == [], "the window does not wait for it again"
