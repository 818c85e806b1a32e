"""The proxies of a cluster and the members of groups behind them, whom no broker knows.

A broker answers for a group behind a proxy in cluster mode that it is not online. How many proxies run is known from their own
group, whose members brokers do list. Where they serve is known from their announcements, else from the addresses of these
members and the usual port. When fewer answer than run, there may be more members than are known, and the reason says why.

Source: docs/spec/grpc.md §4.3; docs/spec/remoting.md §2.5.4 (203), §2.5.6.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from broker_core.errors import CodecError, NetworkError, OrbitError, RemoteError
from broker_core.protocol.addresses import host_of
from broker_core.protocol.admin.brokers import BrokerPlace
from broker_core.protocol.admin.connections import GroupMember, read_members, read_subscriptions
from broker_core.protocol.admin.proxies import HEARTBEAT_GROUP, ProxyPlace, read_announcement
from broker_core.protocol.admin.routes import Route
from broker_core.protocol.codes import RequestCode, ResponseCode
from broker_core.protocol.filter.rejection import Wanted
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import JsonBodyError, MessageQueue
from broker_core.protocol.message.record import decode_records
from broker_core.protocol.names import PROXY_HEARTBEAT_TOPIC

ANNOUNCEMENTS_READ = 32
"""Newest announcements of each queue: one comes for each client every ten seconds."""
LOOK_SECONDS = 10.0
KEPT_SECONDS = 5.0
"""How long the members of a group are reused: each broker's turn asks for them."""
GROUPS_KEPT = 10_000
PROXIES_MAX = 64

_NO_ANSWER = (NetworkError, RemoteError, CodecError)


class ProxyLink(Protocol):
    """What is needed of the connection to a cluster."""

    @property
    def brokers(self) -> dict[str, BrokerPlace]:
        """Brokers by name."""

    async def ask(self, broker: str, command: RemotingCommand, timeout_ms: int | None = None) -> RemotingCommand:
        """Send a request to a broker."""

    async def ask_address(self, address: str, command: RemotingCommand) -> RemotingCommand:
        """Send a request to what serves at an address."""

    async def listed_route(self, topic: str) -> Route | None:
        """Route of a topic."""

    async def pull_records(self, address: str, queue: MessageQueue, offset: int, count: int) -> tuple[bytes, int]:
        """Records of a queue."""

    async def max_offset_of(self, address: str, queue: MessageQueue) -> int:
        """End of a queue."""


@dataclass(frozen=True, slots=True)
class ProxyMembers:
    """Members of a group behind proxies.

    Attributes:
        members: By the proxy that they are connected to, or that knows of them.
        subscriptions: By topic.
        unknown: Why there may be more; empty when all running proxies have answered, or none runs.
    """

    members: Mapping[ProxyPlace, tuple[GroupMember, ...]] = field(default_factory=dict)
    subscriptions: Mapping[str, Wanted] = field(default_factory=dict)
    unknown: str = ""

    @property
    def client_ids(self) -> frozenset[str]:
        return frozenset(member.client_id for members in self.members.values() for member in members)


NO_PROXIES = ProxyMembers()


