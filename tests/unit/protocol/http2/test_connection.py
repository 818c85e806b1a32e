"""The server's side of HTTP/2 without a socket."""

import contextlib
import struct

import pytest
from hpack import Decoder, Encoder
from hypothesis import given
from hypothesis import strategies as st

from broker_core.protocol.grpc.framing import GrpcStatus, timeout_seconds, trailers
from broker_core.protocol.http2.connection import EARLY_STREAMS_MAX, Http2Connection, Http2Error, Http2Limits
from broker_core.protocol.http2.frames import (
    PREFACE,
    ErrorCode,
    Flag,
    FrameType,
    Setting,
    frame,
    head_at,
    settings_frame,
    window_update,
)
from broker_core.protocol.http2.header_blocks import RESPONSE, literal

HEADERS = [(":method", "POST"), (":path", "/s/m"), (":scheme", "http"), ("content-type", "application/grpc")]


class Recorder:
    """What a connection reports."""

    def __init__(self):
        self.events = []
        self.streams = {}

    def request(self, stream, headers):
        self.streams[stream.id] = stream
        self.events.append(("request", stream.id, dict(headers)[":path"]))

    def data(self, stream, data):
        self.events.append(("data", stream.id, data))

    def ended(self, stream):
        self.events.append(("ended", stream.id))

    def gone(self, stream):
        self.events.append(("gone", stream.id))

    def reset_late(self, stream_id):
        self.events.append(("reset late", stream_id))


class Peer:
    """A client and the connection that serves it."""

    def __init__(self, **limits):
        self.recorder = Recorder()
        self.connection = Http2Connection(self.recorder, Http2Limits(**limits))
        self.encoder = Encoder()
        self.send(PREFACE + settings_frame({}))
        self.connection.take_out()

    def send(self, *frames):
        self.connection.receive(b"".join(frames))

    def headers(self, stream_id, *, end=False, headers=HEADERS):
        flags = Flag.END_HEADERS | (Flag.END_STREAM if end else 0)
        return frame(FrameType.HEADERS, flags, stream_id, self.encoder.encode(headers))

    def sent(self):
        """Type, flags, stream and payload of the frames to send."""
        return frames_of(b"".join(self.connection.take_out()))


def frames_of(data):
    found, at = [], 0
    while at < len(data):
        size, kind, flags, stream_id = head_at(data, at)
        found.append((FrameType(kind), flags, stream_id, data[at + 9 : at + 9 + size]))
        at += 9 + size
    return found


def data(stream_id, payload, *, end=False, flags=0):
    return frame(FrameType.DATA, flags | (Flag.END_STREAM if end else 0), stream_id, payload)


def code_of(error):
    return error.value.context["code"]


# ---- requests ----


def test_a_request_and_its_answer():
    peer = Peer()
    peer.send(peer.headers(1), data(1, b"hello", end=True))
    assert peer.recorder.events == [("request", 1, "/s/m"), ("data", 1, b"hello"), ("ended", 1)]
    stream = peer.recorder.streams[1]
    peer.connection.send_headers(stream, RESPONSE)
    peer.connection.send_data(stream, b"answer")
    peer.connection.end(stream, trailers(GrpcStatus.OK))
    headers, body, end = peer.sent()
    decoder = Decoder()
    assert decoder.decode(headers[3], raw=True) == [(b":status", b"200"), (b"content-type", b"application/grpc")]
    assert body[3] == b"answer"
    assert (decoder.decode(end[3], raw=True), end[1]) == ([(b"grpc-status", b"0")], Flag.END_HEADERS | Flag.END_STREAM)
    assert not peer.connection.streams


@given(cuts=st.lists(st.integers(1, 60), max_size=30))
def test_frames_may_arrive_in_any_pieces(cuts):
    recorder = Recorder()
    connection = Http2Connection(recorder, Http2Limits())
    encoder = Encoder()
    whole = PREFACE + settings_frame({}) + frame(FrameType.HEADERS, Flag.END_HEADERS, 1, encoder.encode(HEADERS))
    whole += data(1, b"a" * 50) + data(1, b"b", end=True)
    at = 0
    for cut in [*cuts, len(whole)]:
        connection.receive(whole[at : at + cut])
        at += cut
    assert recorder.events == [("request", 1, "/s/m"), ("data", 1, b"a" * 50), ("data", 1, b"b"), ("ended", 1)]


