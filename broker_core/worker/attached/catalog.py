"""The catalog of a cluster: topics, queues, groups and positions of all its brokers. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from broker_core.cluster.numbering import BrokerNumbers
from broker_core.protocol import names
from broker_core.protocol.admin.proxies import ProxyPlace
from broker_core.protocol.admin.topics import TopicConfig
from broker_core.worker.attached.abilities import cluster_cannot
from broker_core.worker.attached.broker_figures import BrokerFigures, used_queues
from broker_core.worker.questions.figures import Catalog

QueueKey = tuple[str, str, int]
_SYSTEM_PREFIXES = (names.SYSTEM_PREFIX, "%SYS%")


@dataclass(frozen=True, slots=True)
class Listing:
    """A catalog, with the broker and queue of each of its rows."""

    catalog: Catalog
    queues: list[QueueKey]
    positions: list[tuple[str, QueueKey]]


def list_cluster(
    brokers: Mapping[str, BrokerFigures],
    numbers: BrokerNumbers,
    own: frozenset[str],
    *,
    routes: Mapping[str, frozenset[str]],
    proxies: Sequence[ProxyPlace],
    revision: int,
) -> Listing:
    """The catalog of all that the brokers reported.

    Args:
        brokers: Broker name → its figures, for every broker that has a number.
        numbers: Of the brokers.
        own: Topics that brokers and clusters own by their names.
        routes: Topic → brokers that may have it; a topic without an entry may be on any.
        proxies: Those of the cluster that are known.
        revision: Of the new catalog.
    """
    rows: dict[str, dict[str, TopicConfig]] = defaultdict(dict)
    for broker in numbers.names:
        for topic, row in brokers[broker].topics.items() if broker in brokers else ():
            rows[topic][broker] = row
    topics = sorted(rows)
    is_system = {topic: _is_system(topic, own) for topic in topics}
    first_queue = {broker: numbers.shown_queue(broker, 0) for broker in numbers.names}
    queues = [(topic, *queue) for topic in topics for queue in _queues_of(topic, rows[topic], brokers, is_system[topic])]
    place = {key: row for row, key in enumerate(queues)}
    wanted = [
        (group, at)
        for broker, of in brokers.items()
        for (group, topic), offsets in of.positions.items()
        for queue in offsets
        if (at := place.get((topic, broker, queue))) is not None
    ]
    configured = {group for of in brokers.values() for group in of.groups if not names.is_system_group(group)}
    groups = sorted(configured | {group for group, _row in wanted})
    group_place = {group: row for row, group in enumerate(groups)}
    # As numbers, because many are sorted.
    positions = sorted((group_place[group], row) for group, row in wanted)
    topic_place = {topic: row for row, topic in enumerate(topics)}
    catalog = Catalog(
        revision=revision,
        topics=topics,
        topic_read_queues=[sum(row.read_queues for row in rows[topic].values()) for topic in topics],
        topic_write_queues=[sum(row.write_queues for row in rows[topic].values()) for topic in topics],
        topic_permission=[_permission(rows[topic].values()) for topic in topics],
        topic_is_system=[is_system[topic] for topic in topics],
        queue_topic=[topic_place[topic] for topic, _broker, _queue in queues],
        queue_id=[first_queue[broker] + queue for _topic, broker, queue in queues],
        groups=groups,
        position_group=[group for group, _row in positions],
        position_queue=[row for _group, row in positions],
        group_is_system=[names.is_system_group(group) for group in groups],
        grpc=_endpoints(brokers, proxies),
        **_broker_columns(brokers, numbers),
        **_parts(topics, brokers, numbers, routes),
    )
    return Listing(catalog, queues, [(groups[group], queues[row]) for group, row in positions])


def _endpoints(brokers: Mapping[str, BrokerFigures], proxies: Sequence[ProxyPlace]) -> list[str]:
    """Addresses for SDKs of gRPC, each once."""
    own = filter(None, (brokers[name].grpc_address for name in sorted(brokers)))
    return list(dict.fromkeys((*own, *(proxy.grpc_address for proxy in proxies))))


def _broker_columns(brokers: Mapping[str, BrokerFigures], numbers: BrokerNumbers) -> dict[str, Any]:
    told = [brokers.get(name, BrokerFigures()) for name in numbers.names]
    places = [of.place for of in told]
    return {
        "brokers": numbers.names,
        "broker_version": [of.version for of in told],
        "broker_address": ["" if place is None else place.address for place in places],
        "broker_slaves": [0 if place is None else len(place.slaves) for place in places],
        "broker_cannot": [of.cannot for of in told],
        "cannot": cluster_cannot(of.cannot for of in told),
    }


def _parts(
    topics: Iterable[str], brokers: Mapping[str, BrokerFigures], numbers: BrokerNumbers, routes: Mapping[str, frozenset[str]]
) -> dict[str, Any]:
    """The rows that a broker without a report may have a part of."""
    told = {name: brokers.get(name, BrokerFigures()) for name in numbers.names}
    untold = [name for name, of in told.items() if not of.has_told_tables]
    anywhere = frozenset(untold)
    return {
        "topic_in_part": [not anywhere.isdisjoint(routes.get(topic, anywhere)) for topic in topics],
        "brokers_untold": untold,
        "brokers_without_offsets": [name for name, of in told.items() if not (of.has_told_tables and of.has_told_positions)],
    }


def _queues_of(
    topic: str, rows: Mapping[str, TopicConfig], brokers: Mapping[str, BrokerFigures], is_system: bool
) -> list[tuple[str, int]]:
    """Queues of a topic, by broker; of a system topic only those ever written to, as some have a thousand unused ones."""
    found = []
    for broker, row in rows.items():
        held = brokers[broker].offsets.get(topic)
        ids = set(used_queues(held)) if held else set()
        if not is_system:
            ids.update(range(max(row.read_queues, row.write_queues)))
        found += [(broker, queue) for queue in sorted(ids)]
    return found


def _is_system(topic: str, own: frozenset[str]) -> bool:
    return topic in names.SYSTEM_TOPICS or topic.startswith(_SYSTEM_PREFIXES) or topic in own


def _permission(rows: Iterable[TopicConfig]) -> int:
    permission = 0
    for row in rows:
        permission |= row.permission
    return permission
