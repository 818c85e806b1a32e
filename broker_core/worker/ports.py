"""Free ports for name server, broker and gRPC when the requested ones are taken."""

from __future__ import annotations

import dataclasses
import errno
import socket

from broker_core.config import BrokerConfig
from broker_core.errors import PortInUseError
from broker_core.platform import local_sockets
from broker_core.protocol.addresses import host_text

PAIRS_MAX = 100
_PORT_MAX = 65_535


def with_free_ports(config: BrokerConfig) -> tuple[BrokerConfig, str]:
    """The config with the requested ports and "", or with the next free ones and a notice for a person.

    The ports of name server and broker move together, that of gRPC by itself. Raises `PortInUseError` where no pair is free
    among the next hundred; without a free port for gRPC the broker starts, and its own start says so.
    """
    paired, notice = _with_free_pair(config)
    found = paired if paired.grpc == "off" or not paired.listen_port else _with_free_grpc(paired)
    if found is paired:
        return paired, notice
    told = f"{paired.grpc_port} is in use by another program; gRPC listens on {found.grpc_port}"
    return found, ". ".join(filter(None, (notice, told)))


def _with_free_grpc(config: BrokerConfig) -> BrokerConfig:
    wanted, others = config.grpc_port, (config.name_server_port, config.listen_port)
    if not wanted or not (wanted in others or _is_taken(config.bind_host, wanted)):
        return config
    for port in range(wanted + 1, min(wanted + PAIRS_MAX, _PORT_MAX + 1)):
        if port not in others and not _is_taken(config.bind_host, port):
            return dataclasses.replace(config, grpc_port=port)
    return config


def _with_free_pair(config: BrokerConfig) -> tuple[BrokerConfig, str]:
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
        local_sockets.allow_reuse(probe)  # as the servers do
        try:
            probe.bind((name, port))
            probe.listen(1)
        except OSError as error:
            # The server itself reports any other fault (a foreign host) in its own words.
            return error.errno == errno.EADDRINUSE
    return False
