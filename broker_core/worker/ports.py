"""Free ports for name server and broker when the requested ones are taken."""

from __future__ import annotations

import dataclasses
import errno
import socket
import sys

from broker_core.config import BrokerConfig
from broker_core.errors import PortInUseError
from broker_core.protocol.addresses import host_text

PAIRS_MAX = 100
_PORT_MAX = 65_535


def with_free_ports(config: BrokerConfig) -> tuple[BrokerConfig, str]:
    """The config with the requested ports and "", or with the next pair of free ones and a notice for a person.

    Raises `PortInUseError` where no pair is free among the next hundred.
    """
    taken = _taken_port(config)
    if taken is None:
        return config, ""
    for step in range(1, PAIRS_MAX):
        other = _shifted(config, step)
        if other is not None and _taken_port(other) is None:
            used = f"the name server listens on {other.name_server_port}, the broker on {other.listen_port}"
            return other, f"{taken} is in use by another program; {used}"
    raise PortInUseError(
        f"port {taken} is in use by another program, and no pair of ports is free among the {PAIRS_MAX} after it; "
        "give free ones with --ns-port and --port",
        port=taken,
    )


def _shifted(config: BrokerConfig, step: int) -> BrokerConfig | None:
    name_server, broker = (port and port + step for port in (config.name_server_port, config.listen_port))
    if max(name_server, broker) > _PORT_MAX:
        return None
    return dataclasses.replace(config, name_server_port=name_server, listen_port=broker)


def _taken_port(config: BrokerConfig) -> int | None:
    for port in (config.name_server_port, config.listen_port):
        if port and _is_taken(config.bind_host, port):
            return port
    return None


def _is_taken(host: str, port: int) -> bool:
    name = host_text(host)
    family = socket.AF_INET6 if ":" in name else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        if sys.platform != "win32":
            # As the servers do: a port whose last connections are still winding down is free.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((name, port))
            probe.listen(1)
        except OSError as error:
            # The server itself reports any other fault (a foreign host) in its own words.
            return error.errno == errno.EADDRINUSE
    return False
