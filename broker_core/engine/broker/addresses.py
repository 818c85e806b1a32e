"""Addresses of a broker: for clients, in routes, in the records of its store, and whom they let in.

Without TLS only this machine may reach it, unless the user insists.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import socket
from dataclasses import dataclass

from broker_core.config import BrokerConfig
from broker_core.errors import NetworkError, UsageError
from broker_core.protocol.addresses import address_of, host_text
from broker_core.protocol.message.model import HostAddress

logger = logging.getLogger(__name__)

_ANY_HOSTS = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}  # noqa: S104  only compared with


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a started broker is reached, ``host:port``: by its clients, and as routes name it."""

    name_server: str
    broker: str


def bound_addresses(config: BrokerConfig, *, name_server_port: int, port: int) -> Addresses:
    """The addresses of a broker that listens on these ports."""
    host = config.advertised_host if host_text(config.bind_host) in _ANY_HOSTS else config.bind_host
    return Addresses(address_of(host, name_server_port), address_of(config.advertised_host, port))


def own_name_server(config: BrokerConfig, port: int) -> str:
    """The address of the name server for the broker beside it."""
    host = host_text(config.bind_host)
    return address_of(_ANY_HOSTS.get(host, host), port)


async def host_address(host: str, port: int) -> HostAddress:
    """The broker's address as records hold it; a name is resolved."""
    try:
        return HostAddress(ipaddress.ip_address(host_text(host)).packed, port)
    except ValueError:
        pass
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        text = f"the address brokerIP1={host} that clients are told cannot be resolved ({error.strerror}): give an IP address"
        raise NetworkError(text, host=host) from error
    return HostAddress(ipaddress.ip_address(found[0][4][0]).packed, port)


def check_binding(config: BrokerConfig) -> None:
    """Refuse to listen to a network without TLS; warn where the user allowed it, and where accounts are missing.

    Raises:
        UsageError: ``bindAddress`` is not a loopback address, TLS is not enforced and ``allowInsecureBind`` is off.
    """
    host = config.bind_host
    if _is_loopback(host):
        return
    protected = config.has_tls and config.tls_mode == "enforcing"
    if not protected and not config.insecure_bind:
        raise UsageError(
            f"listening on {host or 'every address'} lets other machines in, without encryption: give a certificate "
            "(--set tls.server.certPath=… --set tls.server.keyPath=… --set tls.server.mode=enforcing), "
            "or insist with --set allowInsecureBind=true",
            host=host,
        )
    if not protected:
        logger.warning("the broker listens on %s without encryption, as allowInsecureBind says", host or "every address")
    if not config.acl_enabled:
        logger.warning("whoever reaches %s may read, write and administer: aclEnable is off", host or "every address")


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host_text(host)).is_loopback
    except ValueError:
        return False
