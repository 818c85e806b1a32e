"""`ClusterAccess`: where a cluster is, with keys, TLS and route, and the clients made of it.

    --ns HOST:PORT            its name servers; keys by ORBIT_ACCESS_KEY and ORBIT_SECRET_KEY of the environment
    --connection NAME         a saved connection of the window, with its keys, TLS, address map, proxy or tunnel
    --connection-file FILE    the same from a file of this user's alone: see `worker.attached.details`
    --connection-details      for the window: a line of JSON from the input belongs to --ns

Keys never come from the command line, because every user of the machine can read it. Client modules are imported only where a
cluster is named, because the same commands read directories, and refuse wrong arguments at once.
"""

from __future__ import annotations

import argparse
import os
import stat
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from broker_core.errors import ReadOnlyConnectionError, UsageError
from broker_core.platform import owners
from broker_core.protocol.addresses import addresses_text, same_addresses

if TYPE_CHECKING:
    from broker_core.client.admin import AdminClient
    from broker_core.client.instance import ClientSecurity
    from broker_core.client.producer import Producer

ACCESS_KEY, SECRET_KEY, SECURITY_TOKEN = "ORBIT_ACCESS_KEY", "ORBIT_SECRET_KEY", "ORBIT_SECURITY_TOKEN"

FindSaved = Callable[[str], bytes]
"""Name of a saved connection → its line of details; raises `UsageError` when there is none."""

HELP = """\
keys: of a saved connection (--connection), of a file (--connection-file, readable by its owner alone), or of the environment:
ORBIT_ACCESS_KEY, ORBIT_SECRET_KEY, ORBIT_SECURITY_TOKEN; never on the command line, which others can read"""


def _plain() -> ClientSecurity:
    from broker_core.client.instance import ClientSecurity

    return ClientSecurity()


@dataclass(frozen=True, slots=True)
class ClusterAccess:
    """Where a cluster is, and how to connect to it.

    Attributes:
        name_servers: ``host:port``, several with ``;`` between them.
        saved_as: Name of the saved connection; empty without one.
        read_only: Whether nothing may be sent there.
        kept_as: Name servers under which its history is stored; empty: ``name_servers``.
    """

    name_servers: str
    security: ClientSecurity = field(default_factory=_plain)
    saved_as: str = ""
    read_only: bool = False
    kept_as: str = ""

    def check_sendable(self) -> None:
        """Raise `ReadOnlyConnectionError` for a read-only connection."""
        if self.read_only:
            name = self.saved_as or self.name_servers
            raise ReadOnlyConnectionError(
                f"the connection “{name}” is read-only: nothing was sent. Take the mark off where the connection is kept"
            )

    def admin(self) -> AdminClient:
        """An admin client, not opened yet."""
        from broker_core.client.admin import AdminClient

        return AdminClient(self.name_servers, security=self.security)

    def producer(self, group: str) -> Producer:
        """A producer, not opened yet."""
        from broker_core.client.producer import Producer

        return Producer(self.name_servers, group, security=self.security)


def no_saved(name: str) -> bytes:
    """The `FindSaved` of a program without saved connections."""
    raise UsageError(f"this command knows no saved connections: give --ns or --connection-file in place of “{name}”")


def access_of_line(line: bytes, *, saved_as: str = "") -> ClusterAccess:
    """The access of a line of details; raises `UsageError` when it is none, or has no name servers."""
    from broker_core.cluster.details import details_of_line, security_of

    details = details_of_line(line)
    name_servers = details.get("nameServers", "")
    if not name_servers:
        raise UsageError('the details of the connection name no name servers: give "nameServers": "HOST:PORT"')
    kept_as = details.get("keptAs", "")
    return ClusterAccess(name_servers, security_of(line), saved_as, details.get("readOnly", False), kept_as)


def line_of_file(path: Path) -> bytes:
    """The content of a connection's file; raises `UsageError` when it cannot be read, or others may read it too."""
    from broker_core.cluster.details import LINE_BYTES_MAX

    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            line = file.read(LINE_BYTES_MAX + 1)
    except OSError as error:
        raise UsageError(f"the file of the connection {path} cannot be read: {error.strerror}") from error
    if owners.others_may_read(status):
        mode = stat.S_IMODE(status.st_mode)
        text = f"{path} may hold keys, and others can read it (mode {mode:04o}): chmod 600 it first"
        raise UsageError(text)
    if len(line) > LINE_BYTES_MAX:
        raise UsageError(f"the file of the connection {path} has more than {LINE_BYTES_MAX:,} bytes")
    return line


