"""Administration of topics in the words of remoting: requests to ask, answers read. Pure.

Source: docs/spec/remoting.md §2.5.1 (17, 215, 351), §2.7.2 (105), §2.7.5 (216), §4.4, §4.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from broker_core.api import JsonBodyError, RequestCode, parse_object
from broker_core.api import names as reserved
from broker_core.worker.questions.administration import AskBroker

MESSAGE_TYPE = "message.type"
"""The attribute that says what kind of messages a topic takes."""
QUEUES_MAX = 4_096
TRANSACTION_TOPICS = frozenset({reserved.HALF_TOPIC, reserved.OP_TOPIC, reserved.DISCARD_TOPIC})


class TopicType(Enum):
    """What a topic is for."""

    NORMAL = "Normal"
    FIFO = "FIFO"
    DELAY = "Delay"
    TRANSACTION = "Transaction"
    MIXED = "Mixed"
    RETRY = "Retry"
    DEAD_LETTER = "Dead letter"
    SYSTEM = "System"


_DECLARED = {
    "NORMAL": TopicType.NORMAL,
    "FIFO": TopicType.FIFO,
    "DELAY": TopicType.DELAY,
    "TRANSACTION": TopicType.TRANSACTION,
    "MIXED": TopicType.MIXED,
}


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """A topic's config on one broker."""

    name: str
    read_queues: int
    write_queues: int
    permission: int
    order: bool = False
    filter_type: str = "SINGLE_TAG"
    sys_flag: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RouteEntry:
    """A topic on one broker, as the name server tells clients."""

    broker_name: str
    cluster: str
    addresses: tuple[tuple[int, str], ...]
    """Broker id and address; id 0 is the master."""
    read_queues: int
    write_queues: int
    permission: int


def topic_type(name: str, *, is_system: bool, order: bool = False, declared: str = "") -> TopicType:
    """What a topic is for: by its name, else what its attribute ``message.type`` declares, else whether it is ordered."""
    if name.startswith(reserved.RETRY_PREFIX):
        return TopicType.RETRY
    if name.startswith(reserved.DLQ_PREFIX):
        return TopicType.DEAD_LETTER
    if name in (reserved.SCHEDULE_TOPIC, reserved.WHEEL_TIMER_TOPIC):
        return TopicType.DELAY
    if name in TRANSACTION_TOPICS:
        return TopicType.TRANSACTION
    if is_system:
        return TopicType.SYSTEM
    return _DECLARED.get(declared.upper(), TopicType.FIFO if order else TopicType.NORMAL)


def ask_settings(topic: str) -> AskBroker:
    """Ask for a topic's config. Answer: `read_settings`."""
    return AskBroker(RequestCode.GET_TOPIC_CONFIG, {"topic": topic})


def ask_all_settings() -> AskBroker:
    """Ask for the configs of all topics. Answer: `read_all_settings`."""
    return AskBroker(RequestCode.GET_ALL_TOPIC_CONFIG)


def ask_route(topic: str) -> AskBroker:
    """Ask the name server where a topic is. Answer: `read_route`."""
    return AskBroker(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, name_server=True)


def change_settings(before: TopicSettings, after: TopicSettings) -> AskBroker:
    """Request that changes a topic from ``before`` to ``after``; attributes are sent as their difference."""
    fields = {
        "topic": after.name,
        "defaultTopic": reserved.AUTO_CREATE_TOPIC,
        "readQueueNums": str(after.read_queues),
        "writeQueueNums": str(after.write_queues),
        "perm": str(after.permission),
        "topicFilterType": after.filter_type,
        "topicSysFlag": str(after.sys_flag),
        "order": str(after.order).lower(),
    }
    changes = attribute_changes(before.attributes, after.attributes)
    return AskBroker(RequestCode.UPDATE_AND_CREATE_TOPIC, fields | ({"attributes": changes} if changes else {}))


def attribute_changes(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """``+key=value,-key`` from one set of attributes to another."""
    set_anew = [f"+{key}={value}" for key, value in sorted(after.items()) if before.get(key) != value]
    gone = [f"-{key}" for key in sorted(before.keys() - after.keys())]
    return ",".join(set_anew + gone)


def delete_requests(topic: str) -> tuple[AskBroker, AskBroker]:
    """Requests that delete a topic: on the broker, then at the name server."""
    return (
        AskBroker(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}),
        AskBroker(RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}, name_server=True),
    )


def read_settings(body: bytes) -> TopicSettings:
    """Read a TopicConfig.

    Raises:
        JsonBodyError: It is none.
    """
    return _settings(parse_object(body))


def read_all_settings(body: bytes) -> dict[str, TopicSettings]:
    """Read the configs of all topics, by name.

    Raises:
        JsonBodyError: The body is no such table.
    """
    table = parse_object(body).get("topicConfigTable")
    if not isinstance(table, dict):
        raise JsonBodyError("the broker's answer has no topicConfigTable")
    return {str(name): _settings({"topicName": name, **value}) for name, value in table.items() if isinstance(value, dict)}


def read_route(body: bytes) -> list[RouteEntry]:
    """Read a TopicRouteData, one entry a broker that has queues.

    Raises:
        JsonBodyError: The body is none.
    """
    route = parse_object(body)
    brokers = {str(item.get("brokerName")): item for item in _objects(route.get("brokerDatas"))}
    entries = []
    for queues in _objects(route.get("queueDatas")):
        name = str(queues.get("brokerName"))
        broker = brokers.get(name, {})
        addresses = broker.get("brokerAddrs")
        found = addresses if isinstance(addresses, dict) else {}
        entries.append(
            RouteEntry(
                broker_name=name,
                cluster=str(broker.get("cluster", "")),
                addresses=tuple(sorted((_whole(number), str(address)) for number, address in found.items())),
                read_queues=_whole(queues.get("readQueueNums")),
                write_queues=_whole(queues.get("writeQueueNums")),
                permission=_whole(queues.get("perm")),
            )
        )
    return sorted(entries, key=lambda entry: entry.broker_name)


def _settings(value: Mapping[object, object]) -> TopicSettings:
    name = value.get("topicName")
    if not name:
        raise JsonBodyError("the broker's answer is no topic config: it has no topicName")
    attributes = value.get("attributes")
    return TopicSettings(
        name=str(name),
        read_queues=_whole(value.get("readQueueNums")),
        write_queues=_whole(value.get("writeQueueNums")),
        permission=_whole(value.get("perm")),
        order=bool(value.get("order", False)),
        filter_type=str(value.get("topicFilterType", "SINGLE_TAG")),
        sys_flag=_whole(value.get("topicSysFlag", 0)),
        attributes={str(key): str(text) for key, text in attributes.items()} if isinstance(attributes, dict) else {},
    )


def _objects(value: object) -> list[dict[object, object]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def _whole(value: object) -> int:
    try:
        return int(str(value))
    except ValueError as error:
        raise JsonBodyError(f"the broker's answer has {value!r} where a whole number belongs") from error
