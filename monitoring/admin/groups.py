"""Administration of consumer groups in the words of remoting: requests to ask, answers read. Pure.

Source: docs/spec/remoting.md §2.5.4 (200, 207, 352), §4.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from broker_core.api import JsonBodyError, RequestCode, emit, parse_object
from broker_core.worker.questions.administration import AskBroker

RETRY_QUEUES_MAX = 4_096
RETRY_TIMES_MAX = 1_000


@dataclass(frozen=True, slots=True)
class GroupSettings:
    """What the broker allows a consumer group. ``others`` are fields that are not shown and sent back as they came."""

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


_KEYS = {
    "consumeEnable": "consume_enabled",
    "consumeFromMinEnable": "consume_from_min",
    "consumeBroadcastEnable": "broadcast_enabled",
    "consumeMessageOrderly": "orderly",
    "retryQueueNums": "retry_queues",
    "retryMaxTimes": "retry_times_max",
    "notifyConsumerIdsChangedEnable": "notify_members",
    "brokerId": "broker_id",
    "whichBrokerWhenConsumeSlowly": "broker_id_when_slow",
}


def ask_settings(group: str) -> AskBroker:
    """Ask for a group's config. Answer: `read_settings`."""
    return AskBroker(RequestCode.GET_SUBSCRIPTIONGROUP_CONFIG, {"group": group})


def read_settings(body: bytes) -> GroupSettings:
    """Read a SubscriptionGroupConfig.

    Raises:
        JsonBodyError: It is none, or a field has a value of another type.
    """
    value = parse_object(body)
    if not value.get("groupName"):
        raise JsonBodyError("the broker's answer is no group config: it has no groupName")
    settings = GroupSettings(str(value["groupName"]))
    given = {key: name for key, name in _KEYS.items() if value.get(key) is not None}
    known: dict[str, Any] = {name: _as_type_of(getattr(settings, name), value[key], key) for key, name in given.items()}
    # What 4.x brokers do not have is not sent to them either.
    others = {str(key): item for key, item in value.items() if key not in _KEYS and key != "groupName"}
    return replace(settings, **known, others=others)


def change_settings(settings: GroupSettings) -> AskBroker:
    """Request that gives a group these settings."""
    body: dict[str, Any] = {**settings.others, "groupName": settings.name}
    body |= {key: getattr(settings, name) for key, name in _KEYS.items() if key != "consumeMessageOrderly"}
    if settings.orderly or "groupRetryPolicy" in settings.others:
        body["consumeMessageOrderly"] = settings.orderly
    return AskBroker(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=emit(body))


def delete_request(group: str, *, with_offsets: bool) -> AskBroker:
    """Request that deletes a group's config and, if wanted, its offsets; 4.x and 5.x name that differently."""
    wanted = str(with_offsets).lower()
    return AskBroker(RequestCode.DELETE_SUBSCRIPTIONGROUP, {"groupName": group, "removeOffset": wanted, "cleanOffset": wanted})


def _as_type_of(default: object, value: object, name: str) -> bool | int:
    if isinstance(default, bool):
        return str(value).lower() == "true"
    try:
        return int(str(value))
    except ValueError as error:
        raise JsonBodyError(f"{name} of a group should be a whole number, not {value!r}") from error
