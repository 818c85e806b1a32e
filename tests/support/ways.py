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
FAR = "192.0.2.7"
"""An address that no network has (RFC 5737): only by a way is there a server, which is on this machine."""
_FAR_HOSTS = ("inside.invalid", FAR)


@dataclass
class Socks:
    """Where the proxy listens, and which targets it was asked for."""

    port: int = 0
    asked: list[str] = field(default_factory=list)
    serving: set[asyncio.StreamWriter] = field(default_factory=set)


@asynccontextmanager
async def socks_proxy(*, with_password: bool = False, port: int = 0) -> AsyncIterator[Socks]:
    """A proxy that connects by names and addresses (RFC 1928), after a log-in if it wants one (RFC 1929).

    At the end all connections through it break.
    """
    state = Socks()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        state.serving.add(writer)
        try:
            if await _let_in(reader, writer, with_password=with_password):
                await _forward(state, reader, writer)
        except (asyncio.IncompleteReadError, OSError):
            pass  # whoever asked has gone
        finally:
            state.serving.discard(writer)
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    state.port = server.sockets[0].getsockname()[1]
    async with server:
        try:
            yield state
        finally:
            for writer in state.serving:
                writer.transport.abort()


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
        # The proxy alone knows where these are.
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1" if host in _FAR_HOSTS else host, port)
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
        self._login: asyncssh.SSHServerConnection | None = None

    def connection_made(self, conn: asyncssh.SSHServerConnection) -> None:
        self._login = conn
        self._state.logins.append(conn)

    def connection_requested(self, dest_host: str, dest_port: int, _orig_host: str, _orig_port: int) -> Any:
        self._state.asked.append(f"{dest_host}:{dest_port}")
        assert self._login is not None
        return self._login.forward_connection("127.0.0.1", dest_port) if dest_host in _FAR_HOSTS else True


@dataclass
class SshServerState:
    """Where the server listens, who came, and which targets were asked for."""

    port: int = 0
    logins: list[asyncssh.SSHServerConnection] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


@asynccontextmanager
async def ssh_server(keys: SshKeys, port: int = 0) -> AsyncIterator[SshServerState]:
    """An SSH server that lets one key in and connects to whatever it is asked for."""
    state = SshServerState()
    server = await asyncssh.listen(
        "127.0.0.1", port, server_host_keys=[keys.host_key], server_factory=lambda: _Forwards(state),
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
