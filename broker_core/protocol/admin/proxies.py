"""Announcements of RocketMQ's proxies in cluster mode: each stores there which clients it serves, for the other proxies.

The body is a HeartbeatSyncerData as JSON; ``localProxyId`` is ``IP%remotingListenPort%grpcServerPort``.

Source: observed of a RocketMQ Proxy 5.3.3 in cluster mode; docs/spec/grpc.md §4.3.
"""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.protocol.admin.values import Body, reading
from broker_core.protocol.json_body import JsonBodyError

HEARTBEAT_TOPIC = "DefaultHeartBeatSyncerTopic"
"""The system topic of these announcements (``heartbeatSyncerTopicName``)."""
HEARTBEAT_GROUP = f"CID_{HEARTBEAT_TOPIC}"
"""The group in which each running proxy consumes them."""
REMOTING_PORT = 8080
"""Where proxies serve requests of remoting unless they are configured otherwise."""


@dataclass(frozen=True, slots=True, order=True)
class ProxyPlace:
    """Where a proxy serves requests of remoting."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def read_announcement(body: Body) -> ProxyPlace:
    """The proxy that made an announcement; raises `JsonBodyError`."""
    with reading("an announcement of a proxy", body) as value:
        host, port, _grpc_port = str(value["localProxyId"]).split("%")
        if not host or not port.isdecimal():
            raise JsonBodyError(f"an announcement of a proxy names no address: {value['localProxyId']!r}")
        return ProxyPlace(host, int(port))
