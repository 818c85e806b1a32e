"""One gRPC connection on asyncio: calls of a client in, messages out. It does not know what a method means.

A call has a small first window. A larger message needs room in the server's budget for all of it; the call gets a larger
window when there is room. What calls hold beside, their number and answers that the client does not read are bounded, so that
a connection costs a mebibyte at most. All answers of one turn of the loop leave in one write.

Threads: every method belongs to the loop's thread.

Source: docs/spec/grpc.md §2, §10.3.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol, cast

from broker_core.config import RemotingLimits
from broker_core.errors import OrbitError
from broker_core.protocol.codes import LanguageCode
from broker_core.protocol.grpc.framing import (
    CALLER_HEADERS,
    PREFIX,
    GrpcStatus,
    prefixed,
    timeout_seconds,
    trailers,
)
from broker_core.protocol.http2.connection import Headers, Http2Connection, Http2Error, Http2Limits, Stream
from broker_core.protocol.http2.frames import ErrorCode
from broker_core.protocol.http2.header_blocks import RESPONSE
from broker_core.transport.busy_poll import BusyPoll
from broker_core.transport.connection import peer_address
from broker_core.transport.message_room import MessageRoom

logger = logging.getLogger(__name__)

_CONTENT_TYPE = "application/grpc"
_COMPRESSED = 1
_ANSWERED_KEPT = 8
"""Answers of one connection that may yet turn out to be unread."""
_ANSWERED_SECONDS = 10.0
"""A client that sends something so long after an answer has read it."""
_METADATA_BYTES = 384
"""Of the metadata of a call, beside its texts."""
_ENDED_WELL = trailers(GrpcStatus.OK)
_LIMITS = Http2Limits()


class CallHandler(Protocol):
    """Serves one call."""

    def message(self, data: bytes) -> None:
        """A whole message of the client."""

    def ended(self) -> None:
        """The client sends no more messages."""

    def cancelled(self) -> None:
        """The client wants no answer any more; nothing can be sent."""


Unread = Callable[[int], None]
"""Called with how many of an answer's messages did not leave; with 0 when all left and the client may not have read them."""

Begin = Callable[["GrpcCall"], CallHandler | None]
"""Returns what serves a call; None for a method that is not served."""


