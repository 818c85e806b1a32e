"""A load of unary gRPC calls that costs its own process little: all requests are encoded before the clock starts.

It speaks just enough HTTP/2 for one connection to a server that behaves; it checks that each answer has the status OK.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Iterator, Sequence
from typing import Final, cast

from hpack import Encoder

from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.grpc.framing import prefixed
from broker_core.protocol.http2.frames import (
    HEAD_BYTES,
    PREFACE,
    WINDOW_DEFAULT,
    WINDOW_MAX,
    Flag,
    FrameType,
    Setting,
    frame,
    head_at,
    settings_frame,
    window_update,
    word_of,
)

_OK: Final = b"\x08\xa0\x9c\x01"
"""Field 1 of a status with the value 20000."""
_SECONDS: Final = 120.0


def send_request(topic: str, body: bytes) -> bytes:
    """A SendMessage request as an SDK makes it."""
    system = pb.SystemProperties(message_id=f"01{uuid.uuid4().hex.upper()}", born_host="bench", message_type=pb.NORMAL)
    system.born_timestamp.FromMilliseconds(int(time.time() * 1000))
    message = pb.Message(topic=pb.Resource(name=topic), system_properties=system, body=body)
    return pb.SendMessageRequest(messages=[message]).SerializeToString()


def encoded_calls(method: str, requests: Sequence[bytes], client_id: str) -> list[tuple[bytes, bytes]]:
    """Header block and message of each call of one connection, in order, because blocks refer to earlier ones."""
    encoder = Encoder()
    return [(encoder.encode(_headers(method, client_id)), prefixed(request)) for request in requests]


def _headers(method: str, client_id: str) -> list[tuple[str, str]]:
    return [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", f"/apache.rocketmq.v2.MessagingService/{method}"),
        (":authority", "127.0.0.1:8081"),
        ("content-type", "application/grpc"),
        ("te", "trailers"),
        ("user-agent", "grpc-java-netty/1.53.0"),
        ("x-mq-language", "JAVA"),
        ("x-mq-protocol", "v2"),
        ("x-mq-client-version", "5.2.0"),
        ("x-mq-client-id", client_id),
        ("x-mq-date-time", time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())),
        ("x-mq-request-id", str(uuid.uuid4())),
        ("grpc-accept-encoding", "gzip"),
        ("grpc-timeout", "60S"),
    ]


class Load(asyncio.Protocol):
    """Makes all calls, ``in_flight`` at a time, and then sets ``done``."""

    def __init__(self, calls: Sequence[tuple[bytes, bytes]], in_flight: int) -> None:
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._calls: Iterator[tuple[bytes, bytes]] = iter(calls)
        self._left = len(calls)
        self._in_flight = in_flight
        self._stream = 1
        self._window = WINDOW_DEFAULT
        self._due = in_flight
        """Calls that wait for the server's window."""
        self._rest = b""
        self._fine: set[int] = set()
        self._transport: asyncio.Transport | None = None
        self._peer: object = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._peer = transport.get_extra_info("peername")
        settings = settings_frame({Setting.INITIAL_WINDOW_SIZE: 1 << 20})
        self._transport.write(PREFACE + settings + window_update(0, WINDOW_MAX - WINDOW_DEFAULT))
        self._begin([])

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.done.done():
            self.done.set_exception(ConnectionError("the server ended the connection"))

    def data_received(self, data: bytes) -> None:
        data = self._rest + data
        position, out = 0, []
        while len(data) - position >= HEAD_BYTES:
            size, kind, flags, stream = head_at(data, position)
            end = position + HEAD_BYTES + size
            if end > len(data):
                break
            out += self._take(kind, flags, stream, data[position + HEAD_BYTES : end])
            position = end
        self._rest = data[position:]
        self._begin(out)

    def _take(self, kind: int, flags: int, stream: int, payload: bytes) -> list[bytes]:
        if kind == FrameType.DATA and _OK in payload:
            self._fine.add(stream)
        elif kind == FrameType.HEADERS and flags & Flag.END_STREAM:
            self._ended(stream)
        elif kind == FrameType.WINDOW_UPDATE and stream == 0:
            self._window += word_of(payload)
        elif kind == FrameType.PING and not flags & Flag.ACK:
            return [frame(FrameType.PING, Flag.ACK, 0, payload)]
        elif kind == FrameType.SETTINGS and not flags & Flag.ACK:
            return [frame(FrameType.SETTINGS, Flag.ACK, 0)]
        return []

    def _ended(self, stream: int) -> None:
        if stream not in self._fine:
            self.done.set_exception(AssertionError(f"{self._peer} refused call {stream // 2}"))
            return
        self._fine.discard(stream)
        self._left -= 1
        self._due += 1
        if not self._left and not self.done.done():
            self.done.set_result(None)

    def _begin(self, out: list[bytes]) -> None:
        assert self._transport is not None
        while self._due and self._window > WINDOW_DEFAULT // 2:
            call = next(self._calls, None)
            if call is None:
                break
            block, message = call
            out.append(frame(FrameType.HEADERS, Flag.END_HEADERS, self._stream, block))
            out.append(frame(FrameType.DATA, Flag.END_STREAM, self._stream, message))
            self._window -= len(message)
            self._stream += 2
            self._due -= 1
        if out:
            self._transport.write(b"".join(out))


