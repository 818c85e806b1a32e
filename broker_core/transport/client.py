"""The connecting side of remoting: one connection per address, opened at the first use.

It does not retry and does not choose addresses; the caller does both.
"""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Mapping
from ssl import SSLContext, SSLError

from broker_core.config import RemotingLimits
from broker_core.errors import ConnectionLostError, NetworkError
from broker_core.outside import whole_of
from broker_core.platform import streams
from broker_core.protocol.addresses import address_text, is_v6, split_address
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.signature import Credentials
from broker_core.transport.connection import Connection, Handler, end_all
from broker_core.transport.dialers import dialer_of
from broker_core.transport.proxies import Dialer, Way
from broker_core.transport.socket_reason import socket_reason

logger = logging.getLogger(__name__)


def refuse_request(_connection: Connection, command: RemotingCommand) -> RemotingCommand:
    """Answer a peer's request as not supported: the handler of a client that serves no requests."""
    return command.not_supported()


def parse_address(address: str) -> tuple[str, int]:
    """Split ``host:port``, where an IPv6 host may be in brackets; raises `NetworkError` when it is no such address."""
    host, port_text = split_address(address)
    port = whole_of(port_text)
    if not host or port is None or not 0 < port <= 65535:
        raise NetworkError(f"“{address}” is no address: give HOST:PORT, such as 127.0.0.1:9876", address=address)
    if ":" in host and not is_v6(host):
        raise NetworkError(f"“{address}” is no address: give [HOST]:PORT for IPv6, such as [::1]:9876", address=address)
    return host, port


async def connect(
    address: str,
    *,
    handler: Handler = refuse_request,
    limits: RemotingLimits | None = None,
    tls: SSLContext | None = None,
    dialer: Dialer | None = None,
) -> Connection:
    """Open a connection to ``host:port``; raises `NetworkError` when the address cannot be reached in time.

    Args:
        address: Of the server.
        handler: Serves requests of the peer.
        limits: Bounds of the connection.
        tls: How to encrypt it; None: plain text.
        dialer: Connects through a proxy or tunnel, with its own timeout; None: directly.
    """
    bounds = RemotingLimits() if limits is None else limits
    host, port = parse_address(address)
    loop = asyncio.get_running_loop()
    end = None if dialer is None else await dialer.dial(host, port)
    try:
        async with asyncio.timeout(bounds.connect_timeout_ms / 1000):
            if end is None:
                _, connection = await loop.create_connection(lambda: Connection(handler, bounds), host, port, ssl=tls)
            else:
                connection = await _connection_on(end, lambda: Connection(handler, bounds), tls, host)
                # The socket has the address of the proxy, or none.
                connection.remote_address = address
    except TimeoutError as error:
        text = f"{address} did not take the connection within {bounds.connect_timeout_ms:,} ms: is it the right address?"
        raise NetworkError(text, address=address) from error
    except SSLError as error:
        reason = getattr(error, "verify_message", "") or error.reason
        text = f"the TLS handshake with {address} failed ({reason}): does it speak TLS, and is its certificate trusted?"
        raise NetworkError(text, address=address) from error
    except OSError as error:
        text = f"cannot connect to {address} ({socket_reason(error)}): is a server running there?"
        raise NetworkError(text, address=address) from error
    return connection


async def _connection_on(end: socket.socket, made: Callable[[], Connection], tls: SSLContext | None, host: str) -> Connection:
    """Make a connection on a connected socket; a failure closes the socket."""
    try:
        return await streams.connect_on(end, made, tls, host if tls is not None else None)
    except BaseException:
        end.close()
        raise


class ConnectionPool:
    """Keeps one connection per address for a client.

    Args:
        handler: Serves requests of the peers.
        tls: How to encrypt connections; None: plain text.
        credentials: Signs every request; None signs none.
        addresses: Requested address → address to connect to, where they differ.
        way: A proxy or tunnel to all of them; None: direct connections.
    """

    def __init__(
        self,
        *,
        handler: Handler = refuse_request,
        limits: RemotingLimits | None = None,
        tls: SSLContext | None = None,
        credentials: Credentials | None = None,
        addresses: Mapping[str, str] | None = None,
        way: Way | None = None,
    ) -> None:
        self._handler = handler
        self._tls = tls
        self._credentials = credentials
        self._addresses = {address_text(registered): used for registered, used in (addresses or {}).items()}
        self._dialer = None if way is None else dialer_of(way)
        self._limits = RemotingLimits() if limits is None else limits
        self._connections: dict[str, Connection] = {}
        self._opening: dict[str, asyncio.Task[Connection]] = {}
        self._retired: set[Connection] = set()
        """Connections to silent peers, kept because their requests may still be answered."""
        self._closed = False

    @property
    def addresses(self) -> list[str]:
        """Addresses with an open connection."""
        return list(self._connections)

    async def get(self, address: str) -> Connection:
        """Return the connection to ``address``; open one when there is none or the peer is silent.

        Raises `NetworkError` when the address cannot be reached, or the pool is closed.
        """
        connection = self._connections.get(address)
        if connection is not None and not connection.is_closed:
            if not connection.is_mute:
                return connection
            self._retire(address, connection)
        if self._closed:
            raise ConnectionLostError(f"no connection to {address}: the client is closed", address=address)
        task = self._opening.get(address)
        if task is None:
            task = asyncio.create_task(self._open(address), name=f"connect {address}")
            self._opening[address] = task
            task.add_done_callback(lambda done: self._opened(address, done))
        # Several callers wait for one attempt; one that is cancelled must not cancel it for the others.
        return await asyncio.shield(task)

    async def request(self, address: str, command: RemotingCommand, timeout_ms: int | None = None) -> RemotingCommand:
        """Send a request to ``address`` and return its response, whatever its code; raises `NetworkError` and `FrameError`."""
        connection = await self.get(address)
        return await connection.request(command, timeout_ms)

    async def send_oneway(self, address: str, command: RemotingCommand) -> None:
        """Send a request that is not answered; raises `NetworkError` when ``address`` cannot be reached."""
        (await self.get(address)).send_oneway(command)

    async def close(self) -> None:
        """End all connections and attempts. Safe to call again."""
        self._closed = True
        for task in list(self._opening.values()):
            task.cancel()
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        await end_all([*self._connections.values(), *self._retired], "the client closes")
        self._connections.clear()
        if self._dialer is not None:
            await self._dialer.close()

    async def _open(self, address: str) -> Connection:
        used = self._addresses.get(address, address)
        connection = await connect(used, handler=self._handler, limits=self._limits, tls=self._tls, dialer=self._dialer)
        connection.credentials = self._credentials
        self._connections[address] = connection
        connection.on_closed(lambda lost: self._forget(address, lost))
        return connection

    def _opened(self, address: str, done: asyncio.Task[Connection]) -> None:
        self._opening.pop(address, None)
        # When all callers have given up meanwhile, nobody handles the failure.
        if not done.cancelled():
            done.exception()

    def _retire(self, address: str, connection: Connection) -> None:
        logger.info("%s is connected to anew: nothing comes on the connection there is", address)
        del self._connections[address]
        self._retired.add(connection)
        connection.on_closed(self._retired.discard)
        connection.retire()

    def _forget(self, address: str, lost: Connection) -> None:
        if self._connections.get(address) is lost:
            del self._connections[address]
            logger.info("connection to %s ended: %s", address, lost.close_reason)