class GrpcCall:
    """One call of a client.

    Attributes:
        path: ``/package.Service/Method``.
        metadata: `CALLER_HEADERS` by name, the last of each; a character for each byte of a value.
        deadline: Loop time at which the client gives up; infinity without one.
        connection: Where it came from.
        unread: Called when the client resets the call, its connection ends, or this side gives up, before it has read all.
    """

    __slots__ = (
        "_begun", "_buffer", "_handler", "_stream", "_unallowed", "connection", "deadline", "is_over", "metadata", "path",
        "unread",
    )  # fmt: skip

    def __init__(
        self, connection: GrpcConnection, stream: Stream, path: str, metadata: Mapping[str, str], deadline: float
    ) -> None:
        self.connection = connection
        self.path = path
        self.metadata = metadata
        self.deadline = deadline
        self.is_over = False
        """Whether nothing can be sent any more."""
        self._stream = stream
        self._handler: CallHandler | None = None
        self._buffer: bytearray | None = None
        self._unallowed = 0
        """Bytes that the peer may send again when there is room for the message."""
        self._begun = False
        self.unread: Unread | None = None

    def send(self, message: bytes) -> bool:
        """Send a message of the answer; False when the call is over."""
        if self.is_over:
            return False
        self._begin()
        self.connection.send_data(self._stream, prefixed(message))
        return True

    def begin(self) -> None:
        """Send the headers of the answer before its first message."""
        if not self.is_over:
            self._begin()

    def _begin(self) -> None:
        if not self._begun:
            self._begun = True
            self.connection.http2.send_headers(self._stream, RESPONSE)

    def finish(self, status: GrpcStatus = GrpcStatus.OK, text: str = "") -> None:
        """End the call; does nothing when it is over."""
        if self.is_over:
            return
        self.is_over = True
        block = trailers(status, text)
        self.connection.end(self._stream, block if self._begun else RESPONSE + block)
        if self.unread is not None:
            self.connection.answered(self._stream, self.unread)

    def answer(self, message: bytes) -> None:
        """Send the only message of an answer, and end the call; does nothing when it is over."""
        if self.is_over:
            return
        connection = self.connection
        if self._begun or not connection.http2.send_whole(self._stream, RESPONSE, prefixed(message), _ENDED_WELL):
            if self.hold(len(message)):
                self.send(message)
                self.finish()
            else:
                self.finish(GrpcStatus.RESOURCE_EXHAUSTED, "too many answers of this connection wait for you to read them")
            return
        self.is_over = True
        connection.flush_soon()

    def hold(self, size: int) -> bool:
        """Note that the call takes more memory until it ends, or less; False where its connection has no more."""
        return self.connection.http2.hold(self._stream, size)

    # ---- for the connection ----

    def attend(self, handler: CallHandler) -> None:
        """Have the call served."""
        self._handler = handler

    def take(self, data: bytes) -> None:
        """Take a piece of the request."""
        size = len(data)
        buffer = self._buffer
        if buffer is None and size >= PREFIX.size and PREFIX.unpack_from(data) == (0, size - PREFIX.size):
            self._pass_on(data[PREFIX.size :])
        else:
            if buffer is None:
                buffer = self._buffer = bytearray()
            buffer += data
            self._take_messages(buffer)
            if not buffer:
                self._buffer = None
        if self._buffer is None or self._has_room(self._buffer):
            self.connection.http2.consumed(self._stream, size)
        else:
            self._unallowed += size

    def _take_messages(self, buffer: bytearray) -> None:
        while len(buffer) >= PREFIX.size and not self.is_over:
            flag, size = PREFIX.unpack_from(buffer)
            if flag == _COMPRESSED:
                self._refuse(GrpcStatus.UNIMPLEMENTED, "compressed messages are not served: send them without compression")
                return
            if size > self.connection.message_bytes_max:
                text = f"a message of {size:,} bytes; {self.connection.message_bytes_max:,} are allowed"
                self._refuse(GrpcStatus.RESOURCE_EXHAUSTED, text)
                return
            end = PREFIX.size + size
            if len(buffer) < end:
                return
            message = bytes(buffer[PREFIX.size : end])
            del buffer[:end]
            self.connection.room.release(self)
            self._pass_on(message)

    def _has_room(self, buffer: bytearray) -> bool:
        """Whether the peer may send as much again; a call without any room is refused."""
        room = self.connection.room
        if self.is_over or room.is_granted(self):
            return True
        if not room.hold(self, max(len(buffer) - _LIMITS.first_window_bytes, 0)):
            text = "too many large messages are incomplete on this connection: send fewer at once"
            self._refuse(GrpcStatus.RESOURCE_EXHAUSTED, text)
            return True
        if len(buffer) < PREFIX.size:
            return True
        size = PREFIX.size + PREFIX.unpack_from(buffer)[1]
        if size <= _LIMITS.first_window_bytes:
            return True
        if not self._unallowed and room.reserve(self, size):
            self.connection.http2.widen(self._stream)
            return True
        return False

    def room_granted(self) -> None:
        """Let the peer go on with a message that waited."""
        held, self._unallowed = self._unallowed, 0
        self.connection.http2.consumed(self._stream, held)
        self.connection.http2.widen(self._stream)
        self.connection.flush_soon()

    def end_late(self) -> None:
        """End the call: its message takes too long to become complete."""
        milliseconds = self.connection.limits.frame_ms
        self._refuse(GrpcStatus.DEADLINE_EXCEEDED, f"the request did not become complete within {milliseconds:,} ms")

    def _pass_on(self, message: bytes) -> None:
        if self._handler is not None and not self.is_over:
            self._handler.message(message)

    def _refuse(self, status: GrpcStatus, text: str) -> None:
        self.release()
        handler, self._handler = self._handler, None
        self.finish(status, text)
        if self.unread is not None:
            self.unread(0)
        if handler is not None:
            handler.cancelled()

    def end_of_request(self) -> None:
        """The client sends no more."""
        if self._buffer and not self.is_over:
            self._refuse(GrpcStatus.INTERNAL, "the request ends within a message")
        elif self._handler is not None:
            self._handler.ended()

    def gone(self) -> None:
        """The client cancelled the call, or the connection ended."""
        self.release()
        was_over, self.is_over = self.is_over, True
        if self.unread is not None:
            self.unread(len(self._stream.unsent or ()))
        if self._handler is not None and not was_over:
            self._handler.cancelled()

    def gone_here(self, status: GrpcStatus, text: str) -> None:
        """End the call and have its handler give up."""
        self._refuse(status, text)

    def release(self) -> None:
        """Give up the incomplete message."""
        self._buffer = None
        self.connection.room.release(self)


