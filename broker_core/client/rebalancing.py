"""Allocation of the queues of a group member, repeated when members, routes or subscriptions change.

The owner takes queues up and gives them up; this module pulls nothing and stores no offsets.

Source: docs/spec/broker.md §7.1, §7.2.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from broker_core.client.instance import ClientInstance, repeat
from broker_core.errors import CodecError, NetworkError, RemoteError, UsageError
from broker_core.protocol.admin.connections import read_member_ids
from broker_core.protocol.admin.routes import Route
from broker_core.protocol.allocation import Strategy
from broker_core.protocol.codes import RequestCode
from broker_core.protocol.filter.rejection import SQL92
from broker_core.protocol.frame import RemotingCommand
from broker_core.protocol.json_body import MessageQueue, emit
from broker_core.protocol.subscription import Subscription

logger = logging.getLogger(__name__)


class QueueOwner(Protocol):
    """The consumer that owns the queues."""

    def owned_queues(self) -> set[MessageQueue]:
        """Queues it consumes now."""

    async def take_up(self, queue: MessageQueue) -> bool:
        """Begin with a queue; False when it is not possible yet, then it is called again."""

    async def give_up(self, queue: MessageQueue) -> bool:
        """End with a queue; False to keep it until the next call."""


class Rebalancer:
    """Allocates queues for one consumer.

    Args:
        subscriptions: By topic; as an attribute in their newest version.
        owner: Takes queues up and gives them up.
        strategy: Allocates queues to members; None: every member gets every queue, as in broadcasting.
        clock: Milliseconds since the epoch, for subscription versions.
    """

    def __init__(
        self,
        instance: ClientInstance,
        group: str,
        subscriptions: Mapping[str, Subscription],
        owner: QueueOwner,
        *,
        strategy: Strategy | None,
        clock: Callable[[], int],
    ) -> None:
        self.subscriptions = dict(subscriptions)
        self._instance = instance
        self._group = group
        self._owner = owner
        self._strategy = strategy
        self._clock = clock
        self._wanted = asyncio.Event()
        self._one_at_a_time = asyncio.Lock()
        self._known_brokers: set[str] = set()
        instance.on_routes_changed(self.wake)

    def wake(self) -> None:
        """Allocate the queues again soon."""
        self._wanted.set()

    async def run(self) -> None:
        """Allocate the queues when woken and at an interval, until cancelled."""
        while True:
            try:
                async with asyncio.timeout(self._instance.config.rebalance_interval_ms / 1000):
                    await self._wanted.wait()
            except TimeoutError:
                logger.debug("group %s looks at its queues again", self._group)
            self._wanted.clear()
            await repeat(0, self.rebalance, rounds=1)

    async def rebalance(self) -> None:
        """Allocate the queues, give up those of others, take up new ones."""
        async with self._one_at_a_time:
            changed = False
            for topic in list(self.subscriptions):
                try:
                    mine = await self._allocation(topic)
                    if mine is not None:
                        changed |= await self._assign(topic, mine)
                except (NetworkError, RemoteError, CodecError, UsageError) as error:
                    # Its queues stay unchanged; the next round tries again.
                    logger.warning("queues of topic %s cannot be shared in group %s: %s", topic, self._group, error)
            if changed:
                version = self._clock()
                self.subscriptions = {topic: replace(item, version=version) for topic, item in self.subscriptions.items()}
                await self._instance.heartbeat()

    async def check_filters(self) -> None:
        """Check at a broker of each topic that it serves the SQL filter on it; raises `RemoteError` if it does not."""
        for topic, subscription in self.subscriptions.items():
            route = await self._instance.route(topic) if subscription.expression_type == SQL92 else None
            addresses = [] if route is None else [route.address_of(name) for name in sorted(route.brokers)]
            if addresses and addresses[0] is not None:
                body = {
                    "clientId": self._instance.client_id,
                    "group": self._group,
                    "subscriptionData": subscription.to_json(),
                }
                await self._instance.call(addresses[0], RemotingCommand(RequestCode.CHECK_CLIENT_CONFIG, body=emit(body)))

    async def _allocation(self, topic: str) -> list[MessageQueue] | None:
        """Queues of ``topic`` for this member; None when it cannot be decided now."""
        route = await self._instance.route(topic)
        if route is None:
            return None
        brokers = set(self._instance.broker_addresses())
        if not brokers <= self._known_brokers:
            self._known_brokers |= brokers
            await self._instance.heartbeat()
        queues = route.subscribe_queues()
        if self._strategy is None:
            return queues
        client_ids = await self._client_ids(route)
        if not client_ids or not queues:
            return None
        return self._strategy(self._instance.client_id, queues, sorted(client_ids))

    async def _client_ids(self, route: Route) -> list[str]:
        """Members of the group, from the first broker that answers."""
        failure: NetworkError | RemoteError | None = None
        for broker_name in route.brokers:
            address = route.address_of(broker_name)
            if address is None:
                continue
            command = RemotingCommand(RequestCode.GET_CONSUMER_LIST_BY_GROUP, {"consumerGroup": self._group})
            try:
                response = await self._instance.call(address, command)
            except (NetworkError, RemoteError) as error:
                failure = error
                continue
            return read_member_ids(response.body)
        if failure is not None:
            raise failure
        return []

    async def _assign(self, topic: str, mine: Sequence[MessageQueue]) -> bool:
        before = {queue for queue in self._owner.owned_queues() if queue.topic == topic}
        changed = False
        for queue in sorted(before - set(mine)):
            changed |= await self._owner.give_up(queue)
        for queue in mine:
            if queue not in before:
                changed |= await self._owner.take_up(queue)
        return changed
