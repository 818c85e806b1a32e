"""Connections, routes and heartbeats of one client.

It does not send or consume messages. Each producer or consumer has one; brokers distinguish them by client id.
"""

from __future__ import annotations

import asyncio
import ipaddress
import itertools
import logging
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from ssl import SSLContext
from typing import Any, Protocol

from broker_core.client.empty_answers import body_fault, is_empty_answer, lists_all
from broker_core.config import ClientConfig, RemotingLimits
from broker_core.errors import AccountRefusedError, BugError, NetworkError, OrbitError, RemoteError, UsageError
from broker_core.protocol.account_refusals import account_refusal
from broker_core.protocol.addresses import address_text, host_of
from broker_core.protocol.admin.routes import MASTER_ID, Route, read_route
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import JsonBodyError, MessageQueue, emit
from broker_core.protocol.names import AUTO_CREATE_TOPIC, check_topic
from broker_core.protocol.signature import Credentials
from broker_core.transport.client import ConnectionPool, parse_address
from broker_core.transport.connection import Connection, Handler, RequestTimeoutError
from broker_core.transport.proxies import Way

logger = logging.getLogger(__name__)

DEFAULT_TOPIC_QUEUES = 4
_EVERY_NAME_SERVER_KNOWS = (RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.GET_BROKER_CLUSTER_INFO)
_LEAVE_SECONDS = 1.0
"""For unregistering at a broker, which also notices the end of the connection."""
_OTHERS_SECONDS = 2.0
"""For the other name servers when one has an empty answer; shorter than a request of the console may take."""
_MUTE_SECONDS = 30.0
"""How long a name server that did not answer in that time is skipped, because each request would take as long again."""


@dataclass(frozen=True, slots=True)
class ClientSecurity:
    """Encryption, identity and route of a client's connections.

    Attributes:
        tls: Encrypts every connection; None: plain text.
        credentials: Sign every request; None signs none.
        addresses: Address that a broker registered → the one to use, for containers and NAT.
        way: A proxy or tunnel to all servers; None: direct connections.
    """

    tls: SSLContext | None = None
    credentials: Credentials | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)
    way: Way | None = None


class HeartbeatMember(Protocol):
    """A producer or consumer that brokers must know of."""

    @property
    def producer_group(self) -> str | None:
        """Its group when it is a producer."""

    def consumer_data(self) -> dict[str, Any] | None:
        """ConsumerData of the heartbeat when it is a consumer."""

    def group_changed(self, group: str) -> None:
        """Called when a broker reports that members of ``group`` joined or left."""


