"""Checks of the names of topics and groups in calls (Source: docs/spec/grpc.md §3.1)."""

from __future__ import annotations

from typing import Final

from broker_core.engine.grpc.outcome import refuse
from broker_core.protocol import names
from broker_core.protocol.grpc import messaging_pb2 as pb

_PLAIN_TOPICS: Final = (names.TRACE_TOPIC,)
"""System topics that clients may use."""


def checked_topic(resource: pb.Resource) -> str:
    """The name of a topic.

    Raises:
        CallRefusedError: No topic may be called so, or it is one of the broker's own.
    """
    fault = names.topic_name_fault(resource.name)
    if fault is not None:
        refuse(pb.ILLEGAL_TOPIC, fault.rstrip("."))
    is_system = resource.name in names.SYSTEM_TOPICS or resource.name in names.NOT_SENDABLE_TOPICS
    if (is_system or resource.name.startswith(names.SYSTEM_PREFIX)) and resource.name not in _PLAIN_TOPICS:
        refuse(pb.ILLEGAL_TOPIC, f"cannot access system topic: {resource.name}")
    return resource.name


def checked_group(resource: pb.Resource) -> str:
    """The name of a consumer group.

    Raises:
        CallRefusedError: No group may be called so, or it is one of the broker's own.
    """
    fault = names.group_name_fault(resource.name)
    if fault is not None:
        refuse(pb.ILLEGAL_CONSUMER_GROUP, fault.rstrip("."))
    if names.is_system_group(resource.name):
        refuse(pb.ILLEGAL_CONSUMER_GROUP, f"cannot use system consumer group: {resource.name}")
    return resource.name
