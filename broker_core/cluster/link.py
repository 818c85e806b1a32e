"""The connection to a cluster: name servers, brokers, and the broker of each request."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from broker_core.client.admin import AdminClient
from broker_core.client.instance import ClientSecurity
from broker_core.cluster.numbering import BrokerNumbers
from broker_core.cluster.proxies import Proxies
from broker_core.cluster.records import record_count
from broker_core.cluster.request_pacing import Question
from broker_core.cluster.slices import OFFSET_MAX, QueueSlice
from broker_core.cluster.watch_settings import WatchSettings
from broker_core.config import RemotingLimits
from broker_core.errors import NetworkError, RemoteError, UsageError
from broker_core.outside import whole_of
from broker_core.protocol.admin.brokers import BrokerPlace, read_brokers
from broker_core.protocol.admin.routes import read_route
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue
from broker_core.protocol.names import is_system_topic

_T = TypeVar("_T")

ASKED_AGAIN = "; it is asked again until it does"
"""Reported of a broker that does not answer while it is watched."""
V5 = 413
"""Ordinal of the first release 5.0.0 (Source: docs/spec/remoting.md §1.9)."""


class Budget:
    """Two allowances a second that fill with time. It has no sockets and does not wait itself.

    The bytes of an answer are known only afterwards, so they may be overdrawn.
    """

    def __init__(self, *, requests_per_second: int, bytes_per_second: int, monotonic: Callable[[], float]) -> None:
        self._requests_per_second = requests_per_second
        self._bytes_per_second = bytes_per_second
        self._monotonic = monotonic
        self._requests = float(requests_per_second)
        self._bytes = float(bytes_per_second)
        self._filled = monotonic()

    def wait_seconds(self) -> float:
        """How long to wait before the next request; 0 when it may be sent now."""
        self._fill()
        requests = max(1.0 - self._requests, 0.0) / self._requests_per_second
        return max(requests, max(-self._bytes, 0.0) / self._bytes_per_second)

    def spend_request(self) -> None:
        self._fill()
        self._requests -= 1.0

    def spend_bytes(self, count: int) -> None:
        self._fill()
        self._bytes -= count

    def _fill(self) -> None:
        now = self._monotonic()
        passed, self._filled = max(now - self._filled, 0.0), now
        self._requests = min(self._requests + passed * self._requests_per_second, float(self._requests_per_second))
        self._bytes = min(self._bytes + passed * self._bytes_per_second, float(self._bytes_per_second))


class ClusterLink(AdminClient):
    """An admin client that knows the brokers of its cluster. On one event loop."""

    def __init__(
        self,
        name_servers: str,
        settings: WatchSettings,
        *,
        security: ClientSecurity | None = None,
        limits: RemotingLimits | None = None,
    ) -> None:
        super().__init__(name_servers, security=security, limits=limits)
        self.name_servers = name_servers
        self.security = security
        self.settings = settings
        self.numbers = BrokerNumbers()
        self.versions: dict[str, int] = {}
        """Broker name → version ordinal, once reported."""
        self._brokers: dict[str, BrokerPlace] = {}
        self._former: dict[str, str] = {}
        """Address → broker last registered there, former ones included."""
        self.own_reads: Counter[str] = Counter()
        """Broker → messages pulled from the address that its figures come from."""
        self.own_system_reads: Counter[str] = Counter()
        """Those of them that are of system topics, such as the pending ones of delay levels."""
        self._budgets: dict[str, Budget] = {}
        self._turns: dict[str, asyncio.Lock] = {}
        self.proxies = Proxies(self)
        """Through which clients of gRPC may use the cluster."""

    @property
    def brokers(self) -> dict[str, BrokerPlace]:
        """Brokers of the name server's last answer, and earlier ones, by name."""
        return self._brokers

    async def find_brokers(self) -> list[BrokerPlace]:
        """Fetch the list of brokers from the name server; raises `NetworkError`, `RemoteError` and `JsonBodyError`.

        A broker that is no longer listed is kept, so that it is shown as lost.
        """
        response = await self.ask_name_server(RemotingCommand(RequestCode.GET_BROKER_CLUSTER_INFO))
        found = read_brokers(response.body)
        self._former |= {address: broker.name for broker in found for address in broker.addresses.values()}
        self._brokers = {**self._brokers, **{broker.name: broker for broker in found}}
        self.numbers.see(self._brokers)
        return found

    def address_of(self, broker: str) -> str:
        """Address of a broker; raises `UsageError` when the cluster has none of that name."""
        self.numbers.number_of(broker)
        return self._brokers[broker].address

    def broker_at(self, address: str) -> str | None:
        """Name of the broker that is or was at an address; None when it is none of this cluster's.

        Ids of messages name the address of the master that stored them; the slave in its place has them at the same offsets.
        """
        return self._former.get(address)

    def slice_of(self, queue: MessageQueue, first: int = 0, end: int = OFFSET_MAX) -> QueueSlice:
        """A slice of a queue; raises as `address_of`."""
        return QueueSlice(queue.topic, queue.broker_name, self.address_of(queue.broker_name), queue.queue_id, first, end)

    async def ask_name_server(self, command: RemotingCommand) -> RemotingCommand:
        """Send a request to the first name server that answers; raises as `ask`."""
        timeout_ms = self.settings.timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await self._instance.call_name_server(command)
        except TimeoutError as error:
            text = f"the name server {self.name_servers} did not answer within {timeout_ms:,} ms: is it the right address?"
            raise NetworkError(text, address=self.name_servers) from error

    async def brokers_of_route(self, topic: str) -> frozenset[str] | None:
        """Names of the brokers in the route of a topic; None when the name server has none. Raises as `ask`."""
        fields = {"topic": topic, "acceptStandardJsonOnly": "true"}
        try:
            answer = await self.ask_name_server(RemotingCommand(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields))
        except RemoteError as error:
            if refused_as(error, ResponseCode.TOPIC_NOT_EXIST):
                return None
            raise
        return frozenset(data.broker_name for data in read_route(topic, answer.body).queues)

    async def ask(self, broker: str, command: RemotingCommand, timeout_ms: int | None = None) -> RemotingCommand:
        """Send a user's request to a broker, at once.

        Raises `UsageError` when the cluster has no such broker, `NetworkError` without an answer, and `RemoteError` for a
        refusal.
        """
        return await self._instance.call(self.address_of(broker), command, timeout_ms)

    async def ask_address(self, address: str, command: RemotingCommand) -> RemotingCommand:
        """Send a request to what serves at an address, such as a proxy; raises as `ask`."""
        return await self._instance.call(address, command, self.settings.timeout_ms)

    async def ask_gently(self, broker: str, code: RequestCode, fields: dict[str, str] | None = None) -> RemotingCommand:
        """Request figures of a broker, when its budget allows it; raises as `ask`."""
        response = await self.gently(broker, lambda: self.ask(broker, RemotingCommand(code, dict(fields or {}))))
        self.budget_of(broker).spend_bytes(len(response.body))
        return response

    async def ask_slave_gently(self, broker: str, address: str, code: RequestCode) -> RemotingCommand:
        """Request figures of a broker's slave, within the broker's budget; raises as `ask`."""
        return await self.gently(broker, lambda: self._instance.call(address, RemotingCommand(code)))

    async def stored_offset(self, group: str, queue: MessageQueue) -> int:
        """A group's stored offset in a queue, from its broker and without a route; -1 without one. Raises as `ask`."""
        fields = {"consumerGroup": group, "topic": queue.topic, "queueId": str(queue.queue_id)}
        try:
            answer = await self.ask(queue.broker_name, RemotingCommand(RequestCode.QUERY_CONSUMER_OFFSET, fields))
        except RemoteError as error:
            if refused_as(error, ResponseCode.QUERY_NOT_FOUND):
                return -1
            raise
        offset = whole_of(answer.ext_fields.get("offset", ""))
        return -1 if offset is None else offset

    async def pull_records(self, address: str, queue: MessageQueue, offset: int, count: int) -> tuple[bytes, int]:
        """As `MessageAdmin.pull_records`; the records are counted."""
        body, following = await super().pull_records(address, queue, offset, count)
        place = self._brokers.get(queue.broker_name)
        if place is not None and place.address == address:
            count = record_count(body)
            self.own_reads[queue.broker_name] += count
            if is_system_topic(queue.topic):
                self.own_system_reads[queue.broker_name] += count
        return body, following

    async def find_gently(self, broker: str, topic: str, key: str, *, count: int, until_ms: int) -> bytes:
        """Records in a broker's index, as `records_by_key`, when its budget allows it. Raises as `ask`."""
        address = self.address_of(broker)
        find = partial(self.records_by_key, address, topic, key, count=count, until_ms=until_ms)
        body = await self.gently(broker, find)
        self.budget_of(broker).spend_bytes(len(body))
        return body

    async def pull_gently(self, queue: MessageQueue, offset: int) -> bytes:
        """The record at an offset of a queue, for its figures; empty when there is none. Raises as `ask`."""
        address = self.address_of(queue.broker_name)
        body, _following = await self.gently(queue.broker_name, lambda: self.pull_records(address, queue, offset, 1))
        self.budget_of(queue.broker_name).spend_bytes(len(body))
        return body

    async def gently(self, broker: str, ask: Callable[[], Awaitable[_T]]) -> _T:
        """The answer to one request, sent when the broker's budget allows it; raises as `ask`."""
        budget = self.budget_of(broker)
        # Figures, live tails and message paths take turns, so that the budget after the wait is still the one that was checked.
        async with self._turns.setdefault(broker, asyncio.Lock()):
            await asyncio.sleep(budget.wait_seconds())
            budget.spend_request()
        timeout_ms = self.settings.timeout_ms
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await ask()
        except TimeoutError as error:
            text = f"broker {broker} did not answer within {timeout_ms:,} ms{ASKED_AGAIN}"
            raise NetworkError(text, address=self.address_of(broker)) from error

    def budget_of(self, broker: str) -> Budget:
        """Remaining requests and bytes of a broker."""
        if broker not in self._budgets:
            self._budgets[broker] = Budget(
                requests_per_second=self.settings.requests_per_second,
                bytes_per_second=self.settings.bytes_per_second,
                monotonic=time.monotonic,
            )
        return self._budgets[broker]

    def check_reset(self, broker: str, fields: dict[str, str]) -> None:
        """Refuse to reset one queue on a broker that would reset them all.

        Brokers before 5.0 ignore ``queueId`` and ``offset`` of the request and use its time alone, for the whole topic. Raises
        `UsageError` for such a broker, or an unknown version.
        """
        if fields.get("queueId", "-1") == "-1" and not fields.get("offset"):
            return
        version = self.versions.get(broker)
        if version is None or version < V5:
            known = "its version is not known" if version is None else "its version is before 5.0"
            raise UsageError(
                f"broker {broker} cannot reset the offset of a single queue while members are online ({known}): it would reset "
                "the whole topic. Nothing was changed; stop the group and set the offset offline, or reset the whole topic",
                broker=broker,
            )


class AskGently:
    """An `Asking` within the budgets of watched brokers."""

    def __init__(self, link: ClusterLink) -> None:
        self._link = link

    async def ask(self, part: QueueSlice, question: Question[_T]) -> _T:
        return await self._link.gently(part.broker, question)

    def took(self, part: QueueSlice, _messages: int, byte_count: int) -> None:
        self._link.budget_of(part.broker).spend_bytes(byte_count)


def refused_as(error: RemoteError, code: int) -> bool:
    return error.context.get("code") == code
