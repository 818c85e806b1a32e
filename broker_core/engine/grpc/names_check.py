"""Checks of the names of topics and groups in calls (Source: docs/spec/grpc.md §3.1)."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from broker_core.engine.grpc.outcome import refuse
from broker_core.engine.processors.pop.request import pair_fault
from broker_core.protocol import names
from broker_core.protocol.grpc import messaging_pb2 as pb

_BLANK: Final = names.BLANK_TOPIC.rstrip(".")
_NAMES_KEPT: Final = 1_024
_PLAIN_TOPICS: Final = (names.TRACE_TOPIC,)
"""System topics that clients may use."""


def checked_topic(resource: pb.Resource) -> str:
    """The name of a topic.

    Raises:
        CallRefusedError: No topic may be called so, or it is one of the broker's own.
    """
    name = resource.name
    fault = _topic_fault(name)
    if fault is not None:
        refuse(pb.ILLEGAL_TOPIC, fault)
    return name


@lru_cache(_NAMES_KEPT)
def _topic_fault(name: str) -> str | None:
    fault = names.topic_name_fault(name)
    if fault is not None:
        return _BLANK if fault == names.BLANK_TOPIC else fault
    is_system = name in names.SYSTEM_TOPICS or name in names.NOT_SENDABLE_TOPICS
    if (is_system or name.startswith(names.SYSTEM_PREFIX)) and name not in _PLAIN_TOPICS:
        return "cannot access system topic"
    return None


def check_pair(group: str, topic: str) -> None:
    """Check that a group can consume a topic.

    Raises:
        CallRefusedError: Their names are too long together.
    """
    fault = pair_fault(group, topic)
    if fault is not None:
        refuse(pb.ILLEGAL_CONSUMER_GROUP, fault)


def checked_group(resource: pb.Resource) -> str:
    """The name of a consumer group.

    Raises:
        CallRefusedError: No group may be called so, or it is one of the broker's own.
    """
    fault = names.group_name_fault(resource.name)
    if fault is not None:
        refuse(pb.ILLEGAL_CONSUMER_GROUP, fault)
    if names.is_system_group(resource.name):
        refuse(pb.ILLEGAL_CONSUMER_GROUP, "cannot use system consumer group")
    return resource.name
