"""A tunnel through an SSH server: one log-in, and one SSH channel for each connection.

    remoting connection ── socket pair ── copied both ways ── channel of the SSH connection ── server

It uses a socket pair and no listening port, because others on this machine could use a port, and TLS needs a socket.
"""

from __future__ import annotations

import asyncio
import getpass
import logging
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_core.errors import NetworkError
from broker_core.platform import local_sockets, streams
from broker_core.protocol.addresses import address_of
from broker_core.transport.proxies import WAY_TIMEOUT_MS, SshTunnel, loaded

if TYPE_CHECKING:
    import asyncssh

logger = logging.getLogger(__name__)

COPY_BYTES = 64 * 1024
CLOSE_SECONDS = 2.0
KEEP_ALIVE_SECONDS = 15
"""A tunnel that does not answer three times in a row is closed."""


class SshDialer:
    """Connects through an SSH server. After a lost log-in the next connection logs in again."""

    def __init__(self, way: SshTunnel) -> None:
        self._way = way
        self._address = address_of(way.host, way.port)
        self._logging_in = asyncio.Lock()
        self._login: asyncssh.SSHClientConnection | None = None
        self._copies: set[asyncio.Task[None]] = set()
        self._seen_key = ""
        self._closed = False

    async def open(self) -> str:
        login = await self._logged_in()
        return str(login.get_extra_info("server_version") or "")

    async def dial(self, host: str, port: int) -> socket.socket:
        ssh = await loaded("asyncssh")
        login = await self._logged_in()
        target = address_of(host, port)
        try:
            async with asyncio.timeout(WAY_TIMEOUT_MS / 1000):
                reader, writer = await login.open_connection(host, port)
        except TimeoutError as error:
            text = f"the SSH server {self._address} did not reach {target} within {WAY_TIMEOUT_MS:,} ms"
            raise NetworkError(text, address=target) from error
        except (ssh.Error, OSError) as error:
            text = (
                f"the SSH server {self._address} does not connect to {target} ({getattr(error, 'reason', '') or error}): "
                "the address must be right as seen from there, and the server must allow forwarding (AllowTcpForwarding)"
            )
            raise NetworkError(text, address=target) from error
        ours, theirs = local_sockets.socket_pair()
        for end in (ours, theirs):
            end.setblocking(False)
        task = asyncio.create_task(_copy_both_ways(theirs, reader, writer), name=f"tunnel to {target}")
        self._copies.add(task)
        task.add_done_callback(self._copies.discard)
        return ours

    async def close(self) -> None:
        self._closed = True
        login, self._login = self._login, None
        if login is not None:
            login.close()
            await login.wait_closed()
        copies = list(self._copies)
        if copies:
            # They end with their channels; one that was cancelled before it began would leave its socket open.
            _, late = await asyncio.wait(copies, timeout=CLOSE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*copies, return_exceptions=True)

    async def _logged_in(self) -> asyncssh.SSHClientConnection:
        async with self._logging_in:
            if self._closed:
                raise NetworkError(f"the tunnel through {self._address} is closed", address=self._address)
            if self._login is None or self._login.is_closed():
                self._login = await self._log_in()
            return self._login

    async def _log_in(self) -> asyncssh.SSHClientConnection:
        ssh = await loaded("asyncssh")
        way = self._way
        user = way.user or getpass.getuser()
        known = await asyncio.to_thread(self._known_hosts, ssh)
        options: dict[str, Any] = {}
        if way.key_file is not None:
            options = {"client_keys": [await asyncio.to_thread(self._key, ssh, way.key_file)], "agent_path": None}
        try:
            async with asyncio.timeout(WAY_TIMEOUT_MS / 1000):
                login, _ = await ssh.create_connection(
                    self._client_factory(ssh), way.host, way.port, username=user, known_hosts=known, config=None,
                    preferred_auth="publickey", keepalive_interval=KEEP_ALIVE_SECONDS, **options,
                )  # fmt: skip
        except TimeoutError as error:
            text = f"the SSH server {self._address} did not let us in within {WAY_TIMEOUT_MS:,} ms: is it the right address?"
            raise NetworkError(text, address=self._address) from error
        except ssh.HostKeyNotVerifiable as error:
            raise NetworkError(self._unknown_host_text(known), address=self._address) from error
        except ssh.PermissionDenied as error:
            keys = f"the key {way.key_file}" if way.key_file is not None else "the keys of ssh-agent and of ~/.ssh"
            text = (
                f"the SSH server {self._address} does not let {user} in with {keys}: is the public key in its authorized_keys?"
            )
            raise NetworkError(text, address=self._address) from error
        except (ssh.Error, OSError, ValueError) as error:
            reason = getattr(error, "reason", "") or getattr(error, "strerror", "") or error
            text = f"cannot log in to the SSH server {self._address} ({reason}): does an SSH server run there?"
            raise NetworkError(text, address=self._address) from error
        result: asyncssh.SSHClientConnection = login
        return result

    def _client_factory(self, ssh: Any) -> type[asyncssh.SSHClient]:
        dialer = self

        class Client(ssh.SSHClient):  # type: ignore[misc]  # the module is loaded late
            def validate_host_public_key(self, _host: str, _addr: str, _port: int, key: Any) -> bool:
                dialer._seen_key = f"{key.get_algorithm()} {key.get_fingerprint()}"
                return False

        return Client

    def _known_hosts(self, ssh: Any) -> Any:
        path = self._known_file
        try:
            return ssh.import_known_hosts(path.read_text(encoding="utf-8", errors="replace"))
        except FileNotFoundError:
            if self._way.known_hosts is None:
                return ssh.import_known_hosts("")
            raise NetworkError(
                f"there is no file of known hosts {path}: make it, or leave it out for ~/.ssh/known_hosts"
            ) from None
        except (OSError, ValueError) as error:
            raise NetworkError(f"the file of known hosts {path} cannot be used: {error}") from error

    @property
    def _known_file(self) -> Path:
        return self._way.known_hosts or Path.home() / ".ssh" / "known_hosts"

    def _key(self, ssh: Any, path: Path) -> Any:
        try:
            return ssh.read_private_key(path, self._way.passphrase or None)
        except OSError as error:
            raise NetworkError(f"the SSH key {path} cannot be read: {error.strerror}") from error
        except (ssh.KeyImportError, ssh.KeyEncryptionError):
            hint = "its passphrase is another" if self._way.passphrase else "give its passphrase if it has one"
            raise NetworkError(f"the SSH key {path} cannot be used: {hint}, or the file is no private key") from None

    def _unknown_host_text(self, known: Any) -> str:
        way, path = self._way, self._known_file
        with_port = [] if way.port == 22 else ["-p", str(way.port)]
        seen = f" ({self._seen_key})" if self._seen_key else ""
        if any(known.match(way.host, "", way.port)):
            return (
                f"the host key of the SSH server {self._address} is another than {path} says{seen}: somebody may be in "
                "between. Ask who runs the server; only if the key was changed, remove the old line (ssh-keygen -R) and add "
                "the new one. Nothing was sent"
            )
        scan = " ".join(["ssh-keyscan", *with_port, way.host])
        return (
            f"the host key of the SSH server {self._address} is not in {path}{seen}. Compare it with what who runs the server "
            f"says, then add it: {scan} >> {path}, or log in once with ssh. Nothing was sent"
        )


async def _copy_both_ways(near: socket.socket, reader: Any, writer: Any) -> None:
    """Copy until one end has ended or is lost, then end the other: remoting has no half-closed connections."""
    near_reader, near_writer = await streams.streams_on(near, COPY_BYTES)
    copies = [asyncio.create_task(_copy(near_reader, writer)), asyncio.create_task(_copy(reader, near_writer))]
    try:
        await asyncio.wait(copies, return_when=asyncio.FIRST_COMPLETED)
    finally:
        # Before any await, because an await can be cancelled.
        near_writer.close()
        writer.close()
        for copy in copies:
            copy.cancel()
        for outcome in await asyncio.gather(*copies, return_exceptions=True):
            if isinstance(outcome, Exception):
                logger.info("a tunnelled connection was lost: %s", outcome)


async def _copy(reader: Any, writer: Any) -> None:
    while data := await reader.read(COPY_BYTES):
        writer.write(data)
        await writer.drain()
