"""Types of messages and of topics: what a topic accepts, and what a message is (Source: docs/spec/grpc.md §5.3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from broker_core.engine.processors.put_rewrites import TIMER_PROPERTIES
from broker_core.protocol import names
from broker_core.protocol.admin.topics import MESSAGE_TYPE, TopicConfig
from broker_core.protocol.grpc import messaging_pb2 as pb
from broker_core.protocol.message import properties as props

SHARDING_KEY: Final = "__SHARDINGKEY"
_MIXED: Final = (pb.NORMAL, pb.FIFO, pb.DELAY, pb.TRANSACTION)
_NAMES: Final = {"NORMAL": pb.NORMAL, "FIFO": pb.FIFO, "DELAY": pb.DELAY, "TRANSACTION": pb.TRANSACTION}
_UNCHECKED: Final = (names.RETRY_PREFIX, names.DLQ_PREFIX)
"""Beginnings of topics that take every message."""


def accepted_types(topic: TopicConfig) -> tuple[pb.MessageType, ...]:
    """Types that a topic takes; one without the attribute takes all four, because clients of 4.x know no types."""
    wanted = topic.attributes.get(MESSAGE_TYPE, "MIXED").upper()
    if wanted == "UNSPECIFIED":
        return (pb.MESSAGE_TYPE_UNSPECIFIED,)
    return (_NAMES[wanted],) if wanted in _NAMES else _MIXED


def type_of(properties: Mapping[str, str]) -> pb.MessageType:
    if properties.get(props.TRANSACTION_PREPARED, "").lower() == "true":
        return pb.TRANSACTION
    if props.DELAY in properties or any(name in properties for name in TIMER_PROPERTIES):
        return pb.DELAY
    return pb.FIFO if SHARDING_KEY in properties else pb.NORMAL


def type_fault(topic: TopicConfig, properties: Mapping[str, str]) -> str | None:
    """Why a topic does not take a message; None when it does."""
    accepted, found = accepted_types(topic), type_of(properties)
    if found in accepted or topic.name.startswith(_UNCHECKED):
        return None
    expected = pb.MessageType.Name(accepted[0])
    actual = pb.MessageType.Name(found)
    return f"TopicMessageType validate failed, the expected type is {expected}, but actual type is {actual}"
