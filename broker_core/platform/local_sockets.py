"""Sockets within this machine, and the reuse of ports.

need              own way (Linux, macOS)        plain way (Windows)
listen_local,     a socket in the file system   a port on loopback; the file has its number and a secret, with which each
connect_local     (AF_UNIX)                     connection begins
socket_pair       socketpair                    two ends of a connection on loopback
allow_reuse       SO_REUSEADDR                  nothing: on Windows the option lets two servers share a port
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from broker_core.platform import files
from broker_core.platform.ways import PLAIN

_LOOPBACK: Final = "127.0.0.1"
_WAITING_MAX: Final = 4
_SECRET_BYTES: Final = 16
_PLACE_BYTES_MAX: Final = 256
_PRIVATE_MODE: Final = 0o600
_PAIR_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True)
class LocalEnd:
    """An end of a connection within this machine, or a listening socket.

    Attributes:
        socket: To be closed by the caller.
        greeting: The bytes with which the connecting side begins; empty for a socket that the file system protects.
    """

    socket: socket.socket
    greeting: bytes = b""


def plain_listen_local(path: Path) -> LocalEnd:
    """Listen for connections of this user's programs.

    Args:
        path: Their address, in a directory that this user alone may write.

    Raises:
        OSError: The system refuses, or there is such a file.
    """
    made = socket.socket(socket.AF_INET)
    try:
        made.bind((_LOOPBACK, 0))
        made.listen(_WAITING_MAX)
        secret = os.urandom(_SECRET_BYTES).hex()
        descriptor = files.open_new(path, _PRIVATE_MODE)
        try:
            os.write(descriptor, f"{made.getsockname()[1]} {secret}".encode())
        finally:
            os.close(descriptor)
    except OSError:
        made.close()
        raise
    return LocalEnd(made, f"{secret} ".encode())


def plain_connect_local(path: Path, timeout_s: float) -> LocalEnd:
    """Connect to the program that listens at a path; the socket keeps the timeout.

    Raises:
        OSError: No program listens there.
    """
    with path.open("rb") as file:
        port, _blank, secret = file.read(_PLACE_BYTES_MAX).partition(b" ")
    if not port.isdigit():
        raise ConnectionRefusedError(f"{path} names no port")
    return LocalEnd(_connected(socket.AF_INET, (_LOOPBACK, int(port)), timeout_s), secret + b" ")


def plain_socket_pair() -> tuple[socket.socket, socket.socket]:
    """Two connected sockets of this process.

    Raises:
        OSError: The system refuses, or another program took the connection.
    """
    with socket.socket(socket.AF_INET) as listener:
        listener.bind((_LOOPBACK, 0))
        listener.listen(1)
        near = _connected(socket.AF_INET, listener.getsockname(), _PAIR_SECONDS)
        near.settimeout(None)
        far, _address = listener.accept()
    if far.getpeername() != near.getsockname():
        far.close()
        near.close()
        raise ConnectionRefusedError("another program took the connection")
    return near, far


def plain_allow_reuse(_listener: socket.socket) -> None:
    """Let a server take a port whose last connections are still winding down."""


def _connected(family: int, address: tuple[str, int] | str, timeout_s: float) -> socket.socket:
    made = socket.socket(family)
    try:
        made.settimeout(timeout_s)
        made.connect(address)
    except OSError:
        made.close()
        raise
    return made


listen_local: Callable[[Path], LocalEnd] = plain_listen_local
connect_local: Callable[[Path, float], LocalEnd] = plain_connect_local
socket_pair: Callable[[], tuple[socket.socket, socket.socket]] = plain_socket_pair
allow_reuse: Callable[[socket.socket], None] = plain_allow_reuse

if sys.platform != "win32" and not PLAIN:

    def _listen_local(path: Path) -> LocalEnd:
        made = socket.socket(socket.AF_UNIX)
        try:
            made.bind(str(path))
            made.listen(_WAITING_MAX)
        except OSError:
            made.close()
            raise
        return LocalEnd(made)

    def _connect_local(path: Path, timeout_s: float) -> LocalEnd:
        return LocalEnd(_connected(socket.AF_UNIX, str(path), timeout_s))

    def _allow_reuse(listener: socket.socket) -> None:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)

    listen_local, connect_local = _listen_local, _connect_local
    socket_pair, allow_reuse = socket.socketpair, _allow_reuse
