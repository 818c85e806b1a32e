"""The listening side of remoting: accepts connections and passes their requests to one handler.

It does not know what requests mean; name server and broker each run one with their own handler.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path

from broker_core.config import RemotingLimits
from broker_core.protocol.addresses import address_of, host_text
from broker_core.transport.binding import BACKLOG, bind_error, bound_port, check_port
from broker_core.transport.busy_poll import BusyPoll
from broker_core.transport.connection import Connection, Handler, end_all
from broker_core.transport.frame_budget import FrameBudget
from broker_core.transport.tls import TlsServer
from broker_core.transport.tls_listener import TlsListener

logger = logging.getLogger(__name__)

_IDLE_CHECKS_PER_LIMIT = 12


class RemotingServer:
    """Serves remoting connections on one address.

    Args:
        host: Address to bind.
        port: Port to bind; 0 takes a free one.
        handler: Serves every request, see `Connection`.
        tls: Serves TLS handshakes; without it such connections are closed.
        on_connected: Called with each new connection before its first request.
        frame_directory: Where incomplete large frames are kept; see `FrameFile`.
        busy_poll: Decides whether the loop polls; it gets the size of each read.

    Attributes:
        refused_connections: How many were closed at once because ``connections_max`` was reached.
    """

    def __init__(
        self,
        host: str,
        port: int,
        handler: Handler,
        *,
        limits: RemotingLimits | None = None,
        tls: TlsServer | None = None,
        on_connected: Callable[[Connection], None] | None = None,
        frame_directory: Path | None = None,
        busy_poll: BusyPoll | None = None,
    ) -> None:
        self._host = host_text(host)
        self._port = port
        self._handler = handler
        self._limits = RemotingLimits() if limits is None else limits
        self._budget = FrameBudget(self._limits.partial_bytes_max)
        self._on_connected = on_connected
        self._frame_directory = frame_directory
        self._busy_poll = busy_poll
        self._tls = tls
        self._server: asyncio.Server | TlsListener | None = None
        self._idle_timer: asyncio.TimerHandle | None = None
        self.connections: set[Connection] = set()
        self.refused_connections = 0

    @property
    def port(self) -> int:
        """The bound port; before `start` the requested one."""
        return self._port if self._server is None else bound_port(self._server, self._port)

    @property
    def address(self) -> str:
        """``host:port`` that is bound."""
        return address_of(self._host, self.port)

    async def start(self) -> None:
        """Bind and listen; raises `PortInUseError` or another `NetworkError`."""
        check_port(self._port)
        loop = asyncio.get_running_loop()
        try:
            if self._tls is None:
                self._server = await loop.create_server(self._new_connection, self._host, self._port, backlog=BACKLOG)
            else:
                self._server = TlsListener(
                    self._host, self._port, self._tls, self._new_connection, handshakes_max=self._limits.connections_max
                )
                self._server.start(BACKLOG)
        except OSError as error:
            raise bind_error(self._host, self._port, error) from error
        self._idle_timer = loop.call_later(self._idle_check_seconds, self._close_idle)

    async def stop(self) -> None:
        """Stop listening and end all connections. Safe to call again, and without `start`."""
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None
        server, self._server = self._server, None
        if server is None:
            return
        self._port = bound_port(server, self._port)
        server.close()
        await end_all(list(self.connections), "the server stops")
        await server.wait_closed()

    @property
    def _idle_check_seconds(self) -> float:
        return min(self._limits.idle_ms, self._limits.frame_ms) / 1000 / _IDLE_CHECKS_PER_LIMIT

    def _new_connection(self) -> Connection:
        return Connection(
            self._handler,
            self._limits,
            on_open=self._opened,
            budget=self._budget,
            frame_directory=self._frame_directory,
            busy_poll=self._busy_poll,
        )

    def _opened(self, connection: Connection) -> None:
        if len(self.connections) >= self._limits.connections_max:
            self.refused_connections += 1
            logger.warning(
                "connection of %s is refused: %d connections are open, the limit",
                connection.remote_address,
                self._limits.connections_max,
            )
            connection.abort("too many connections")
            return
        self.connections.add(connection)
        connection.on_closed(self.connections.discard)
        if self._on_connected is not None:
            self._on_connected(connection)

    def _close_idle(self) -> None:
        loop = asyncio.get_running_loop()
        now = loop.time()
        oldest, oldest_frame = now - self._limits.idle_ms / 1000, now - self._limits.frame_ms / 1000
        for connection in [c for c in self.connections if c.last_active < oldest]:
            reason = f"no byte came or went for {self._limits.idle_ms:,} ms"
            logger.info("connection of %s is closed: %s", connection.remote_address, reason)
            connection.abort(reason)
        for connection in [c for c in self.connections if c.partial_since < oldest_frame]:
            reason = f"a frame that it began did not become complete within {self._limits.frame_ms:,} ms"
            logger.warning("connection of %s is closed: %s", connection.remote_address, reason)
            connection.abort(reason)
        if self._budget.is_short:
            self._end_slowest(now)
        self._idle_timer = loop.call_later(self._idle_check_seconds, self._close_idle)

    def _end_slowest(self, now: float) -> None:
        """End connections whose large frame arrives too slowly to be complete in time, because others wait for the room."""
        frame_seconds = self._limits.frame_ms / 1000
        for connection in [c for c in self.connections if c.is_behind(now, frame_seconds)]:
            reason = f"others wait for the room of a large frame that it sends too slowly for {self._limits.frame_ms:,} ms"
            logger.warning("connection of %s is closed: %s", connection.remote_address, reason)
            connection.abort(reason)
