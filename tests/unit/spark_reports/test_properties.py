import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_reports.datasource.properties import PropertyColumns

ALPHABET = st.sampled_from(["a", "b", "TAGS", "UNIQ_KEYS", "UNIQ_KEY", "\x01", "\x02", "键"])
STRINGS = st.lists(st.lists(ALPHABET, max_size=12).map("".join), max_size=12)


def columns_of(strings):
    encoded = [text.encode() for text in strings]
    offsets = np.concatenate(([0], np.cumsum([len(text) for text in encoded]))).astype(np.int64)
    return PropertyColumns(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)


def parsed(text, *, first=False):
    """The rule of docs/spec/store.md §2.6, one segment at a time."""
    found = {}
    for segment in text.split("\x02"):
        name, middle, value = segment.partition("\x01")
        if name and middle and value and not (first and name in found):
            found[name] = value
    return found


@settings(deadline=None)  # the first example pays for imports
@given(STRINGS)
def test_maps_follow_the_rule_for_property_strings(strings):
    assert [dict(row) for row in columns_of(strings).maps().to_pylist()] == [parsed(text) for text in strings]


@settings(deadline=None)  # the first example pays for imports
@given(STRINGS, st.sampled_from(["a", "TAGS", "UNIQ_KEY", "UNIQ_KEYS"]))
def test_a_column_holds_what_the_maps_hold_or_what_stood_there_first(strings, name):
    columns = columns_of(strings)
    assert columns.column(name).to_pylist() == [parsed(text).get(name) for text in strings]
    assert columns.column(name, first=True).to_pylist() == [parsed(text, first=True).get(name) for text in strings]


def test_the_example_of_the_specification():
    text = "a\x01\x02b\x012\x02\x01x\x02c\x013\x014\x02\x02dd\x02e\x015"
    assert [dict(row) for row in columns_of([text]).maps().to_pylist()] == [{"b": "2", "c": "3\x014", "e": "5"}]


def test_bytes_that_are_no_utf8_become_replacement_characters():
    data = np.frombuffer(b"TAGS\x01\xff\xfe", dtype=np.uint8)
    assert PropertyColumns(data, np.array([0, 7])).column("TAGS").to_pylist() == ["\ufffd\ufffd"]
