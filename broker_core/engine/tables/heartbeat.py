"""The body of a heartbeat, parsed once into values (Source: docs/spec/remoting.md §4.3, §4.5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.errors import CodecError
from broker_core.protocol.json_body import parse_object
from broker_core.protocol.subscription import Subscription, subscription_from_json

GROUPS_MAX = 10_000
"""Bound on groups and on subscriptions of one heartbeat."""

CONSUME_TYPES = ("CONSUME_ACTIVELY", "CONSUME_PASSIVELY", "CONSUME_POP")
MESSAGE_MODELS = ("BROADCASTING", "CLUSTERING")
CONSUME_FROM_WHERE = (
    "CONSUME_FROM_LAST_OFFSET",
    "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
    "CONSUME_FROM_MIN_OFFSET",
    "CONSUME_FROM_MAX_OFFSET",
    "CONSUME_FROM_FIRST_OFFSET",
    "CONSUME_FROM_TIMESTAMP",
)


@dataclass(frozen=True, slots=True)
class ConsumerData:
    """One consumer group of a client."""

    group: str
    consume_type: str
    message_model: str
    consume_from_where: str
    subscriptions: tuple[Subscription, ...]

    @property
    def broadcasting(self) -> bool:
        return self.message_model == "BROADCASTING"


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """A client's id, and its producer and consumer groups."""

    client_id: str
    producer_groups: tuple[str, ...]
    consumers: tuple[ConsumerData, ...]


def parse_heartbeat(body: bytes | bytearray | memoryview) -> Heartbeat:
    """Read HeartbeatData; missing collections are empty, enums are names in any case or ordinals.

    Raises:
        CodecError: No client id, a group without a name, or more groups than allowed.
    """
    value = parse_object(body)
    client_id = value.get("clientID")
    if not isinstance(client_id, str) or not client_id:
        raise CodecError("the heartbeat names no clientID")
    return Heartbeat(
        client_id,
        tuple(_group(item) for item in _items(value, "producerDataSet")),
        tuple(_consumer(item) for item in _items(value, "consumerDataSet")),
    )


def _items(value: Mapping[Any, Any], key: str) -> list[Mapping[str, Any]]:
    items = value.get(key)
    if items is None:
        return []
    if not isinstance(items, list) or not all(isinstance(item, Mapping) for item in items):
        raise CodecError(f"{key} of the heartbeat is not a list of objects")
    if len(items) > GROUPS_MAX:
        raise CodecError(f"{key} of the heartbeat has {len(items):,} items, allowed are {GROUPS_MAX:,}")
    return items


def _group(item: Mapping[str, Any]) -> str:
    name = item.get("groupName")
    if not isinstance(name, str) or not name:
        raise CodecError("a group of the heartbeat has no groupName")
    return name


def _consumer(item: Mapping[str, Any]) -> ConsumerData:
    return ConsumerData(
        group=_group(item),
        consume_type=_enum(item.get("consumeType"), CONSUME_TYPES, "CONSUME_PASSIVELY"),
        message_model=_enum(item.get("messageModel"), MESSAGE_MODELS, "CLUSTERING"),
        consume_from_where=_enum(item.get("consumeFromWhere"), CONSUME_FROM_WHERE, CONSUME_FROM_WHERE[0]),
        subscriptions=tuple(subscription_from_json(data) for data in _items(item, "subscriptionDataSet")),
    )


def _enum(value: object, names: tuple[str, ...], default: str) -> str:
    """An enum by name in any case (Go writes ``Clustering``) or by ordinal (C++); anything else is the default."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(names):
        return names[value]
    text = str(value).upper()
    return text if text in names else default