class Proxies:
    """Finds the proxies of a cluster and asks them. On one event loop."""

    def __init__(self, link: ProxyLink, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._link = link
        self._monotonic = monotonic
        self._looking = asyncio.Lock()
        self._looked_s: float | None = None
        self._running = 0
        self._places: list[ProxyPlace] = []
        self._kept: dict[str, tuple[float, ProxyMembers]] = {}
        self._silent: dict[ProxyPlace, tuple[float, str]] = {}
        """Proxies that did not answer: until when they are not asked again, and why."""

    async def places(self) -> list[ProxyPlace]:
        """Where proxies may be asked, as far as that is known; empty when none runs."""
        async with self._looking:
            now = self._monotonic()
            if self._looked_s is None or now - self._looked_s >= LOOK_SECONDS:
                self._looked_s = now
                await self._look()
            return self._places

    async def members(self, group: str) -> ProxyMembers:
        """Members of a group behind proxies. Raises nothing of a proxy that does not answer: the result says so."""
        places, now = await self.places(), self._monotonic()
        if not self._running:
            return NO_PROXIES
        kept = self._kept.get(group)
        if kept is not None and now - kept[0] < KEPT_SECONDS:
            return kept[1]
        found = await self._ask_all(group, places)
        if len(self._kept) >= GROUPS_KEPT:
            self._kept.clear()
        self._kept[group] = now, found
        return found

    async def ask_member(self, command: RemotingCommand) -> RemotingCommand | None:
        """The answer to a request about a member, of the first proxy that serves it; None when no proxy runs.

        Raises `RemoteError` where none does. A RocketMQ Proxy 5.3.3 serves no request about a single member.
        """
        places = await self.places()
        if not self._running:
            return None
        reasons = []
        for place in places:
            try:
                return await self._link.ask_address(str(place), RemotingCommand(command.code, dict(command.ext_fields)))
            except _NO_ANSWER as error:
                reasons.append(_reason(place, error))
        why = "; ".join(reasons) or "their addresses are not known"
        raise RemoteError(f"the proxies do not answer for their members: {why}", code=ResponseCode.SYSTEM_ERROR)

    def forget(self) -> None:
        """Ask again for all that is known."""
        self._kept.clear()
        self._silent.clear()

    # ---- finding ----

    async def _look(self) -> None:
        hosts: dict[str, str] = {}
        any_answered = False
        for broker in list(self._link.brokers):
            with contextlib.suppress(NetworkError, CodecError):
                hosts |= await self._hosts(broker)
                any_answered = True
        if not any_answered:
            return  # no broker answers; what was known stays
        self._running = len(hosts)
        places = await self._announced() if hosts else []
        known = {place.host for place in places}
        usual = [ProxyPlace(host) for host in sorted(set(hosts.values()) - known)]
        self._places = [*places, *usual][:PROXIES_MAX]
        self._silent = {place: silent for place, silent in self._silent.items() if place in self._places}

    async def _hosts(self, broker: str) -> dict[str, str]:
        """Client id → host of the proxies that are connected to a broker."""
        command = RemotingCommand(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": HEARTBEAT_GROUP})
        try:
            answer = await self._link.ask(broker, command)
        except RemoteError:  # none is connected, or it may not be asked
            return {}
        return {member.client_id: host_of(member.address) for member in read_members(answer.body)}

    async def _announced(self) -> list[ProxyPlace]:
        """The proxies that the newest announcements name, each once."""
        found: dict[ProxyPlace, None] = {}
        with contextlib.suppress(*_NO_ANSWER):
            route = await self._link.listed_route(PROXY_HEARTBEAT_TOPIC)
            for data in route.queues if route is not None else ():
                address = route.address_of(data.broker_name) if route is not None else None
                for queue_id in range(data.read_queues if address is not None else 0):
                    queue = MessageQueue(PROXY_HEARTBEAT_TOPIC, data.broker_name, queue_id)
                    found |= dict.fromkeys(await self._announced_in(str(address), queue))
        return sorted(found)

    async def _announced_in(self, address: str, queue: MessageQueue) -> list[ProxyPlace]:
        found: list[ProxyPlace] = []
        with contextlib.suppress(*_NO_ANSWER):
            end = await self._link.max_offset_of(address, queue)
            first = max(end - ANNOUNCEMENTS_READ, 0)
            body = (await self._link.pull_records(address, queue, first, ANNOUNCEMENTS_READ))[0] if end else b""
            for record in decode_records(body):
                with contextlib.suppress(JsonBodyError):  # of a version that announces itself otherwise
                    found.append(read_announcement(record.body))
        return found

    # ---- asking ----

    async def _ask_all(self, group: str, places: list[ProxyPlace]) -> ProxyMembers:
        members: dict[ProxyPlace, tuple[GroupMember, ...]] = {}
        subscriptions: dict[str, Wanted] = {}
        reasons: list[str] = []

        async def ask(place: ProxyPlace) -> None:
            until, why = self._silent.get(place, (0.0, ""))
            if self._monotonic() < until:
                reasons.append(why)
                return
            command = RemotingCommand(RequestCode.GET_CONSUMER_CONNECTION_LIST, {"consumerGroup": group})
            try:
                answer = await self._link.ask_address(str(place), command)
                members[place] = tuple(read_members(answer.body))
                subscriptions.update(read_subscriptions(answer.body))
            except RemoteError as error:
                if error.context.get("code") == ResponseCode.CONSUMER_NOT_ONLINE:
                    members[place] = ()
                else:
                    reasons.append(_reason(place, error))
            except (NetworkError, CodecError) as error:
                # Each group of each broker's round would wait for it.
                self._silent[place] = self._monotonic() + LOOK_SECONDS, _reason(place, error)
                reasons.append(_reason(place, error))

        await asyncio.gather(*map(ask, places))
        return ProxyMembers(members, subscriptions, self._unknown(len(members), sorted(reasons)))

    def _unknown(self, answered: int, reasons: list[str]) -> str:
        if answered >= self._running:
            return ""
        why = "; ".join(reasons) or "the others are not at their usual port and have announced no client"
        return f"{answered} of {self._running} proxies answer, so members behind the others are not known: {why}"


def _reason(place: ProxyPlace, error: OrbitError) -> str:
    return f"proxy {place}: {error.message}"
