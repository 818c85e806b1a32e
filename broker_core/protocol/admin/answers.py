"""What brokers and name servers answer about themselves, read into values. Pure.

Source: spec remoting §2.5, §4.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from broker_core.errors import CodecError, UsageError
from broker_core.protocol.admin.routes import MASTER_ID
from broker_core.protocol.delay_levels import DelayLevels
from broker_core.protocol.filter.rejection import Wanted, wanted_of_table
from broker_core.protocol.json_body import JsonBodyError, as_message_queue, parse_object
from broker_core.protocol.queue_unit import QueueUnit

Body = bytes | bytearray | memoryview


@dataclass(frozen=True, slots=True)
class BrokerPlace:
    """Where a broker of a cluster is."""

    name: str
    cluster: str
    addresses: dict[int, str]
    """Broker id → address; 0 is the master."""

    @property
    def address(self) -> str:
        """The master's, or that of the first slave where there is no master now."""
        return self.addresses[MASTER_ID] if MASTER_ID in self.addresses else self.addresses[min(self.addresses)]

    @property
    def has_master(self) -> bool:
        return MASTER_ID in self.addresses

    @property
    def slaves(self) -> list[str]:
        """Addresses of its slaves, by their ids."""
        return [self.addresses[number] for number in sorted(self.addresses) if number != MASTER_ID]


@dataclass(frozen=True, slots=True)
class TopicRow:
    """Config of a topic on one broker."""

    read_queues: int
    write_queues: int
    permission: int


@dataclass(frozen=True, slots=True)
class QueueOffsets:
    """What a queue holds; ``last_store_ms`` is 0 where nothing was ever written."""

    min_offset: int
    max_offset: int
    last_store_ms: int


def read_brokers(body: Body) -> list[BrokerPlace]:
    """Brokers in order of their names, from GET_BROKER_CLUSTER_INFO.

    Raises:
        JsonBodyError: It is no such answer; so with all functions here.
    """
    try:
        found = []
        for name, data in (parse_object(body).get("brokerAddrTable") or {}).items():
            addresses = {int(number): str(address) for number, address in (data.get("brokerAddrs") or {}).items()}
            if addresses:
                found.append(BrokerPlace(str(name), str(data.get("cluster") or ""), addresses))
    except (AttributeError, TypeError, ValueError) as error:
        raise _unreadable("the list of brokers", body) from error
    return sorted(found, key=lambda broker: broker.name)


