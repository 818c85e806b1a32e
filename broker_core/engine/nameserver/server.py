"""The name server on a socket: connections, and the timer that drops silent brokers. It writes no files."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from broker_core.config import RemotingLimits
from broker_core.engine.nameserver.kv_config import KvConfig
from broker_core.engine.nameserver.processor import NameServerProcessor
from broker_core.engine.nameserver.route_info import RouteInfo
from broker_core.engine.nameserver.settings import NameServerSettings
from broker_core.protocol.codes import ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.transport.connection import Connection
from broker_core.transport.server import RemotingServer
from broker_core.transport.tls import TlsServer

logger = logging.getLogger(__name__)

SCAN_SECONDS = 10.0


class NameServerPeer(Protocol):
    """The sender of a request: a connection, or the console."""

    def send(self, command: RemotingCommand) -> bool: ...

    def hold_up(self) -> None: ...

    def go_on(self) -> None: ...

    def __hash__(self) -> int: ...


Hold = Callable[[NameServerPeer, RemotingCommand, RemotingCommand], RemotingCommand | None]
"""Returns a response, or None when it is sent later: once the change of the request is on disk."""


def _at_once(_asking: NameServerPeer, _command: RemotingCommand, response: RemotingCommand) -> RemotingCommand:
    return response


class NameServer:
    """A name server for this process's broker and any foreign one that registers.

    Args:
        host: Address to bind.
        port: Port to bind; 0 takes a free one.
        clock: Time in ms since the epoch.
        kv: Configuration items; their owner writes their file.
        settings: Its switches; likewise.
        limits: Bounds of connections.
        tls: For TLS handshakes.
        refusal: Says why a request of an address is refused; None serves it.
        frame_directory: Holds large frames while they arrive.
        hold: Holds responses back until changed items and switches are on disk.
    """

    def __init__(
        self,
        host: str,
        port: int,
        *,
        clock: Callable[[], int],
        kv: KvConfig,
        settings: NameServerSettings | None = None,
        limits: RemotingLimits | None = None,
        tls: TlsServer | None = None,
        refusal: Callable[[str, RemotingCommand], str | None] | None = None,
        frame_directory: Path | None = None,
        hold: Hold = _at_once,
    ) -> None:
        self._clock = clock
        self._hold = hold
        self.routes = RouteInfo()
        self._processor = NameServerProcessor(self.routes, kv, clock=clock, settings=settings)
        self._refusal = refusal
        self._server = RemotingServer(
            host, port, self._handle, limits=limits, tls=tls, on_connected=self._connected, frame_directory=frame_directory
        )
        self._timer: asyncio.TimerHandle | None = None

    @property
    def port(self) -> int:
        return self._server.port

    @property
    def connections(self) -> set[Connection]:
        return self._server.connections

    async def start(self) -> None:
        """Listen. Raises `PortInUseError`, or `NetworkError` where the address cannot be bound."""
        await self._server.start()
        self._schedule_scan()

    async def stop(self) -> None:
        """Stop listening and end all connections. Safe to call again."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await self._server.stop()

    def answer_console(self, console: NameServerPeer, command: RemotingCommand) -> RemotingCommand | None:
        """Serve a request of the console that runs this name server, without an account."""
        return self._hold(console, command, self._processor.handle(console, command))

    def _handle(self, connection: Connection, command: RemotingCommand) -> RemotingCommand | None:
        refusal = None if self._refusal is None else self._refusal(connection.remote_address, command)
        if refusal is not None:
            return command.reply(ResponseCode.SYSTEM_ERROR, refusal)
        return self._hold(connection, command, self._processor.handle(connection, command))

    def _connected(self, connection: Connection) -> None:
        connection.on_closed(self._disconnected)

    def _disconnected(self, connection: Connection) -> None:
        for address in self.routes.connection_lost(connection):
            logger.info("broker %s is gone: its connection ended", address)

    def _schedule_scan(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(SCAN_SECONDS, self._scan)

    def _scan(self) -> None:
        for address, connection in self.routes.expire(self._clock()):
            logger.warning("broker %s is dropped: it was silent for too long", address)
            if isinstance(connection, Connection):
                connection.close("the broker was silent for too long")
        self._schedule_scan()
