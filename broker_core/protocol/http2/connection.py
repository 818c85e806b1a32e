"""The server's side of one HTTP/2 connection, without a socket: bytes in, events and bytes out.

It serves what gRPC clients do: requests with a body in DATA frames, answers with trailers, flow control both ways. It refuses
what costs memory or time without end: large header blocks, floods of control frames, streams that are reset at once.

Source: RFC 9113; RFC 7541; docs/spec/grpc.md §2.2, §10.3.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from broker_core.errors import CodecError
from broker_core.protocol.http2.frames import (
    FRAME_BYTES_MAX,
    HEAD,
    HEAD_BYTES,
    PREFACE,
    STREAM_ID_MAX,
    WINDOW_DEFAULT,
    WINDOW_MAX,
    ErrorCode,
    Flag,
    FrameType,
    Setting,
    frame,
    goaway,
    head,
    reset,
    settings_frame,
    settings_of,
    window_update,
    word_of,
)
from broker_core.protocol.http2.header_decoder import Header, HeaderDecoder

Headers = list[Header]

_HEAD: Final = HEAD.pack
_HEADERS: Final = int(FrameType.HEADERS)
_END_HEADERS: Final = int(Flag.END_HEADERS)
_END: Final = int(Flag.END_HEADERS | Flag.END_STREAM)
_PADDED: Final = int(Flag.PADDED)
_END_STREAM: Final = int(Flag.END_STREAM)
"""Members of an enumeration take three times as long where each frame needs them."""
_PING_BYTES: Final = 8
_PRIORITY_BYTES: Final = 5
_SETTING_BYTES: Final = 6
_WORD_BYTES: Final = 4
EARLY_STREAMS_MAX: Final = 100
"""The least limit that RFC 9113, section 6.5.2, recommends; clients open no more before they know ours."""
_ENDED_KEPT: Final = 256
"""Streams that were reset by us, for which frames on their way are dropped without a word."""


class Http2Error(CodecError):
    """The peer broke the protocol; its connection ends. ``context["code"]`` is the `ErrorCode`."""


@dataclass(frozen=True, slots=True)
class Http2Limits:
    """Bounds of one connection.

    Attributes:
        streams_max: Calls that may be open at once, `EARLY_STREAMS_MAX` before the peer knows our settings. It never changes,
            because gRPC's core in C stopped sending when a second SETTINGS frame changed it (tried with gRPC 1.76).
        held_bytes_max: Memory of open calls: ``stream_bytes`` each, their first windows until their requests are complete, and
            what `Http2Connection.hold` adds. It has room for ``streams_max`` calls with their first windows.
        stream_bytes: Memory of a call that waits, with all that its user keeps for it.
        window_bytes: Bytes that the peer may send before we allow more, for the connection and for a stream that is widened.
        first_window_bytes: Likewise, for each other stream; at most the protocol's default, which holds for what the peer sends
            before it knows this.
        header_block_bytes_max: Encoded header block, all frames together.
        header_list_bytes_max: Decoded headers.
        resets_max: Streams that the peer resets, less the calls that ended otherwise; more is an attack (rapid reset).
        control_frames_max: Frames that need no request (PING, SETTINGS, PRIORITY, empty DATA), less the calls that began
            and what `Http2Connection.forgive` takes off.
        unsent_bytes_max: Bytes of answers that wait for the peer's windows.
    """

    streams_max: int = 160
    held_bytes_max: int = 624 * 1024
    stream_bytes: int = 1_408
    window_bytes: int = 1 << 20
    first_window_bytes: int = 2 * 1024
    header_block_bytes_max: int = 16 * 1024
    header_list_bytes_max: int = 16 * 1024
    resets_max: int = 1_000
    control_frames_max: int = 1_000
    unsent_bytes_max: int = 64 * 1024 * 1024


class Stream:
    """One call: its two directions and their windows.

    Attributes:
        id: Number that the client chose.
        owner: What the user of the connection keeps beside it.
        is_open_there: Whether the client may send more.
        is_open_here: Whether we may send more.
        held_bytes: What it takes of ``held_bytes_max``.
    """

    __slots__ = (
        "held_bytes", "id", "is_open_here", "is_open_there", "owner", "receive_window", "send_window", "trailers",
        "unallowed", "unsent", "window_bytes",
    )  # fmt: skip

    def __init__(self, stream_id: int, window_bytes: int, send_window: int, held_bytes: int) -> None:
        self.id = stream_id
        self.owner: object = None
        self.window_bytes = window_bytes
        """Of the peer, when all that it sent is consumed."""
        self.receive_window = window_bytes
        self.send_window = send_window
        self.held_bytes = held_bytes
        self.unallowed = 0
        """Consumed bytes that the peer was not yet allowed to send again."""
        self.is_open_there = True
        self.is_open_here = True
        self.unsent: list[memoryview] | None = None
        """Data that waits for the windows."""
        self.trailers: bytes | None = None
        """Header block that ends the stream behind the unsent data."""


class StreamEvents(Protocol):
    """What the user of a connection is called with."""

    def request(self, stream: Stream, headers: Headers) -> None:
        """A call begins."""

    def data(self, stream: Stream, data: bytes) -> None:
        """A piece of the request's body; `Http2Connection.consumed` allows the peer to send as much again.

        The connection's window is for all streams, so that a stream which waits stops no other.
        """

    def ended(self, stream: Stream) -> None:
        """The request's body is complete."""

    def gone(self, stream: Stream) -> None:
        """The peer reset the stream, which still has its unsent data: its answer is wanted no more."""

    def reset_late(self, stream_id: int) -> None:
        """The peer reset a stream whose answer has left: it may not have read the answer."""


