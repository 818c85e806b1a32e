"""Requests that all parts of the admin client share: to name servers, brokers and masters."""

from __future__ import annotations

from collections.abc import Mapping

from broker_core.client.instance import ClientInstance, ClientSecurity
from broker_core.client.lifecycle import OpenedClient
from broker_core.config import ClientConfig, RemotingLimits
from broker_core.errors import RemoteError
from broker_core.protocol.admin.brokers import read_brokers
from broker_core.protocol.admin.routes import MASTER_ID, Route
from broker_core.protocol.admin.values import Body
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.names import check_readable_topic


class AdminRequests(OpenedClient):
    """Base of the admin client's parts.

    Every method raises `NetworkError` when no server answers and `RemoteError` when the answer is an error code.
    """

    def __init__(
        self,
        name_servers: str,
        *,
        config: ClientConfig | None = None,
        limits: RemotingLimits | None = None,
        security: ClientSecurity | None = None,
    ) -> None:
        self._instance = ClientInstance(name_servers, config=config, limits=limits, security=security)

    async def registered_brokers(self) -> dict[str, dict[int, str]]:
        """Broker name → broker id → address, of all brokers registered with the name server."""
        body = await self._name_server_body(RequestCode.GET_BROKER_CLUSTER_INFO)
        return {broker.name: broker.addresses for broker in read_brokers(body)}

    async def master_addresses(self) -> dict[str, str]:
        """Broker name → address of its master, over all clusters."""
        brokers = await self.registered_brokers()
        return {name: addresses[MASTER_ID] for name, addresses in brokers.items() if addresses.get(MASTER_ID)}

    async def readable_route(self, topic: str) -> Route:
        """Route of a topic that must exist."""
        route = await self._instance.route_once(check_readable_topic(topic))
        if route is None:
            raise RemoteError(f"there is no topic {topic}", code=int(ResponseCode.TOPIC_NOT_EXIST), topic=topic)
        return route

    async def _addresses(self, topic: str) -> list[str]:
        """Of the brokers of a topic."""
        route = await self.readable_route(topic)
        addresses = (route.address_of(name) for name in sorted(route.brokers))
        return [address for address in addresses if address is not None]

    async def _on_masters(self, code: RequestCode, fields: Mapping[str, str] | None = None, body: bytes = b"") -> None:
        """Send a request to every master, one after the other."""
        for address in (await self.master_addresses()).values():
            await self._instance.call(address, RemotingCommand(code, dict(fields or {}), body))

    async def _body(self, address: str, code: RequestCode, fields: Mapping[str, str] | None = None) -> Body:
        return (await self._instance.call(address, RemotingCommand(code, dict(fields or {})))).body

    async def _name_server_body(self, code: RequestCode) -> Body:
        return (await self._instance.call_name_server(RemotingCommand(code))).body
