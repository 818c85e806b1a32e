"""Topics of brokers and name servers: settings, read and sent (Source: docs/spec/remoting.md §2.5.1 (17, 351), §4.7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from broker_core.protocol.admin.values import Body, members_of, reading
from broker_core.protocol.json_body import JsonBodyError
from broker_core.protocol.names import AUTO_CREATE_TOPIC

READ_AND_WRITE = 6


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """A topic's config on one broker."""

    name: str
    read_queues: int
    write_queues: int
    permission: int = READ_AND_WRITE
    order: bool = False
    filter_type: str = "SINGLE_TAG"
    sys_flag: int = 0
    attributes: Mapping[str, str] = field(default_factory=dict)


def read_topic_settings(body: Body) -> TopicSettings:
    """A TopicConfig, from GET_TOPIC_CONFIG; raises `JsonBodyError`."""
    with reading("the config of a topic", body) as value:
        return settings_of_config(value)


def read_all_topic_settings(body: Body) -> dict[str, TopicSettings]:
    """The settings of all topics of a broker, by name, from GET_ALL_TOPIC_CONFIG; raises `JsonBodyError`."""
    with reading("the table of topics", body) as value:
        return {name: settings_of_config({"topicName": name, **config}) for name, config in _configs(value).items()}


def read_topic_configs(body: Body) -> dict[str, dict[str, Any]]:
    """As `read_all_topic_settings`, with RocketMQ's keys and all fields of a topic."""
    with reading("the table of topics", body) as value:
        return _configs(value)


def read_topic_names(body: Body) -> list[str]:
    """Names of all topics, sorted, from GET_ALL_TOPIC_LIST_FROM_NAMESERVER; raises `JsonBodyError`."""
    with reading("the list of topics", body) as value:
        return sorted(str(topic) for topic in value.get("topicList") or ())


def topic_fields(settings: TopicSettings, attribute_changes: str = "") -> dict[str, str]:
    """Fields of UPDATE_AND_CREATE_TOPIC.

    Args:
        settings: The new settings; attributes are not sent, because brokers take only changes of them.
        attribute_changes: Such as ``+key=value,-key``; brokers of 5.x only.
    """
    fields = {
        "topic": settings.name,
        "defaultTopic": AUTO_CREATE_TOPIC,
        "readQueueNums": str(settings.read_queues),
        "writeQueueNums": str(settings.write_queues),
        "perm": str(settings.permission),
        "topicFilterType": settings.filter_type,
        "topicSysFlag": str(settings.sys_flag),
        "order": str(settings.order).lower(),
    }
    return fields | ({"attributes": attribute_changes} if attribute_changes else {})


def settings_of_config(config: Mapping[Any, Any]) -> TopicSettings:
    """Settings of a config with RocketMQ's keys.

    Raises `JsonBodyError` when it names no topic; `KeyError`, `TypeError` or `ValueError` without queues, or for a wrong value.
    """
    name = config.get("topicName")
    if not name:
        raise JsonBodyError("the broker's answer is no topic config: it has no topicName")
    return TopicSettings(
        name=str(name),
        read_queues=int(config["readQueueNums"]),
        write_queues=int(config["writeQueueNums"]),
        permission=int(config.get("perm", READ_AND_WRITE)),
        order=bool(config.get("order", False)),
        filter_type=str(config.get("topicFilterType") or "SINGLE_TAG"),
        sys_flag=int(config.get("topicSysFlag", 0)),
        attributes={str(key): str(text) for key, text in members_of(config.get("attributes")).items()},
    )


def _configs(value: Mapping[Any, Any]) -> dict[str, dict[str, Any]]:
    table = value.get("topicConfigTable")
    if not isinstance(table, dict) or not all(isinstance(config, dict) for config in table.values()):
        raise JsonBodyError("the broker's answer has no topicConfigTable")
    return {str(name): config for name, config in table.items()}
