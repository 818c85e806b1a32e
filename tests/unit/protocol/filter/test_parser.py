"""SQL92 filters: grammar and what may be compared."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import FilterSyntaxError
from broker_core.protocol.filter.expression import (
    And,
    Cast,
    Equal,
    In,
    IsNull,
    Not,
    Number,
    NumberClass,
    Or,
    Order,
    Property,
    Text,
    Truth,
)
from broker_core.protocol.filter.parser import DEPTH_MAX, parse_filter

A, B = Property("a"), Property("b")
ONE = Number(1, NumberClass.INT)


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1", Equal(A, ONE)),
        ("a <> 'x'", Not(Equal(A, Text("x")))),
        ("NOT a = 1", Equal(Not(Cast(A)), ONE)),
        ("NOT (a = 1)", Not(Equal(A, ONE))),
        ("a", Cast(A)),
        ("a OR b AND TRUE", Or((Cast(A), And((Cast(B), Truth(True)))))),
        ("a is not null", Not(IsNull(A))),
        ("a BETWEEN 1 AND 2147483648", And((Order(">=", A, ONE), Order("<=", A, Number(2147483648, NumberClass.LONG))))),
        ("a NOT BETWEEN 1 AND 1", Or((Order("<", A, ONE), Order(">", A, ONE)))),
        ("a NOT IN ('x', 'y')", In(A, frozenset("xy"), negated=True)),
        ("a = - 1.5", Equal(A, Number(-1.5, NumberClass.DOUBLE, signed=True))),
        ("contains = 1", Equal(Property("contains"), ONE)),
    ],
)
def test_trees(text, tree):
    assert parse_filter(text) == tree


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 0, "the expression ends where a value is expected"),
        ("a = 1 b", 6, "“b” stands where the end of the expression is expected"),
        ("a = 1)", 5, "the end of the expression"),
        ("a + 1 = 2", 2, "the end of the expression"),
        ("a LIKE 'x'", 2, "“LIKE” stands"),
        ("(a = 1", 6, "the expression ends where ) is expected"),
        ("a IN (5)", 6, "a text in quotes"),
        ("a IN ()", 6, "a text in quotes"),
        ("5 IN ('5')", 0, "IN asks for a property"),
        ("a > '4'", 4, "cannot be compared by size"),
        ("a > TRUE", 4, "only numbers and properties"),
        ("(a = 1) < 5", 0, "only numbers and properties"),
        ("a = NULL", 4, "write IS NULL"),
        ("NULL <> a", 0, "write IS NULL"),
        ("a BETWEEN 5 AND 1", 10, "BETWEEN 5 AND 1 holds for nothing"),
        ("a BETWEEN NULL AND 1", 10, "only numbers and properties"),
        ("a = 9223372036854775808", 4, "64-bit"),
        ("a = " + "9" * 5_000, 4, "64-bit"),
        ("a = 0.0", 4, "for zero write 0"),
        ("a = 1e400", 4, "5e-324"),
        ("5", 0, "a condition is expected"),
        ("a = 1 AND 'x'", 10, "a condition is expected"),
        ("NOT 5", 4, "a condition is expected"),
        ("a NOT = 5", 2, "“NOT” stands"),
        ("TRUE = 5", 5, "TRUE and FALSE"),
        ("a CONTAINS 5", 11, "a text in quotes"),
    ],
)
def test_faults_are_told_with_place_and_reason(text, position, words):
    with pytest.raises(FilterSyntaxError) as caught:
        parse_filter(text)
    assert words in caught.value.message
    assert caught.value.context["position"] == position


@pytest.mark.parametrize("text", ["(" * 900 + "a" + ")" * 900, "NOT " * 900 + "a", "- " * 900 + "1 = a", "a" + " = a" * 900])
def test_nesting_is_bounded(text):
    with pytest.raises(FilterSyntaxError, match=f"more than {DEPTH_MAX} deep"):
        parse_filter(text)


def test_long_chains_are_not_nested():
    assert len(parse_filter(" OR ".join(f"a = {number}" for number in range(2_000))).operands) == 2_000


WORD_LIST = "a b 'x' '' 5 0 1.5 TRUE false NULL = <> < <= > >= ( ) , + - AND OR NOT BETWEEN IN IS -- /* */ CONTAINS 'y ä"
WORDS = st.sampled_from(WORD_LIST.split())


@given(st.one_of(st.lists(WORDS, max_size=30).map(" ".join), st.text(max_size=60)))
def test_any_text_is_read_or_refused_with_a_place_in_it(text):
    position = 0
    try:
        parse_filter(text)
    except FilterSyntaxError as error:
        position = error.context["position"]
    assert 0 <= position <= len(text)
