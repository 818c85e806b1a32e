"""The parts of queues that a search of a cluster reads, and the parts that it cannot reach.

Each unreachable part is added to `Gaps`: a broker without an address, a master or a permission, a queue that may not be
read, an unknown topic of the filter.

Source: docs/spec/remoting.md §4.4 (routes), §2.5.6 (offsets of a topic), §2.2.5 (offsets by time).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Coroutine, Iterable, Mapping
from dataclasses import replace
from typing import Any

from broker_core.client.admin import AdminClient
from broker_core.cluster.puller import Puller
from broker_core.cluster.slices import QueueSlice
from broker_core.cluster.survey import queues_on
from broker_core.cluster.time_bounds import within_times
from broker_core.errors import CodecError, NetworkError, RemoteError, UsageError
from broker_core.protocol.admin.routes import MASTER_ID, Route
from broker_core.protocol.admin.topics import PERM_READ
from broker_core.tools.search.bounds import EVERYTHING, HIGHEST, LOWEST, Interval
from broker_core.tools.search.gaps import Gaps
from broker_core.tools.search.gone import Gone

TOPICS_AT_ONCE = 8
"""Topics that are read concurrently."""


class ClusterParts:
    """Finds the queues of topics, with a started client. On one event loop.

    ``known_topics`` has topic → brokers known to have had it, also those that the name server forgot.
    """

    def __init__(self, admin: AdminClient, puller: Puller, gaps: Gaps, known_topics: Mapping[str, Collection[str]]) -> None:
        self._admin = admin
        self._puller = puller
        self._gaps = gaps
        self._known = known_topics
        self.gone = Gone()
        """Deleted messages of the queues that were looked at."""
        self._lost: dict[str, str] = {}
        """Address → why it gets no further requests."""
        self.registered: dict[str, str] = {}
        """Address → name of all brokers that the name server lists; after `topics`."""

    async def topics(self) -> set[str]:
        """Names of all topics; raises `NetworkError`, `RemoteError` or `CodecError` without a usable answer."""
        brokers = await self._admin.registered_brokers()
        self.registered = {address: name for name, addresses in brokers.items() for address in addresses.values()}
        if not self.registered:
            self._gaps.add("no broker is registered at the name server now")
        return {*await self._admin.topics(), *self._known}

    async def each(self, topics: Iterable[str], work: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        """Run ``work`` for every topic, a few at a time; a failure of one is a gap."""
        turn = asyncio.Semaphore(TOPICS_AT_ONCE)

        async def one(topic: str) -> None:
            async with turn:
                try:
                    await work(topic)
                except (NetworkError, RemoteError, CodecError, UsageError) as error:
                    self._gaps.add(f"topic {topic} could not be searched: {error.message}")

        async with asyncio.TaskGroup() as group:
            for topic in topics:
                group.create_task(one(topic))

    async def route(self, topic: str) -> Route:
        """Route of a topic; brokers missing in it are gaps. Raises as `topics`."""
        route = await self._admin.readable_route(topic)
        for name in sorted(set(self._known.get(topic, ())) - route.brokers.keys()):
            self._gaps.add(f"broker {name}, which has topic {topic}, is not registered at the name server now")
        for data in route.queues:
            addresses = route.brokers.get(data.broker_name)
            if not addresses:
                self._gaps.add(f"broker {data.broker_name}, which has topic {topic}, has no address at the name server now")
            elif MASTER_ID not in addresses:
                self._gaps.add(f"broker {data.broker_name} has no master now: its slave was read, which may lack the newest")
        return route

    async def addresses(self) -> dict[str, str]:
        """Broker name → its address now, the master's if there is one; empty while no name server answers.

        A slave in its place has the same messages at the same offsets; those that it lacks are reported as missing at its end.
        """
        with contextlib.suppress(NetworkError, RemoteError, CodecError):
            brokers = await self._admin.registered_brokers()
            return {name: addresses[min(addresses)] for name, addresses in brokers.items() if addresses}
        return {}

    async def on_each_broker(
        self, topic: str, addresses: Mapping[str, str], ask: Callable[[str, str], Awaitable[None]]
    ) -> None:
        """Call ``ask`` with each broker's name and address; a failure is a gap; a lost broker is skipped for other topics."""
        for name, address in addresses.items():
            if address in self._lost:
                self._gaps.add(f"topic {topic} on broker {name} could not be searched: {self._lost[address]}")
                continue
            try:
                await ask(name, address)
            except (NetworkError, RemoteError, CodecError) as error:
                if isinstance(error, NetworkError):
                    self._lost[address] = error.message
                self._gaps.add(f"topic {topic} on broker {name} could not be searched: {error.message}")

    async def parts_of(
        self, topic: str, may_match: Callable[[str, int], bool], stored: Interval, offsets: Interval
    ) -> list[QueueSlice]:
        """Slices of a topic to read.

        Args:
            topic: Its name.
            may_match: Whether a queue, by its broker's name and its id there, may hold a match.
            stored: Store times of matches, in ms since the epoch.
            offsets: Queue offsets of matches.
        """
        route = await self.route(topic)
        readable: dict[str, int] = {}
        for data in route.queues:
            if data.permission & PERM_READ:
                readable[data.broker_name] = data.read_queues
            elif route.brokers.get(data.broker_name):
                self._gaps.add(f"broker {data.broker_name} lets nobody read topic {topic}")
        from_ms = stored.low if stored.low > LOWEST else None
        to_ms = stored.high + 1 if stored.high < HIGHEST else None
        found: list[QueueSlice] = []

        async def ask(name: str, address: str) -> None:
            for whole, held in await queues_on(self._puller, topic, name, address, readable[name]):
                first, end = max(whole.first, offsets.low, 0), min(whole.end, max(offsets.high, -1) + 1)
                is_older = 0 < held.last_store_ms < stored.low
                if is_older or not may_match(name, whole.queue_id):
                    continue
                if first >= end:
                    self.gone.add(topic, whole.first, offsets)
                    continue
                part = replace(whole, first=first, end=end)
                if part.queue_id >= readable[name]:
                    # The broker lets nobody pull them. Looking for a time costs as much there as reading on.
                    found.append(replace(part, singly=True))
                elif (part := await within_times(self._puller, part, from_ms, to_ms)).messages > 0:
                    found.append(part)
                if part.first <= first:  # else the first stored message is too old, and deleted ones are older
                    self.gone.add(topic, whole.first, offsets)

        addresses = {name: address for name in sorted(readable) if (address := route.address_of(name)) is not None}
        await self.on_each_broker(topic, addresses, ask)
        return found

    async def look_for_gone(self, topic: str) -> None:
        """Count the deleted messages of a topic. Raises as `topics`."""
        route = await self.route(topic)

        async def ask(name: str, address: str) -> None:
            for held in (await self._puller.held(QueueSlice(topic, name, address, 0, 0, 0))).values():
                self.gone.add(topic, held.min_offset, EVERYTHING)

        addresses = {name: address for name in route.brokers if (address := route.address_of(name)) is not None}
        await self.on_each_broker(topic, addresses, ask)
