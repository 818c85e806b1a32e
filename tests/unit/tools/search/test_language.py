from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import FilterError, error_from_wire
from broker_core.tools.search.expression import (
    ANY_ITEM,
    AnyCondition,
    Comparison,
    EveryCondition,
    Field,
    FieldKind,
    NotCondition,
    Operator,
)
from broker_core.tools.search.language import LIST_VALUES_MAX, NESTING_MAX, TEXT_CHARACTERS_MAX, parse_filter

NOW_MS = 1_700_000_000_000
TOPIC = Field("topic", FieldKind.TEXT)


def parsed(text: str):
    return parse_filter(text, now_ms=NOW_MS)


def equal(field: Field, value) -> Comparison:
    return Comparison(field, Operator.EQUAL, (value,))


def test_the_example_of_the_manual_is_read():
    text = 'topic = "orders" and tag in ("new", "paid") and prop.region = "eu" and body contains "4711" and stored >= -2h'
    assert parsed(text) == EveryCondition(
        (
            equal(TOPIC, "orders"),
            Comparison(Field("tag", FieldKind.TEXT), Operator.IN, ("new", "paid")),
            equal(Field("prop", FieldKind.PROPERTY, prop="region"), "eu"),
            Comparison(Field("body", FieldKind.BODY), Operator.CONTAINS, ("4711",)),
            Comparison(Field("stored", FieldKind.TIME), Operator.GREATER_OR_EQUAL, (NOW_MS - 7_200_000,)),
        )
    )


def test_and_binds_closer_than_or_and_not_closest():
    a, b, c = (equal(TOPIC, name) for name in "abc")
    assert parsed("not topic='a' or topic='b' and topic='c'") == AnyCondition((NotCondition(a), EveryCondition((b, c))))
    assert parsed("NOT (topic='a' OR topic='b') And topic='c'") == EveryCondition((NotCondition(AnyCondition((a, b))), c))


@pytest.mark.parametrize(
    ("text", "field", "value"),
    [
        ("queue = -3", Field("queue", FieldKind.INTEGER), -3),
        ("size = 10KB", Field("size", FieldKind.SIZE), 10_240),
        ("body_bytes = '1.5MiB'", Field("body_bytes", FieldKind.SIZE), 1_572_864),
        ("born = 1700000000123", Field("born", FieldKind.TIME), 1_700_000_000_123),
        ("stored = 2023-11-14T22:13:20.123Z", Field("stored", FieldKind.TIME), 1_700_000_000_123),
        ("stored = '2023-11-14 23:13:20,1239+0100'", Field("stored", FieldKind.TIME), 1_700_000_000_123),
        ("stored = -1h30m", Field("stored", FieldKind.TIME), NOW_MS - 5_400_000),
        ("state = half", Field("state", FieldKind.STATE), "half"),
        ('state = "half"', Field("state", FieldKind.STATE), "half"),
        ("prop.a.b-c%1 = 5", Field("prop", FieldKind.PROPERTY, prop="a.b-c%1"), 5),
        ("prop.'a b' = 1.5e3", Field("prop", FieldKind.PROPERTY, prop="a b"), Decimal(1_500)),
        ("body.a = 0.10", Field("body", FieldKind.JSON, path=("a",)), Decimal("0.1")),
        (f"body.a = {'9' * 400}.5", Field("body", FieldKind.JSON, path=("a",)), Decimal("9" * 400 + ".5")),
        ("body = ''", Field("body", FieldKind.BODY), ""),
        ("body.a[2].'x y'[*] = true", Field("body", FieldKind.JSON, path=("a", 2, "x y", ANY_ITEM)), True),
        ("body[0] = null", Field("body", FieldKind.JSON, path=(0,)), None),
        ("body.城市 = '杭州'", Field("body", FieldKind.JSON, path=("城市",)), "杭州"),
        (r"""topic = "a\"b\\c\d" """, TOPIC, r'a"b\c\d'),
    ],
)
def test_fields_and_values(text, field, value):
    found = parsed(text)
    assert found == equal(field, value)
    assert type(found.values[0]) is type(value)


