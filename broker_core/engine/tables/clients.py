"""Connected producers and consumers by group (Source: docs/spec/broker.md §10).

Pure state: a connection is any hashable token, the time is an argument. It sends nothing; methods return whom to notify.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from broker_core.engine.tables.heartbeat import ConsumerData
from broker_core.protocol.names import INNER_PRODUCER_GROUP
from broker_core.protocol.subscription import Subscription

CLIENT_SILENCE_MAX_MS = 120_000

C = TypeVar("C", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Client:
    """One member of a group, as it describes itself."""

    client_id: str
    address: str
    language: str
    version: int
    last_heartbeat_ms: int


@dataclass(slots=True)
class ConsumerGroup(Generic[C]):
    """Members and subscription of a consumer group; all members share one subscription (Source: docs/spec/broker.md §10.3)."""

    name: str
    consume_type: str
    message_model: str
    consume_from_where: str
    members: dict[C, Client] = field(default_factory=dict)
    subscriptions: dict[str, Subscription] = field(default_factory=dict)
    pullers: dict[tuple[str, int], C] = field(default_factory=dict)
    """Topic and queue id → the member that pulled there last: the owner of the queue after a rebalance."""

    @property
    def broadcasting(self) -> bool:
        return self.message_model == "BROADCASTING"

    @property
    def client_ids(self) -> list[str]:
        """Ids of the members, in order of arrival, each once."""
        return list(dict.fromkeys(client.client_id for client in self.members.values()))


class Consumers(Generic[C]):
    """Consumer groups with at least one member.

    Attributes:
        changes: Incremented when a group, a member or a subscription is added, removed or changed; not by a version alone.
    """

    def __init__(self, *, silence_max_ms: int = CLIENT_SILENCE_MAX_MS) -> None:
        self._silence_max_ms = silence_max_ms
        self._groups: dict[str, ConsumerGroup[C]] = {}
        self.changes = 0

    def group(self, name: str) -> ConsumerGroup[C] | None:
        """A group with members."""
        return self._groups.get(name)

    def groups(self) -> list[ConsumerGroup[C]]:
        return list(self._groups.values())

    def groups_of_topic(self, topic: str) -> list[str]:
        """Names of the groups that subscribe to a topic now."""
        return [group.name for group in self._groups.values() if topic in group.subscriptions]

    def register(self, connection: C, client: Client, data: ConsumerData) -> bool:
        """Apply one group of a heartbeat.

        Returns:
            True when the members must be notified: a new connection, or a topic added to or removed from the subscription.
        """
        group = self._groups.get(data.group)
        if group is None:
            group = ConsumerGroup(data.group, data.consume_type, data.message_model, data.consume_from_where)
            self._groups[data.group] = group
        remodelled = group.message_model != data.message_model
        group.consume_type = data.consume_type
        group.message_model = data.message_model
        group.consume_from_where = data.consume_from_where
        joined = connection not in group.members
        group.members[connection] = client
        subscribed, reworded = _update_subscriptions(group, data.subscriptions)
        if joined or subscribed or reworded or remodelled:
            self.changes += 1
        return joined or subscribed

    def pulled(self, connection: C, name: str, topic: str, queue_id: int) -> None:
        group = self._groups.get(name)
        if group is not None and connection in group.members:
            group.pullers[topic, queue_id] = connection

    def puller(self, name: str, topic: str, queue_id: int) -> str:
        """Client id of the member that pulls a queue, empty if there is none."""
        group = self._groups.get(name)
        connection = None if group is None else group.pullers.get((topic, queue_id))
        client = None if group is None or connection is None else group.members.get(connection)
        return "" if client is None else client.client_id

    def unregister(self, connection: C, name: str) -> bool:
        """Remove a member; False when it is not one."""
        group = self._groups.get(name)
        if group is None or group.members.pop(connection, None) is None:
            return False
        self.changes += 1
        group.pullers = {queue: member for queue, member in group.pullers.items() if member != connection}
        if not group.members:
            del self._groups[name]
        return True

    def connection_lost(self, connection: C) -> list[str]:
        """Remove a connection from all groups; returns its former groups, whose other members must be notified."""
        names = [group.name for group in self._groups.values() if connection in group.members]
        return [name for name in names if self.unregister(connection, name)]

    def silent(self, now_ms: int) -> set[C]:
        """Connections with a member whose last heartbeat is too old; the caller closes them."""
        return _silent((group.members for group in self._groups.values()), now_ms - self._silence_max_ms)

    @property
    def member_count(self) -> int:
        return sum(len(group.members) for group in self._groups.values())


def _update_subscriptions(group: ConsumerGroup[C], wanted: Iterable[Subscription]) -> tuple[bool, bool]:
    """Replace the set of topics by that of the heartbeat; of each topic the highest version counts.

    Source: docs/spec/broker.md §10.2.

    Returns:
        Whether a topic was added or removed, and whether the filter of one changed.
    """
    changed = reworded = False
    topics = set()
    for subscription in wanted:
        topics.add(subscription.topic)
        known = group.subscriptions.get(subscription.topic)
        if known is None:
            changed = True
        elif subscription.version <= known.version:
            continue
        elif replace(subscription, version=known.version) != known:
            reworded = True
        group.subscriptions[subscription.topic] = subscription
    for topic in [topic for topic in group.subscriptions if topic not in topics]:
        del group.subscriptions[topic]
        changed = True
    return changed, reworded


class Producers(Generic[C]):
    """Producer groups with at least one member."""

    def __init__(self, *, silence_max_ms: int = CLIENT_SILENCE_MAX_MS) -> None:
        self._silence_max_ms = silence_max_ms
        self._groups: dict[str, dict[C, Client]] = {}

    def register(self, connection: C, client: Client, group: str) -> None:
        """Add or refresh a member."""
        self._groups.setdefault(group, {})[connection] = client

    def unregister(self, connection: C, group: str) -> None:
        members = self._groups.get(group, {})
        members.pop(connection, None)
        if not members:
            self._groups.pop(group, None)

    def connection_lost(self, connection: C) -> None:
        for group in list(self._groups):
            self.unregister(connection, group)

    def silent(self, now_ms: int) -> set[C]:
        """Connections with a member whose last heartbeat is too old."""
        return _silent(self._groups.values(), now_ms - self._silence_max_ms)

    def connections(self, group: str) -> list[C]:
        """Connections of a group's members, in order of arrival."""
        return list(self._groups.get(group, {}))

    def members(self, group: str) -> list[Client] | None:
        """Members of a group; None when it has none."""
        members = self._groups.get(group)
        return None if members is None else list(members.values())

    def find(self, client_id: str) -> C | None:
        """The connection of a producer by its client id; of several, the one with the latest heartbeat."""
        found = [
            (client.last_heartbeat_ms, connection)
            for members in self._groups.values()
            for connection, client in members.items()
            if client.client_id == client_id
        ]
        return max(reversed(found), key=lambda item: item[0])[1] if found else None

    def groups(self) -> dict[str, list[Client]]:
        return {group: list(members.values()) for group, members in self._groups.items()}

    @property
    def member_count(self) -> int:
        """Connections of producers, each counted once; the producer inside every Java client is none."""
        own = (members for group, members in self._groups.items() if group != INNER_PRODUCER_GROUP)
        return len({connection for members in own for connection in members})


def _silent(groups: Iterable[Mapping[C, Client]], limit_ms: int) -> set[C]:
    return {peer for members in groups for peer, client in members.items() if client.last_heartbeat_ms < limit_ms}