def test_a_header_block_in_several_frames():
    peer = Peer()
    block = peer.encoder.encode(HEADERS)
    peer.send(
        frame(FrameType.HEADERS, Flag.END_STREAM, 1, block[:5]),
        frame(FrameType.CONTINUATION, 0, 1, block[5:9]),
        frame(FrameType.CONTINUATION, Flag.END_HEADERS, 1, block[9:]),
    )
    assert peer.recorder.events == [("request", 1, "/s/m"), ("ended", 1)]


def test_padding_and_priority_are_skipped():
    peer = Peer()
    block = peer.encoder.encode(HEADERS)
    padded = bytes((3,)) + bytes(5) + block + bytes(3)
    peer.send(frame(FrameType.HEADERS, Flag.END_HEADERS | Flag.PADDED | Flag.PRIORITY, 1, padded))
    peer.send(data(1, b"\x02xy\0\0", end=True, flags=Flag.PADDED))
    assert peer.recorder.events == [("request", 1, "/s/m"), ("data", 1, b"xy"), ("ended", 1)]


def test_a_cancelled_call():
    peer = Peer()
    peer.send(peer.headers(1), frame(FrameType.RST_STREAM, 0, 1, struct.pack(">I", ErrorCode.CANCEL)))
    assert peer.recorder.events[-1] == ("gone", 1)
    assert not peer.connection.streams
    peer.send(frame(FrameType.RST_STREAM, 0, 1, struct.pack(">I", ErrorCode.CANCEL)))
    assert peer.recorder.events[-1] == ("reset late", 1)


def test_pings_and_settings_are_acknowledged():
    peer = Peer()
    peer.send(frame(FrameType.PING, 0, 0, b"12345678"), settings_frame({}))
    assert peer.sent() == [(FrameType.PING, Flag.ACK, 0, b"12345678"), (FrameType.SETTINGS, Flag.ACK, 0, b"")]


# ---- flow control ----


def test_data_waits_for_the_windows():
    peer = Peer(unsent_bytes_max=150_000)
    for stream_id in (1, 3, 5):  # together they are more than may wait at a time
        peer.send(peer.headers(stream_id, end=True))
        stream = peer.recorder.streams[stream_id]
        peer.connection.send_data(stream, b"x" * 100_000)
        peer.connection.end(stream, trailers(GrpcStatus.OK))
        assert sum(len(payload) for kind, _, _, payload in peer.sent() if kind is FrameType.DATA) == 65_535
        peer.send(window_update(0, 100_000))
        assert not peer.sent()
        peer.send(window_update(stream_id, 100_000))
        rest = peer.sent()
        assert sum(len(payload) for kind, _, _, payload in rest if kind is FrameType.DATA) == 100_000 - 65_535
        assert rest[-1][1] & Flag.END_STREAM


def test_a_changed_window_counts_for_open_streams():
    peer = Peer()
    peer.send(settings_frame({4: 10}), peer.headers(1, end=True))
    stream = peer.recorder.streams[1]
    peer.connection.send_data(stream, b"0123456789abc")
    assert [payload for kind, _, _, payload in peer.sent() if kind is FrameType.DATA] == [b"0123456789"]
    peer.send(settings_frame({4: 12}))
    assert [payload for kind, _, _, payload in peer.sent() if kind is FrameType.DATA] == [b"ab"]


def test_what_is_consumed_may_be_sent_again():
    peer = Peer(window_bytes=65_535)
    peer.send(peer.headers(1))
    for _ in range(20):
        peer.send(data(1, bytes(16_000)))
        peer.connection.consumed(peer.recorder.streams[1], 16_000)
    assert sum(
        struct.unpack(">I", payload)[0] for kind, _, at, payload in peer.sent() if kind is FrameType.WINDOW_UPDATE and at
    )


def test_more_than_the_window_ends_the_connection():
    peer = Peer(window_bytes=65_535)
    peer.send(peer.headers(1))
    with pytest.raises(Http2Error) as error:
        peer.send(*(data(1, bytes(16_384)) for _ in range(4)))
    assert code_of(error) == ErrorCode.FLOW_CONTROL_ERROR


def test_answers_that_nobody_reads_are_bounded():
    peer = Peer(unsent_bytes_max=200_000)
    peer.send(peer.headers(1, end=True))
    with pytest.raises(Http2Error):
        peer.connection.send_data(peer.recorder.streams[1], bytes(300_000))


# ---- hostile peers ----

RESET = struct.pack(">I", ErrorCode.CANCEL)
PING = frame(FrameType.PING, 0, 0, bytes(8))


def opened(*stream_ids):
    """HEADERS frames of calls, as the first of a connection."""
    encoder = Encoder()
    return [frame(FrameType.HEADERS, Flag.END_HEADERS, number, encoder.encode(HEADERS)) for number in stream_ids]


