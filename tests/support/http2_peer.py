"""One end of HTTP/2 by hand: pings, calls of gRPC that are not read or are reset."""

from __future__ import annotations

import itertools
import socket
import struct
from collections.abc import Mapping

from google.protobuf.message import Message

from broker_core.protocol.grpc.framing import prefixed
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
)
from broker_core.protocol.http2.header_blocks import literal
from tests.support.grpc_stub import SERVICE


class Http2Peer:
    """A connection; ``window`` is how much of an answer the other end may send, ``address`` is as the other end sees it."""

    def __init__(self, port: int, *, window: int = WINDOW_DEFAULT) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port))
        self._socket.settimeout(30)
        self.address = "{}:{}".format(*self._socket.getsockname())
        self._socket.sendall(PREFACE + settings_frame({Setting.INITIAL_WINDOW_SIZE: window}))
        self._rest = b""
        self._streams = itertools.count(1, 2)

    def acknowledge(self) -> None:
        """Tell the other end that its settings are known, upon which it allows more calls."""
        self._socket.sendall(frame(FrameType.SETTINGS, Flag.ACK, 0))

    def call(self, name: str, request: Message, metadata: Mapping[str, str]) -> int:
        """Make a call; returns the number of its stream."""
        return self.begin(name, prefixed(request.SerializeToString()), metadata)

    def begin(self, name: str, data: bytes, metadata: Mapping[str, str], *, is_end: bool = True) -> int:
        """Send the first bytes of a call, ``is_end``: and no more; returns the number of its stream."""
        headers = {":method": "POST", ":scheme": "http", ":path": SERVICE + name, "content-type": "application/grpc"}
        block = b"".join(literal(key.encode(), text.encode()) for key, text in (headers | dict(metadata)).items())
        stream = next(self._streams)
        begin = frame(FrameType.HEADERS, Flag.END_HEADERS, stream, block)
        self._socket.sendall(begin + frame(FrameType.DATA, Flag.END_STREAM if is_end else 0, stream, data))
        return stream

    def reset(self, stream: int) -> None:
        """Cancel a call; returns when the other end knows."""
        self._socket.sendall(reset(stream, ErrorCode.CANCEL))
        assert self.answers(stream)

    def ping(self, number: int) -> None:
        self._socket.sendall(frame(FrameType.PING, 0, 0, struct.pack(">Q", number)))

    def next(self) -> tuple[int, int, bytes] | None:
        """Type, flags and payload of the next frame; None at the end."""
        while True:
            if len(self._rest) >= HEAD_BYTES:
                size, kind, flags, _ = head_at(self._rest, 0)
                if len(self._rest) >= HEAD_BYTES + size:
                    payload, self._rest = self._rest[HEAD_BYTES : HEAD_BYTES + size], self._rest[HEAD_BYTES + size :]
                    return kind, flags, payload
            data = self._socket.recv(65_536)
            if not data:
                return None
            self._rest += data

    def answers(self, number: int) -> bool:
        """Whether a ping is answered."""
        self.ping(number)
        while (found := self.next()) is not None:
            if found == (FrameType.PING, Flag.ACK, struct.pack(">Q", number)):
                return True
        return False

    def close(self) -> None:
        self._socket.close()
