"""Route table of the name server: which brokers carry which topics, and which are alive (Source: docs/spec/broker.md §1).

Pure state: every method takes the time and returns values. It knows no sockets; a connection is any hashable token.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from broker_core.engine.nameserver.registration import DataVersion, Registration
from broker_core.protocol.admin.routes import MASTER_ID, QueueData
from broker_core.protocol.admin.topics import PERM_READ, PERM_WRITE, TopicConfig
from broker_core.protocol.json_body import MessageQueue

BROKER_SILENCE_MAX_MS = 120_000

QUEUES_MAX = 16_384
"""Most queues of one topic and broker that are listed, whatever number a registration says."""


@dataclass(slots=True)
class BrokerData:
    """Addresses of the brokers that share a name: id 0 is the master."""

    cluster: str
    broker_name: str
    addresses: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BrokerIdentity:
    """Names one registered broker."""

    cluster: str
    broker_name: str
    broker_id: int
    address: str


@dataclass(frozen=True, slots=True)
class LiveBroker:
    """When a broker was last heard, over which connection."""

    last_update_ms: int
    version: DataVersion
    connection: Hashable
    ha_address: str
    silence_max_ms: int


@dataclass(frozen=True, slots=True)
class TopicRoute:
    """Answer to a route query."""

    queues: tuple[QueueData, ...]
    brokers: tuple[BrokerData, ...]
    filter_servers: Mapping[str, tuple[str, ...]]
    order_conf: str | None = None


@dataclass(frozen=True, slots=True)
class Registered:
    """Answer to a registration: for a slave, the addresses of its master."""

    master_address: str | None = None
    ha_address: str | None = None


class RouteInfo:
    """The five tables of the name server. `expire` drops a broker that is silent for longer than ``silence_max_ms``."""

    def __init__(self, *, silence_max_ms: int = BROKER_SILENCE_MAX_MS) -> None:
        self._silence_max_ms = silence_max_ms
        self._topic_queues: dict[str, dict[str, QueueData]] = {}
        self._brokers: dict[str, BrokerData] = {}
        self._clusters: dict[str, set[str]] = {}
        self._live: dict[str, LiveBroker] = {}
        self._filter_servers: dict[str, tuple[str, ...]] = {}

    # ---- registration ----

    def register(
        self,
        identity: BrokerIdentity,
        registration: Registration,
        *,
        ha_address: str,
        connection: Hashable,
        now_ms: int,
        silence_max_ms: int | None = None,
    ) -> Registered:
        """Take a broker's table; for a slave the answer has the addresses of its master (Source: docs/spec/broker.md §1.2).

        Topics missing from the table are kept, as 4.x does; tools delete routes by a request of their own. The broker is
        dropped when ``connection`` ends, or after a silence of ``silence_max_ms`` (None: this table's own limit).
        """
        first = self._register_address(identity)
        known = self._live.get(identity.address)
        changed = first or known is None or known.version != registration.version
        if identity.broker_id == MASTER_ID and changed:
            self._take_topics(identity.broker_name, registration.topics.values())
        limit_ms = self._silence_max_ms if silence_max_ms is None else silence_max_ms
        self._live[identity.address] = LiveBroker(now_ms, registration.version, connection, ha_address, limit_ms)
        if registration.filter_servers:
            self._filter_servers[identity.address] = registration.filter_servers
        else:
            self._filter_servers.pop(identity.address, None)
        if identity.broker_id == MASTER_ID:
            return Registered()
        return self._master_of(identity.broker_name)

    def add_topics(self, broker_name: str, address: str, topics: Iterable[TopicConfig]) -> None:
        """Route changed topics of a broker of this process before its registration arrives over the network.

        The producer of a new topic's first message may request the route as soon as the message is answered; some clients do,
        and give up when there is none. A broker that is not registered as a master is skipped.
        """
        broker = self._brokers.get(broker_name)
        if broker is not None and broker.addresses.get(MASTER_ID) == address:
            self._take_topics(broker_name, topics)

    def _take_topics(self, broker_name: str, topics: Iterable[TopicConfig]) -> None:
        for config in topics:
            data = QueueData(broker_name, config.read_queues, config.write_queues, config.permission, config.sys_flag)
            self._topic_queues.setdefault(config.name, {})[broker_name] = data

    def _register_address(self, identity: BrokerIdentity) -> bool:
        """Enter the address; True when the broker was not known under this id."""
        self._clusters.setdefault(identity.cluster, set()).add(identity.broker_name)
        broker = self._brokers.get(identity.broker_name)
        first = broker is None
        if broker is None:
            broker = self._brokers[identity.broker_name] = BrokerData(identity.cluster, identity.broker_name)
        # A slave that became master keeps its address; its old id would make two brokers of one.
        for other_id in [i for i, a in broker.addresses.items() if a == identity.address and i != identity.broker_id]:
            del broker.addresses[other_id]
        first = first or identity.broker_id not in broker.addresses
        broker.addresses[identity.broker_id] = identity.address
        return first

    def _master_of(self, broker_name: str) -> Registered:
        master_address = self._brokers[broker_name].addresses.get(MASTER_ID)
        if master_address is None or master_address not in self._live:
            return Registered()
        return Registered(master_address, self._live[master_address].ha_address)

    def touch(self, address: str, version: DataVersion, *, now_ms: int) -> tuple[bool, DataVersion | None]:
        """Answer QUERY_DATA_VERSION: whether the broker's table differs from the known one; refreshes the time if not."""
        live = self._live.get(address)
        if live is None:
            return True, None
        if live.version != version:
            return True, live.version
        self._live[address] = replace(live, last_update_ms=now_ms)
        return False, live.version

    def heard(self, address: str, *, now_ms: int) -> None:
        """Note that a broker is alive, without reading its table."""
        live = self._live.get(address)
        if live is not None:
            self._live[address] = replace(live, last_update_ms=now_ms)

    def unregister(self, identity: BrokerIdentity) -> None:
        self._drop(identity.address)

    def expire(self, now_ms: int) -> list[tuple[str, Hashable]]:
        """Drop brokers that were silent too long; returns their addresses and connections."""
        silent = [
            (address, live.connection)
            for address, live in self._live.items()
            if live.last_update_ms + live.silence_max_ms < now_ms
        ]
        for address, _ in silent:
            self._drop(address)
        return silent

    def connection_lost(self, connection: Hashable) -> list[str]:
        """Drop the brokers that registered over a connection; returns their addresses."""
        lost = [address for address, live in self._live.items() if live.connection == connection]
        for address in lost:
            self._drop(address)
        return lost

    def _drop(self, address: str) -> None:
        self._live.pop(address, None)
        self._filter_servers.pop(address, None)
        for broker in list(self._brokers.values()):
            for broker_id in [i for i, known in broker.addresses.items() if known == address]:
                del broker.addresses[broker_id]
            if not broker.addresses:
                self._drop_name(broker)

    def _drop_name(self, broker: BrokerData) -> None:
        del self._brokers[broker.broker_name]
        names = self._clusters.get(broker.cluster, set())
        names.discard(broker.broker_name)
        if not names:
            self._clusters.pop(broker.cluster, None)
        for topic in [topic for topic, queues in self._topic_queues.items() if broker.broker_name in queues]:
            self._drop_queues(topic, {broker.broker_name})

    def _drop_queues(self, topic: str, broker_names: set[str]) -> None:
        queues = self._topic_queues[topic]
        for name in broker_names:
            queues.pop(name, None)
        if not queues:
            del self._topic_queues[topic]

    # ---- questions ----

    def route(self, topic: str) -> TopicRoute | None:
        """Queues and brokers of a topic; None when no live broker has it (Source: docs/spec/broker.md §1.4)."""
        queues = self._topic_queues.get(topic)
        if not queues:
            return None
        brokers = tuple(
            BrokerData(broker.cluster, broker.broker_name, dict(broker.addresses))
            for name in queues
            if (broker := self._brokers.get(name)) is not None
        )
        if not brokers:
            return None
        addresses = [address for broker in brokers for address in broker.addresses.values()]
        servers = {address: self._filter_servers[address] for address in addresses if address in self._filter_servers}
        return TopicRoute(tuple(queues.values()), brokers, servers)

    def readable_queues(self, topic: str) -> list[MessageQueue]:
        """The queues of a topic that consumers divide among themselves, of all brokers, in order."""
        route = self.route(topic)
        return sorted(
            MessageQueue(topic, data.broker_name, queue_id)
            for data in (() if route is None else route.queues)
            if data.permission & PERM_READ
            for queue_id in range(min(data.read_queues, QUEUES_MAX))
        )

    def topics(self) -> list[str]:
        return list(self._topic_queues)

    def topics_of_cluster(self, cluster: str) -> list[str]:
        """Names of the topics that a cluster's brokers carry; none for an unknown cluster."""
        names = self._clusters.get(cluster, set())
        return [topic for topic, queues in self._topic_queues.items() if not names.isdisjoint(queues)]

    def brokers(self) -> dict[str, BrokerData]:
        return dict(self._brokers)

    def topics_with_flag(self, wanted: int, unwanted: int = 0) -> list[str]:
        """Topics of which a broker's ``topicSysFlag`` has all wanted bits and no unwanted one."""
        return [
            topic
            for topic, queues in self._topic_queues.items()
            if any(d.topic_sys_flag & wanted == wanted and not d.topic_sys_flag & unwanted for d in queues.values())
        ]

    def clusters(self) -> dict[str, list[str]]:
        """Cluster → names of its brokers, in order."""
        return {cluster: sorted(names) for cluster, names in self._clusters.items()}

    # ---- administration ----

    def put_topic(self, topic: str, queues: Iterable[QueueData]) -> None:
        """Route a topic by a tool's request; unregistered brokers are skipped (Source: docs/spec/remoting.md §2.1)."""
        for data in queues:
            if data.broker_name in self._brokers:
                self._topic_queues.setdefault(topic, {})[data.broker_name] = data

    def wipe_write_permission(self, broker_name: str) -> int:
        """Clear the write bit of every topic of a broker name; returns how many topics it has."""
        return self._change_permission(broker_name, keep=~PERM_WRITE, add=0)

    def add_write_permission(self, broker_name: str) -> int:
        """Set read and write for every topic of a broker name; returns how many topics it has."""
        return self._change_permission(broker_name, keep=0, add=PERM_READ | PERM_WRITE)

    def _change_permission(self, broker_name: str, *, keep: int, add: int) -> int:
        count = 0
        for queues in self._topic_queues.values():
            data = queues.get(broker_name)
            if data is not None:
                queues[broker_name] = replace(data, permission=data.permission & keep | add)
                count += 1
        return count

    def delete_topic(self, topic: str, cluster: str | None = None) -> None:
        """Delete the route of a topic, only on one cluster's brokers if a cluster is given."""
        queues = self._topic_queues.get(topic)
        if queues is None:
            return
        names = set(queues) if not cluster else self._clusters.get(cluster, set())
        self._drop_queues(topic, set(names))