class ClientInstance:
    """Connections and routes of one client.

    Args:
        name_servers: ``host:port``, several with ``;`` between them.
        member: The producer or consumer of this client; None for a client that is neither.
        name: Makes the client id the same after a restart; None makes a new one each time.
    """

    def __init__(
        self,
        name_servers: str,
        *,
        member: HeartbeatMember | None = None,
        config: ClientConfig | None = None,
        limits: RemotingLimits | None = None,
        security: ClientSecurity | None = None,
        name: str | None = None,
    ) -> None:
        self.config = ClientConfig() if config is None else config
        self._member = member
        self._name = name
        secured = ClientSecurity() if security is None else security
        bounds = RemotingLimits() if limits is None else limits
        self._timeout_ms = bounds.request_timeout_ms
        self._pool = ConnectionPool(
            handler=self._serve,
            limits=bounds,
            tls=secured.tls,
            credentials=secured.credentials,
            addresses=secured.addresses,
            way=secured.way,
        )
        self._on_requests: dict[int, Handler] = {}
        self._name_servers = [address_text(address.strip()) for address in name_servers.split(";") if address.strip()]
        if not self._name_servers:
            raise UsageError("no name server is given: write HOST:PORT, such as 127.0.0.1:9876")
        for address in self._name_servers:
            parse_address(address)
        self._mute_until: dict[str, float] = {}
        """Name server that did not answer after another's empty answer → until when it is skipped, in monotonic seconds."""
        self._routes: dict[str, Route] = {}
        self._route_locks: dict[str, asyncio.Lock] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._ip = ipaddress.ip_address("127.0.0.1")
        self._client_id: str | None = None
        self._on_routes_changed: list[Callable[[], None]] = []

    @property
    def client_id(self) -> str:
        """``ip@pid#number``, different for every instance, or ``ip@name``; known after `start`."""
        if self._client_id is None:
            raise BugError("the client is not started")
        return self._client_id

    @property
    def ip(self) -> bytes:
        """This machine's address as the name server sees it, 4 or 16 bytes."""
        return self._ip.packed

    async def start(self) -> None:
        """Connect to a name server and begin to refresh routes and send heartbeats; raises `NetworkError`."""
        _address, connection = await self._name_server_connection()
        host = host_of(connection.local_address)
        if host:
            # The local end of a tunnel has no address.
            self._ip = ipaddress.ip_address(host.partition("%")[0])
        self._client_id = f"{self._ip}@{self._name or f'{os.getpid()}#{time.monotonic_ns()}'}"
        self._every(self.config.route_refresh_interval_ms, self.refresh_routes)
        self._every(self.config.heartbeat_interval_ms, self.heartbeat)

    async def close(self) -> None:
        """Stop all work and end all connections. Safe to call again."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()
        await self._pool.close()

    def on_routes_changed(self, callback: Callable[[], None]) -> None:
        """Have ``callback`` called whenever a refresh finds a changed route."""
        self._on_routes_changed.append(callback)

    def on_request(self, code: int, serve: Handler) -> None:
        """Have ``serve`` answer brokers' requests of one code; it returns None to answer later or never."""
        self._on_requests[code] = serve

    # ── requests ────────────────────────────────────────────────────────────────────────────────────────────────────

    async def call(self, address: str, command: RemotingCommand, timeout_ms: int | None = None) -> RemotingCommand:
        """Send a request and return its response; raises `RemoteError` for an error code, which is ``context["code"]``.

        Raises `NetworkError` when the peer is not reachable, lost, or does not answer in time.
        """
        response = await self._pool.request(address, command, timeout_ms)
        if response.code != ResponseCode.SUCCESS:
            raise answer_error(address, command.code, response)
        return response

    async def request(self, address: str, command: RemotingCommand, timeout_ms: int | None = None) -> RemotingCommand:
        """Send a request and return its response whatever its code; raises `NetworkError`."""
        return await self._pool.request(address, command, timeout_ms)

    async def send_oneway(self, address: str, command: RemotingCommand) -> None:
        """Send a request that is not answered; raises `NetworkError` when the address cannot be reached."""
        await self._pool.send_oneway(address, command)

    async def call_name_server(self, command: RemotingCommand) -> RemotingCommand:
        """As `call`, to the first name server that can be reached; one that does not answer becomes the last.

        After an empty answer the other name servers are asked too, before it is believed.
        """
        address, connection = await self._name_server_connection()
        try:
            response = await connection.request(command)
        except RequestTimeoutError as error:
            self._ask_last(address)
            text = f"the name server {address} did not answer within {self._timeout_ms:,} ms: is it the right address?"
            raise RequestTimeoutError(text, **error.context) from error
        except (NetworkError, asyncio.CancelledError):
            self._ask_last(address)
            raise
        if is_empty_answer(command.code, response):
            fuller = await self._fuller_answer(command, address)
            address, response = fuller or (address, response)
        if response.code != ResponseCode.SUCCESS:
            if response.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED and command.code in _EVERY_NAME_SERVER_KNOWS:
                text = (
                    f"{address} is no name server but perhaps a broker: give the name server's address, usually with port 9876"
                )
                raise RemoteError(text, code=response.code, address=address)
            raise answer_error(connection.remote_address, command.code, response)
        fault = body_fault(command.code, response)
        if fault:
            raise JsonBodyError(f"{address} does not answer as a name server does: {fault}")
        return response

    # ── routes ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def route(self, topic: str, *, fresh: bool = False) -> Route | None:
        """Return the route of a topic, from memory unless ``fresh``; None when the name server has none.

        Raises `NetworkError`, `RemoteError` or `JsonBodyError` without a usable answer of a name server.
        """
        known = self._routes.get(topic)
        if known is not None and not fresh:
            return known
        async with self._route_locks.setdefault(topic, asyncio.Lock()):
            # Another caller may have fetched the route while this one waited for the lock.
            if self._routes.get(topic) is not known:
                return self._routes.get(topic)
            return await self._fetch_route(topic)

    async def address_of(self, queue: MessageQueue) -> str:
        """Address of a queue's broker: its master's, else a slave's; raises `RemoteError` for an unknown broker."""
        route = await self.route(queue.topic)
        address = route.address_of(queue.broker_name) if route else None
        if address is None:
            text = f"broker {queue.broker_name} of topic {queue.topic} is not known to the name server at the moment"
            raise RemoteError(text, code=int(ResponseCode.TOPIC_NOT_EXIST), topic=queue.topic)
        return address

    async def publish_route(self, topic: str) -> Route:
        """Return a route with queues to send to; for an unknown topic, that of the default topic.

        Raises as `route`, and `RemoteError` when no broker serves the topic or would create it.
        """
        route = await self.route(check_topic(topic))
        if route is None:
            template = await self._fetch_route(AUTO_CREATE_TOPIC)
            route = template.as_template_for(topic, DEFAULT_TOPIC_QUEUES) if template else None
        if route is None or not route.publish_queues():
            text = f"no broker takes messages for topic {topic}: create the topic, or switch on autoCreateTopicEnable"
            raise RemoteError(text, code=int(ResponseCode.TOPIC_NOT_EXIST), topic=topic)
        return route

    async def refresh_routes(self) -> None:
        """Fetch every route in memory again, and call the callbacks of `on_routes_changed` if one differs."""
        before = dict(self._routes)
        for topic in before:
            await self.route(topic, fresh=True)
        if before != self._routes:
            for callback in self._on_routes_changed:
                callback()

    async def route_once(self, topic: str) -> Route | None:
        """As `route`, fetched and not stored, because all stored routes are refreshed for ever, even a thousand."""
        return await self._fetch_route(topic, is_kept=False)

    async def _fetch_route(self, topic: str, *, is_kept: bool = True) -> Route | None:
        fields = {"topic": topic, "acceptStandardJsonOnly": "true"}
        try:
            response = await self.call_name_server(RemotingCommand(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields))
        except RemoteError as error:
            if error.context.get("code") != ResponseCode.TOPIC_NOT_EXIST:
                raise
            self._routes.pop(topic, None)
            return None
        route = read_route(topic, response.body)
        if topic != AUTO_CREATE_TOPIC and is_kept:
            self._routes[topic] = route
        return route

    # ── heartbeats ──────────────────────────────────────────────────────────────────────────────────────────────────

    def broker_addresses(self, *, masters_only: bool = False) -> list[str]:
        """Addresses of all brokers in the routes in use."""
        found = {
            address
            for route in self._routes.values()
            for addresses in route.brokers.values()
            for broker_id, address in addresses.items()
            if not masters_only or broker_id == MASTER_ID
        }
        return sorted(found)

    async def heartbeat(self) -> None:
        """Send a heartbeat to every broker in use; one that is not reached gets the next."""
        masters_only = self._member is None or self._member.consumer_data() is None
        for address in self.broker_addresses(masters_only=masters_only):
            await self.heartbeat_to(address)

    async def heartbeat_to(self, address: str) -> None:
        """Send a heartbeat to one broker; a failure is only logged."""
        if self._member is None:
            return
        group, consumer = self._member.producer_group, self._member.consumer_data()
        body = emit(
            {
                "clientID": self.client_id,
                "consumerDataSet": [consumer] if consumer else [],
                "producerDataSet": [{"groupName": group}] if group else [],
            }
        )
        try:
            await self.call(address, RemotingCommand(RequestCode.HEART_BEAT, body=body))
        except (NetworkError, RemoteError) as error:
            logger.warning("heartbeat to broker %s failed: %s", address, error)

    async def unregister(self) -> None:
        """Unregister at every connected broker, concurrently; a broker that does not answer notices the end by itself."""
        if self._member is None or self._client_id is None:
            return
        consumer = self._member.consumer_data()
        # A named group, even an empty one, is created by brokers that create groups automatically.
        fields = {"clientID": self._client_id}
        if self._member.producer_group:
            fields["producerGroup"] = self._member.producer_group
        if consumer:
            fields["consumerGroup"] = str(consumer["groupName"])
        addresses = set(self.broker_addresses()) & set(self._pool.addresses)
        await asyncio.gather(*(self._unregister_at(address, dict(fields)) for address in addresses))

    async def _unregister_at(self, address: str, fields: dict[str, str]) -> None:
        try:
            async with asyncio.timeout(_LEAVE_SECONDS):
                await self.call(address, RemotingCommand(RequestCode.UNREGISTER_CLIENT, fields))
        except (TimeoutError, NetworkError, RemoteError) as error:
            logger.info("broker %s was not told that the client leaves: %s", address, error)

    # ── inside ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _name_server_connection(self) -> tuple[str, Connection]:
        """Connect to the name server that worked last, else to the next that does; returns its address as configured."""
        failures: list[str] = []
        for address in list(self._name_servers):
            try:
                connection = await self._pool.get(address)
            except NetworkError as error:
                failures.append(error.message)
                continue
            except asyncio.CancelledError:
                # The caller's time is over, and would be over at the next request too.
                self._ask_last(address)
                raise
            self._ask_first(address)
            return address, connection
        raise NetworkError("; ".join(failures), addresses=";".join(self._name_servers))

    async def _fuller_answer(self, command: RemotingCommand, emptied: str) -> tuple[str, RemotingCommand] | None:
        """Another name server with a non-empty answer, and the answer; None when there is none in a short time.

        A server that lists brokers is asked first from then on, for changes too. Knowing one topic more has no such effect.
        """
        now = time.monotonic()
        others = [one for one in self._name_servers if one != emptied and self._mute_until.get(one, now) <= now]
        asking = [asyncio.create_task(self._answer_of(one, command), name=f"ask {one} too") for one in others]
        try:
            for answered in asyncio.as_completed(asking):
                address, response = await answered
                if response is None or response.code != ResponseCode.SUCCESS or is_empty_answer(command.code, response):
                    continue
                if lists_all(command.code):
                    self._ask_first(address)
                return address, response
        finally:
            for task in asking:
                task.cancel()
        return None

    async def _answer_of(self, address: str, command: RemotingCommand) -> tuple[str, RemotingCommand | None]:
        request = RemotingCommand(command.code, dict(command.ext_fields), command.body)
        try:
            async with asyncio.timeout(_OTHERS_SECONDS):
                return address, await self._pool.request(address, request)
        except (TimeoutError, RequestTimeoutError):
            self._mute_until[address] = time.monotonic() + _MUTE_SECONDS
        except NetworkError as error:
            logger.info("name server %s was not asked too: %s", address, error)
        return address, None

    def _ask_first(self, address: str) -> None:
        self._name_servers.remove(address)
        self._name_servers.insert(0, address)

    def _ask_last(self, address: str) -> None:
        self._name_servers.remove(address)
        self._name_servers.append(address)

    def _serve(self, connection: Connection, command: RemotingCommand) -> RemotingCommand | None:
        if command.code == RequestCode.NOTIFY_CONSUMER_IDS_CHANGED:
            if self._member is not None:
                self._member.group_changed(command.ext_fields.get("consumerGroup", ""))
            return command.reply()
        serve = self._on_requests.get(command.code)
        if serve is not None:
            try:
                return serve(connection, command)
            except OrbitError as error:
                return command.reply(ResponseCode.SYSTEM_ERROR, error.message)
        logger.info("request %d of %s is not served by this client", command.code, connection.remote_address)
        return command.not_supported()

    def _every(self, interval_ms: int, work: Callable[[], Any]) -> None:
        name = f"{self._client_id} {getattr(work, '__name__', 'work')}"
        self._tasks.append(asyncio.create_task(repeat(interval_ms, work), name=name))