def test_true_and_one_are_different_filters():
    assert parsed("body.a = true").values[0] is True
    assert parsed("body.a = 1").values[0] == 1


@pytest.mark.parametrize(
    ("text", "position", "length", "words"),
    [
        ("", 0, 0, "empty"),
        ("  ", 0, 0, "empty"),
        ('topik = "x"', 0, 5, "did you mean topic"),
        ('xyzzy = "x"', 0, 5, "fields are topic"),
        ("topic = ", 8, 0, "expected a value, found the end"),
        ('topic "x"', 6, 3, "expected =, !="),
        ('topic == "x"', 7, 1, "expected a value"),
        ("topic = 'x", 8, 2, "no closing quote"),
        ('size contains "x"', 5, 8, "size is a size"),
        ('state > "half"', 6, 1, "=, != or in"),
        ("queue = 1.5", 8, 3, "a whole number"),
        ("stored > soon", 9, 4, "-15m"),
        ("stored > 2023-13-01", 9, 10, "a time"),
        ("size > 3XB", 7, 3, "10KB"),
        ("state = lost", 8, 4, "normal, delayed"),
        ("tag = paid", 6, 4, "text in quotes"),
        ("tag ~ 5", 6, 1, "a regular expression in quotes"),
        ('body ~ "(a"', 7, 4, "cannot be read"),
        ('body ~ "(a+)+"', 7, 7, "for ever"),
        ("body.a < true", 7, 1, "no order"),
        ("prop = 3", 0, 4, "name of a property"),
        ("prop[1] = 3", 0, 4, "name of a property"),
        ("topic = 'a' topic", 12, 5, "“and”, “or” or the end"),
        ("(topic = 'a'", 12, 0, "“)”"),
        ("topic in ('a' 'b')", 14, 3, "“)”"),
        ("topic in 'a'", 9, 3, "“(”"),
        ("and", 0, 3, "expected a field"),
        ("topic = 'a' and $", 16, 1, "“$”"),
        ('body."x', 5, 2, "no closing quote"),
    ],
)
def test_a_fault_is_named_with_its_place(text, position, length, words):
    with pytest.raises(FilterError) as caught:
        parsed(text)
    error = caught.value
    assert words in error.message
    assert error.message.startswith(f"at character {position + 1}: ")
    assert (error.context["position"], error.context["length"]) == (position, length)
    assert error.exit_code == 2
    again = error_from_wire(error.kind, error.message, error.context)
    assert (type(again), again.context) == (FilterError, error.context)


@pytest.mark.parametrize(
    "text",
    [
        "not " * (NESTING_MAX + 1) + "queue = 1",
        "(" * (NESTING_MAX + 1) + "queue = 1" + ")" * (NESTING_MAX + 1),
        f"queue in ({', '.join(['1'] * (LIST_VALUES_MAX + 1))})",
        f"topic = '{'x' * TEXT_CHARACTERS_MAX}'",
        f"body ~ '{'x' * 2_000}'",
    ],
)
def test_what_is_too_large_is_refused(text):
    with pytest.raises(FilterError):
        parsed(text)


WORDS = [
    "topic",
    "body",
    ".a",
    "prop",
    "'x'",
    '"',
    "(",
    ")",
    ",",
    "=",
    "!=",
    "~",
    "in",
    "contains",
    "and",
    "or",
    "not",
    "5",
    "-2h",
    "[*]",
    "[",
    "\\",
]
PIECES = st.sampled_from(WORDS)


@given(st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=20).map(" ".join), st.lists(PIECES, max_size=20).map("".join)))
def test_any_text_is_a_filter_or_a_fault_with_a_place_in_it(text):
    place = place_of_fault(text)
    assert 0 <= place[0] <= sum(place) <= len(text)


def place_of_fault(text: str) -> tuple[int, int]:
    try:
        parsed(text)
    except FilterError as error:
        return error.context["position"], error.context["length"]
    return 0, 0
