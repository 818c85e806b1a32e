"""Addresses of a broker: for clients, in routes, and in the records of its store."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from dataclasses import dataclass

from broker_core.config import BrokerConfig
from broker_core.errors import NetworkError
from broker_core.protocol.addresses import address_of, host_text
from broker_core.protocol.message.model import HostAddress

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
