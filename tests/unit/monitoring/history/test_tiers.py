import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from monitoring.history.tiers import decode, encode, rounded


@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 40), st.integers(1, 5))))
def test_numbers_come_back_bit_by_bit(matrix):
    assert decode(encode(matrix), matrix.shape[1]).tobytes() == np.ascontiguousarray(matrix).tobytes()


@given(st.binary(max_size=60))
def test_what_is_no_row_is_refused(data):
    with pytest.raises(ValueError, match="a row of the history"):
        decode(data, 3)


def test_rounding_keeps_seven_digits_and_what_is_unknown():
    values = np.array([1234.56789012345, 0.0, -3e-9, np.nan])
    assert rounded(values) == pytest.approx(values, rel=1e-7, nan_ok=True)


def test_what_changes_slowly_takes_little_room():
    offsets = np.arange(1_000_000, 1_000_060, dtype=np.float64)[:, None]
    assert len(encode(offsets)) < 120
