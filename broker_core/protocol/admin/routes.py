"""Routes: which broker serves which queues of a topic, from GET_ROUTEINFO_BY_TOPIC. Values only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from broker_core.protocol.addresses import address_text
from broker_core.protocol.admin.topics import PERM_READ, PERM_WRITE
from broker_core.protocol.json_body import JsonBodyError, MessageQueue, parse_object

MASTER_ID = 0


@dataclass(frozen=True, slots=True)
class QueueData:
    """How many queues of a topic one broker has."""

    broker_name: str
    read_queues: int
    write_queues: int
    permission: int
    topic_sys_flag: int = 0


@dataclass(frozen=True, slots=True)
class Route:
    """Where the queues of one topic are.

    Attributes:
        queues: One entry per broker that has the topic, by broker name.
        brokers: Broker name → broker id → address, spelled as `broker_core.protocol.addresses` does.
        order: Broker name and count of queues in the order to use, for topics with a fixed order; else empty.
        clusters: Broker name → name of its cluster.
    """

    topic: str
    queues: tuple[QueueData, ...]
    brokers: dict[str, dict[int, str]]
    order: tuple[tuple[str, int], ...] = ()
    clusters: Mapping[str, str] = field(default_factory=dict)

    def publish_queues(self) -> list[MessageQueue]:
        """Queues to send to, in the order clients use them (Source: docs/spec/broker.md §2.2)."""
        if self.order:
            return [MessageQueue(self.topic, name, queue_id) for name, count in self.order for queue_id in range(count)]
        return [
            MessageQueue(self.topic, data.broker_name, queue_id)
            for data in self.queues
            if data.permission & PERM_WRITE and MASTER_ID in self.brokers.get(data.broker_name, {})
            for queue_id in range(data.write_queues)
        ]

    def subscribe_queues(self) -> list[MessageQueue]:
        """Queues to consume, sorted as all clients sort them."""
        return sorted(
            MessageQueue(self.topic, data.broker_name, queue_id)
            for data in self.queues
            if data.permission & PERM_READ and self.brokers.get(data.broker_name)
            for queue_id in range(data.read_queues)
        )

    def address_of(self, broker_name: str) -> str | None:
        """Address of a broker: its master's, else that of its first slave."""
        addresses = self.brokers.get(broker_name)
        if not addresses:
            return None
        return addresses.get(MASTER_ID) or addresses[min(addresses)]

    def as_template_for(self, topic: str, queue_count: int) -> Route:
        """This route of the default topic, used for a topic that the first send will create."""
        queues = tuple(
            replace(
                data,
                read_queues=min(queue_count, data.read_queues),
                write_queues=min(queue_count, data.read_queues),
            )
            for data in self.queues
        )
        return replace(self, topic=topic, queues=queues, order=())


def read_route(topic: str, body: bytes | bytearray | memoryview) -> Route:
    """Read TopicRouteData (Source: docs/spec/remoting.md §4.4); raises `JsonBodyError`."""
    value = parse_object(body)
    try:
        queues = sorted(
            (_queue_data(item) for item in value.get("queueDatas") or ()),
            key=lambda data: data.broker_name,
        )
        brokers = {str(item["brokerName"]): broker_addresses(item) for item in value.get("brokerDatas") or ()}
        clusters = {str(item["brokerName"]): str(item.get("cluster") or "") for item in value.get("brokerDatas") or ()}
        order = _parse_order(value.get("orderTopicConf"))
    except (AttributeError, KeyError, TypeError, ValueError, OverflowError) as error:
        raise JsonBodyError(f"the route of topic {topic} cannot be read: {bytes(body[:200])!r}") from error
    return Route(topic, tuple(queues), brokers, order, clusters)


def broker_addresses(data: Mapping[str, Any]) -> dict[int, str]:
    """Broker id → address of one entry of a route or a list of brokers, spelled as `broker_core.protocol.addresses` does."""
    return {int(number): address_text(str(address)) for number, address in (data.get("brokerAddrs") or {}).items()}


def _queue_data(item: dict[str, Any]) -> QueueData:
    return QueueData(str(item["brokerName"]), int(item["readQueueNums"]), int(item["writeQueueNums"]), int(item.get("perm", 6)))


def _parse_order(text: object) -> tuple[tuple[str, int], ...]:
    if not isinstance(text, str) or not text:
        return ()
    entries = (entry.rpartition(":") for entry in text.split(";") if entry)
    return tuple((name, int(count)) for name, _, count in entries)
