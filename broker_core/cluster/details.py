"""How a cluster is reached, as a line of JSON.

The window writes it to the input of a worker before the channel begins, and of other children; a connection's file holds it.

    {"nameServers": "HOST:PORT;HOST:PORT", "keptAs": NAME SERVERS OF BEFORE, "readOnly": true,
     "accessKey": …, "secretKey": …, "securityToken": …,
     "tls": true, "authority": FILE, "certificate": FILE, "key": FILE, "verify": true,
     "addresses": {"AS REGISTERED": "TO USE"},
     "socks": "HOST:PORT", "socksUser": …, "socksPassword": …,
     "ssh": "HOST:PORT", "sshUser": …, "sshKey": FILE, "sshPassphrase": …, "sshKnownHosts": FILE}

Every member may be missing; ``keptAs`` has the name servers under which its history is stored, if they differ from today's.
The command line never has it, because every user of the machine can read that.
"""

from __future__ import annotations

import os
from pathlib import Path
from ssl import SSLContext
from typing import Any

from broker_core.client.instance import ClientSecurity
from broker_core.errors import NetworkError, UsageError
from broker_core.outside import read_json
from broker_core.protocol.addresses import address_text
from broker_core.protocol.signature import Credentials
from broker_core.transport.client import parse_address
from broker_core.transport.proxies import SocksProxy, SshTunnel, Way
from broker_core.transport.tls import client_tls

LINE_BYTES_MAX = 256 * 1024
_TEXTS = (
    "nameServers", "keptAs", "accessKey", "secretKey", "securityToken", "authority", "certificate", "key", "socks", "socksUser",
    "socksPassword", "ssh", "sshUser", "sshKey", "sshPassphrase", "sshKnownHosts",
)  # fmt: skip
_KINDS = {**dict.fromkeys(_TEXTS, str), **dict.fromkeys(("readOnly", "tls", "verify"), bool), "addresses": dict}


def read_line(fd: int) -> bytes:
    """One line from a descriptor and not a byte more, because the channel follows it.

    Raises `UsageError` when the input ends before the line does, or the line is too long.
    """
    line = bytearray()
    while len(line) < LINE_BYTES_MAX:
        byte = os.read(fd, 1)
        if byte == b"\n":
            return bytes(line)
        if not byte:
            raise UsageError("the details of the connection end before their line does; --connect-details is for the window")
        line += byte
    raise UsageError(f"the details of the connection are longer than {LINE_BYTES_MAX:,} bytes")


def details_of_line(line: bytes) -> dict[str, Any]:
    """The members of a line of details, each of its type; raises `UsageError`, whose message quotes no secret."""
    try:
        details = read_json(line)
    except ValueError:
        raise UsageError("the details of the connection are no JSON") from None  # the cause may quote the secret
    if not isinstance(details, dict):
        raise UsageError("the details of the connection are no JSON object")
    for name, value in details.items():
        if name not in _KINDS or not isinstance(value, _KINDS[name]):
            raise UsageError(f"the details of the connection have an unknown or wrong part “{name}”")
    return details


def security_of(line: bytes) -> ClientSecurity:
    """The security of a line of details, without the name servers.

    Raises `UsageError` when it is none, or a file that it names cannot be used. No message quotes a secret.
    """
    details = details_of_line(line)
    return ClientSecurity(
        _tls_of(details), _credentials_of(details), _addresses_of(details.get("addresses", {})), _way_of(details)
    )


def kept_as_of(line: bytes) -> str:
    """Name servers under which a connection's history is stored; empty: its own. Raises as `details_of_line`."""
    return str(details_of_line(line).get("keptAs", ""))


def _credentials_of(details: dict[str, Any]) -> Credentials | None:
    access, secret = details.get("accessKey", ""), details.get("secretKey", "")
    if bool(access) != bool(secret):
        missing = "secret key" if access else "access key"
        raise UsageError(f"the connection has no {missing}: give both keys, or none")
    return Credentials(access, secret, details.get("securityToken") or None) if access else None


def _tls_of(details: dict[str, Any]) -> SSLContext | None:
    if not details.get("tls"):
        return None
    authority, certificate, key = (
        Path(details[name]) if details.get(name) else None for name in ("authority", "certificate", "key")
    )
    return client_tls(authority, certificate=certificate, key=key, verify=details.get("verify", True))


def _addresses_of(mapped: dict[Any, Any]) -> dict[str, str]:
    for registered, used in mapped.items():
        try:
            parse_address(registered)
            parse_address(used)
        except (NetworkError, AttributeError) as error:
            text = f"“{registered}” → “{used}” maps no address to another: give HOST:PORT for both"
            raise UsageError(text) from error
    return {address_text(registered): address_text(used) for registered, used in mapped.items()}


def _way_of(details: dict[str, Any]) -> Way | None:
    socks, ssh = details.get("socks", ""), details.get("ssh", "")
    if socks and ssh:
        raise UsageError("the connection has a SOCKS proxy and an SSH tunnel: give one of them")
    try:
        if socks:
            return SocksProxy(*parse_address(socks), details.get("socksUser", ""), details.get("socksPassword", ""))
        if not ssh:
            return None
        host, port = parse_address(ssh)
    except NetworkError as error:
        raise UsageError(error.message) from error
    key, known = (Path(details[name]) if details.get(name) else None for name in ("sshKey", "sshKnownHosts"))
    return SshTunnel(host, port, details.get("sshUser", ""), key, details.get("sshPassphrase", ""), known)
