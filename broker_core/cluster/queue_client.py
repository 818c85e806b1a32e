"""The client that reads queues through: a cluster's brokers, routes of all its topics, and requests by address."""

from __future__ import annotations

from broker_core.client.instance import ClientSecurity
from broker_core.cluster.link import ClusterLink
from broker_core.cluster.watch_settings import WatchSettings
from broker_core.config import RemotingLimits
from broker_core.protocol.admin.routes import Route
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.frame import RemotingCommand

ANSWER_MS = 10_000
"""For one answer: who reads much also reads what a broker has to fetch from its disk."""


class QueueClient(ClusterLink):
    """A link to a cluster for whoever reads queues. On one event loop.

    Args:
        name_servers: ``host:port``, several with ``;`` between them.
        security: TLS and credentials.
    """

    def __init__(self, name_servers: str, *, security: ClientSecurity | None = None) -> None:
        limits = RemotingLimits(request_timeout_ms=ANSWER_MS)
        super().__init__(name_servers, WatchSettings(timeout_ms=ANSWER_MS), security=security, limits=limits)

    async def call(self, address: str, code: RequestCode, fields: dict[str, str]) -> RemotingCommand:
        """Ask a broker; raises as `ClusterLink.ask`."""
        return await self._instance.call(address, RemotingCommand(code, dict(fields)))

    async def current_route(self, topic: str) -> Route | None:
        """Where the queues of a topic are; None where the name server knows none. Raises as `ClusterLink.ask_name_server`."""
        return await self._instance.route(topic, fresh=True)
