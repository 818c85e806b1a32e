"""One remoting connection on asyncio, the same for both ends.

A handler serves received commands; the opaque pairs the peer's answers with our requests. All commands sent in one turn of the
loop leave in one write. It does not know what any request code means, and does not reconnect.

Threads: every method belongs to the loop's thread.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from broker_core.config import RemotingLimits
from broker_core.errors import ConnectionLostError, FrameError, NetworkError, OrbitError, RemoteError, fault_remark
from broker_core.platform import streams
from broker_core.protocol.addresses import address_of
from broker_core.protocol.codes import LanguageCode, ResponseCode, SerializeType
from broker_core.protocol.frame import (
    ONEWAY_FLAG,
    RESPONSE_FLAG,
    TAKEN,
    Buffer,
    FrameDecoder,
    RemotingCommand,
    Take,
    encode_parts,
)
from broker_core.protocol.signature import Credentials, sign
from broker_core.transport.busy_poll import BusyPoll
from broker_core.transport.frame_budget import FrameBudget
from broker_core.transport.frame_file import FrameFile

logger = logging.getLogger(__name__)

Handler = Callable[["Connection", RemotingCommand], RemotingCommand | None]
"""Serves one request: returns the response, or None when `Connection.send` sends it later (or never, for one-way)."""

_TLS_HANDSHAKE = 0x16
_OPAQUE_MASK = 0x7FFFFFFF
_UNSENT_PARTS_MAX = 512
_DIRECT_BYTES = 64 * 1024
"""From this size on answers are passed to the system in pieces; joining smaller ones takes no measurable time."""
_TURN_BYTES_MAX = 256 * 1024
"""Bytes sent before the next request of the same read is served, so that the peer receives them meanwhile."""
_CLOSE_SECONDS = 2.0
_PACE_GRACE_SECONDS = 2.0
"""For this long a large frame may arrive at any pace."""
REST_SECONDS = 0.1
_READ_BYTES_MAX = 64 * 1024
"""Read from one connection at a time. Some 200 sends take 2 ms; with uvloop's 250 KiB, all other connections wait for 8 ms."""


class _ReadBuffer(threading.local):
    """One buffer per thread for all its connections: each read is copied out before the next."""

    def __init__(self) -> None:
        self.view = memoryview(bytearray(_READ_BYTES_MAX))


_read_buffer = _ReadBuffer()


class RequestTimeoutError(NetworkError):
    """No answer came within the time given for it."""