def access_of_file(path: Path) -> ClusterAccess:
    """The access of a connection's file; raises `UsageError` when it cannot be read, is none, or others may read it too."""
    line = line_of_file(path)
    try:
        return access_of_line(line)
    except UsageError as error:
        raise UsageError(f"{path}: {error.message}") from error


def access_of_environment(name_servers: str, environment: Mapping[str, str]) -> ClusterAccess:
    """Name servers, with the keys of the environment if it has any; raises `UsageError` for one key without the other."""
    access, secret = environment.get(ACCESS_KEY, ""), environment.get(SECRET_KEY, "")
    if bool(access) != bool(secret):
        missing = SECRET_KEY if access else ACCESS_KEY
        raise UsageError(f"the environment has no {missing}: set both keys, or none")
    if not access:
        return ClusterAccess(name_servers)
    from broker_core.client.instance import ClientSecurity
    from broker_core.protocol.signature import Credentials

    credentials = Credentials(access, secret, environment.get(SECURITY_TOKEN) or None)
    return ClusterAccess(name_servers, ClientSecurity(credentials=credentials))


def target_environment(environment: Mapping[str, str] = os.environ, *, alone: bool) -> dict[str, str]:
    """The environment of a target: ``ORBIT_TO_ACCESS_KEY`` and so on become its keys.

    A source's keys are withheld, because the target could use their signatures; ``alone``: there is no source.
    """
    own = {name.replace("ORBIT_TO_", "ORBIT_", 1): text for name, text in environment.items() if name.startswith("ORBIT_TO_")}
    return own if own or not alone else dict(environment)


def add_access(group: argparse._ArgumentGroup, *, prefix: str = "", of: str = "a cluster") -> None:
    """Add the three ways to name a cluster to a group of mutually exclusive arguments.

    ``prefix``, such as ``to-``, precedes their names; ``of`` names the cluster in the help.
    """
    group.add_argument(f"--{prefix}ns", metavar="HOST:PORT", help=f"name server of {of}; several with ; between them")
    group.add_argument(f"--{prefix}connection", metavar="NAME", help=f"{of} by the name of a connection that the window keeps")
    group.add_argument(f"--{prefix}connection-file", type=Path, metavar="FILE", help=f"{of} by a file with keys, TLS and more")


def add_details_flag(parser: argparse.ArgumentParser) -> None:
    """Add the flag that the window starts its children with."""
    text = "first read a line of JSON from the input: keys, TLS and address map that go with --ns; for the window"
    parser.add_argument("--connection-details", action="store_true", help=text)


def given_details(arguments: argparse.Namespace) -> ClusterAccess | None:
    """The access in the input, if arguments request it; call it once, before any other read of the input."""
    if not arguments.connection_details:
        return None
    from broker_core.cluster.details import read_line

    return access_of_line(read_line(sys.stdin.fileno()))


def access_of(
    arguments: argparse.Namespace,
    find_saved: FindSaved,
    details: ClusterAccess | None = None,
    *,
    prefix: str = "",
    environment: Mapping[str, str] = os.environ,
) -> ClusterAccess | None:
    """The cluster that arguments name, or None; raises `UsageError` when there is no such connection, or it cannot be used.

    Args:
        arguments: Of a parser that `add_access` extended.
        find_saved: Reads saved connections.
        details: From the input; used when ``--ns`` has the same name servers.
        prefix: As for `add_access`, with ``_``.
        environment: Holds the keys for ``--ns``.
    """
    name, path = getattr(arguments, f"{prefix}connection"), getattr(arguments, f"{prefix}connection_file")
    name_servers = getattr(arguments, f"{prefix}ns")
    if name is not None:
        if not name.strip():
            raise UsageError("no connection is named: give the name under which the window keeps it")
        return access_of_line(find_saved(name), saved_as=name)
    if path is not None:
        return access_of_file(path)
    if name_servers is None:
        return None
    if not name_servers.strip("; "):
        raise UsageError(f"no name server is given: write --{prefix.replace('_', '-')}ns HOST:PORT, such as 127.0.0.1:9876")
    if details is not None and same_addresses(details.name_servers, name_servers):
        return details
    return access_of_environment(addresses_text(name_servers), environment)