def opened_and_reset(count):
    ids = range(1, 2 * count, 2)
    return [
        part
        for head, number in zip(opened(*ids), ids, strict=True)
        for part in (head, frame(FrameType.RST_STREAM, 0, number, RESET))
    ]


HOSTILE = [
    ([frame(FrameType.DATA, 0, 1, bytes(16_385))], ErrorCode.FRAME_SIZE_ERROR),
    ([data(1, b"x")], ErrorCode.PROTOCOL_ERROR),
    ([data(0, b"x")], ErrorCode.PROTOCOL_ERROR),
    (opened(2), ErrorCode.PROTOCOL_ERROR),
    ([frame(FrameType.HEADERS, 0, 1, b"\x82"), PING], ErrorCode.PROTOCOL_ERROR),
    ([frame(FrameType.CONTINUATION, Flag.END_HEADERS, 1, b"")], ErrorCode.PROTOCOL_ERROR),
    ([frame(FrameType.HEADERS, Flag.END_HEADERS, 1, b"\xff" * 6)], ErrorCode.COMPRESSION_ERROR),
    ([frame(FrameType.PING, 0, 0, b"short")], ErrorCode.FRAME_SIZE_ERROR),
    ([frame(FrameType.SETTINGS, 0, 0, b"12345")], ErrorCode.FRAME_SIZE_ERROR),
    ([settings_frame({4: 1 << 31})], ErrorCode.FLOW_CONTROL_ERROR),
    ([window_update(0, 0)], ErrorCode.FLOW_CONTROL_ERROR),
    ([frame(FrameType.RST_STREAM, 0, 9, RESET)], ErrorCode.PROTOCOL_ERROR),
    ([frame(FrameType.PUSH_PROMISE, 0, 1, b"")], ErrorCode.PROTOCOL_ERROR),
    ([PING] * 12, ErrorCode.ENHANCE_YOUR_CALM),
    (
        [frame(FrameType.HEADERS, 0, 1, bytes(16_000)), frame(FrameType.CONTINUATION, 0, 1, bytes(900))],
        ErrorCode.ENHANCE_YOUR_CALM,
    ),
    (opened_and_reset(12), ErrorCode.ENHANCE_YOUR_CALM),
]


@pytest.mark.parametrize(("frames", "code"), HOSTILE, ids=range(len(HOSTILE)))
def test_broken_and_hostile_frames_end_the_connection(frames, code):
    peer = Peer(resets_max=10, control_frames_max=10)
    with pytest.raises(Http2Error) as error:
        peer.send(*frames)
    assert code_of(error) == code
    assert peer.sent()[-1][0] is FrameType.GOAWAY


def test_another_protocol_is_told_at_once():
    connection = Http2Connection(Recorder(), Http2Limits())
    with pytest.raises(Http2Error):
        connection.receive(b"GET / HTTP/1.1\r\n")


def test_streams_without_room_are_refused_alone():
    limits = Http2Limits()
    peer = Peer(held_bytes_max=2 * (limits.stream_bytes + limits.first_window_bytes))
    peer.send(*(peer.headers(number) for number in (1, 3, 5)))
    assert [at for _, at, _ in peer.recorder.events] == [1, 3]
    assert (FrameType.RST_STREAM, 0, 5, struct.pack(">I", ErrorCode.REFUSED_STREAM)) in peer.sent()


def test_more_streams_may_be_open_when_the_client_knows_the_settings():
    peer = Peer()
    numbers = range(1, 2 * EARLY_STREAMS_MAX + 2, 2)
    peer.send(*map(peer.headers, numbers))
    assert (FrameType.RST_STREAM, 0, numbers[-1], struct.pack(">I", ErrorCode.REFUSED_STREAM)) in peer.sent()
    peer.send(frame(FrameType.SETTINGS, Flag.ACK, 0), peer.headers(numbers[-1] + 2))
    assert numbers[-1] + 2 in peer.connection.streams


def test_the_client_is_told_its_limits_once():
    peer = Peer()
    peer.send(frame(FrameType.SETTINGS, Flag.ACK, 0))
    limits = Http2Limits()
    numbers = range(1, 2 * limits.streams_max + 1, 2)
    peer.send(*map(peer.headers, numbers))
    assert list(peer.connection.streams) == list(numbers)
    assert not [payload for kind, _, _, payload in peer.sent() if kind is FrameType.SETTINGS and payload]


