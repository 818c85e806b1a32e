"""Announcements of RocketMQ's proxies in cluster mode: each stores there which clients it serves, for the other proxies.

The body is a HeartbeatSyncerData as JSON; ``localProxyId`` is ``IP%remotingListenPort%grpcServerPort``.

Source: observed of a RocketMQ Proxy 5.3.3 in cluster mode; docs/spec/grpc.md §4.3.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.outside import whole_of
from broker_core.protocol.addresses import address_of, host_text
from broker_core.protocol.admin.values import Body, reading
from broker_core.protocol.json_body import JsonBodyError
from broker_core.protocol.names import PROXY_HEARTBEAT_TOPIC

HEARTBEAT_GROUP = f"CID_{PROXY_HEARTBEAT_TOPIC}"
"""The group in which each running proxy consumes them."""
REMOTING_PORT, GRPC_PORT = 8080, 8081
"""Where proxies serve remoting and gRPC unless they are configured otherwise."""


@dataclass(frozen=True, slots=True, order=True)
class ProxyPlace:
    """Where a proxy serves requests of remoting, and SDKs of gRPC at the same host."""

    host: str
    port: int = REMOTING_PORT
    grpc_port: int = GRPC_PORT

    def __str__(self) -> str:
        return self._at(self.port)

    @property
    def grpc_address(self) -> str:
        """``host:port`` for SDKs of gRPC."""
        return self._at(self.grpc_port)

    def _at(self, port: int) -> str:
        return address_of(self.host, port)


def read_announcement(body: Body) -> ProxyPlace:
    """The proxy that made an announcement; raises `JsonBodyError`."""
    with reading("an announcement of a proxy", body) as value:
        host, *ports = str(value["localProxyId"]).split("%")
        port, grpc_port = map(whole_of, ports)
        if not host or port is None or grpc_port is None:
            raise JsonBodyError(f"an announcement of a proxy names no address: {value['localProxyId']!r}")
        return ProxyPlace(host_text(host), port, grpc_port)