class Http2Connection:
    """State of one connection. ``out`` holds the bytes to send; `take_out` empties it.

    Args:
        events: Called during `receive`.
        limits: Bounds.
    """

    def __init__(self, events: StreamEvents, limits: Http2Limits) -> None:
        self._events = events
        self._limits = limits
        self._decoder = HeaderDecoder(limits.header_list_bytes_max)
        self._rest = b""
        self._has_preface = False
        self._block = bytearray()
        """Header block whose CONTINUATION frames are awaited."""
        self._block_of: tuple[int, bool] | None = None
        self.streams: dict[int, Stream] = {}
        self._reset_here: deque[int] = deque(maxlen=_ENDED_KEPT)
        self._last_stream = 0
        self._send_window = WINDOW_DEFAULT
        self._receive_window = limits.window_bytes
        self._unallowed = 0
        """Consumed bytes that the peer was not yet allowed to send again."""
        self._stream_window = WINDOW_DEFAULT
        self._frame_bytes_max = FRAME_BYTES_MAX
        self._waiting: dict[int, Stream] = {}
        """Streams with unsent data."""
        self._unsent_bytes = 0
        self._held_bytes = 0
        self._resets = 0
        self._control_frames = 0
        self._is_leaving = False
        self._is_known = False
        """Whether the peer knows our settings: it may open more streams, and sends less than the default on each."""
        self.out: list[bytes | memoryview] = [
            settings_frame(
                {
                    Setting.MAX_CONCURRENT_STREAMS: limits.streams_max,
                    Setting.INITIAL_WINDOW_SIZE: limits.first_window_bytes,
                    Setting.MAX_HEADER_LIST_SIZE: limits.header_list_bytes_max,
                }
            ),
            window_update(0, limits.window_bytes - WINDOW_DEFAULT),
        ]
        self._handlers: dict[int, Callable[[int, int, bytes], None]] = {
            FrameType.DATA: self._on_data,
            FrameType.HEADERS: self._on_headers,
            FrameType.PRIORITY: self._on_priority,
            FrameType.RST_STREAM: self._on_reset,
            FrameType.SETTINGS: self._on_settings,
            FrameType.PING: self._on_ping,
            FrameType.GOAWAY: self._on_goaway,
            FrameType.WINDOW_UPDATE: self._on_window,
            FrameType.CONTINUATION: self._on_continuation,
        }

    @property
    def unsent_bytes(self) -> int:
        """Bytes of answers that wait for the peer's windows."""
        return self._unsent_bytes

    @property
    def has_preface(self) -> bool:
        """Whether the peer has shown that it speaks HTTP/2."""
        return self._has_preface

    def take_out(self) -> list[bytes | memoryview]:
        """The bytes to send now, in order."""
        out, self.out = self.out, []
        return out

    # ---- in ------------------------------------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Serve the bytes of one read.

        Raises:
            Http2Error: The peer broke the protocol. ``out`` ends with a GOAWAY; nothing more may be received.
        """
        if self._rest:
            data = self._rest + data
        try:
            position = self._skip_preface(data)
            if position >= 0:
                position = self._take_frames(data, position)
            self._rest = data[max(position, 0) :]
        except Http2Error as error:
            code = error.context["code"]
            assert isinstance(code, ErrorCode)
            self.leave(code, error.message)
            raise

    def _skip_preface(self, data: bytes) -> int:
        """Where the first frame begins; -1 while the preface is incomplete."""
        if self._has_preface:
            return 0
        if not data.startswith(PREFACE[: len(data)]):
            raise _broken(ErrorCode.PROTOCOL_ERROR, "this port speaks gRPC over HTTP/2: it began with other bytes")
        if len(data) < len(PREFACE):
            return -1
        self._has_preface = True
        return len(PREFACE)

    def _take_frames(self, data: bytes, position: int) -> int:
        end, read_head = len(data), HEAD.unpack_from
        while end - position >= HEAD_BYTES:
            word, flags, stream_id = read_head(data, position)
            size, kind, stream_id = word >> 8, word & 0xFF, stream_id & STREAM_ID_MAX
            if size > FRAME_BYTES_MAX:
                raise _broken(ErrorCode.FRAME_SIZE_ERROR, f"a frame of {size:,} bytes; {FRAME_BYTES_MAX:,} are allowed")
            start = position + HEAD_BYTES
            if end - start < size:
                break
            position = start + size
            self._take_frame(kind, flags, stream_id, data[start:position])
        return position

    def _take_frame(self, kind: int, flags: int, stream_id: int, payload: bytes) -> None:
        if self._block_of is not None and (kind != FrameType.CONTINUATION or stream_id != self._block_of[0]):
            raise _broken(ErrorCode.PROTOCOL_ERROR, "a header block was interrupted by another frame")
        handler = self._handlers.get(kind)
        if handler is not None:
            handler(flags, stream_id, payload)
        elif kind == FrameType.PUSH_PROMISE:
            raise _broken(ErrorCode.PROTOCOL_ERROR, "a client may not push")
        else:
            self._count_control()

    def forgive(self, frames: int) -> None:
        """Count so many control frames and resets less: time has passed, and a slow peer is no attacker."""
        self._control_frames = max(self._control_frames - frames, 0)
        self._resets = max(self._resets - frames, 0)

    def _count_control(self) -> None:
        self._control_frames += 1
        if self._control_frames > self._limits.control_frames_max:
            raise _broken(ErrorCode.ENHANCE_YOUR_CALM, "too many frames that belong to no call")

    # ---- requests ----

    def _on_headers(self, flags: int, stream_id: int, payload: bytes) -> None:
        if flags & _PADDED:
            payload = _unpadded(payload)
        if flags & Flag.PRIORITY:
            if len(payload) < _PRIORITY_BYTES:
                raise _broken(ErrorCode.FRAME_SIZE_ERROR, "a HEADERS frame is shorter than its priority")
            payload = payload[_PRIORITY_BYTES:]
        if stream_id % 2 == 0:
            raise _broken(ErrorCode.PROTOCOL_ERROR, f"a client may not open stream {stream_id}")
        if flags & _END_HEADERS and len(payload) <= self._limits.header_block_bytes_max:
            self._take_block(stream_id, payload, is_end=bool(flags & _END_STREAM))
            return
        self._block = bytearray(payload)
        self._block_of = (stream_id, bool(flags & _END_STREAM))
        self._end_block(flags)

    def _on_continuation(self, flags: int, _stream_id: int, payload: bytes) -> None:
        if self._block_of is None:
            raise _broken(ErrorCode.PROTOCOL_ERROR, "a CONTINUATION frame without a header block")
        if not payload:
            self._count_control()
        self._block += payload
        self._end_block(flags)

    def _end_block(self, flags: int) -> None:
        if len(self._block) > self._limits.header_block_bytes_max:
            text = f"a header block of more than {self._limits.header_block_bytes_max:,} bytes"
            raise _broken(ErrorCode.ENHANCE_YOUR_CALM, text)
        if not flags & Flag.END_HEADERS or self._block_of is None:
            return
        (stream_id, is_end), block = self._block_of, bytes(self._block)
        self._block_of, self._block = None, bytearray()
        self._take_block(stream_id, block, is_end=is_end)

    def _take_block(self, stream_id: int, block: bytes, *, is_end: bool) -> None:
        try:  # even of a stream that is refused, as the table of both ends must stay the same
            headers = self._decoder.decode(block)
        except CodecError as error:
            raise _broken(ErrorCode.COMPRESSION_ERROR, f"a header block cannot be decoded: {error.message}") from error
        self._take_headers(stream_id, headers, is_end=is_end)

    def _take_headers(self, stream_id: int, headers: Headers, *, is_end: bool) -> None:
        stream = self.streams.get(stream_id)
        if stream is None and stream_id > self._last_stream:
            self._open(stream_id, headers, is_end=is_end)
        elif stream is not None and stream.is_open_there and is_end:
            self._end_there(stream)  # trailers of a request
        elif stream is not None:
            self.reset(stream, ErrorCode.PROTOCOL_ERROR)
        elif stream_id not in self._reset_here:
            raise _broken(ErrorCode.STREAM_CLOSED, f"headers for stream {stream_id}, which has ended")

    def _open(self, stream_id: int, headers: Headers, *, is_end: bool) -> None:
        self._last_stream = stream_id
        limits = self._limits
        streams_max = limits.streams_max if self._is_known else min(limits.streams_max, EARLY_STREAMS_MAX)
        held_bytes = limits.stream_bytes + limits.first_window_bytes
        is_full = len(self.streams) >= streams_max or self._held_bytes + held_bytes > limits.held_bytes_max
        if is_full or self._is_leaving:
            self._reset_here.append(stream_id)
            self.out.append(reset(stream_id, ErrorCode.REFUSED_STREAM))
            return
        self._control_frames = max(self._control_frames - 1, 0)
        self._held_bytes += held_bytes
        stream = Stream(stream_id, limits.first_window_bytes, self._stream_window, held_bytes)
        if not self._is_known:
            stream.receive_window = max(stream.receive_window, WINDOW_DEFAULT)
        self.streams[stream_id] = stream
        self._events.request(stream, headers)
        if is_end and stream_id in self.streams:
            self._end_there(stream)

    def hold(self, stream: Stream, size: int) -> bool:
        """Note that an open call takes more memory, until it ends; False beyond ``held_bytes_max``. Negative for less."""
        if size > self._limits.held_bytes_max - self._held_bytes:
            return False
        stream.held_bytes += size
        self._held_bytes += size
        return True

    def _on_data(self, flags: int, stream_id: int, payload: bytes) -> None:
        size = len(payload)
        self._receive_window -= size
        if self._receive_window < 0:
            raise _broken(ErrorCode.FLOW_CONTROL_ERROR, "more data than the connection's window allows")
        stream = self.streams.get(stream_id)
        if stream is None or not stream.is_open_there:
            self._refuse_data(stream, stream_id, size)
            return
        stream.receive_window -= size
        if stream.receive_window < 0:
            raise _broken(ErrorCode.FLOW_CONTROL_ERROR, f"more data than the window of stream {stream_id} allows")
        data = _unpadded(payload) if flags & _PADDED else payload
        is_end = bool(flags & _END_STREAM)
        if not data and not is_end:
            self._count_control()
        # Whoever answers in `data` must know that nothing follows: an answer before the request's end resets the stream.
        if is_end:
            self._close_there(stream)
        self._allow(size)
        if size > len(data):
            self.consumed(stream, size - len(data))
        if data:
            self._events.data(stream, data)
        if is_end and stream_id in self.streams:
            self._end_there(stream)

    def _refuse_data(self, stream: Stream | None, stream_id: int, size: int) -> None:
        if stream_id == 0 or stream_id > self._last_stream:
            raise _broken(ErrorCode.PROTOCOL_ERROR, f"data for stream {stream_id}, which is not open")
        self._allow(size)
        if stream is not None:
            self.reset(stream, ErrorCode.STREAM_CLOSED)
        else:
            self._count_control()

    def consumed(self, stream: Stream, size: int) -> None:
        """Allow the peer to send as many bytes again on a stream."""
        stream.unallowed += size
        if stream.is_open_there and stream.unallowed * 2 >= stream.window_bytes:
            self._allow_there(stream)

    def widen(self, stream: Stream) -> None:
        """Give a stream the window of the connection: a large message is awaited, and there is room for it."""
        stream.unallowed += self._limits.window_bytes - stream.window_bytes
        stream.window_bytes = self._limits.window_bytes
        if stream.unallowed and stream.is_open_there:
            self._allow_there(stream)

    def _allow_there(self, stream: Stream) -> None:
        stream.receive_window += stream.unallowed
        self.out.append(window_update(stream.id, stream.unallowed))
        stream.unallowed = 0

    def _allow(self, size: int) -> None:
        self._unallowed += size
        if self._unallowed * 2 >= self._limits.window_bytes:
            self._receive_window += self._unallowed
            self.out.append(window_update(0, self._unallowed))
            self._unallowed = 0

    def _close_there(self, stream: Stream) -> None:
        if stream.is_open_there:
            stream.is_open_there = False
            self.hold(stream, -self._limits.first_window_bytes)

    def _end_there(self, stream: Stream) -> None:
        self._close_there(stream)
        self._events.ended(stream)
        self._forget_if_ended(stream)

    def _on_reset(self, _flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != _WORD_BYTES:
            raise _broken(ErrorCode.FRAME_SIZE_ERROR, "a RST_STREAM frame of a wrong size")
        if stream_id == 0 or stream_id > self._last_stream:
            raise _broken(ErrorCode.PROTOCOL_ERROR, f"a reset of stream {stream_id}, which was never opened")
        stream = self.streams.get(stream_id)
        if stream is None:
            self._count_control()
            self._events.reset_late(stream_id)
            return
        self._resets += 1
        if self._resets > self._limits.resets_max:
            raise _broken(ErrorCode.ENHANCE_YOUR_CALM, "too many calls are cancelled at once")
        self._events.gone(stream)
        self._drop(stream)

    # ---- control frames ----

    def _on_priority(self, _flags: int, _stream_id: int, payload: bytes) -> None:
        if len(payload) != _PRIORITY_BYTES:
            raise _broken(ErrorCode.FRAME_SIZE_ERROR, "a PRIORITY frame of a wrong size")
        self._count_control()

    def _on_settings(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id or len(payload) % _SETTING_BYTES or (flags & Flag.ACK and payload):
            raise _broken(ErrorCode.FRAME_SIZE_ERROR, "a SETTINGS frame of a wrong form")
        self._count_control()
        if flags & Flag.ACK:
            self._is_known = True
            return
        for key, value in settings_of(payload):
            self._set(key, value)
        self.out.append(frame(FrameType.SETTINGS, Flag.ACK, 0))
        self._send_waiting()

    def _set(self, key: int, value: int) -> None:
        if key == Setting.INITIAL_WINDOW_SIZE:
            if value > WINDOW_MAX:
                raise _broken(ErrorCode.FLOW_CONTROL_ERROR, f"a window of {value:,} bytes")
            for stream in self.streams.values():
                stream.send_window += value - self._stream_window
            self._stream_window = value
        elif key == Setting.MAX_FRAME_SIZE:
            if not FRAME_BYTES_MAX <= value < 1 << 24:
                raise _broken(ErrorCode.PROTOCOL_ERROR, f"frames of {value:,} bytes")
            self._frame_bytes_max = value
        # The size of our table does not matter, because header blocks of answers use none.

    def _on_ping(self, flags: int, stream_id: int, payload: bytes) -> None:
        if stream_id or len(payload) != _PING_BYTES:
            raise _broken(ErrorCode.FRAME_SIZE_ERROR, "a PING frame of a wrong form")
        if not flags & Flag.ACK:
            self._count_control()
            self.out.append(frame(FrameType.PING, Flag.ACK, 0, payload))

    def _on_goaway(self, _flags: int, _stream_id: int, _payload: bytes) -> None:
        self._count_control()  # open calls are served to their end

    def _on_window(self, _flags: int, stream_id: int, payload: bytes) -> None:
        if len(payload) != _WORD_BYTES:
            raise _broken(ErrorCode.FRAME_SIZE_ERROR, "a WINDOW_UPDATE frame of a wrong size")
        size, stream = word_of(payload), self.streams.get(stream_id)
        if stream_id == 0:
            self._send_window += size
            if size == 0 or self._send_window > WINDOW_MAX:
                raise _broken(ErrorCode.FLOW_CONTROL_ERROR, "the connection's window overflows")
            self._send_waiting()
        elif stream is not None:
            stream.send_window += size
            if size == 0 or stream.send_window > WINDOW_MAX:
                self._events.gone(stream)
                self.reset(stream, ErrorCode.FLOW_CONTROL_ERROR)
            else:
                self._send_stream(stream)
        elif stream_id > self._last_stream:
            raise _broken(ErrorCode.PROTOCOL_ERROR, f"a window for stream {stream_id}, which was never opened")

    # ---- out -----------------------------------------------------------------------------------------------------------

    def send_headers(self, stream: Stream, block: bytes) -> None:
        """Send an encoded header block that begins an answer."""
        self.out.append(frame(FrameType.HEADERS, Flag.END_HEADERS, stream.id, block))

    def send_data(self, stream: Stream, data: bytes) -> None:
        """Send data, or keep what the peer's windows do not take.

        Raises:
            Http2Error: More than ``unsent_bytes_max`` would wait; the connection must end.
        """
        size = len(data)
        if not stream.unsent and size <= min(stream.send_window, self._send_window, self._frame_bytes_max):
            stream.send_window -= size
            self._send_window -= size
            self.out.append(head(FrameType.DATA, 0, stream.id, size) + data)
            return
        self._unsent_bytes += size
        if self._unsent_bytes > self._limits.unsent_bytes_max:
            raise _broken(ErrorCode.ENHANCE_YOUR_CALM, f"{self._unsent_bytes:,} bytes wait for it to read")
        if stream.unsent is None:
            stream.unsent = []
        stream.unsent.append(memoryview(data))
        self._waiting[stream.id] = stream
        self._send_stream(stream)

    def end(self, stream: Stream, block: bytes) -> None:
        """End an answer with an encoded block of trailers, behind its unsent data."""
        stream.trailers = block
        if not stream.unsent:
            self._send_trailers(stream)

    def send_whole(self, stream: Stream, headers: bytes, data: bytes, block: bytes) -> bool:
        """Send a whole answer to a request that is complete; False, and nothing is sent, where the windows do not take it.

        Args:
            stream: On which nothing was sent yet.
            headers: Encoded block that begins the answer.
            data: All of it.
            block: Encoded block that ends it.
        """
        size = len(data)
        if size > stream.send_window or size > self._send_window or size > self._frame_bytes_max or stream.is_open_there:
            return False
        self._send_window -= size
        number = stream.id
        pieces = (
            _HEAD(len(headers) << 8 | _HEADERS, _END_HEADERS, number), headers,
            _HEAD(size << 8, 0, number), data,
            _HEAD(len(block) << 8 | _HEADERS, _END, number), block,
        )  # fmt: skip
        self.out.append(b"".join(pieces))
        stream.is_open_here = False
        self._resets = max(self._resets - 1, 0)
        self._forget_if_ended(stream)
        return True

    def reset(self, stream: Stream, code: ErrorCode) -> None:
        """End a stream at once in both directions."""
        self._drop(stream)
        self._reset_here.append(stream.id)
        self.out.append(reset(stream.id, code))

    def leave(self, code: ErrorCode = ErrorCode.NO_ERROR, text: str = "") -> None:
        """Announce that no further calls are served; open ones are."""
        if not self._is_leaving or code:
            self._is_leaving = True
            self.out.append(goaway(self._last_stream, code, text))

    def _send_waiting(self) -> None:
        for stream in list(self._waiting.values()):
            if self._send_window <= 0:
                break
            self._send_stream(stream)

    def _send_stream(self, stream: Stream) -> None:
        unsent = stream.unsent
        while unsent:
            part = unsent[0]
            room = min(stream.send_window, self._send_window, self._frame_bytes_max)
            if room <= 0:
                return
            piece = part[:room]
            if len(piece) == len(part):
                del unsent[0]
            else:
                unsent[0] = part[room:]
            stream.send_window -= len(piece)
            self._send_window -= len(piece)
            self._unsent_bytes -= len(piece)
            self.out.append(head(FrameType.DATA, 0, stream.id, len(piece)))
            self.out.append(piece)
        self._waiting.pop(stream.id, None)
        if stream.trailers is not None and stream.is_open_here:
            self._send_trailers(stream)

    def _send_trailers(self, stream: Stream) -> None:
        assert stream.trailers is not None
        self.out.append(frame(FrameType.HEADERS, Flag.END_HEADERS | Flag.END_STREAM, stream.id, stream.trailers))
        stream.is_open_here = False
        self._resets = max(self._resets - 1, 0)
        if stream.is_open_there:
            # The rest of the request is wanted no more (RFC 9113, section 8.1).
            self.reset(stream, ErrorCode.NO_ERROR)
        else:
            self._forget_if_ended(stream)

    def _drop(self, stream: Stream) -> None:
        stream.is_open_here = False
        self._close_there(stream)
        self._unsent_bytes -= sum(map(len, stream.unsent or ()))
        stream.unsent = None
        self._forget_if_ended(stream)

    def _forget_if_ended(self, stream: Stream) -> None:
        if not stream.is_open_here and not stream.is_open_there:
            if self.streams.pop(stream.id, None) is not None:
                self._held_bytes -= stream.held_bytes
            self._waiting.pop(stream.id, None)


def _unpadded(payload: bytes) -> bytes:
    if not payload or payload[0] >= len(payload):
        raise _broken(ErrorCode.PROTOCOL_ERROR, "a frame is shorter than its padding")
    return payload[1 : len(payload) - payload[0]]


def _broken(code: ErrorCode, text: str) -> Http2Error:
    return Http2Error(text, code=code)
