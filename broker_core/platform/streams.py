"""Connections of an event loop, as far as they differ between systems.

need          own way (Linux, macOS)                plain way (Windows)
write_parts   writev                                nothing is written; the transport takes all parts
connect_on    local sockets (AF_UNIX) by a call     sockets of any other family
streams_on    of their own
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable, Sequence
from ssl import SSLContext
from typing import Final, TypeVar

from broker_core.platform.ways import PLAIN

Buffer = bytes | bytearray | memoryview
Made = TypeVar("Made", bound=asyncio.BaseProtocol)


def plain_write_parts(_descriptor: int, _parts: Sequence[Buffer]) -> int:
    """Write parts of a socket's data without joining them; returns how many bytes the system took now.

    Raises:
        OSError: It takes nothing now, or the connection is lost.
    """
    return 0


async def plain_connect_on(end: socket.socket, made: Callable[[], Made], tls: SSLContext | None, name: str | None) -> Made:
    """Make a protocol on a connected socket of any family; ``name`` is the server's with TLS."""
    _, protocol = await asyncio.get_running_loop().create_connection(made, sock=end, ssl=tls, server_hostname=name)
    return protocol


async def plain_streams_on(end: socket.socket, limit: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Streams on a connected socket of any family; ``limit`` bounds the bytes that are read ahead."""
    return await asyncio.open_connection(sock=end, limit=limit)


write_parts: Callable[[int, Sequence[Buffer]], int] = plain_write_parts

if sys.platform != "win32" and not PLAIN:
    _PARTS_MAX: Final = 512
    """Parts that one call takes (POSIX guarantees 16; Linux, macOS and the BSDs take 1024)."""

    def _write_parts(descriptor: int, parts: Sequence[Buffer]) -> int:
        return os.writev(descriptor, parts[:_PARTS_MAX])

    async def _connect_on(end: socket.socket, made: Callable[[], Made], tls: SSLContext | None, name: str | None) -> Made:
        if end.family != socket.AF_UNIX:
            return await plain_connect_on(end, made, tls, name)
        _, protocol = await asyncio.get_running_loop().create_unix_connection(made, sock=end, ssl=tls, server_hostname=name)
        return protocol

    async def _streams_on(end: socket.socket, limit: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if end.family != socket.AF_UNIX:
            return await plain_streams_on(end, limit)
        return await asyncio.open_unix_connection(sock=end, limit=limit)

    write_parts, connect_on, streams_on = _write_parts, _connect_on, _streams_on
else:
    connect_on, streams_on = plain_connect_on, plain_streams_on
