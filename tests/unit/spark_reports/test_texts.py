import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_reports.datasource.texts import numbered

TEXTS = st.lists(st.binary(max_size=70) | st.text("ab", max_size=20).map(str.encode), max_size=40)


def laid_out(items, before):
    """The items in a buffer, one behind the other, each behind a byte of its own; the last one ends it."""
    data = before + b"".join(b"\x01" + item for item in items)
    lengths = np.array([len(item) for item in items], dtype=np.int32)
    starts = len(before) + np.cumsum(lengths + 1) - lengths
    return np.frombuffer(data, dtype=np.uint8), starts.astype(np.int64), lengths


def values_of(found):
    return [found.values.to_pylist()[number] for number in found.numbers.tolist()]


@settings(deadline=None)  # the first example pays for imports
@given(TEXTS, st.sampled_from([b"", b"12345", b"x" * 88]))
def test_each_text_has_the_number_of_those_that_are_equal(items, before):
    found = numbered(*laid_out(items, before))
    assert values_of(found) == items
    assert found.values.to_pylist() == list(dict.fromkeys(items))


def test_texts_that_differ_in_their_lengths_or_any_byte_are_told_apart():
    items = [b"a" * length for length in range(1, 60)]
    items += [b"a" * place + b"b" + b"a" * (40 - place) for place in range(41)]
    assert values_of(numbered(*laid_out(items * 2, b"x" * 88))) == items * 2


@pytest.mark.parametrize("count", [0, 1])
def test_few_texts_are_numbered_too(count):
    found = numbered(*laid_out([b"orders"] * count, b"x" * 88))
    assert (found.numbers.tolist(), found.rows().to_pylist()) == ([0] * count, [b"orders"] * count)
