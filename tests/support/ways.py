"""A SOCKS 5 proxy and an SSH server on loopback, for tests of the ways to a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import asyncssh

USER, PASSWORD = "bob", "proxy-secret"


@dataclass
class Socks:
    """Where the proxy listens, and which targets it was asked for."""

    port: int = 0
    asked: list[str] = field(default_factory=list)


@asynccontextmanager
async def socks_proxy(*, with_password: bool = False) -> AsyncIterator[Socks]:
    """A proxy that connects by names and addresses (RFC 1928), after a log-in if it wants one (RFC 1929)."""
    state = Socks()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if await _let_in(reader, writer, with_password=with_password):
                await _forward(state, reader, writer)
        except (asyncio.IncompleteReadError, OSError):
            pass  # whoever asked has gone
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    state.port = server.sockets[0].getsockname()[1]
    async with server:
        yield state


async def _let_in(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, with_password: bool) -> bool:
    _version, count = await reader.readexactly(2)
    methods = await reader.readexactly(count)
    method = 2 if with_password else 0
    if method not in methods:
        writer.write(b"\x05\xff")
        return False
    writer.write(bytes([5, method]))
    if not with_password:
        return True
    _version, length = await reader.readexactly(2)
    user = await reader.readexactly(length)
    (length,) = await reader.readexactly(1)
    password = await reader.readexactly(length)
    is_right = (user, password) == (USER.encode(), PASSWORD.encode())
    writer.write(b"\x01\x00" if is_right else b"\x01\x01")
    await writer.drain()
    return is_right


async def _forward(state: Socks, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    _version, _command, _zero, kind = await reader.readexactly(4)
    if kind == 1:
        host = ".".join(map(str, await reader.readexactly(4)))
    else:
        (length,) = await reader.readexactly(1)
        host = (await reader.readexactly(length)).decode()
    port = int.from_bytes(await reader.readexactly(2), "big")
    state.asked.append(f"{host}:{port}")
    try:
        # The proxy alone resolves this name.
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1" if host == "inside.invalid" else host, port)
    except OSError:
        writer.write(b"\x05\x05\x00\x01\0\0\0\0\0\0")
        await writer.drain()
        return
    writer.write(b"\x05\x00\x00\x01\0\0\0\0\0\0")
    copies = [asyncio.create_task(_copy(reader, far_writer)), asyncio.create_task(_copy(far_reader, writer))]
    await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
    for copy in copies:
        copy.cancel()
    await asyncio.gather(*copies, return_exceptions=True)
    far_writer.close()


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()


@dataclass
class SshKeys:
    """Files that a user of the SSH server has."""

    user: str
    key: Path
    locked_key: Path
    other_key: Path
    known_hosts: Path
    host_key: asyncssh.SSHKey
    passphrase: str = "key-secret"


def ssh_keys(folder: Path) -> SshKeys:
    """Keys of a user and of a server; the server is not known yet."""
    keys = [asyncssh.generate_private_key("ssh-ed25519") for _ in range(3)]
    made = SshKeys("bob", folder / "key", folder / "locked", folder / "other", folder / "known_hosts", keys[2])
    keys[0].write_private_key(made.key)
    # Not OpenSSH's own format, whose key takes a second to derive.
    keys[0].write_private_key(made.locked_key, "pkcs8-pem", passphrase=made.passphrase)
    keys[1].write_private_key(made.other_key)
    (folder / "authorized").write_bytes(keys[0].export_public_key())
    return made


def know_host(keys: SshKeys, port: int, key: asyncssh.SSHKey | None = None) -> None:
    """Write the server's key, or another one, into the file of known hosts."""
    line = (key or keys.host_key).export_public_key().decode()
    keys.known_hosts.write_text(f"[127.0.0.1]:{port} {line}")


class _Forwards(asyncssh.SSHServer):
    def __init__(self, state: SshServerState) -> None:
        self._state = state

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._state.logins.append(conn)

    def connection_requested(self, dest_host: str, dest_port: int, _orig_host: str, _orig_port: int) -> Any:
        self._state.asked.append(f"{dest_host}:{dest_port}")
        return True


@dataclass
class SshServerState:
    """Where the server listens, who came, and which targets were asked for."""

    port: int = 0
    logins: list[asyncssh.SSHServerConnection] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@asynccontextmanager
async def ssh_server(keys: SshKeys) -> AsyncIterator[SshServerState]:
    """An SSH server that lets one key in and connects to whatever it is asked for."""
    state = SshServerState()
    server = await asyncssh.listen(
        "127.0.0.1", 0, server_host_keys=[keys.host_key], server_factory=lambda: _Forwards(state),
        authorized_client_keys=str(keys.key.with_name("authorized")),
    )  # fmt: skip
    state.port = server.get_port()
    try:
        yield state
    finally:
        server.close()
        for login in state.logins:
            login.abort()
        await server.wait_closed()
