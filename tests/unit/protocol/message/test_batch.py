from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import CodecError
from broker_core.protocol.message.batch import BatchMember, decode_batch, encode_batch

EXAMPLE = bytes.fromhex("00000024 00000000 00000000 00000000 00000005 48656c6c6f 0009 54414753 01 54616741")


def test_the_example_of_the_specification():
    members = [BatchMember(0, b"Hello", b"TAGS\x01TagA")]
    assert encode_batch(members) == EXAMPLE
    assert decode_batch(EXAMPLE) == members


@given(
    st.lists(
        st.builds(BatchMember, st.integers(-(2**31), 2**31 - 1), st.binary(max_size=30), st.binary(max_size=30)), min_size=1
    )
)
def test_batches_round_trip(members):
    assert decode_batch(encode_batch(members)) == members


@pytest.mark.parametrize("length", range(1, len(EXAMPLE)))
def test_a_cut_off_batch_is_an_error(length):
    with pytest.raises(CodecError, match="batch member 1"):
        decode_batch(EXAMPLE + EXAMPLE[:length])


def test_an_empty_batch_is_an_error():
    with pytest.raises(CodecError, match="without a message"):
        decode_batch(b"")


@given(st.binary(max_size=120))
def test_any_bytes_decode_or_raise_the_documented_error(data):
    try:
        members = decode_batch(data)
    except CodecError:
        return
    assert members
