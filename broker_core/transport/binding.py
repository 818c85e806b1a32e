"""What every listening side has in common: its port, and why it cannot be bound."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from socket import socket
from typing import Final, Protocol

from broker_core.errors import NetworkError, PortInUseError

BACKLOG: Final = 1024
_PORT_MAX: Final = 65_535


class Listening(Protocol):
    """Something with listening sockets."""

    @property
    def sockets(self) -> Sequence[socket]:
        """The listening sockets; none once it is closed."""


def bound_port(server: Listening, requested: int) -> int:
    """The port that a server listens on; the requested one once it is closed."""
    return int(server.sockets[0].getsockname()[1]) if server.sockets else requested


def check_port(port: int) -> None:
    """Raise `NetworkError` for a number that is no port, because uvloop never returns from binding one."""
    if not 0 <= port <= _PORT_MAX:
        raise NetworkError(f"{port} is no port: ports are 0 to {_PORT_MAX}", port=port)


def bind_error(host: str, port: int, error: OSError) -> NetworkError:
    """The error of an address that cannot be bound, with what to do; `PortInUseError` where that is the reason."""
    if error.errno == errno.EADDRINUSE:
        text = f"port {port} on {host} is in use by another program: stop that program or choose another port"
        return PortInUseError(text, port=port, host=host)
    if error.errno == errno.EACCES:
        text = f"port {port} on {host} may not be used by this user: choose a port from 1024 up"
        return NetworkError(text, port=port, host=host)
    text = f"cannot listen on {host}:{port} ({error.strerror or error}): choose an address of this machine"
    return NetworkError(text, port=port, host=host)