def read_topics(body: Body) -> dict[str, TopicRow]:
    """Topics of a broker, from GET_ALL_TOPIC_CONFIG."""
    try:
        return {
            str(name): TopicRow(int(row["readQueueNums"]), int(row["writeQueueNums"]), int(row.get("perm", 6)))
            for name, row in (parse_object(body).get("topicConfigTable") or {}).items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _unreadable("the table of topics", body) from error


def read_groups(body: Body) -> frozenset[str]:
    """Names of the groups with a config, from GET_ALL_SUBSCRIPTIONGROUP_CONFIG."""
    try:
        # A broker that creates groups on its own may have made one without a name; nothing can be asked about it.
        return frozenset(filter(None, map(str, (parse_object(body).get("subscriptionGroupTable") or {}).keys())))
    except AttributeError as error:
        raise _unreadable("the table of groups", body) from error


def read_positions(body: Body) -> dict[tuple[str, str], dict[int, int]]:
    """(group, topic) → queue → offset, from GET_ALL_CONSUMER_OFFSET."""
    found: dict[tuple[str, str], dict[int, int]] = {}
    try:
        for key, queues in (parse_object(body).get("offsetTable") or {}).items():
            topic, at, group = str(key).partition("@")
            if at:
                found[group, topic] = {int(queue): int(offset) for queue, offset in queues.items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise _unreadable("the table of consumer offsets", body) from error
    return found


def read_delay_offsets(body: Body) -> dict[int, int]:
    """Delay level → next offset to deliver, from GET_ALL_DELAY_OFFSET."""
    try:
        return {int(level): int(offset) for level, offset in (parse_object(body).get("offsetTable") or {}).items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise _unreadable("the offsets of the delay levels", body) from error


def read_timer_counts(body: Body) -> dict[str, int]:
    """Topic → messages that wait for a time of their own, less cancels, from GET_TIMER_METRICS."""
    try:
        table = parse_object(body).get("timingCount") or {}
        return {str(topic): int(row["count"]) for topic, row in table.items()}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _unreadable("the counts of timers", body) from error


def read_level_table(text: str) -> DelayLevels | None:
    """The delay levels of a broker, from its ``messageDelayLevel``; None where it tells none.

    Raises:
        CodecError: They are no delays.
    """
    try:
        return DelayLevels(text) if text else None
    except UsageError as error:
        raise CodecError(f"the delay levels of a broker cannot be read: {error.message}") from error


def read_queue_places(body: Body) -> list[int]:
    """Physical offsets of consecutive messages of a queue, from QUERY_CONSUME_QUEUE."""
    try:
        return [int(row["physicOffset"]) for row in parse_object(body).get("queueData") or []]
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable("the entries of a queue", body) from error


def read_queue_units(body: Body) -> list[QueueUnit]:
    """Entries of a queue, as `read_queue_places`, with sizes and codes of tags: of a delay level, when a message is due."""
    try:
        rows = parse_object(body).get("queueData") or []
        return [QueueUnit(int(row["physicOffset"]), int(row["physicSize"]), int(row["tagsCode"])) for row in rows]
    except (KeyError, TypeError, ValueError) as error:
        raise _unreadable("the entries of a queue", body) from error


def read_queue_offsets(body: Body) -> dict[int, QueueOffsets]:
    """What the queues of a topic on one broker hold, from GET_TOPIC_STATS_INFO."""
    found: dict[int, QueueOffsets] = {}
    try:
        for key, row in (parse_object(body).get("offsetTable") or {}).items():
            queue = as_message_queue(key)
            if queue is None:
                raise _unreadable("a queue of a topic", body)
            found[queue.queue_id] = QueueOffsets(
                int(row["minOffset"]), int(row["maxOffset"]), int(row.get("lastUpdateTimestamp") or 0)
            )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise _unreadable("the offsets of a topic", body) from error
    return found


def read_runtime(body: Body) -> dict[str, str]:
    """Figures of a broker under RocketMQ's keys, from GET_BROKER_RUNTIME_INFO."""
    try:
        return {str(key): str(value) for key, value in (parse_object(body).get("table") or {}).items()}
    except AttributeError as error:
        raise _unreadable("the figures of a broker", body) from error


def read_connections(body: Body) -> list[dict[str, Any]]:
    """Members of a group, one object each, from GET_CONSUMER_CONNECTION_LIST."""
    connections = parse_object(body).get("connectionSet") or []
    if not isinstance(connections, list) or not all(isinstance(item, dict) for item in connections):
        raise _unreadable("the members of a group", body)
    return connections


def read_producers(body: Body) -> dict[str, list[dict[str, Any]]]:
    """Producer group → its members, one object each, from GET_ALL_PRODUCER_INFO."""
    table = parse_object(body).get("data") or {}
    try:
        found = {str(group): list(items or ()) for group, items in table.items()}
    except (AttributeError, TypeError) as error:
        raise _unreadable("the producers of a broker", body) from error
    if not all(isinstance(item, dict) for items in found.values() for item in items):
        raise _unreadable("the producers of a broker", body)
    return found


def read_subscriptions(body: Body) -> dict[str, Wanted]:
    """What a group wants, by topic, from the same answer."""
    try:
        return wanted_of_table(parse_object(body))
    except AttributeError as error:
        raise _unreadable("the subscriptions of a group", body) from error


def whole_number(text: str | None) -> int | None:
    """A figure of a broker as a number; None where there is none."""
    return int(text) if text is not None and text.lstrip("-").isdecimal() else None


def _unreadable(what: str, body: Body) -> JsonBodyError:
    return JsonBodyError(f"{what} cannot be read: {bytes(body[:120])!r}")
