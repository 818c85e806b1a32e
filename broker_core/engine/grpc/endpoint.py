"""The gRPC port of a broker: a service that starts with it and stops before it.

What serves calls is loaded with the first call, because a broker without such clients spares the 0.2 s and 4 MiB that it takes.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker_core.config import BrokerConfig, RemotingLimits
from broker_core.engine.acl.access_control import AccessControl
from broker_core.engine.processors.dispatcher import Dispatcher
from broker_core.engine.tables.state import BrokerState
from broker_core.errors import PortInUseError
from broker_core.protocol.grpc.framing import GrpcStatus
from broker_core.transport.busy_poll import BusyPoll
from broker_core.transport.grpc_connection import CallHandler, GrpcCall, GrpcConnection
from broker_core.transport.grpc_server import GrpcServer
from broker_core.transport.tls import ServerTls, grpc_tls

if TYPE_CHECKING:
    from broker_core.engine.grpc.client import GrpcClient
    from broker_core.engine.grpc.service import GrpcService

logger = logging.getLogger(__name__)

TICK_SECONDS: Final = 5.0
USUAL_PORT: Final = 8081


@dataclass(frozen=True, slots=True)
class ClientFacts:
    """What only the gRPC port knows of a client.

    Attributes:
        kind: Such as ``push consumer``; empty where it announced none.
        sdk_version: Of its SDK, as text.
        open_streams: Calls of its connection that have not ended, the telemetry stream among them.
        leases: Deliveries that the broker keeps invisible for it; -1 where the client itself keeps them so.
    """

    kind: str
    sdk_version: str
    open_streams: int
    leases: int


class GrpcEndpoint:
    """Listens for gRPC clients; serves them between `serve` and `stop`.

    Attributes:
        server: Its connections.
    """

    def __init__(
        self, host: str, port: int, *, tls: ServerTls, limits: RemotingLimits | None, busy_poll: BusyPoll | None
    ) -> None:
        self.server = GrpcServer(host, port, self._begin, tls=tls, limits=limits, busy_poll=busy_poll)
        self._parts: tuple[BrokerState, Dispatcher, AccessControl | None] | None = None
        self._service: GrpcService | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def service(self) -> GrpcService | None:
        """What serves calls; None before the first call."""
        return self._service

    def open_connections(self) -> list[GrpcClient | GrpcConnection]:
        """Clients that announced themselves, and connections without one."""
        clients = [] if self._service is None else list(self._service.clients)
        taken = {client.connection for client in clients}
        return [*clients, *(connection for connection in self.server.connections if connection not in taken)]

    def facts(self) -> dict[Any, ClientFacts]:
        """Client, as the tables of producers and consumers have it → its facts; of all that announced themselves."""
        if self._service is None:
            return {}
        held = Counter(renewal.client for renewal in self._service.leases.renewals)
        return {
            client: ClientFacts(
                kind=client.kind,
                sdk_version=client.sdk_version,
                open_streams=client.connection.open_calls,
                leases=held[client] if client.has_renewals else -1,
            )
            for client in self._service.clients
        }

    async def start(self) -> None:
        """Bind; raises `NetworkError`."""
        await self.server.start()

    def serve(self, state: BrokerState, dispatcher: Dispatcher, access: AccessControl | None) -> None:
        """Serve calls from now on."""
        self._parts = (state, dispatcher, access)

    async def stop(self) -> None:
        """End all calls and connections, and forget all clients."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        await self.server.stop()
        service, self._service, self._parts = self._service, None, None
        if service is not None:
            service.stop()

    def _begin(self, call: GrpcCall) -> CallHandler | None:
        if self._service is None:
            if self._parts is None:
                return _Unavailable(call)
            from broker_core.engine.grpc.service import GrpcService

            self._service = GrpcService(*self._parts)
            self._tick()
        return self._service.begin(call)

    def _tick(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(TICK_SECONDS, self._tick)
        if self._service is not None:
            self._service.tick()


class _Unavailable:
    """Serves a call while the store opens, or while the broker stops."""

    def __init__(self, call: GrpcCall) -> None:
        self._call = call

    def message(self, _data: bytes) -> None:
        """Refuse: SDKs try again."""
        self._call.finish(GrpcStatus.UNAVAILABLE, "the broker is starting or stopping")

    def ended(self) -> None:
        """Refuse, likewise."""
        self._call.finish(GrpcStatus.UNAVAILABLE, "the broker is starting or stopping")

    def cancelled(self) -> None:
        """Nothing was begun."""


async def open_grpc(
    config: BrokerConfig, *, limits: RemotingLimits | None, busy_poll: BusyPoll | None = None
) -> GrpcEndpoint | None:
    """Listen for gRPC clients; None if that is off, or another program has the usual port.

    With ``listenPort`` 0 the usual port stands for any free one. A usual port that is taken does not stop the broker, because
    clients of remoting need none.

    Raises:
        NetworkError: A port that was chosen cannot be bound.
        UsageError: The certificate cannot be used.
    """
    if config.grpc == "off":
        return None
    is_usual = config.grpc_port == USUAL_PORT
    port = 0 if is_usual and config.listen_port == 0 else config.grpc_port
    endpoint = GrpcEndpoint(config.bind_host, port, tls=grpc_tls(config), limits=limits, busy_poll=busy_poll)
    try:
        await endpoint.start()
    except PortInUseError as error:
        if not is_usual:
            raise
        logger.warning("clients of gRPC cannot connect: %s; choose another one by --grpc-port", error.message)
        return None
    return endpoint
