"""What name servers know of brokers, and brokers of themselves: addresses, runtime figures, settings.

Source: docs/spec/remoting.md §2.5.2, §2.5.3, §4.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from broker_core.errors import CodecError, UsageError
from broker_core.protocol.admin.routes import MASTER_ID, broker_addresses
from broker_core.protocol.admin.values import Body, reading
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.properties_text import parse_properties


@dataclass(frozen=True, slots=True)
class BrokerPlace:
    name: str
    cluster: str
    addresses: dict[int, str]
    """Broker id → address, spelled as `broker_core.protocol.addresses` does; 0 is the master."""

    @property
    def address(self) -> str:
        """The master's address, or that of the first slave when no master is up."""
        return self.addresses[MASTER_ID] if MASTER_ID in self.addresses else self.addresses[min(self.addresses)]

    @property
    def has_master(self) -> bool:
        return MASTER_ID in self.addresses

    @property
    def slaves(self) -> list[str]:
        return [self.addresses[number] for number in sorted(self.addresses) if number != MASTER_ID]


def read_brokers(body: Body) -> list[BrokerPlace]:
    """Brokers with an address, by name, from GET_BROKER_CLUSTER_INFO; this and all readers here raise `JsonBodyError`."""
    found = []
    with reading("the list of brokers", body) as value:
        for name, data in (value.get("brokerAddrTable") or {}).items():
            addresses = broker_addresses(data)
            if addresses:
                found.append(BrokerPlace(str(name), str(data.get("cluster") or ""), addresses))
    return sorted(found, key=lambda broker: broker.name)


def read_runtime(body: Body) -> dict[str, str]:
    """Figures of a broker under RocketMQ's keys, from GET_BROKER_RUNTIME_INFO."""
    with reading("the figures of a broker", body) as value:
        return {str(key): str(figure) for key, figure in value["table"].items()}


def read_broker_settings(body: Body) -> dict[str, str]:
    """Settings of a broker under RocketMQ's keys, from GET_BROKER_CONFIG; raises `CodecError` when the body is no text."""
    try:
        return parse_properties(bytes(body).decode())
    except UnicodeDecodeError as error:
        raise CodecError(f"the broker's settings are no text: {error}") from error


def grpc_port_of(settings: Mapping[str, str]) -> str:
    """Port of gRPC that a broker serves itself, as Orbit's brokers do; empty for none."""
    return settings.get("grpcServerPort", "") if settings.get("orbitGrpc") == "on" else ""


def read_level_table(text: str) -> DelayLevels | None:
    """The delay levels of a broker's setting ``messageDelayLevel``, or None for an empty one; raises `CodecError`."""
    try:
        return DelayLevels(text) if text else None
    except UsageError as error:
        raise CodecError(f"the delay levels of a broker cannot be read: {error.message}") from error
