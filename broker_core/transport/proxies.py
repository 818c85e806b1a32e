"""Ways to servers that cannot be connected to directly: a SOCKS proxy, or a tunnel through an SSH server.

A dialer (`broker_core.transport.dialers`) returns a connected socket; `broker_core.transport.client` speaks on it, TLS too. The
libraries take up to a second to load, so a thread loads them at the first connection.
"""

from __future__ import annotations

import asyncio
import socket
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

WAY_TIMEOUT_MS = 15_000
"""For one connection through a proxy or a tunnel, with the first log-in."""


@dataclass(frozen=True, slots=True)
class SocksProxy:
    """A SOCKS 5 proxy, which also resolves the names of servers; without a log-in when ``user`` is empty."""

    host: str
    port: int
    user: str = ""
    password: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class SshTunnel:
    """An SSH server that connects to servers for us. Its host key must be known.

    Attributes:
        user: Who logs in; empty: the user of this machine.
        key_file: Private key; None: those of ssh-agent and of ``~/.ssh``.
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
    """Connects sockets over a way, on one event loop."""

    async def dial(self, host: str, port: int) -> socket.socket:
        """A socket that is connected to a server; raises `NetworkError`, which says whether the way or the server failed."""

    async def open(self) -> str:
        """Reach the way itself and log in; returns the server's version, if it has one. Raises as `dial`."""

    async def close(self) -> None:
        """End the way. Safe to call again."""


async def loaded(module: str) -> Any:  # noqa: ANN401  a module
    """A module, imported on a thread so that the loop serves others meanwhile."""
    return await asyncio.to_thread(import_module, module)
