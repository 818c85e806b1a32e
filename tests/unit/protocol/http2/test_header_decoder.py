"""Header blocks of requests: as hpack encodes them, as RFC 7541 shows them, and damaged."""

import pytest
from hpack import Decoder, Encoder
from hpack.exceptions import HPACKError
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import CodecError
from broker_core.protocol.http2.header_decoder import HeaderDecoder, huffman_text

NAMES = st.text(st.sampled_from("abcxyz-:0"), min_size=1, max_size=40)
VALUES = st.binary(max_size=200).map(lambda data: data.decode("latin-1"))
LISTS = st.lists(st.lists(st.tuples(NAMES, VALUES), max_size=12), max_size=8)


def raw(headers):
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


@given(LISTS, st.booleans())
def test_blocks_of_one_connection(lists, huffman):
    encoder, decoder = Encoder(), HeaderDecoder(100_000)
    for headers in lists:
        assert decoder.decode(encoder.encode(raw(headers), huffman=huffman)) == headers


@given(LISTS, st.lists(st.integers(0, 4_096), min_size=8, max_size=8))
def test_a_table_whose_size_changes(lists, sizes):
    encoder, decoder = Encoder(), HeaderDecoder(100_000)
    for headers, size in zip(lists, sizes, strict=False):
        encoder.header_table_size = size
        assert decoder.decode(encoder.encode(raw(headers))) == headers


@given(st.lists(st.binary(max_size=60), max_size=6))
def test_damaged_blocks_are_refused_or_read_as_hpack_reads_them(blocks):
    ours, theirs = HeaderDecoder(65_536), Decoder(65_536)
    for block in blocks:
        try:
            expected = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in theirs.decode(block, raw=True)]
        except HPACKError:
            with pytest.raises(CodecError):
                ours.decode(block)
            return
        assert ours.decode(block) == expected


def test_examples_of_the_rfc():  # RFC 7541, appendix C.4
    decoder = HeaderDecoder(1_000)
    first = [(":method", "GET"), (":scheme", "http"), (":path", "/"), (":authority", "www.example.com")]
    assert decoder.decode(bytes.fromhex("828684418cf1e3c2e5f23a6ba0ab90f4ff")) == first
    assert decoder.decode(bytes.fromhex("828684be5886a8eb10649cbf")) == [*first, ("cache-control", "no-cache")]


@pytest.mark.parametrize(
    "block",
    [
        "80",  # entry 0
        "be",  # the first entry of an empty table
        "40",  # ends after its prefix
        "400561",  # ends within a text
        "4081ff",  # a code that ends within a character
        "40840000fffffffff0",  # more padding than a byte
        "ffffffffffff",  # a number without end
        "3fe21f",  # a table of more than 4096 bytes
        "8220",  # a size within a block
    ],
)
def test_wrong_blocks(block):
    with pytest.raises(CodecError):
        HeaderDecoder(1_000).decode(bytes.fromhex(block))


def test_headers_beyond_the_bound():
    with pytest.raises(CodecError, match="1,000 are allowed"):
        HeaderDecoder(1_000).decode(Encoder().encode([(b"a", bytes(1_000))]))


def test_a_code_with_an_end_mark():
    with pytest.raises(CodecError, match="end mark"):
        huffman_text(b"\xff\xff\xff\xff")
