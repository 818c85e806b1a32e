"""Accepts connections on a port that speaks plain text and TLS: the first byte, peeked at, decides."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable

from broker_core.protocol.addresses import host_text
from broker_core.transport.tls import HANDSHAKE_BYTE, HANDSHAKE_SECONDS, ServerTls

logger = logging.getLogger(__name__)


class TlsListener:
    """Listens on one address; the part of `asyncio.Server` that a remoting server uses. Raises `OSError`.

    Args:
        host: Address to bind.
        port: Port to bind; 0 takes a free one.
        tls: Certificate, and whether plain text is served.
        new_connection: Makes the protocol of an accepted connection.
        handshakes_max: Connections that may be undecided at once; further ones are closed.
    """

    def __init__(
        self, host: str, port: int, tls: ServerTls, new_connection: Callable[[], asyncio.BaseProtocol], *, handshakes_max: int
    ) -> None:
        self._tls = tls
        self._new_connection = new_connection
        self._handshakes_max = handshakes_max
        self._tasks: set[asyncio.Task[None]] = set()
        name = host_text(host)
        family = socket.AF_INET6 if ":" in name else socket.AF_INET
        self._socket = socket.create_server((name, port), family=family)
        self._socket.setblocking(False)
        self._accepting: asyncio.Task[None] | None = None

    @property
    def sockets(self) -> tuple[socket.socket, ...]:
        """The listening socket; none once it is closed."""
        return () if self._socket.fileno() < 0 else (self._socket,)

    def start(self, backlog: int) -> None:
        self._socket.listen(backlog)
        self._accepting = asyncio.create_task(self._accept(), name="accept")

    def close(self) -> None:
        """Stop listening and end handshakes; open connections stay."""
        for task in (self._accepting, *self._tasks):
            if task is not None:
                task.cancel()

    async def wait_closed(self) -> None:
        """Wait until `close` has finished."""
        tasks = [task for task in (self._accepting, *self._tasks) if task is not None]
        await asyncio.gather(*tasks, return_exceptions=True)
        self._socket.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                client, _ = await loop.sock_accept(self._socket)
            except OSError as error:
                # Most likely no file descriptor is free: other connections must end first.
                logger.warning("a connection cannot be accepted: %s", error)
                await asyncio.sleep(1)
                continue
            if len(self._tasks) >= self._handshakes_max:
                client.close()
                continue
            task = asyncio.create_task(self._take(client), name="handshake")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _take(self, client: socket.socket) -> None:
        address = _text(client)
        loop = asyncio.get_running_loop()
        try:
            client.setblocking(False)
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                first = await _first_byte(client)
                is_tls = first[:1] == bytes([HANDSHAKE_BYTE])
                context = self._tls.context if is_tls else None
                refusal = self._refusal(first, is_tls=is_tls, context=context)
                if refusal:
                    logger.warning("connection of %s is closed: %s", address, refusal)
                    client.close()
                    return
                await loop.connect_accepted_socket(
                    self._new_connection,
                    client,
                    ssl=context,
                    ssl_handshake_timeout=None if context is None else HANDSHAKE_SECONDS,
                )
        except (OSError, TimeoutError) as error:
            logger.warning("connection of %s is closed: its TLS handshake failed (%s)", address, str(error) or "timed out")
            client.close()
        except asyncio.CancelledError:
            client.close()
            raise

    def _refusal(self, first: bytes, *, is_tls: bool, context: ssl.SSLContext | None) -> str:
        """Why a connection that begins like this is not served; empty where it is."""
        if not first:
            return "it left at once"
        if is_tls:
            return "it speaks TLS, and this port takes only plain text (tls.server.mode=disabled)" if context is None else ""
        return "" if self._tls.plain_allowed else "it speaks plain text, and this port takes only TLS"


async def _first_byte(client: socket.socket) -> bytes:
    """Peek at the first byte of a connection; empty when the peer has left."""
    loop = asyncio.get_running_loop()
    readable: asyncio.Future[None] = loop.create_future()
    loop.add_reader(client.fileno(), _settle, readable)
    try:
        await readable
    finally:
        loop.remove_reader(client.fileno())
    return client.recv(1, socket.MSG_PEEK)


def _settle(readable: asyncio.Future[None]) -> None:
    if not readable.done():
        readable.set_result(None)


def _text(client: socket.socket) -> str:
    try:
        host, port = client.getpeername()[:2]
    except OSError:
        return "unknown"
    return f"{host}:{port}"
