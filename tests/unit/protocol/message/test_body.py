from __future__ import annotations

import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import CodecError
from broker_core.protocol.message import body as body_module
from broker_core.protocol.message.body import compress_body, decompress_body
from broker_core.protocol.message.sys_flag import COMPRESSED, Compression, with_compression


@pytest.mark.parametrize("compression", list(Compression))
@given(body=st.binary(max_size=2000))
def test_every_compression_round_trips(compression, body):
    assert decompress_body(with_compression(0, compression), compress_body(body, compression)) == body


def test_a_body_that_is_not_compressed_stays_as_it_is():
    assert decompress_body(0x700, b"plain") == b"plain"


def test_a_compressed_flag_without_type_means_zlib():
    assert decompress_body(COMPRESSED, zlib.compress(b"old client")) == b"old client"


@pytest.mark.parametrize("compression", list(Compression))
@given(data=st.binary(max_size=200))
def test_any_bytes_decompress_or_raise_the_documented_error(compression, data):
    sys_flag = with_compression(0, compression)
    whole = compress_body(data, compression)
    assert decompress_body(sys_flag, whole) == data
    for body in (data, whole[: len(whole) // 2] + data, whole + data):
        try:
            found = decompress_body(sys_flag, body)
        except CodecError:
            continue
        assert decompress_body(sys_flag, compress_body(found, compression)) == found


@pytest.mark.parametrize("compression", list(Compression))
def test_a_cut_off_body_is_an_error(compression):
    compressed = compress_body(bytes(range(256)) * 40, compression)
    with pytest.raises(CodecError, match=r"does not decompress|decompress"):
        decompress_body(with_compression(0, compression), compressed[: len(compressed) // 2])


@pytest.mark.parametrize("number", [4, 5, 6, 7])
def test_an_unknown_compression_is_named(number):
    with pytest.raises(CodecError, match=f"compression type {number}"):
        decompress_body(COMPRESSED | number << 8, b"")


@pytest.mark.parametrize("compression", list(Compression))
def test_a_small_body_cannot_fill_the_memory(compression, monkeypatch):
    monkeypatch.setattr(body_module, "BODY_BYTES_MAX", 1000)
    with pytest.raises(CodecError, match="more than 1000 bytes"):
        decompress_body(with_compression(0, compression), compress_body(bytes(100_000), compression))
