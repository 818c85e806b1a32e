"""Addresses of a broker: for clients, in routes, and in the records of its store."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass

from broker_core.config import BrokerConfig
from broker_core.errors import NetworkError
from broker_core.protocol.message.model import HostAddress

_ANY_HOSTS = {"0.0.0.0": "127.0.0.1", "": "127.0.0.1", "::": "::1"}  # noqa: S104  only compared with


@dataclass(frozen=True, slots=True)
class Addresses:
    """Where a started broker is reached, ``host:port``: by its clients, and as routes name it."""

    name_server: str
    broker: str


def bound_addresses(config: BrokerConfig, *, name_server_port: int, port: int) -> Addresses:
    """The addresses of a broker that listens on these ports."""
    advertised = _bracketed(config.advertised_host)
    host = advertised if config.bind_host in _ANY_HOSTS else _bracketed(config.bind_host)
    return Addresses(f"{host}:{name_server_port}", f"{advertised}:{port}")


def own_name_server(config: BrokerConfig, port: int) -> str:
    """The address of the name server for the broker beside it."""
    return f"{_bracketed(_ANY_HOSTS.get(config.bind_host, config.bind_host))}:{port}"


async def host_address(host: str, port: int) -> HostAddress:
    """The broker's address as records hold it; a name is resolved."""
    try:
        return HostAddress(ipaddress.ip_address(host.strip("[]")).packed, port)
    except ValueError:
        pass
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        text = f"the address brokerIP1={host} that clients are told cannot be resolved ({error.strerror}): give an IP address"
        raise NetworkError(text, host=host) from error
    return HostAddress(ipaddress.ip_address(found[0][4][0]).packed, port)


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host
