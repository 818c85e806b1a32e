"""The listening side of gRPC: one port for TLS and plain text; the first byte decides.

Source: docs/spec/grpc.md §2.1, §2.2.
"""

from __future__ import annotations

import asyncio
import logging
import time
from typing import Final

from broker_core.config import RemotingLimits
from broker_core.protocol.addresses import address_of, host_text
from broker_core.protocol.grpc.framing import GrpcStatus
from broker_core.transport.binding import BACKLOG, bind_error, bound_port, check_port
from broker_core.transport.busy_poll import BusyPoll
from broker_core.transport.grpc_connection import Begin, GrpcCall, GrpcConnection
from broker_core.transport.message_room import MessageRoom
from broker_core.transport.tls import HANDSHAKE_SECONDS, ServerTls
from broker_core.transport.tls_listener import TlsListener

logger = logging.getLogger(__name__)

_LOOK_SECONDS: Final = 5.0
_FORGIVEN_FRAMES: Final = 50
"""Control frames of a connection that are forgiven at each look: SDKs ping every 10 s, and after reading much data."""


class GrpcServer:
    """Serves gRPC connections on one address.

    Args:
        host: Address to bind.
        port: Port to bind; 0 takes a free one.
        begin: Finds what serves a call.
        tls: Certificate with ALPN ``h2``, and whether plain text is served.
        limits: Bounds, as for remoting.
        busy_poll: Decides whether the loop polls; it gets the size of each read.

    Attributes:
        connections: Those that are open.
        refused_connections: How many were closed at once because ``connections_max`` was reached.
    """

    def __init__(
        self,
        host: str,
        port: int,
        begin: Begin,
        *,
        tls: ServerTls,
        limits: RemotingLimits | None = None,
        busy_poll: BusyPoll | None = None,
    ) -> None:
        self._host = host_text(host)
        self._port = port
        self._begin = begin
        self._tls = tls
        self._limits = RemotingLimits() if limits is None else limits
        self._busy_poll = busy_poll
        self._room = MessageRoom(self._limits.partial_bytes_max, time.monotonic)
        self._listener: TlsListener | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.connections: set[GrpcConnection] = set()
        self.refused_connections = 0

    @property
    def port(self) -> int:
        """The bound port; before `start` the requested one."""
        return self._port if self._listener is None else bound_port(self._listener, self._port)

    @property
    def address(self) -> str:
        """``host:port`` that is bound."""
        return address_of(self._host, self.port)

    async def start(self) -> None:
        """Bind and listen; raises `PortInUseError` or another `NetworkError`."""
        check_port(self._port)
        try:
            self._listener = TlsListener(
                self._host, self._port, self._tls, self._new_connection, handshakes_max=self._limits.connections_max
            )
            self._listener.start(BACKLOG)
        except OSError as error:
            raise bind_error(self._host, self._port, error) from error
        self._timer = asyncio.get_running_loop().call_later(_LOOK_SECONDS, self._look)

    async def stop(self) -> None:
        """Stop listening, end open calls as unavailable and close all connections. Safe to call again, and without `start`."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        listener, self._listener = self._listener, None
        if listener is None:
            return
        self._port = bound_port(listener, self._port)
        listener.close()
        for connection in list(self.connections):
            connection.leave()
            for stream in list(connection.http2.streams.values()):
                if isinstance(stream.owner, GrpcCall):
                    stream.owner.gone_here(GrpcStatus.UNAVAILABLE, "the broker is stopping")
            connection.close("the broker stops")
        await listener.wait_closed()

    def _new_connection(self) -> GrpcConnection:
        return GrpcConnection(
            self._begin,
            self._limits,
            room=self._room,
            on_open=self._opened,
            on_closed=self.connections.discard,
            busy_poll=self._busy_poll,
        )

    def _opened(self, connection: GrpcConnection) -> None:
        if len(self.connections) >= self._limits.connections_max:
            self.refused_connections += 1
            limit = self._limits.connections_max
            logger.warning("connection of %s is refused: %d are open, the limit", connection.remote_address, limit)
            connection.abort()
            return
        self.connections.add(connection)

    def _look(self) -> None:
        """End connections that never spoke HTTP/2, those without a call for a long time, and calls that stay incomplete."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for call in self._room.late(self._limits.frame_ms / 1000):
            call.end_late()
        for connection in list(self.connections):
            connection.http2.forgive(_FORGIVEN_FRAMES)
            if not connection.http2.has_preface and now - connection.connected_at > HANDSHAKE_SECONDS:
                connection.abort()
            elif not connection.open_calls and now - connection.last_active > self._limits.idle_ms / 1000:
                connection.leave()
                connection.close(f"it made no call for {self._limits.idle_ms:,} ms")
        self._timer = loop.call_later(_LOOK_SECONDS, self._look)