class GrpcConnection(asyncio.Protocol):
    """A connection of one client.

    Args:
        begin: Finds what serves a call.
        limits: Bounds, as for remoting.
        room: For incomplete messages, shared with other connections.
        on_open: Called once when the connection is open.
        on_closed: Called once when it has ended.
        busy_poll: Decides whether the loop polls; it gets the size of each read.

    Attributes:
        remote_address: ``host:port`` of the client.
        local_address: ``host:port`` that it connected to.
        is_encrypted: Whether it uses TLS.
        connected_at: Loop time when the connection opened.
        last_active: Loop time of the last byte in or out.
        bytes_in: Bytes received so far.
        bytes_out: Bytes passed to the system so far.
        requests_in: Calls so far.
        language, version: Not stated by a connection; its clients state them.
    """

    language = LanguageCode.OTHER
    version = 0

    def __init__(
        self,
        begin: Begin,
        limits: RemotingLimits,
        *,
        room: MessageRoom,
        on_open: Callable[[GrpcConnection], None],
        on_closed: Callable[[GrpcConnection], None],
        busy_poll: BusyPoll | None = None,
    ) -> None:
        self._begin = begin
        self.limits = limits
        self.room = room
        self._on_open = on_open
        self._on_closed = on_closed
        self._busy_poll = busy_poll
        self._loop = asyncio.get_running_loop()
        self.http2 = Http2Connection(self, replace(_LIMITS, unsent_bytes_max=limits.unsent_bytes_max))
        self._transport: asyncio.Transport | None = None
        self._in_read = False
        self._flush_scheduled = False
        self._is_broken = False
        self._unflushed_bytes = 0
        """Of messages, since the last flush."""
        self._metadata: dict[str, str] = {}
        """Of the last call; calls with the same share it."""
        self._answered: dict[int, tuple[float, int, Unread]] = {}
        """Stream → time when its answer ended, bytes received until then, and whom to call if it is unread."""
        self._until_read: dict[GrpcCall, Callable[[], None]] = {}
        """Calls that go on when the client has read enough, in order."""
        self.remote_address = self.local_address = "unknown"
        self.is_encrypted = False
        self.connected_at = self.last_active = self._loop.time()
        self.bytes_in = self.bytes_out = self.requests_in = 0

    @property
    def message_bytes_max(self) -> int:
        """Largest message of a client."""
        return self.limits.frame_bytes_max

    @property
    def open_calls(self) -> int:
        """Calls that are being served."""
        return len(self.http2.streams)

    @property
    def is_crowded(self) -> bool:
        """Whether it may open few more calls."""
        return self.open_calls > _LIMITS.streams_max * 3 // 4

    @property
    def reads_slowly(self) -> bool:
        """Whether much of its answers waits for the client to read."""
        waiting = self.http2.unsent_bytes + self._unflushed_bytes
        if self._transport is not None:
            waiting += self._transport.get_write_buffer_size()
        return waiting > self.limits.unsent_bytes_high

    def when_read(self, call: GrpcCall, step: Callable[[], None]) -> None:
        """Call ``step`` once when the client no longer reads slowly, unless the call is over by then."""
        self._until_read[call] = step

    def _go_on(self) -> None:
        while self._until_read and not self.reads_slowly:
            call = next(iter(self._until_read))
            step = self._until_read.pop(call)
            if not call.is_over:
                self._guarded(call, step)

    # ---- asyncio.Protocol ----

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport is one in all but its class
        self.remote_address = peer_address(transport.get_extra_info("peername"))
        self.local_address = peer_address(transport.get_extra_info("sockname"))
        self.is_encrypted = transport.get_extra_info("ssl_object") is not None
        self._transport.set_write_buffer_limits(high=self.limits.unsent_bytes_high)
        self._on_open(self)
        self.flush_soon()

    def data_received(self, data: bytes) -> None:
        if self._is_broken:
            return
        self.last_active = self._loop.time()
        self.bytes_in += len(data)
        self._in_read = True
        self._forget_read_answers()
        try:
            self.http2.receive(data)
            self._go_on()
        except Http2Error as error:
            self._break_off(error)
        finally:
            self._in_read = False
            self._flush()
            if self._busy_poll is not None:
                self._busy_poll.served(len(data))

    def pause_writing(self) -> None:
        # A client that does not read its answers is not served further, because its answers would fill the memory.
        if self._transport is not None and not self._transport.is_closing():
            self._transport.pause_reading()

    def resume_writing(self) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()
            self._go_on()

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None
        self._until_read.clear()
        streams = list(self.http2.streams.values())
        self.http2.streams.clear()
        for stream in streams:
            self.gone(stream)
        for _, received, unread in self._answered.values():
            if received == self.bytes_in:  # the client has sent nothing since
                unread(0)
        self._answered.clear()
        self._on_closed(self)

    # ---- events of HTTP/2 ----

    def request(self, stream: Stream, headers: Headers) -> None:
        """A call begins."""
        fields = dict(headers)
        if not fields.get("content-type", "").startswith(_CONTENT_TYPE) or fields.get(":method") != "POST":
            text = "this port serves gRPC calls only"
            self.end(stream, RESPONSE + trailers(GrpcStatus.UNIMPLEMENTED, text))
            return
        path = fields.get(":path", "")
        metadata = {name: fields[name] for name in CALLER_HEADERS & fields.keys()}
        if metadata == self._metadata:
            metadata = self._metadata
        elif not self.http2.hold(stream, _METADATA_BYTES + len(path) + sum(map(len, metadata.values()))):
            self.http2.reset(stream, ErrorCode.REFUSED_STREAM)
            return
        self._metadata = metadata
        seconds = timeout_seconds(fields["grpc-timeout"]) if "grpc-timeout" in fields else None
        call = GrpcCall(self, stream, path, metadata, math.inf if seconds is None else self._loop.time() + seconds)
        stream.owner = call
        self.requests_in += 1
        handler = self._begin(call)
        if handler is None:
            call.finish(GrpcStatus.UNIMPLEMENTED, f"Method not found: {path[1:]}")
        else:
            call.attend(handler)

    def data(self, stream: Stream, data: bytes) -> None:
        """A piece of a request."""
        call = stream.owner
        if isinstance(call, GrpcCall):
            self._guarded(call, call.take, data)
        else:
            self.http2.consumed(stream, len(data))

    def ended(self, stream: Stream) -> None:
        """A request is complete."""
        call = stream.owner
        if isinstance(call, GrpcCall):
            self._guarded(call, call.end_of_request)

    def gone(self, stream: Stream) -> None:
        """A call is cancelled."""
        call = stream.owner
        self._answered.pop(stream.id, None)
        if isinstance(call, GrpcCall):
            self._until_read.pop(call, None)
            self._guarded(call, call.gone)

    def reset_late(self, stream_id: int) -> None:
        """A call is cancelled whose answer has left."""
        answered = self._answered.pop(stream_id, None)
        if answered is not None:
            answered[-1](0)

    def _forget_read_answers(self) -> None:
        while self._answered:
            stream_id, (ended_at, _, _) = next(iter(self._answered.items()))
            if ended_at > self.last_active - _ANSWERED_SECONDS:
                return
            del self._answered[stream_id]

    def answered(self, stream: Stream, unread: Unread) -> None:
        """Remember whom to call if the client does not read an answer that has ended."""
        self._answered[stream.id] = self._loop.time(), self.bytes_in, unread
        if len(self._answered) > _ANSWERED_KEPT:
            del self._answered[next(iter(self._answered))]

    def _guarded(self, call: GrpcCall, step: Callable[..., None], *given: bytes) -> None:
        try:
            step(*given)
        except Http2Error:
            raise
        except Exception as error:
            logger.exception("call %s of %s failed", call.path, self.remote_address)
            call.release()
            call.finish(GrpcStatus.INTERNAL, error.message if isinstance(error, OrbitError) else repr(error))

    # ---- out ----

    def send_data(self, stream: Stream, data: bytes) -> None:
        """Send data of an answer."""
        before = self.http2.unsent_bytes
        try:
            self.http2.send_data(stream, data)
        except Http2Error as error:
            self._break_off(error)
        self._unflushed_bytes += len(data) - (self.http2.unsent_bytes - before)
        self.flush_soon()

    def end(self, stream: Stream, block: bytes) -> None:
        """End an answer."""
        self.http2.end(stream, block)
        self.flush_soon()

    def flush_soon(self) -> None:
        """Pass what is unsent to the system at the end of this turn of the loop."""
        if not self._flush_scheduled and not self._in_read:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush_later)

    def flush_now(self) -> None:
        """Pass it at once, for an answer that somebody waits for; within a read of this connection, at the end of the read."""
        if not self._in_read:
            self._flush()

    def _flush_later(self) -> None:
        self._flush_scheduled = False
        self._flush()

    def _flush(self) -> None:
        self._unflushed_bytes = 0
        if not self.http2.out or self._transport is None:
            return
        data = b"".join(self.http2.take_out())
        self.last_active = self._loop.time()
        self.bytes_out += len(data)
        self._transport.write(data)
        if self._is_broken:
            self._transport.close()
        elif self._transport.get_write_buffer_size() > self.limits.unsent_bytes_max:
            logger.warning("connection of %s is closed: it does not read its answers", self.remote_address)
            self._transport.abort()
        elif self._until_read:
            self._loop.call_soon(self._go_on)

    def _break_off(self, error: Http2Error) -> None:
        logger.warning("connection of %s is closed: %s", self.remote_address, error.message)
        self._is_broken = True
        self.flush_soon()

    def leave(self) -> None:
        """Take no further calls; open ones are served."""
        self.http2.leave()
        self.flush_soon()

    def close(self, reason: str = "closed by this side") -> None:
        """End the connection after its unsent bytes have been passed to the system."""
        logger.info("connection of %s ends: %s", self.remote_address, reason)
        if self._transport is not None and not self._transport.is_closing():
            self._flush()
            self._transport.close()

    def abort(self) -> None:
        """End the connection at once."""
        if self._transport is not None:
            self._transport.abort()