async def repeat(interval_ms: int, work: Callable[[], Any], *, rounds: int | None = None) -> None:
    """Run the coroutine function ``work`` every ``interval_ms``, ``rounds`` times; None: until cancelled.

    Errors of one round are logged and do not end the loop.
    """
    for _ in itertools.count() if rounds is None else range(rounds):
        await asyncio.sleep(interval_ms / 1000)
        try:
            await work()
        except (NetworkError, RemoteError) as error:
            logger.warning("%s failed and is tried again in %d ms: %s", work.__name__, interval_ms, error)
        except Exception:
            # The root of a background task: a fault of one round must not silence all later ones.
            logger.exception("%s failed and is tried again in %d ms", work.__name__, interval_ms)


def answer_error(address: str, request_code: int, response: RemotingCommand) -> RemoteError:
    """The error for a response that is no success, with its code."""
    refusal = account_refusal(address, response)
    if refusal:
        return AccountRefusedError(refusal, code=response.code, address=address)
    request = _name_of(RequestCode, request_code)
    answer = _name_of(ResponseCode, response.code)
    remark = f": {response.remark}" if response.remark else ""
    return RemoteError(f"{address} answered {request} with {answer}{remark}", code=response.code, address=address)


def _name_of(codes: type[RequestCode | ResponseCode], number: int) -> str:
    try:
        return f"{codes(number).name} ({number})"
    except ValueError:
        return f"code {number}"
