"""How a cluster is reached, as the window writes it to a worker's input before the channel begins.

    {"accessKey": …, "secretKey": …, "securityToken": …, "tls": true, "authority": FILE, "certificate": FILE, "key": FILE,
     "verify": true, "addresses": {"AS REGISTERED": "TO USE"}}                       one line of JSON; every part may be missing

Input and not the command line, which every user of the machine can read.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from ssl import SSLContext
from typing import Any

from broker_core.client.instance import ClientSecurity
from broker_core.errors import NetworkError, UsageError
from broker_core.remoting.client import parse_address
from broker_core.remoting.signature import Credentials
from broker_core.remoting.tls import client_tls

LINE_BYTES_MAX = 256 * 1024
_KINDS = {
    "accessKey": str,
    "secretKey": str,
    "securityToken": str,
    "tls": bool,
    "authority": str,
    "certificate": str,
    "key": str,
    "verify": bool,
    "addresses": dict,
}


def read_line(fd: int) -> bytes:
    """One line from a descriptor and not a byte more, as the channel follows it.

    Raises:
        UsageError: The input ends before the line does, or the line is too long.
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


def security_of(line: bytes) -> ClientSecurity:
    """What a line of details means.

    Raises:
        UsageError: It is none, or a file that it names cannot be used. No message quotes a secret.
    """
    try:
        details = json.loads(line)
    except ValueError:
        raise UsageError("the details of the connection are no JSON") from None  # the cause may quote the secret
    if not isinstance(details, dict):
        raise UsageError("the details of the connection are no JSON object")
    for name, value in details.items():
        if name not in _KINDS or not isinstance(value, _KINDS[name]):
            raise UsageError(f"the details of the connection have an unknown or wrong part “{name}”")
    return ClientSecurity(_tls_of(details), _credentials_of(details), _addresses_of(details.get("addresses", {})))


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
    return dict(mapped)
