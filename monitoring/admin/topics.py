"""Types of topics, and the requests that read and change topics. Pure.

Source: docs/spec/remoting.md §2.5.1 (17, 215, 351), §2.7.2 (105), §2.7.5 (216), §4.4, §4.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

from broker_core.api import RequestCode, TopicConfig, topic_fields
from broker_core.api import names as reserved
from broker_core.worker.questions.administration import AskBroker

QUEUES_MAX = 4_096
TRANSACTION_TOPICS = frozenset({reserved.HALF_TOPIC, reserved.OP_TOPIC, reserved.DISCARD_TOPIC})


class TopicType(Enum):
    NORMAL = "Normal"
    FIFO = "FIFO"
    DELAY = "Delay"
    TRANSACTION = "Transaction"
    MIXED = "Mixed"
    UNSPECIFIED = "Unspecified"
    RETRY = "Retry"
    DEAD_LETTER = "Dead letter"
    SYSTEM = "System"


_DECLARED = {
    "NORMAL": TopicType.NORMAL,
    "FIFO": TopicType.FIFO,
    "DELAY": TopicType.DELAY,
    "TRANSACTION": TopicType.TRANSACTION,
    "MIXED": TopicType.MIXED,
    "UNSPECIFIED": TopicType.UNSPECIFIED,
}


def topic_type(name: str, *, is_system: bool, order: bool = False, declared: str = "") -> TopicType:
    """Type of a topic by its name, else by its attribute ``message.type``, else by whether it is ordered."""
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
    """Request a topic's config. Answer: `read_topic_settings`."""
    return AskBroker(RequestCode.GET_TOPIC_CONFIG, {"topic": topic})


def ask_all_settings() -> AskBroker:
    """Request the configs of all topics. Answer: `read_all_topic_settings`."""
    return AskBroker(RequestCode.GET_ALL_TOPIC_CONFIG)


def ask_route(topic: str) -> AskBroker:
    """Request a topic's route from the name server. Answer: `read_route`."""
    return AskBroker(RequestCode.GET_ROUTEINFO_BY_TOPIC, {"topic": topic}, name_server=True)


def change_settings(before: TopicConfig, after: TopicConfig) -> AskBroker:
    """Request that changes a topic from ``before`` to ``after``; attributes are sent as their difference."""
    changes = attribute_changes(before.attributes, after.attributes)
    return AskBroker(RequestCode.UPDATE_AND_CREATE_TOPIC, topic_fields(after, changes))


def attribute_changes(before: Mapping[str, str], after: Mapping[str, str]) -> str:
    """``+key=value,-key``: the difference between two sets of attributes."""
    set_anew = [f"+{key}={value}" for key, value in sorted(after.items()) if before.get(key) != value]
    gone = [f"-{key}" for key in sorted(before.keys() - after.keys())]
    return ",".join(set_anew + gone)


def delete_requests(topic: str) -> tuple[AskBroker, AskBroker]:
    """Requests that delete a topic: on the broker, then at the name server."""
    return (
        AskBroker(RequestCode.DELETE_TOPIC_IN_BROKER, {"topic": topic}),
        AskBroker(RequestCode.DELETE_TOPIC_IN_NAMESRV, {"topic": topic}, name_server=True),
    )
