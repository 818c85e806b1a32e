"""JSON that stays as it is written."""

from __future__ import annotations

import json
import pickle
import re
import sys
import threading
import time
import tracemalloc
from decimal import Decimal
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.json_document import (
    INDENTED_LEVELS_MAX,
    WrittenNumber,
    exact_number,
    json_text,
    laid_out_json,
    read_document,
    values_named,
    without_half_pairs,
)

BODY = (
    r'{"a":23958446825181076828,"b":9007199254740993,"c":0.10,"d":12345678901234567890.123,"e":1E400,"f":-0,"g":1.0,"h":1e5,'
    r'"k":1,"k":2,"s":"\ud800 é \u00e9 \/ {,} \" ","t":"😀 \ud83d\ude00","n":[ ],"o":{ },"deep":[[1,[]],{"x":null}]}'
)
BACKSLASHED = r"\n\"\\\u0041 "
TEXT = re.compile(r'("(?:[^"\\]|\\.)*")|\s+')

spaces = st.sampled_from(["".join(parts) for count in range(3) for parts in product(" \t\r\n", repeat=count)])
numbers = st.from_regex(r"-?(0|[1-9][0-9]{0,30})(\.[0-9]{1,20})?([eE][-+]?[0-9]{1,4})?", fullmatch=True)
escapes = st.sampled_from((r"\ud800", r"\udc00", r"\u00e9", r"\/", r"\"", r"\\", r"\n", "é", "😀", " ", "{", "],:", "a"))
texts = st.lists(escapes, max_size=6).map(lambda parts: f'"{"".join(parts)}"')
leaves = st.one_of(numbers, texts, st.sampled_from(("true", "false", "null")))


def inside(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    members = st.tuples(texts, spaces, spaces, values).map(lambda one: f"{one[0]}{one[1]}:{one[2]}{one[3]}")

    def joined(parts: list[str], space: str) -> str:
        return space + f"{space},{space}".join(parts) + space

    return st.one_of(
        st.builds(joined, st.lists(values, max_size=4), spaces).map(lambda text: f"[{text}]"),
        st.builds(joined, st.lists(members, max_size=4), spaces).map(lambda text: f"{{{text}}}"),
    )


documents = st.tuples(spaces, st.recursive(leaves, inside, max_leaves=15), spaces).map("".join)


def without_space(text: str) -> str:
    """The text without what stands between its tokens."""
    return TEXT.sub(lambda found: found[1] or "", text)


@pytest.mark.parametrize("text", ["[" + "1," * 100_000 + "1]", "[" + "[]," * 50_000 + "[]]"])
def test_a_text_is_laid_out_token_by_token(text: str):
    """One search for all tokens would keep other threads waiting, and needs memory for all of them."""
    tracemalloc.start()
    try:
        laid_out = laid_out_json(text)
        assert tracemalloc.get_traced_memory()[1] < 16 * len(laid_out)
    finally:
        tracemalloc.stop()


def test_a_text_of_many_escapes_is_searched_in_parts():
    ends = []

    def count() -> None:
        while not ends:
            turns.append(len(ends))
            time.sleep(0)

    turns: list[int] = []
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    counter = threading.Thread(target=count)
    counter.start()
    try:
        while not turns:
            time.sleep(0)
        known = len(turns)
        text = laid_out_json(f'["{BACKSLASHED * 200_000}"]')
        met = len(turns) - known
    finally:
        ends.append(True)
        counter.join()
        sys.setswitchinterval(before)
    assert text == f'[\n  "{BACKSLASHED * 200_000}"\n]'
    assert met > 20


@given(documents)
def test_only_the_space_between_tokens_changes(text: str):
    shown = laid_out_json(text)

    assert without_space(shown) == without_space(text)
    assert read_document(shown) == read_document(text)
    assert laid_out_json(shown) == shown


@given(documents)
def test_it_is_laid_out_as_pythons_own_writer_does_it(text: str):
    value = json.loads(text, parse_int=float, parse_float=float)
    one = json.dumps(value).replace("Infinity", "1e400")

    assert laid_out_json(one) == json.dumps(value, indent=2).replace("Infinity", "1e400")


@given(documents)
def test_a_value_is_written_with_each_digit_and_each_member(text: str):
    again = json_text(read_document(text))

    assert json_text(read_document(again)) == again
    assert re.findall(r"[-0-9.eE+]{2,}", _bare(again)) == re.findall(r"[-0-9.eE+]{2,}", _bare(text))
    assert again.count(":") >= _bare(text).count(":")
    again.encode()  # no half of a surrogate pair


def _bare(text: str) -> str:
    """Without texts and words, in which there may be anything."""
    return re.sub(r'"(?:[^"\\]|\\.)*"|true|false|null', "x", text)


def test_digits_members_and_escapes_are_kept():
    assert without_space(laid_out_json(BODY)) == without_space(BODY)
    assert json_text(read_document(BODY)) == (
        r'{"a": 23958446825181076828, "b": 9007199254740993, "c": 0.10, "d": 12345678901234567890.123, "e": 1E400, "f": -0, '
        r'"g": 1.0, "h": 1e5, "k": 1, "k": 2, "s": "\ud800 é é / {,} \" ", "t": "😀 😀", "n": [], "o": {}, '
        r'"deep": [[1, []], {"x": null}]}'
    )
    assert values_named(read_document(BODY), "k") == [1, 2]
    assert values_named(read_document(BODY), "nothing") == []


def test_the_indentation_of_deep_values_is_bounded():
    depth = 900
    lines = laid_out_json("[" * depth + "1" + "]" * depth).splitlines()

    assert len(lines) == 2 * depth + 1
    assert max(map(len, lines)) == 2 * INDENTED_LEVELS_MAX + 1
    assert lines[3] == " " * 6 + "["


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[" * 5_000 + "]" * 5_000, "nested too deeply"),
        (f"[{'9' * 4_301}]", "more than 4,300 digits"),
        (f"[0.{'9' * 4_301}]", "more than 4,300 digits"),
        ("[1,]", "column"),
    ],
)
def test_what_cannot_be_read_says_why(text: str, why: str):
    with pytest.raises(ValueError, match=why):
        read_document(text)


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (7, 7), ("007", 7), ("9007199254740993", 9007199254740993), (WrittenNumber("0.10"), Decimal("0.1")),
        ("1e1", Decimal(10)),
        ("1E400", Decimal("1E400")), (WrittenNumber("-0"), 0), (True, None), (None, None), ("x", None), ("1e9999999999", None),
        ("1" * 4_301, None), (WrittenNumber("NaN"), None), (WrittenNumber("-Infinity"), Decimal("-Infinity")), (1.5, None),
    ],
)  # fmt: skip
def test_a_number_is_exact_or_none(value: object, number: int | Decimal | None):
    assert exact_number(value) == number


def test_half_of_a_pair_becomes_its_escape_and_a_pair_stays():
    assert without_half_pairs("a\ud800b\udfff😀é") == r"a\ud800b\udfff😀é"


def test_a_number_keeps_its_text_between_processes():
    assert pickle.loads(pickle.dumps(WrittenNumber("0.10"))).text == "0.10"