def test_all_calls_have_room_for_their_first_windows_until_their_requests_are_complete():
    limits = Http2Limits()
    peer = Peer()
    peer.send(frame(FrameType.SETTINGS, Flag.ACK, 0))
    for number in range(1, 2 * limits.streams_max + 1, 2):
        peer.send(peer.headers(number))
    stream = peer.connection.streams[1]
    left = limits.held_bytes_max - limits.streams_max * (limits.stream_bytes + limits.first_window_bytes)
    assert not peer.connection.hold(stream, left + 1)
    assert peer.connection.hold(stream, left)
    peer.send(data(3, b"", end=True))
    assert peer.connection.hold(stream, limits.first_window_bytes)
    assert not peer.connection.hold(stream, 1)
    peer.send(frame(FrameType.RST_STREAM, 0, 1, RESET))
    assert peer.connection.hold(peer.connection.streams[3], left + limits.stream_bytes + 2 * limits.first_window_bytes)


@pytest.mark.parametrize("is_known", [True, False])
def test_the_first_window_is_small_once_the_client_knows_it(is_known):
    peer = Peer()
    if is_known:
        peer.send(frame(FrameType.SETTINGS, Flag.ACK, 0))
    first_bytes = Http2Limits().first_window_bytes
    peer.send(peer.headers(1), data(1, bytes(first_bytes)))
    if is_known:
        with pytest.raises(Http2Error) as error:
            peer.send(data(1, b"1"))
        assert code_of(error) == ErrorCode.FLOW_CONTROL_ERROR
    else:
        rest = 65_535 - first_bytes
        peer.send(*(data(1, bytes(4_000)) for _ in range(rest // 4_000)), data(1, bytes(rest % 4_000)))
        assert 1 in peer.connection.streams


@given(st.binary(max_size=300))
def test_no_bytes_raise_another_error(garbage):
    connection = Http2Connection(Recorder(), Http2Limits())
    with contextlib.suppress(Http2Error):
        connection.receive(PREFACE + garbage)
    assert all(at % 2 for at in connection.streams), "a client opens odd streams"


# ---- header blocks, timeouts ----


@given(st.binary(min_size=1, max_size=400), st.binary(max_size=70_000))
def test_literals_are_read_by_any_decoder(name, value):
    assert Decoder(200_000).decode(literal(name.lower(), value), raw=True) == [(name.lower(), value)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("3S", 3), ("20000m", 20), ("1H", 3600), ("5u", 5e-6), ("", None), ("S", None), ("-1S", None), ("123456789S", None)],
)
def test_timeouts(text, seconds):
    assert timeout_seconds(text) == (None if seconds is None else pytest.approx(seconds))


# ---- bounds over time, and whole answers ----


def test_a_peer_that_pings_for_long_is_no_attacker():  # docs/spec/grpc.md §11, 54
    peer = Peer(control_frames_max=100)
    for _ in range(50):
        peer.send(*(frame(FrameType.PING, 0, 0, bytes(8)) for _ in range(10)))
        peer.connection.forgive(10)
    with pytest.raises(Http2Error) as broken:
        peer.send(*(frame(FrameType.PING, 0, 0, bytes(8)) for _ in range(101)))
    assert code_of(broken) is ErrorCode.ENHANCE_YOUR_CALM


def test_a_request_is_complete_before_its_last_data_is_served():
    peer = Peer()
    open_there = []
    peer.recorder.data = lambda stream, _data: open_there.append(stream.is_open_there)
    peer.send(peer.headers(1), data(1, b"a"), data(1, b"b", end=True))
    assert open_there == [True, False]
    assert peer.recorder.events[-1] == ("ended", 1)


def test_a_whole_answer_leaves_as_three_frames():
    peer = Peer()
    peer.send(peer.headers(1, end=True))
    stream = peer.recorder.streams[1]
    assert peer.connection.send_whole(stream, RESPONSE, b"data", trailers(GrpcStatus.OK))
    assert [(kind, flags, size) for kind, flags, _, payload in peer.sent() for size in [len(payload)]] == [
        (FrameType.HEADERS, Flag.END_HEADERS, len(RESPONSE)),
        (FrameType.DATA, 0, 4),
        (FrameType.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, len(trailers(GrpcStatus.OK))),
    ]
    assert 1 not in peer.connection.streams


@pytest.mark.parametrize(("settings", "is_complete"), [({Setting.INITIAL_WINDOW_SIZE: 3}, True), ({}, False)])
def test_an_answer_that_the_window_or_the_request_does_not_allow_is_not_sent_whole(settings, is_complete):
    peer = Peer()
    peer.send(settings_frame(settings), peer.headers(1, end=is_complete))
    peer.sent()
    assert not peer.connection.send_whole(peer.recorder.streams[1], RESPONSE, b"data", trailers(GrpcStatus.OK))
    assert peer.sent() == []
