"""Ways to servers that cannot be connected to directly: a SOCKS proxy, or a tunnel through an SSH server.

A dialer (`broker_core.transport.dialers`) gives a connected socket; what is spoken on it, TLS too, is the business of
`broker_core.transport.client`. The libraries take up to a second to load and are loaded on a thread when the first connection
needs them.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

WAY_TIMEOUT_MS = 15_000
"""For one connection through a proxy or a tunnel, with the log-in of the first one."""


@dataclass(frozen=True, slots=True)
class SocksProxy:
    """A SOCKS 5 proxy, which also resolves the names of servers.

    Attributes:
        host, port: Where it listens.
        user: Who logs in; empty: nobody.
        password: Of that user.
    """

    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class SshTunnel:
    """An SSH server that connects to servers for us. Its host key must be known.

    Attributes:
        host, port: Where it listens.
        user: Who logs in; empty: the user of this machine.
        key_file: Private key; None: those of ssh-agent and of ``~/.ssh``.
        passphrase: Of the key file.
        known_hosts: File of host keys; None: ``~/.ssh/known_hosts``.
    """

    host: str
    port: int
    user: str = ""
    key_file: Path | None = None
    passphrase: str = field(default="", repr=False)
    known_hosts: Path | None = None


Way = SocksProxy | SshTunnel


class Dialer(Protocol):
    """Connects sockets over a way. On one event loop."""

    async def dial(self, host: str, port: int) -> socket.socket:
        """A socket that leads to a server.

        Raises:
            NetworkError: The way or the server cannot be reached; says which.
        """

    async def open(self) -> str:
        """Reach the way itself and log in; returns a word or two on what it found. Raises as `dial`."""

    async def close(self) -> None:
        """End the way. Safe to call again."""


async def loaded(module: str) -> Any:  # noqa: ANN401  a module
    """A module, imported on a thread: others are served meanwhile."""
    return await asyncio.to_thread(import_module, module)


def address_text(host: str, port: int) -> str:
    """``host:port``, with brackets around an IPv6 host."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
