from __future__ import annotations

import json

import pytest

from broker_core.outside import DIGITS_MAX, read_json, whole_of


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("[" * 3_000 + "]" * 3_000, "nested too deeply"),
        ("9" * 5_000, "a number has more than 4,300 digits"),
        ('{"a": -' + "9" * 4_301 + "}", "a number has more than 4,300 digits"),
        ("{", "Expecting property name"),
        (b"\xff\xfe\xff", "codec can't decode"),
    ],
)
def test_json_is_refused_with_the_reason(text, reason):
    with pytest.raises(ValueError, match=reason):
        read_json(text)


def test_json_is_read_and_a_fault_has_its_place():
    assert read_json('{"a": [1, 2.5, "x", null]}') == {"a": [1, 2.5, "x", None]}
    with pytest.raises(json.JSONDecodeError) as raised:
        read_json('{"a":\n}')
    assert raised.value.lineno == 2


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("007", 7), (str(2**63 - 1), 2**63 - 1), (str(2**63), None), ("9" * DIGITS_MAX, None), ("9" * 5_000, None),
     ("²", None), ("٣", None), ("-1", None), ("+1", None), ("1_0", None), (" 1", None), ("", None)],
)  # fmt: skip
def test_a_whole_number_is_ascii_digits_that_fit_64_bits(text, number):
    assert whole_of(text) == number
