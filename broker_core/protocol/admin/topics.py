"""Topics of brokers and name servers: settings, read and sent (Source: docs/spec/remoting.md §2.5.1 (17, 351), §4.7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from broker_core.protocol.admin.values import Body, reading, whole
from broker_core.protocol.json_body import JsonBodyError
from broker_core.protocol.names import AUTO_CREATE_TOPIC

PERM_READ = 4
PERM_WRITE = 2
PERM_INHERIT = 1
READ_AND_WRITE = PERM_READ | PERM_WRITE

SINGLE_TAG = "SINGLE_TAG"
FILTER_TYPES = (SINGLE_TAG, "MULTI_TAG")

MESSAGE_TYPE = "message.type"
"""The attribute with the type of messages that a topic accepts (Source: docs/spec/grpc.md §5.3)."""
MESSAGE_TYPES = ("UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED")
"""Its values in RocketMQ 5.3."""


_NO_OTHERS: Mapping[str, Any] = {}
"""One object for all topics, because a broker may have 100,000."""


@dataclass(frozen=True, slots=True)
class TopicConfig:
    """One topic of one broker. Queue ids run from 0; permission bits are 4 read, 2 write, 1 inherit."""

    name: str
    read_queues: int
    write_queues: int
    permission: int = READ_AND_WRITE
    filter_type: str = SINGLE_TAG
    sys_flag: int = 0
    order: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)
    """5.x only (``message.type`` …); kept so that a 5.x store loses nothing."""
    others: Mapping[str, Any] = field(default_factory=lambda: _NO_OTHERS)
    """Fields of a later version in the broker's file, kept unchanged."""

    @property
    def readable(self) -> bool:
        return bool(self.permission & PERM_READ)

    @property
    def writable(self) -> bool:
        return bool(self.permission & PERM_WRITE)

    def to_json(self) -> dict[str, Any]:
        value: dict[str, Any] = {
            **self.others,
            "order": self.order,
            "perm": self.permission,
            "readQueueNums": self.read_queues,
            "topicFilterType": self.filter_type,
            "topicName": self.name,
            "topicSysFlag": self.sys_flag,
            "writeQueueNums": self.write_queues,
        }
        if self.attributes:
            value["attributes"] = dict(self.attributes)
        return value

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> TopicConfig:
        """Read a TopicConfig object; a missing field is as in a new topic. Raises `JsonBodyError` for a wrong one."""
        attributes = value.get("attributes")
        return cls(
            name=str(value.get("topicName", "")),
            read_queues=whole(value, "readQueueNums", 16),
            write_queues=whole(value, "writeQueueNums", 16),
            permission=whole(value, "perm", READ_AND_WRITE),
            filter_type=str(value.get("topicFilterType") or SINGLE_TAG),
            sys_flag=whole(value, "topicSysFlag"),
            order=str(value.get("order", False)).lower() == "true",
            attributes={str(k): str(v) for k, v in attributes.items()} if isinstance(attributes, Mapping) else {},
        )


TOPIC_KEYS = frozenset({*TopicConfig("", 0, 0).to_json(), "attributes"})
"""RocketMQ's keys of all that is known of a topic."""


def read_topic_settings(body: Body) -> TopicConfig:
    """A TopicConfig, from GET_TOPIC_CONFIG; raises `JsonBodyError`."""
    with reading("the config of a topic", body) as value:
        return settings_of_config(value)


def read_all_topic_settings(body: Body) -> dict[str, TopicConfig]:
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


def topic_fields(settings: TopicConfig, attribute_changes: str = "") -> dict[str, str]:
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


def settings_of_config(config: Mapping[Any, Any]) -> TopicConfig:
    """Settings of a config with RocketMQ's keys.

    Raises `JsonBodyError` when it names no topic, has no queues or a wrong value.
    """
    name = config.get("topicName")
    if not name:
        raise JsonBodyError("the broker's answer is no topic config: it has no topicName")
    if not config.keys() >= {"readQueueNums", "writeQueueNums"}:
        raise JsonBodyError(f"the broker's answer has no numbers of queues for topic {name}")
    return TopicConfig.from_json(config)


def _configs(value: Mapping[Any, Any]) -> dict[str, dict[str, Any]]:
    table = value.get("topicConfigTable")
    if not isinstance(table, dict) or not all(isinstance(config, dict) for config in table.values()):
        raise JsonBodyError("the broker's answer has no topicConfigTable")
    return {str(name): config for name, config in table.items()}
