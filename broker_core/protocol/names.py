"""Names of topics and groups: which are reserved, which are allowed.

Source: docs/spec/broker.md §0.3, §2.5, §2.8, §4.1, docs/spec/remoting.md §1.6.
"""

from __future__ import annotations

import re

from broker_core.errors import UsageError

FAQ_URL = "http://rocketmq.apache.org/docs/faq/"
"""Quoted in remarks, word for word as clients know it."""

RETRY_PREFIX = "%RETRY%"
DLQ_PREFIX = "%DLQ%"
LMQ_PREFIX = "%LMQ%"
SYSTEM_PREFIX = "rmq_sys_"
SYSTEM_GROUP_PREFIX = "CID_RMQ_SYS_"

BLANK_TOPIC = "The specified topic is blank."
"""Remark to a request without a topic, in the reference broker's words."""

TOPIC_LENGTH_MAX = 127
GROUP_LENGTH_MAX = 255
RETRY_TOPIC_LENGTH_MAX = 255
"""Of retry topics, which brokers name."""

AUTO_CREATE_TOPIC = "TBW102"
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
SELF_TEST_TOPIC = "SELF_TEST_TOPIC"
BENCHMARK_TOPIC = "BenchmarkTest"
OFFSET_MOVED_TOPIC = "OFFSET_MOVED_EVENT"
TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
CLOUD_TRACE_PREFIX = "rmq_sys_TRACE_DATA_"
WHEEL_TIMER_TOPIC = "rmq_sys_wheel_timer"
REVIVE_LOG_PREFIX = "rmq_sys_REVIVE_LOG_"
ATOMIC_STATE_TOPIC = "ORBIT_SYS_TXN_STATE"
"""Stored, never listed, and closed to sends and reads of clients."""

PROXY_HEARTBEAT_TOPIC = "DefaultHeartBeatSyncerTopic"
"""Proxies of RocketMQ 5 tell each other of their clients here (`heartbeatSyncerTopicName`): where it is, there are proxies."""
HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
DISCARD_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
"""Half messages that reached the maximum of checks."""
TRANSACTION_QUEUE_ID = 0
"""Half, op and discarded messages have one queue each."""
CHECK_GROUP = "CID_RMQ_SYS_TRANS"
"""Its offsets in half and op topic say what is decided; ``consumerOffset.json`` stores them like any group's."""
REVIVE_GROUP = "CID_RMQ_SYS_REVIVE_GROUP"
"""Its offsets in the revive topic say which POP checkpoints are finished."""

SYSTEM_TOPICS = frozenset(
    {
        AUTO_CREATE_TOPIC, SCHEDULE_TOPIC, BENCHMARK_TOPIC, HALF_TOPIC, TRACE_TOPIC, OP_TOPIC, DISCARD_TOPIC,
        SELF_TEST_TOPIC, OFFSET_MOVED_TOPIC,
    }
)  # fmt: skip

NOT_SENDABLE_TOPICS = frozenset(
    {
        ATOMIC_STATE_TOPIC,
        SCHEDULE_TOPIC,
        HALF_TOPIC,
        OP_TOPIC,
        DISCARD_TOPIC,
        SELF_TEST_TOPIC,
        OFFSET_MOVED_TOPIC,
        WHEEL_TIMER_TOPIC,
    }
)
"""Only the broker itself writes to them."""

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
INNER_PRODUCER_GROUP = "CLIENT_INNER_PRODUCER"
"""Every client of Java registers a producer of this group, with which its consumers send failed messages back."""

_ALLOWED = re.compile(r"[%|a-zA-Z0-9_-]+")
_ALLOWED_IN_RETRIES = re.compile(r"[%|a-zA-Z0-9_-]+(?:\+[%|a-zA-Z0-9_-]+)?")


# ---- checked by the broker ----


def topic_name_fault(topic: str) -> str | None:
    """Why a topic name is not allowed, in the reference broker's words; None when it is."""
    if not topic or topic.isspace():
        return BLANK_TOPIC
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


# ---- checked before anything is sent ----


def check_topic(topic: str) -> str:
    """Return ``topic``; raises `UsageError` when no broker would accept it."""
    return _check("topic", topic, TOPIC_LENGTH_MAX)


def check_readable_topic(topic: str) -> str:
    """Return ``topic``; raises `UsageError` when no broker can have it.

    Brokers name the retry topics of pops: these may be longer than other topics, and newer ones have a plus sign
    (Source: docs/spec/remoting.md §2.6.1, docs/spec/store.md §2.8).
    """
    if topic.startswith(RETRY_PREFIX) and len(topic) <= RETRY_TOPIC_LENGTH_MAX and _ALLOWED_IN_RETRIES.fullmatch(topic):
        return topic
    return check_topic(topic)


def check_group(group: str) -> str:
    """Return ``group``; raises `UsageError` when no broker would accept it."""
    return _check("group", group, GROUP_LENGTH_MAX)


def _check(kind: str, name: str, characters_max: int) -> str:
    if not _ALLOWED.fullmatch(name):
        raise UsageError(f"“{name[:200]}” is no {kind} name: letters, digits, _, -, % and | are allowed, and at least one")
    if len(name) > characters_max:
        raise UsageError(f"a {kind} name has at most {characters_max} characters, “{name[:40]}…” has {len(name)}")
    return name


def is_group_name(group: str) -> bool:
    """Whether a broker creates a group of this name; clients may commit offsets under others, which brokers keep."""
    return group_name_fault(group) is None


def is_system_topic(topic: str) -> bool:
    """Whether RocketMQ names a topic a system topic (`TopicValidator`); retry and dead letter topics are none."""
    return topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIX)


def is_system_group(group: str) -> bool:
    """Whether a group belongs to the broker or its tools."""
    return group in SYSTEM_GROUPS or group.startswith(SYSTEM_GROUP_PREFIX)


def retry_topic(group: str) -> str:
    """The topic of a group's repeated messages."""
    return RETRY_PREFIX + group