async def run_load(host: str, port: int, calls: Sequence[tuple[bytes, bytes]], *, in_flight: int) -> float:
    """Seconds that all calls took; raises when one is refused or the connection ends."""
    transport, load = await asyncio.get_running_loop().create_connection(lambda: Load(calls, in_flight), host, port)
    began = time.perf_counter()
    try:
        await asyncio.wait_for(load.done, _SECONDS)
        return time.perf_counter() - began
    finally:
        transport.close()


class OpenCalls(asyncio.Protocol):
    """A connection whose calls may wait: `open` returns the first message of the answer once it is there.

    Attributes:
        wrote_at: When the last call was passed to the system, in seconds of `time.perf_counter`.
        read_at: When the last bytes came, likewise.
    """

    def __init__(self, client_id: str) -> None:
        self._client_id = client_id
        self._encoder = Encoder()
        self._stream = 1
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._rest = b""
        self._transport: asyncio.Transport | None = None
        self.wrote_at = self.read_at = 0.0

    @classmethod
    async def connect(cls, host: str, port: int, client_id: str) -> OpenCalls:
        """A connection of a client."""
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(lambda: cls(client_id), host, port))[1]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.write(PREFACE + settings_frame({}) + window_update(0, WINDOW_MAX - WINDOW_DEFAULT))

    def open(self, method: str, message: bytes, *, is_end: bool = True) -> asyncio.Future[bytes]:
        """Begin a call; ``is_end`` for no more messages of ours."""
        assert self._transport is not None
        block = self._encoder.encode(_headers(method, self._client_id))
        number, self._stream = self._stream, self._stream + 2
        head = frame(FrameType.HEADERS, Flag.END_HEADERS, number, block)
        call = head + frame(FrameType.DATA, Flag.END_STREAM if is_end else 0, number, prefixed(message))
        self.wrote_at = time.perf_counter()
        self._transport.write(call)
        answered = self._waiting[number] = asyncio.get_running_loop().create_future()
        return answered

    def data_received(self, data: bytes) -> None:
        assert self._transport is not None
        self.read_at = time.perf_counter()
        data, position = self._rest + data, 0
        while len(data) - position >= HEAD_BYTES:
            size, kind, flags, stream = head_at(data, position)
            end = position + HEAD_BYTES + size
            if end > len(data):
                break
            payload, position = data[position + HEAD_BYTES : end], end
            if kind == FrameType.PING and not flags & Flag.ACK:
                self._transport.write(frame(FrameType.PING, Flag.ACK, 0, payload))
            elif kind == FrameType.SETTINGS and not flags & Flag.ACK:
                self._transport.write(frame(FrameType.SETTINGS, Flag.ACK, 0))
            elif kind == FrameType.DATA and stream in self._waiting:
                self._waiting.pop(stream).set_result(payload)
        self._rest = data[position:]

    def connection_lost(self, _error: Exception | None) -> None:
        for answered in self._waiting.values():
            answered.cancel()

    def close(self) -> None:
        """End the connection."""
        assert self._transport is not None
        self._transport.close()
