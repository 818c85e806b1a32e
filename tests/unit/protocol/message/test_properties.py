from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.protocol.message.properties import (
    PROPERTIES_BYTES_MAX,
    SPARE,
    append_properties,
    decode_properties,
    encode_fitting,
    encode_properties,
    find_property,
    number_of,
)

_names = st.text(st.characters(exclude_characters="\x01\x02", exclude_categories=("Cs",)), min_size=1, max_size=12)
_maps = st.dictionaries(_names, _names, max_size=6)


@pytest.mark.parametrize("separator", ["", "\x02"])
@given(properties=_maps)
def test_properties_round_trip_with_either_separator_habit(separator, properties):
    assert decode_properties(encode_properties(properties) + separator.encode()) == properties


def test_odd_items_parse_as_the_specification_says():
    data = b"a\x01\x02b\x012\x02\x01x\x02c\x013\x014\x02\x02dd\x02e\x015"
    assert decode_properties(data) == {"b": "2", "c": "3\x014", "e": "5"}


@given(data=st.binary(max_size=200))
def test_any_bytes_decode_to_names_and_values_that_are_not_empty(data):
    assert all(name and value for name, value in decode_properties(data).items())


@given(properties=_maps, more=_maps, name=_names)
def test_finding_one_property_agrees_with_decoding_all(properties, more, name):
    data = append_properties(encode_properties(properties), encode_properties(more))
    for wanted in {name, *properties, *more}:
        assert find_property(data, wanted) == decode_properties(data).get(wanted)


def test_a_name_that_ends_another_is_not_taken_for_it():
    assert find_property(encode_properties({"XTAGS": "wrong"}), "TAGS") is None


def test_a_name_inside_a_value_is_not_taken_for_it():
    assert find_property(b"A\x01TAGS\x01wrong", "TAGS") is None


def test_the_last_of_several_wins_and_an_empty_one_does_not_count():
    assert find_property(b"TAGS\x01a\x02TAGS\x01b\x02TAGS\x01\x02", "TAGS") == "b"


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        (b"", b"B\x01b", b"B\x01b"),
        (b"A\x01a", b"", b"A\x01a"),
        (b"A\x01a", b"B\x01b", b"A\x01a\x02B\x01b"),
        (b"A\x01a\x02", b"B\x01b", b"A\x01a\x02B\x01b"),
    ],
)
def test_appending_puts_one_separator_between(first, second, joined):
    assert append_properties(first, second) == joined


@given(size=st.integers(PROPERTIES_BYTES_MAX - 300, PROPERTIES_BYTES_MAX + 20), spare=st.sets(st.sampled_from(SPARE)))
def test_a_copy_without_room_is_without_as_few_spare_properties_as_possible(size, spare):
    own = {"long": "v" * (size - len("long\x01"))}
    asked = own | dict.fromkeys(sorted(spare), "x" * 20)
    data = encode_fitting(asked)
    if size > PROPERTIES_BYTES_MAX:
        assert data is None
        return
    kept = decode_properties(data)
    assert len(data) <= PROPERTIES_BYTES_MAX
    assert own.items() <= kept.items() <= asked.items()
    left_out = [name for name in SPARE if name in asked and name not in kept]
    assert left_out == [name for name in SPARE if name in asked][: len(left_out)]
    assert not left_out or len(encode_properties(kept | {left_out[-1]: asked[left_out[-1]]})) > PROPERTIES_BYTES_MAX


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("0", 0),
        (b"42", 42),
        ("9" * 18, 10**18 - 1),
        ("9" * 19, -1),
        ("²", -1),
        ("٣", -1),
        ("-1", -1),
        (" 1", -1),
        ("", -1),
        (None, -1),
    ],
)
def test_a_number_is_one_of_ascii_digits_that_fits(text, number):
    assert number_of(text) == number
