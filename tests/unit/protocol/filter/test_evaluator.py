"""SQL92 filters: values, conversions, three-valued logic; cases recorded from RocketMQ 4.9.4's own parser."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import FilterSyntaxError
from broker_core.protocol.filter.evaluator import compile_filter

RECORDED = json.loads(Path(__file__).with_name("recorded.json").read_text("utf-8"))
WORDS = {True: "true", False: "false", None: "null"}


def outcome(text, properties):
    try:
        return WORDS[compile_filter(text).evaluate(properties)]
    except FilterSyntaxError:
        return "parse"
    except ValueError:
        return "error"


def test_every_recorded_case_ends_as_in_rocketmq():
    assert len(RECORDED) > 200
    assert [row for row in RECORDED if outcome(row[0], row[1]) != row[2]] == []


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("a > 4 AND name = 'x'", True),
        ("a BETWEEN 1 AND 5", True),
        ("b <> 'k'", False),
        ("b IS NULL OR a > 9", True),
        ("a IN ('5','6')", True),
        ("a", False),
        ("name > 1", False),
        ("a = 5.0", True),
        ("name = 1 OR a = 5", False),
        ("a = 5 OR name = 1", True),
        ("a <> name AND name < 1", False),
        ("TRUE = flag", True),
        ("flag = TRUE", True),
        ("name CONTAINS 'x'", True),
        ("name NOT CONTAINS 'x'", False),
        ("long STARTSWITH 'ab' AND long ENDSWITH 'yz'", True),
        ("long STARTSWITH ''", False),
        ("b STARTSWITH 'x'", False),
    ],
)
def test_examples(text, matches):
    assert compile_filter(text).matches({"a": "5", "name": "x", "flag": "True", "long": "ab-yz"}) is matches


@pytest.mark.parametrize(
    ("value", "constant", "expected"),
    [
        ("2147483648", "5", "error"),  # more than an int holds
        ("2147483648", "2147483649", "false"),  # read as long
        ("+5", "5", "true"),
        (" 5", "5", "error"),
        (" 5 ", "5.0", "true"),  # a double may have space around
        ("5d", "5.0", "true"),
        ("0x1.4p2", "5.0", "true"),
        ("5_0", "50", "error"),
        ("NaN", "5.0", "false"),
        ("inf", "5.0", "error"),
        ("1e999", "5.0", "false"),
        ("-0x1p9999", "5.0", "false"),
        ("9" * 5_000, "5", "error"),
        ("٥", "5", "true"),  # Java reads digits of any script
        ("true", "TRUE", "true"),
        ("yes", "TRUE", "false"),
    ],
)
def test_a_property_is_read_as_the_constant_demands(value, constant, expected):
    assert outcome(f"a = {constant}", {"a": value}) == expected


@pytest.mark.parametrize("value", ["0" * 300_000 + "!", "0x" + "f" * 300_000 + "!", "." + "9" * 300_000 + "!"])
def test_a_long_text_that_is_no_number_is_read_once(value):
    """The square of its length would be hours."""
    assert not compile_filter("a > 1.5").matches({"a": value})


def test_not_a_number_is_the_greatest_and_minus_zero_less_than_zero():
    assert outcome("a > b", {"a": "NaN", "b": "Infinity"}) == "true"
    assert outcome("a >= b", {"a": "NaN", "b": "NaN"}) == "true"
    assert outcome("a < b", {"a": "-0.0", "b": "0.0"}) == "true"


def test_a_filter_knows_its_properties_and_is_compiled_once():
    compiled = compile_filter("a = 1 AND (b IS NULL OR NOT c) AND d IN ('x') AND a < e AND f CONTAINS 'x'")
    assert compiled.names == {"a", "b", "c", "d", "e", "f"}
    assert compile_filter(compiled.text) is compiled


# ---- against a plain evaluator ----

NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from(["1", "2", "3", "x", "-1", "2.5"])


def comparison(name, sign, number):
    return f"{name} {sign} {number}", (sign, name, number)


LEAVES = st.one_of(
    st.builds(comparison, NAMES, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), st.integers(0, 4)),
    NAMES.map(lambda name: (f"{name} IS NULL", ("null", name))),
    st.tuples(NAMES, st.sets(VALUES, min_size=1)).map(
        lambda item: (f"{item[0]} IN ({', '.join(repr(text) for text in sorted(item[1]))})", ("in", *item))
    ),
)


def grown(inner):
    both = st.tuples(inner, inner)
    return st.one_of(
        inner.map(lambda item: (f"NOT ({item[0]})", ("not", item[1]))),
        both.map(lambda pair: (f"({pair[0][0]}) AND ({pair[1][0]})", ("and", pair[0][1], pair[1][1]))),
        both.map(lambda pair: (f"({pair[0][0]}) OR ({pair[1][0]})", ("or", pair[0][1], pair[1][1]))),
    )


def plain(node, properties):
    """Value by the book: Kleene's logic with None; raises ValueError where a text is no number."""
    kind = node[0]
    if kind == "null":
        return node[1] not in properties
    if kind == "not":
        value = plain(node[1], properties)
        return None if value is None else not value
    if kind in ("and", "or"):
        deciding = kind == "or"
        left = plain(node[1], properties)
        if left is deciding:
            return deciding
        right = plain(node[2], properties)
        if right is deciding:
            return deciding
        return None if None in (left, right) else not deciding
    value = properties.get(node[1])
    if value is None:
        return None
    if kind == "in":
        return value in node[2]
    number, constant = int(value), node[2]
    return {
        "=": number == constant, "<>": number != constant, "<": number < constant, "<=": number <= constant,
        ">": number > constant, ">=": number >= constant,
    }[kind]  # fmt: skip


@given(st.recursive(LEAVES, grown, max_leaves=12), st.dictionaries(NAMES, VALUES))
def test_any_filter_has_the_value_of_a_plain_evaluation(filter_, properties):
    text, node = filter_
    try:
        expected = WORDS[plain(node, properties)]
    except ValueError:
        expected = "error"
    assert outcome(text, properties) == expected
    assert compile_filter(text).matches(properties) is (expected == "true")
