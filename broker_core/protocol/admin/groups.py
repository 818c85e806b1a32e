"""Consumer groups of brokers: their settings, read and sent, and the groups of a topic.

Source: docs/spec/remoting.md §2.5.4 (200, 352), §2.5.6, §4.7.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from broker_core.protocol.admin.values import Body, reading
from broker_core.protocol.json_body import JsonBodyError, emit


@dataclass(frozen=True, slots=True)
class GroupConfig:
    """What the broker allows a consumer group. ``others`` are fields that are not shown, and are kept unchanged."""

    name: str
    consume_enabled: bool = True
    consume_from_min: bool = True
    broadcast_enabled: bool = True
    orderly: bool = False
    """5.x: its proxy delivers in order."""
    retry_queues: int = 1
    retry_times_max: int = 16
    notify_members: bool = True
    broker_id: int = 0
    broker_id_when_slow: int = 1
    others: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {**self.others, "groupName": self.name}
        body |= {key: getattr(self, name) for key, name in _FIELDS.items() if key != _ORDERLY}
        # Fields that 4.x brokers do not have are not sent to them.
        if self.orderly or "groupRetryPolicy" in self.others:
            body[_ORDERLY] = self.orderly
        return body

    @classmethod
    def from_json(cls, value: Mapping[Any, Any]) -> GroupConfig:
        """Read a SubscriptionGroupConfig object; a missing field takes its default. Raises `JsonBodyError` for a wrong one."""
        config = cls(str(value.get("groupName", "")))
        given = {key: name for key, name in _FIELDS.items() if value.get(key) is not None}
        known: dict[str, Any] = {name: _as_type_of(getattr(config, name), value[key], key) for key, name in given.items()}
        others = {str(key): item for key, item in value.items() if key not in _FIELDS and key != "groupName"}
        return replace(config, **known, others=others)


_NUMBER = re.compile(r"-?[0-9]{1,19}")
_ORDERLY = "consumeMessageOrderly"
_FIELDS = {
    "consumeEnable": "consume_enabled",
    "consumeFromMinEnable": "consume_from_min",
    "consumeBroadcastEnable": "broadcast_enabled",
    _ORDERLY: "orderly",
    "retryQueueNums": "retry_queues",
    "retryMaxTimes": "retry_times_max",
    "brokerId": "broker_id",
    "whichBrokerWhenConsumeSlowly": "broker_id_when_slow",
    "notifyConsumerIdsChangedEnable": "notify_members",
}
GROUP_KEYS = tuple(_FIELDS)
"""RocketMQ's keys of the settings that are known."""


def read_group_settings(body: Body) -> GroupConfig:
    """A SubscriptionGroupConfig, from GET_SUBSCRIPTIONGROUP_CONFIG; raises `JsonBodyError`."""
    with reading("the config of a group", body) as value:
        return _settings(value)


def read_all_group_settings(body: Body) -> dict[str, GroupConfig]:
    """The settings of all groups of a broker, by name, from GET_ALL_SUBSCRIPTIONGROUP_CONFIG; raises `JsonBodyError`."""
    with reading("the table of groups", body) as value:
        return {name: _settings({**config, "groupName": name}) for name, config in _configs(value).items()}


def read_group_configs(body: Body) -> dict[str, dict[str, Any]]:
    """As `read_all_group_settings`, with RocketMQ's keys and all fields of a group."""
    with reading("the table of groups", body) as value:
        return _configs(value)


def read_groups_of_topic(body: Body) -> list[str]:
    """Names of the groups that consume a topic, from QUERY_TOPIC_CONSUME_BY_WHO; raises `JsonBodyError`."""
    with reading("the groups of a topic", body) as value:
        return [str(group) for group in value.get("groupList") or ()]


def group_body(settings: GroupConfig) -> bytes:
    """Body of UPDATE_AND_CREATE_SUBSCRIPTIONGROUP."""
    return emit(settings.to_json())


def _settings(value: Mapping[Any, Any]) -> GroupConfig:
    if not value.get("groupName"):
        raise JsonBodyError("the broker's answer is no group config: it has no groupName")
    return GroupConfig.from_json(value)


def _as_type_of(default: object, value: object, key: str) -> bool | int:
    if isinstance(default, bool):
        return str(value).lower() == "true"
    text = str(value)
    if not _NUMBER.fullmatch(text) or not -(2**63) <= int(text) < 2**63:
        raise JsonBodyError(f"{key} of a group should be a whole number, not {text[:100]!r}")
    return int(text)


def _configs(value: Mapping[Any, Any]) -> dict[str, dict[str, Any]]:
    table = value.get("subscriptionGroupTable") or {}
    if not all(isinstance(config, dict) for config in table.values()):
        raise JsonBodyError("the broker's answer has a subscriptionGroupTable that is none")
    # A broker that creates groups by itself may have one without a name, which no request can name.
    return {str(name): config for name, config in table.items() if name}
