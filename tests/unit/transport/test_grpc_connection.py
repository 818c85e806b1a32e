"""Incomplete messages of gRPC calls, and clients that read slowly."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from hpack import Decoder
from hypothesis import given
from hypothesis import strategies as st

from broker_core.config import RemotingLimits
from broker_core.protocol.grpc.framing import PREFIX, GrpcStatus
from broker_core.protocol.http2.connection import EARLY_STREAMS_MAX, Http2Limits
from broker_core.protocol.http2.frames import (
    HEAD_BYTES,
    PREFACE,
    WINDOW_DEFAULT,
    ErrorCode,
    Flag,
    FrameType,
    Setting,
    frame,
    head_at,
    reset,
    settings_frame,
    settings_of,
    window_update,
    word_of,
)
from broker_core.protocol.http2.header_blocks import literal
from broker_core.transport import grpc_server
from broker_core.transport.grpc_connection import GrpcConnection
from broker_core.transport.message_room import MessageRoom
from broker_core.transport.tls import PlainServer

HEADERS = ((":method", "POST"), (":path", "/s/m"), ("content-type", "application/grpc"))
FRAME_BYTES = 16_384


@dataclass
class Transport:
    """Keeps what a connection writes."""

    written: bytearray = field(default_factory=bytearray)

    def write(self, data):
        self.written += data

    def get_extra_info(self, _name):
        return None

    def set_write_buffer_limits(self, *, high):
        assert high

    def get_write_buffer_size(self):
        return 0

    def is_closing(self):
        return False

    def close(self):
        """Its end is of no interest here."""


class Echo:
    """Answers each call with the size of its message."""

    def __init__(self, call):
        self._call = call

    def message(self, data):
        self._call.answer(b"%d" % len(data))

    def ended(self):
        """The message was answered."""

    def cancelled(self):
        """Nothing waits."""


class Client:
    """Sends messages of many calls in turn, frame by frame, as far as the windows allow it."""

    def __init__(self, room, limits, *, acknowledges=True):
        self._acknowledges = acknowledges
        self.connection = GrpcConnection(Echo, limits, room=room, on_open=lambda _: None, on_closed=lambda _: None)
        self._transport = Transport()
        self.connection.connection_made(self._transport)
        self._window, self._first_window = WINDOW_DEFAULT, WINDOW_DEFAULT
        self._windows: dict[int, int] = {}
        self.unsent: dict[int, memoryview] = {}
        self.answers: dict[int, bytes] = {}
        self.statuses: dict[int, int] = {}
        self.refused: set[int] = set()
        self.connection.data_received(PREFACE + settings_frame({Setting.INITIAL_WINDOW_SIZE: WINDOW_DEFAULT}))
        self.read()

    def call(self, stream, size, **headers):
        """Begin a call with a message of a size."""
        self._windows[stream] = self._first_window
        self.unsent[stream] = memoryview(PREFIX.pack(0, size) + bytes(size))
        block = b"".join(literal(name.encode(), value.encode()) for name, value in (*HEADERS, *headers.items()))
        self.connection.data_received(frame(FrameType.HEADERS, Flag.END_HEADERS, stream, block))

    def turn(self):
        """Send a frame of each call, where the windows allow one; False when none could be sent."""
        sent = False
        for stream in list(self.unsent):
            data = self.unsent.get(stream, b"")
            size = min(FRAME_BYTES, self._window, self._windows[stream], len(data))
            if not size:
                continue
            sent, is_end = True, size == len(data)
            self._window -= size
            self._windows[stream] -= size
            if is_end:
                del self.unsent[stream]
            else:
                self.unsent[stream] = data[size:]
            flags = Flag.END_STREAM if is_end else 0
            self.connection.data_received(frame(FrameType.DATA, flags, stream, bytes(data[:size])))
            self.read()
        return sent

    def read(self):
        """Take what the other end has sent."""
        self.connection._flush()
        data, at = bytes(self._transport.written), 0
        self._transport.written.clear()
        while at < len(data):
            size, kind, flags, stream = head_at(data, at)
            payload = data[at + HEAD_BYTES : at + HEAD_BYTES + size]
            at += HEAD_BYTES + size
            self._take(FrameType(kind), flags, stream, payload)

    def _take(self, kind, flags, stream, payload):
        if kind is FrameType.SETTINGS and not flags & Flag.ACK and self._acknowledges:
            self._first_window = dict(settings_of(payload)).get(Setting.INITIAL_WINDOW_SIZE, self._first_window)
            self.connection.data_received(frame(FrameType.SETTINGS, Flag.ACK, 0))
        elif kind is FrameType.WINDOW_UPDATE and not stream:
            self._window += word_of(payload)
        elif kind is FrameType.WINDOW_UPDATE:
            self._windows[stream] += word_of(payload)
        elif kind is FrameType.DATA:
            self.answers[stream] = payload[PREFIX.size :]
        elif kind is FrameType.HEADERS and flags & Flag.END_STREAM:
            headers = dict(Decoder().decode(payload))
            self.statuses[stream] = int(headers["grpc-status"])
        elif kind is FrameType.RST_STREAM:
            self.unsent.pop(stream, None)
            self.refused.add(stream)


def in_loop(test):
    async def run():
        test()

    asyncio.run(run())


@given(st.lists(st.integers(0, 300_000), min_size=1, max_size=40), st.integers(0, 300_000))
def test_messages_that_are_sent_in_turn_all_become_complete(sizes, room_bytes):
    def run():
        client = Client(MessageRoom(room_bytes, float), RemotingLimits())
        for number, size in enumerate(sizes):
            client.call(2 * number + 1, size)
        while client.turn():
            pass
        assert client.answers == {2 * number + 1: b"%d" % size for number, size in enumerate(sizes)}

    in_loop(run)


def test_what_does_not_become_complete_is_refused_and_others_get_its_room():
    def run():
        now = 0.0
        room = MessageRoom(100_000, lambda: now)
        client = Client(room, RemotingLimits(frame_ms=1_000))
        for stream in (1, 3):
            client.call(stream, 80_000)
        for _ in range(2):
            client.turn()
        slow = client.unsent.pop(1)
        while client.turn():
            pass
        assert not client.answers, "the second waits for the room of the first"
        now = 2.0
        late = room.late(1)
        assert len(late) == 1, "who waits for room is not late"
        late[0].end_late()
        client.read()
        while client.turn():
            pass
        assert client.answers == {3: b"80000"}
        assert client.statuses == {1: GrpcStatus.DEADLINE_EXCEEDED, 3: GrpcStatus.OK}
        assert len(slow) == 80_000 + PREFIX.size - Http2Limits().first_window_bytes - FRAME_BYTES
        assert not room.late(-1)

    in_loop(run)


def test_a_server_looks_for_what_does_not_become_complete(monkeypatch):
    monkeypatch.setattr(grpc_server, "_LOOK_SECONDS", 0.02)

    async def run():
        server = grpc_server.GrpcServer("127.0.0.1", 0, Echo, tls=PlainServer(), limits=RemotingLimits(frame_ms=50))
        await server.start()
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        block = b"".join(literal(name.encode(), value.encode()) for name, value in HEADERS)
        begin = frame(FrameType.HEADERS, Flag.END_HEADERS, 1, block) + frame(FrameType.DATA, 0, 1, PREFIX.pack(0, 9) + b"begun")
        writer.write(PREFACE + settings_frame({}) + begin)
        await asyncio.wait_for(reader.readuntil(b"did not become complete"), 30)
        writer.close()
        await writer.wait_closed()
        await server.stop()

    asyncio.run(run())


def test_no_message_of_a_client_that_keeps_to_its_limits_is_refused():
    def run():
        room = MessageRoom(1, float)
        client, other = Client(room, RemotingLimits()), Client(room, RemotingLimits())
        streams = range(1, 2 * Http2Limits().streams_max + 1, 2)
        for stream in streams:
            client.call(stream, 20_000)
        other.call(1, 1_000_000)
        while any([client.turn(), other.turn()]):
            client.read()  # what the end of the other's messages allows
            other.read()
        assert client.answers == dict.fromkeys(streams, b"20000")
        assert other.answers == {1: b"1000000"}

    in_loop(run)


def test_first_bytes_of_a_client_that_does_not_know_its_limits_are_bounded():
    def run():
        room = MessageRoom(1, float)
        client, other = Client(room, RemotingLimits(), acknowledges=False), Client(room, RemotingLimits())
        for stream in range(1, 2 * EARLY_STREAMS_MAX + 1, 2):
            client.call(stream, 1_000_000)
        for _ in range(2):
            client.turn()
        assert set(client.statuses.values()) == {GrpcStatus.RESOURCE_EXHAUSTED}
        kept = len(client.connection.http2.streams)
        assert kept * FRAME_BYTES <= Http2Limits().held_bytes_max
        other.call(1, 1_000_000)
        other.turn()
        client.connection.connection_lost(None)
        other.read()
        while other.turn():
            pass
        assert other.answers == {1: b"1000000"}

    in_loop(run)


def test_a_connection_has_headers_of_bounded_size():
    def run():
        client = Client(MessageRoom(1 << 20, float), RemotingLimits())
        for number in range(100):
            client.call(2 * number + 1, 1_000, authorization=f"{number:010}" * 1_000)
        client.read()
        assert 30 < 100 - len(client.refused) < 50, "704 KiB, less the room for their first bytes"
        open_streams = list(client.unsent)
        while client.turn():
            pass
        assert sorted(client.answers) == open_streams
        client.call(201, 1_000, authorization="x" * 10_000)
        client.turn()
        assert 201 in client.answers, "the headers of calls that have ended do not count"
        for number in range(101, 190):
            client.call(2 * number + 1, 1_000, text="x" * 10_000)
        client.read()
        assert 379 not in client.refused, "headers that say nothing of the caller are not kept"

    in_loop(run)


def test_a_step_waits_until_the_client_has_read():
    def run():
        client = Client(MessageRoom(1 << 20, float), RemotingLimits())
        client.call(1, 1)
        client.call(3, 1)
        call, other = (stream.owner for stream in client.connection.http2.streams.values())
        call.send(bytes(2 << 20))
        assert client.connection.reads_slowly
        steps = []
        client.connection.when_read(other, lambda: steps.append("of a call that is cancelled"))
        client.connection.when_read(call, lambda: steps.append("read"))
        client.connection.data_received(reset(3, ErrorCode.CANCEL))
        assert not steps
        client.connection.data_received(window_update(0, 1 << 21) + window_update(1, 1 << 21))
        assert steps == ["read"]

    in_loop(run)
