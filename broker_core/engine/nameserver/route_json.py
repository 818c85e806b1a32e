"""JSON of name server answers, in both forms that clients read (Source: docs/spec/remoting.md §4.1, §4.4).

Clients before 4.9.4 expect maps with bare integer keys (``{0:"host:port"}``), later ones request strict JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from broker_core.engine.nameserver.route_info import BrokerData, RegisteredQueues, TopicRoute
from broker_core.errors import CodecError
from broker_core.protocol.frame import Buffer
from broker_core.protocol.json_body import JsonValue, emit, parse_object


def encode_route(route: TopicRoute, *, strict: bool) -> bytes:
    """TopicRouteData; ``strict`` chooses quoted broker ids and ASCII only over bare ids."""
    value = {
        "brokerDatas": [_broker(broker) for broker in route.brokers],
        "filterServerTable": {address: list(names) for address, names in route.filter_servers.items()},
        "orderTopicConf": route.order_conf,
        "queueDatas": [_queue(data) for data in route.queues],
    }
    return emit(value, bare_int_keys=not strict, ascii_only=strict)


def encode_cluster_info(brokers: Mapping[str, BrokerData], clusters: Mapping[str, Sequence[str]]) -> bytes:
    """ClusterInfo; broker ids are quoted, which every known reader takes."""
    table = {name: _broker(broker) for name, broker in brokers.items()}
    return emit({"brokerAddrTable": table, "clusterAddrTable": clusters})


def encode_topic_list(topics: Sequence[str], broker_address: str | None = None) -> bytes:
    """TopicList."""
    return emit({"brokerAddr": broker_address, "topicList": topics})


def decode_queues(body: Buffer) -> list[RegisteredQueues]:
    """The queues of a TopicRouteData. Raises `CodecError` for any other body."""
    items = parse_object(body).get("queueDatas")
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise CodecError("queueDatas of a topic route is no list of queue data")
    return [_queue_data(item) for item in items]


def _queue_data(item: Mapping[str, JsonValue]) -> RegisteredQueues:
    numbers = [item.get(name, 0) for name in ("readQueueNums", "writeQueueNums", "perm", "topicSysFlag")]
    whole = [number for number in numbers if isinstance(number, int) and not isinstance(number, bool) and number >= 0]
    name = item.get("brokerName")
    if not isinstance(name, str) or len(whole) != len(numbers):
        raise CodecError(f"the queue data {str(item)[:200]} of a topic route cannot be read")
    return RegisteredQueues(name, *whole)


def _broker(broker: BrokerData) -> JsonValue:
    return {"brokerAddrs": broker.addresses, "brokerName": broker.broker_name, "cluster": broker.cluster}


def _queue(data: RegisteredQueues) -> JsonValue:
    return {
        "brokerName": data.broker_name,
        "perm": data.permission,
        "readQueueNums": data.read_queues,
        "topicSysFlag": data.topic_sys_flag,
        "writeQueueNums": data.write_queues,
    }
