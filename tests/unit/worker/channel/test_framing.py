import contextlib
import itertools
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.errors import CodecError
from broker_core.worker.channel.framing import FrameReader, frame

payloads = st.lists(st.binary(min_size=1, max_size=300), max_size=20)


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(data) + 1) for cut in cuts} | {0, len(data)})
    return [data[start:end] for start, end in itertools.pairwise(places)]


def test_a_frame_is_its_length_and_its_payload():
    assert frame(b"abc") == b"\x00\x00\x00\x03abc"


@given(payloads, st.lists(st.integers(min_value=0), max_size=30))
def test_any_split_of_the_stream_gives_the_same_payloads(items: list[bytes], cuts: list[int]):
    reader = FrameReader()
    stream = b"".join(frame(item) for item in items)
    assert [payload for piece in pieces(stream, cuts) for payload in reader.feed(piece)] == items
    assert reader.pending_bytes == 0


@given(st.lists(st.binary(max_size=200), max_size=10))
def test_any_bytes_give_payloads_or_a_codec_error(chunks: list[bytes]):
    reader, stream, payloads = FrameReader(frame_bytes_max=100), b"".join(chunks), []
    with contextlib.suppress(CodecError):
        for chunk in chunks:
            payloads += reader.feed(chunk)
        assert len(stream) - sum(map(len, payloads)) - 4 * len(payloads) == reader.pending_bytes
    assert all(1 <= len(payload) <= 100 for payload in payloads)
    assert stream.startswith(b"".join(map(frame, payloads)))


@pytest.mark.parametrize("length", [0, 101, 0xFFFFFFFF])
def test_a_length_outside_the_bounds_is_refused_before_its_payload_comes(length: int):
    reader = FrameReader(frame_bytes_max=100)
    with pytest.raises(CodecError, match=str(length)):
        list(reader.feed(struct.pack(">I", length)))


def test_payloads_before_a_broken_frame_are_given_out_first():
    stream = FrameReader(frame_bytes_max=100).feed(frame(b"good") + struct.pack(">I", 0))
    assert next(stream) == b"good"
    with pytest.raises(CodecError):
        next(stream)


def test_a_payload_that_is_too_large_is_not_framed():
    with pytest.raises(CodecError, match="101"):
        frame(bytes(101), frame_bytes_max=100)


def test_pending_bytes_tell_a_torn_frame():
    reader = FrameReader()
    assert list(reader.feed(frame(b"abcdef")[:7])) == []
    assert reader.pending_bytes == 7