class Connection(asyncio.BufferedProtocol):
    """A connection to one peer.

    Args:
        handler: Serves the peer's requests; called on the loop, must not block. A `RemoteError` that it raises becomes a
            response with that error's code, any other exception SYSTEM_ERROR.
        limits: Bounds of buffers and times.
        on_open: Called once when the connection is open.
        budget: Room for large frames, shared with other connections; None on the client side.
        frame_directory: Where incomplete large frames are kept; see `FrameFile`.
        busy_poll: Decides whether the loop polls; it gets the size of each read. None on the client side.

    Attributes:
        remote_address: ``host:port`` of the peer.
        language: Language of the peer's last request.
        version: `MQVersion` ordinal of the peer's last command; 0 before the first.
        serialize_type: Header encoding of the peer's last command, used for requests of ours.
        last_active: Loop time of the last byte in or out.
        is_mute: Whether a request of ours stayed unanswered for ``silence_ms`` and nothing was received meanwhile.
        partial_since: Loop time since when a frame is incomplete; infinity without one.
        requests_in: Requests received so far.
        bytes_in: Bytes received so far; with TLS the decrypted ones.
        bytes_out: Bytes passed to the system so far.
        connected_at: Loop time when the connection opened.
        credentials: Signs requests of ours; None signs none.
        express: Gets each request as bytes before it is decoded for the handler, and may serve it and those behind it; it
            counts them in ``requests_in``. None for none.
        held_bytes: Returns the other memory of this connection: requests that are answered later.
    """

    __slots__ = (
        "_budget", "_busy_poll", "_close_callbacks", "_decoder", "_descriptor", "_flush_scheduled", "_frame_directory",
        "_handler", "_heard_at", "_in_read", "_is_held_up", "_is_retired", "_limits", "_loop", "_on_open", "_opaque",
        "_pending", "_read_buffer", "_reading_paused", "_rests", "_transport", "_turn_bytes_max", "_unsent",
        "_unsent_body_bytes", "_waits_for_room", "bytes_in", "bytes_out", "close_reason", "connected_at", "credentials",
        "express", "held_bytes", "is_mute", "language", "last_active", "local_address", "partial_since",
        "remote_address", "requests_in", "serialize_type", "version",
    )  # fmt: skip

    def __init__(
        self,
        handler: Handler,
        limits: RemotingLimits,
        *,
        on_open: Callable[[Connection], None] | None = None,
        budget: FrameBudget | None = None,
        frame_directory: Path | None = None,
        busy_poll: BusyPoll | None = None,
    ) -> None:
        self._handler = handler
        self._limits = limits
        self._on_open = on_open
        self._loop = asyncio.get_running_loop()
        self._budget = budget
        self._frame_directory = frame_directory
        self._busy_poll = busy_poll
        self._decoder = FrameDecoder(
            limits.frame_bytes_max, limits.frame_bytes_max if budget is None else limits.header_bytes_max
        )
        self._transport: asyncio.Transport | None = None
        self._descriptor = -1
        self._unsent: list[Buffer] = []
        self._unsent_body_bytes = 0
        self._turn_bytes_max = min(_TURN_BYTES_MAX, limits.unsent_bytes_high)
        self._waits_for_room = False
        self._rests = False
        self._is_held_up = False
        self._flush_scheduled = False
        self._in_read = False
        self._read_buffer = _read_buffer.view
        self._reading_paused = False
        self._pending: dict[int, asyncio.Future[RemotingCommand]] = {}
        self._opaque = 0
        self._close_callbacks: list[Callable[[Connection], None]] = []
        self.remote_address = "unknown"
        self.local_address = "unknown"
        self.language = LanguageCode.OTHER
        self.version = 0
        self.serialize_type = SerializeType.JSON
        self.last_active = self._loop.time()
        self._heard_at = self.last_active
        self._is_retired = False
        self.is_mute = False
        self.partial_since = math.inf
        self.requests_in = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.connected_at = self.last_active
        self.credentials: Credentials | None = None
        self.express: Take | None = None
        self.held_bytes: Callable[[], int] = _nothing_held
        self.close_reason = ""

    # ── for callers ─────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def is_closed(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    def on_closed(self, callback: Callable[[Connection], None]) -> None:
        """Have ``callback`` called once when the connection ends; on the next turn of the loop if it has ended."""
        if self._transport is None and self.close_reason:
            self._loop.call_soon(callback, self)
        else:
            self._close_callbacks.append(callback)

    def send(self, command: RemotingCommand) -> bool:
        """Send a response, or a one-way request that carries its own opaque; False when the connection has ended.

        Raises `FrameError` when the command does not fit a frame.
        """
        if self.is_closed:
            return False
        parts = encode_parts(command)
        if len(parts) > 1:
            self._unsent_body_bytes += sum(map(len, parts))
        self._unsent += parts
        if not self._flush_scheduled and not self._in_read:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush_later)
        return True

    def send_frame(self, frame: bytes) -> bool:
        """Send the bytes of one whole frame; False when the connection has ended."""
        if self.is_closed:
            return False
        self._unsent.append(frame)
        if not self._flush_scheduled and not self._in_read:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush_later)
        return True

    def send_parts(self, parts: list[Buffer], size: int) -> bool:
        """Send one frame with a large body in pieces, ``size`` bytes together, as `send` does."""
        if self.is_closed:
            return False
        self._unsent_body_bytes += size
        self._unsent += parts
        if self._in_read:
            self._decoder.interrupted = self._is_turn_full()
        elif not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush_later)
        return True

    def send_out(self, parts: list[Buffer], size: int) -> bool:
        """Send whole frames in parts, the first of which may change afterwards: as much as the system takes at once.

        The peer receives them while its next requests are served. Only what the system does not take is copied.
        """
        if self.is_closed:
            return False
        rest = parts if self._unsent or self._descriptor < 0 else self._send_directly(parts)
        waiting = sum(map(len, rest))
        self.bytes_out += size - waiting
        if len(rest) == len(parts):  # bytes of the first are among them
            rest = [bytes(rest[0]), *rest[1:]]
        return not rest or self.send_parts(rest, waiting)

    def send_now(self, command: RemotingCommand) -> bool:
        """Send as `send` does, at once instead of at the end of the loop's turn.

        For an answer that somebody waits for; many answers of one turn are cheaper by `send`.
        """
        is_sent = self.send(command)
        if is_sent and not self._in_read:
            self._flush()
        return is_sent

    @property
    def reads_slowly(self) -> bool:
        """Whether much of what it was sent waits for it to read."""
        return self._transport is not None and self._transport.get_write_buffer_size() > self._limits.unsent_bytes_high

    def slow_down(self) -> None:
        """Delay the next requests by `REST_SECONDS`, for a peer that keeps requesting what does not exist."""
        if not self._rests and not self.is_closed:
            self._rests = True
            self._pause_reading()
            self._loop.call_later(REST_SECONDS, self._rested)

    def hold_up(self) -> None:
        """Read nothing more until `go_on`; requests already read are served."""
        self._is_held_up = True
        self._pause_reading()

    def go_on(self) -> None:
        """Read again after `hold_up`. Safe without it, and after the connection has ended."""
        self._is_held_up = False
        self._resume_reading()

    def _rested(self) -> None:
        self._rests = False
        self._resume_reading()

    def send_oneway(self, command: RemotingCommand) -> bool:
        """Send a request that is not answered; see `send`."""
        command.flag = ONEWAY_FLAG
        command.opaque = self._next_opaque()
        if self.credentials is not None:
            sign(command, self.credentials)
        return self.send(command)

    def request(self, command: RemotingCommand, timeout_ms: int | None = None) -> asyncio.Future[RemotingCommand]:
        """Send a request; the future returns its response, whatever its code, or has the error.

        A cancelled future forgets the request; a later answer is dropped. `ConnectionLostError`: the connection ended before
        the answer; `RequestTimeoutError`: no answer within ``timeout_ms``; `NetworkError`: too many requests are unanswered
        already.
        """
        answer: asyncio.Future[RemotingCommand] = self._loop.create_future()
        if self.is_closed:
            answer.set_exception(self._lost_error())
            return answer
        if len(self._pending) >= self._limits.pending_requests_max:
            answer.set_exception(self._too_many_error())
            return answer
        opaque = command.opaque = self._next_opaque()
        if self.credentials is not None:
            sign(command, self.credentials)
        self._pending[opaque] = answer
        try:
            self.send(command)
        except FrameError as error:
            del self._pending[opaque]
            answer.set_exception(error)
            return answer
        limit_ms = self._limits.request_timeout_ms if timeout_ms is None else timeout_ms
        timer = self._loop.call_later(limit_ms / 1000, self._time_out, opaque, command.code, limit_ms)

        def settle(settled: asyncio.Future[RemotingCommand]) -> None:
            timer.cancel()
            self._pending.pop(opaque, None)
            # The peer may hold a request that has more time than usual, so silence means nothing there.
            if settled.cancelled() and limit_ms <= self._limits.request_timeout_ms:
                self._waited_in_vain(timer.when() - limit_ms / 1000)
            if self._is_retired:
                self._end_if_idle()

        answer.add_done_callback(settle)
        return answer

    def ask(self, command: RemotingCommand, timeout_ms: int, answered: Callable[[RemotingCommand | OrbitError], None]) -> None:
        """Send a request as `request` does; ``answered`` is called on the loop with its response or with the error."""

        def settle(answer: asyncio.Future[RemotingCommand]) -> None:
            error = answer.exception()
            if error is not None and not isinstance(error, OrbitError):
                raise error
            answered(answer.result() if error is None else error)

        self.request(command, timeout_ms).add_done_callback(settle)

    def retire(self) -> None:
        """Send no more requests, and end the connection as soon as none of ours is unanswered."""
        self._is_retired = True
        self._end_if_idle()

    def _end_if_idle(self) -> None:
        if not self._pending:
            self.abort("its peer fell silent")

    def close(self, reason: str = "closed by this side") -> None:
        """End the connection after its unsent bytes have been passed to the system. Safe to call again."""
        if self._transport is None or self._transport.is_closing():
            return
        self.close_reason = self.close_reason or reason
        self._flush()
        self._transport.close()

    async def wait_closed(self) -> None:
        ended = asyncio.Event()
        self.on_closed(lambda _: ended.set())
        await ended.wait()

    def abort(self, reason: str) -> None:
        """End the connection at once, dropping what is unsent."""
        if self._transport is not None:
            self.close_reason = self.close_reason or reason
            self._unsent = []
            self._transport.abort()

    # ── asyncio.BufferedProtocol ────────────────────────────────────────────────────────────────────────────────────

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's transport is one in all but its class
        self.remote_address = peer_address(transport.get_extra_info("peername"))
        self.local_address = peer_address(transport.get_extra_info("sockname"))
        self._transport.set_write_buffer_limits(high=self._limits.unsent_bytes_high)
        self._descriptor = _plain_descriptor(self._transport)
        if self._on_open is not None:
            self._on_open(self)

    def get_buffer(self, sizehint: int) -> memoryview:  # noqa: ARG002  as asyncio has it
        return self._read_buffer

    def buffer_updated(self, nbytes: int) -> None:
        data = bytes(self._read_buffer[:nbytes])
        if nbytes == _READ_BYTES_MAX and not self._reading_paused and self._transport is not None:
            # Otherwise libuv reads from this connection up to 32 times before it serves the others.
            self._transport.pause_reading()
            self._loop.call_soon(self._read_on)
        self._received(data)

    def _read_on(self) -> None:
        if not self._reading_paused and self._transport is not None and not self._transport.is_closing():
            self._transport.resume_reading()

    def _received(self, data: bytes) -> None:
        now = self.last_active = self._heard_at = self._loop.time()
        self.is_mute = False
        self.bytes_in += len(data)
        self._in_read = True
        decoder, has_frame = self._decoder, False
        commands = decoder.feed(data, self.express)
        try:
            for command in commands:
                has_frame = True
                if command is not TAKEN:
                    self._take(command)
                if self._is_turn_full():
                    # A read full of pulls could request gigabytes; so it is served no faster than the peer reads its answers.
                    self._flush()
                    if self._reading_paused:
                        return
                if self.is_closed:
                    return
            has_frame = has_frame or decoder.taken > 0
            decoder.taken = 0
            if decoder.pending_bytes == 0:
                self.partial_since = math.inf
            elif has_frame or self.partial_since == math.inf:
                self.partial_since = now
            if self._budget is not None:
                self._keep_partial(self._budget, decoder.pending_bytes)
        except FrameError as error:
            self._break_off(error, data)
        finally:
            commands.close()
            self._in_read = False
            self._flush()
            if self._busy_poll is not None:
                self._busy_poll.served(len(data))

    def _is_turn_full(self) -> bool:
        return self._unsent_body_bytes >= self._turn_bytes_max or len(self._unsent) > _UNSENT_PARTS_MAX

    def _keep_partial(self, budget: FrameBudget, pending: int) -> None:
        """Account for the rest of the bytes received: nothing, or the beginning of a frame."""
        if pending <= self._limits.partial_bytes_free:
            budget.release(self)
        elif self not in budget:
            # A frame on the disk reserves at least as much as the largest in memory, which bounds the number of files.
            least = self._limits.partial_bytes_in_memory if self._is_for_disk() else 0
            if budget.reserve(self, max(self._decoder.wanted_bytes, least), self._room_granted):
                self._use_room()
            else:
                self._waits_for_room = True
                self._pause_reading()

    def _is_for_disk(self) -> bool:
        """Whether the incomplete frame is too large for memory, together with what this connection already holds there."""
        return self._decoder.wanted_bytes > self._limits.partial_bytes_in_memory - self.held_bytes()

    def _use_room(self) -> None:
        """Continue with a frame that room was reserved for."""
        if self._is_for_disk():
            self._decoder.put_aside(FrameFile(self._frame_directory))

    def _room_granted(self) -> None:
        self._waits_for_room = False
        try:
            self._use_room()
        except FrameError as error:
            self._break_off(error, b"")
            return
        self._resume_reading()

    def is_behind(self, now: float, frame_seconds: float) -> bool:
        """Whether a frame with reserved room arrives too slowly to be complete in time."""
        if self._budget is None or self not in self._budget or self.partial_since == math.inf:
            return False
        due = min((now - self.partial_since - _PACE_GRACE_SECONDS) / frame_seconds, 1.0)
        return self._decoder.pending_bytes < due * self._decoder.wanted_bytes

    def pause_writing(self) -> None:
        # A peer that does not read its answers is not served further, because its answers would fill the memory.
        self._pause_reading()

    def resume_writing(self) -> None:
        self._resume_reading()

    def _pause_reading(self) -> None:
        if not self.is_closed and not self._reading_paused:
            assert self._transport is not None
            self._reading_paused = True
            self.partial_since = math.inf  # while its bytes are not read it cannot complete its frame
            self._transport.pause_reading()

    def _resume_reading(self) -> None:
        if not self._reading_paused or self._waits_for_room or self._rests or self._is_held_up or self.is_closed:
            return
        assert self._transport is not None
        self.last_active = self._loop.time()
        self._reading_paused = False
        if self._decoder.pending_bytes:
            self.partial_since = self.last_active
            self._received(b"")  # requests that came before the pause
        if not self._reading_paused and not self.is_closed:
            self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._decoder.drop()
        if self._budget is not None:
            self._budget.release(self)
        self._unsent = []
        self.close_reason = self.close_reason or (f"lost: {exc}" if exc else "closed by the peer")
        for answer in list(self._pending.values()):
            if not answer.done():
                answer.set_exception(self._lost_error())
        self._pending.clear()
        callbacks, self._close_callbacks = self._close_callbacks, []
        for callback in callbacks:
            callback(self)

    # ── inside ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _take(self, command: RemotingCommand) -> None:
        self.version = command.version
        self.serialize_type = command.serialize_type
        if command.flag & RESPONSE_FLAG:
            answer = self._pending.pop(command.opaque, None)
            if answer is not None and not answer.done():
                answer.set_result(command)
            return
        self.language = command.language
        self.requests_in += 1
        response = self._serve(command)
        if response is not None and not command.flag & ONEWAY_FLAG:
            self._send_response(command, response)

    def _serve(self, command: RemotingCommand) -> RemotingCommand | None:
        try:
            return self._handler(self, command)
        except RemoteError as error:
            code = error.context.get("code")
            return command.reply(code if isinstance(code, int) else ResponseCode.SYSTEM_ERROR, error.message)
        except Exception as error:
            logger.exception("request %d from %s failed", command.code, self.remote_address)
            return command.reply(ResponseCode.SYSTEM_ERROR, fault_remark(error))

    def _send_response(self, command: RemotingCommand, response: RemotingCommand) -> None:
        try:
            self.send(response)
        except FrameError as error:
            logger.exception("the answer to request %d of %s cannot be sent", command.code, self.remote_address)
            self.send(command.reply(ResponseCode.SYSTEM_ERROR, error.message))

    def _flush_later(self) -> None:
        self._flush_scheduled = False
        self._flush()

    def _flush(self) -> None:
        if not self._unsent or self._transport is None:
            return
        parts, body_bytes = self._unsent, self._unsent_body_bytes
        self._unsent = []
        self._unsent_body_bytes = 0
        self.last_active = self._loop.time()
        if body_bytes >= _DIRECT_BYTES and self._descriptor >= 0 and not self._transport.is_closing():
            self.bytes_out += sum(map(len, parts))
            for part in self._send_directly(parts):
                if not self._transport.is_closing():
                    self._transport.write(part)
        else:
            # Joined, because writelines of Python 3.12.0 to 3.13.0 never reports that its buffer is full.
            data = parts[0] if len(parts) == 1 else b"".join(parts)
            self.bytes_out += len(data)
            self._transport.write(data)
        waiting = self._transport.get_write_buffer_size()
        if waiting > self._limits.unsent_bytes_max:
            self._give_up(waiting)

    def _send_directly(self, parts: list[Buffer]) -> list[Buffer]:
        """Pass slices of the log's files to the system without a copy; returns the parts that it does not take now.

        Joining 256 KiB first, for the transport, took a quarter of the time of a pull. The rest may stay slices, too: they take
        no memory while the peer reads slowly; a file that is deleted meanwhile lives until then.
        """
        assert self._transport is not None
        if self._transport.get_write_buffer_size():
            return parts  # in order
        try:
            sent = streams.write_parts(self._descriptor, parts)
        except OSError:
            return parts  # it takes nothing now, or never again: then the transport finds out
        for number, part in enumerate(parts):
            if sent < len(part):
                return [memoryview(part)[sent:], *parts[number + 1 :]]
            sent -= len(part)
        return []

    def _give_up(self, waiting_bytes: int) -> None:
        reason = f"{waiting_bytes:,} bytes wait for it to read, more than the {self._limits.unsent_bytes_max:,} allowed"
        logger.warning("connection of %s is closed: %s", self.remote_address, reason)
        self.abort(reason)

    def _break_off(self, error: FrameError, data: bytes) -> None:
        reason = error.message
        if self.requests_in == 0 and data[:1] == bytes([_TLS_HANDSHAKE]):
            reason = "it starts a TLS handshake, and this port speaks plain text: switch TLS off in the client"
        # The callers of pending requests get the reason, and would read it twice.
        level = logging.INFO if self._pending else logging.WARNING
        logger.log(level, "connection of %s is closed: %s", self.remote_address, reason)
        self.close(reason)

    def _time_out(self, opaque: int, code: int, limit_ms: int) -> None:
        answer = self._pending.pop(opaque, None)
        if answer is not None and not answer.done():
            self._waited_in_vain(self._loop.time() - limit_ms / 1000)
            text = f"{self.remote_address} did not answer request {code} within {limit_ms:,} ms"
            answer.set_exception(RequestTimeoutError(text, address=self.remote_address, code=code))

    def _waited_in_vain(self, since: float) -> None:
        """Note that a request got no answer: if nothing at all was received, the line to the peer may be cut."""
        self.is_mute = self.is_mute or (self._heard_at <= since <= self._loop.time() - self._limits.silence_ms / 1000)

    def _lost_error(self) -> ConnectionLostError:
        why = self.close_reason or "not connected"
        return ConnectionLostError(f"the connection to {self.remote_address} ended ({why})", address=self.remote_address)

    def _too_many_error(self) -> NetworkError:
        return NetworkError(
            f"{len(self._pending):,} requests to {self.remote_address} wait for an answer already: send more slowly",
            address=self.remote_address,
        )

    def _next_opaque(self) -> int:
        self._opaque = (self._opaque + 1) & _OPAQUE_MASK
        return self._opaque


def _nothing_held() -> int:
    return 0


def _plain_descriptor(transport: asyncio.Transport) -> int:
    """Descriptor that a transport writes to without changing the bytes; -1 with encryption or when it is unknown."""
    if transport.get_extra_info("ssl_object") is not None:
        return -1
    found = transport.get_extra_info("socket")
    return -1 if found is None else int(found.fileno())


async def end_all(connections: Sequence[Connection], reason: str) -> None:
    """Close connections and wait until they have ended; those whose peer does not read are aborted after 2 s."""
    for connection in connections:
        connection.close(reason)
    waiting = [asyncio.ensure_future(connection.wait_closed()) for connection in connections]
    if not waiting:
        return
    _, late = await asyncio.wait(waiting, timeout=_CLOSE_SECONDS)
    for connection in connections if late else ():
        connection.abort(reason)
    await asyncio.gather(*waiting)


def peer_address(address: object) -> str:
    if isinstance(address, tuple) and len(address) >= 2:
        host, port = address[0], address[1]
        return address_of(str(host), port)
    return "unknown"
