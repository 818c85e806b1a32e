"""Names of topics and groups: what is allowed, what is reserved (Source: docs/spec/broker.md §0.3, §2.5, §2.8)."""

from __future__ import annotations

import re

from broker_core.transaction import topics

FAQ_URL = "http://rocketmq.apache.org/docs/faq/"
"""Named in remarks, word for word as clients know them."""

RETRY_PREFIX = "%RETRY%"
DLQ_PREFIX = "%DLQ%"
LMQ_PREFIX = "%LMQ%"
SYSTEM_PREFIX = "rmq_sys_"

TOPIC_LENGTH_MAX = 127
GROUP_LENGTH_MAX = 255

AUTO_CREATE_TOPIC = "TBW102"
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
SELF_TEST_TOPIC = "SELF_TEST_TOPIC"
BENCHMARK_TOPIC = "BenchmarkTest"
OFFSET_MOVED_TOPIC = "OFFSET_MOVED_EVENT"
HALF_TOPIC = topics.HALF_TOPIC
OP_HALF_TOPIC = topics.OP_TOPIC
CHECK_MAX_TIME_TOPIC = topics.DISCARD_TOPIC
TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
WHEEL_TIMER_TOPIC = "rmq_sys_wheel_timer"
ATOMIC_STATE_TOPIC = "ORBIT_SYS_TXN_STATE"
"""Stored, never listed, neither sent to nor read from outside."""

SYSTEM_TOPICS = frozenset(
    {
        AUTO_CREATE_TOPIC, SCHEDULE_TOPIC, BENCHMARK_TOPIC, HALF_TOPIC, TRACE_TOPIC, OP_HALF_TOPIC, CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC, OFFSET_MOVED_TOPIC,
    }
)  # fmt: skip

NOT_SENDABLE_TOPICS = frozenset(
    {
        ATOMIC_STATE_TOPIC,
        SCHEDULE_TOPIC,
        HALF_TOPIC,
        OP_HALF_TOPIC,
        CHECK_MAX_TIME_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_TOPIC,
        WHEEL_TIMER_TOPIC,
    }
)
"""Written by the broker itself only."""

SYSTEM_GROUPS = (
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
)
"""Groups with a config from the start."""

_ALLOWED = re.compile(r"[%|a-zA-Z0-9_-]+")


def topic_name_fault(topic: str) -> str | None:
    """Why a topic name is not allowed, in the reference broker's words; None when it is."""
    if not topic or topic.isspace():
        return "The specified topic is blank."
    if not _ALLOWED.fullmatch(topic):
        return f"The specified topic[{topic}] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
    if len(topic) > TOPIC_LENGTH_MAX:
        return f"The specified topic is longer than topic max length {TOPIC_LENGTH_MAX}."
    return None


def group_name_fault(group: str) -> str | None:
    """Why a group name is not allowed; None when it is."""
    if not group or group.isspace():
        return "the specified group is blank"
    if not _ALLOWED.fullmatch(group):
        return f"the specified group[{group}] contains illegal characters, allowing only ^[%|a-zA-Z0-9_-]+$"
    if len(group) > GROUP_LENGTH_MAX:
        return f"the specified group is longer than group max length {GROUP_LENGTH_MAX}."
    return None


def is_system_group(group: str) -> bool:
    """Whether a group belongs to the broker or its tools."""
    return group in SYSTEM_GROUPS or group.startswith("CID_RMQ_SYS_")


def retry_topic(group: str) -> str:
    """The topic of a group's repeated messages."""
    return RETRY_PREFIX + group
