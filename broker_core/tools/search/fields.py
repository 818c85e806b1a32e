"""The fields of the filter language, and what topics say about the messages in them.

Source: docs/spec/broker.md §0.3 (reserved names).
"""

from __future__ import annotations

from broker_core.protocol.names import (
    DLQ_PREFIX,
    HALF_TOPIC,
    OP_TOPIC,
    RETRY_PREFIX,
    SCHEDULE_TOPIC,
    TRACE_TOPIC,
    WHEEL_TIMER_TOPIC,
)
from broker_core.tools.search.expression import Kind, Operator

STATES = ("normal", "delayed", "half", "op", "retry", "dead", "trace", "timer")


_STATE_OF_TOPIC = {
    SCHEDULE_TOPIC: "delayed",
    HALF_TOPIC: "half",
    OP_TOPIC: "op",
    TRACE_TOPIC: "trace",
    WHEEL_TIMER_TOPIC: "timer",
}

KINDS = {
    "topic": Kind.TEXT,
    "queue": Kind.INTEGER,
    "offset": Kind.INTEGER,
    "position": Kind.INTEGER,
    "id": Kind.TEXT,
    "key": Kind.TEXT,
    "tag": Kind.TEXT,
    "prop": Kind.PROPERTY,
    "body": Kind.BODY,
    "body_bytes": Kind.SIZE,
    "size": Kind.SIZE,
    "host": Kind.TEXT,
    "born": Kind.TIME,
    "stored": Kind.TIME,
    "group": Kind.TEXT,
    "state": Kind.STATE,
    "reconsume": Kind.INTEGER,
    "delay_level": Kind.INTEGER,
}
"""Fields by name; ``prop`` is followed by a name, and ``body`` may be by a JSON path."""

_EQUALITY = frozenset((Operator.EQUAL, Operator.NOT_EQUAL, Operator.IN))
_ORDER = frozenset((Operator.LESS, Operator.LESS_OR_EQUAL, Operator.GREATER, Operator.GREATER_OR_EQUAL))
_TEXTUAL = frozenset((Operator.MATCHES, Operator.CONTAINS))

OPERATORS = {
    Kind.TEXT: _EQUALITY | _ORDER | _TEXTUAL,
    Kind.INTEGER: _EQUALITY | _ORDER,
    Kind.SIZE: _EQUALITY | _ORDER,
    Kind.TIME: _EQUALITY | _ORDER,
    Kind.STATE: _EQUALITY,
    Kind.PROPERTY: _EQUALITY | _ORDER | _TEXTUAL,
    Kind.BODY: _EQUALITY | _TEXTUAL,
    Kind.JSON: _EQUALITY | _ORDER | _TEXTUAL,
}
"""What each kind of field can be compared by."""


def state_of_topic(topic: str) -> str:
    """State of the messages in a topic: one of `STATES`."""
    if topic.startswith(RETRY_PREFIX):
        return "retry"
    if topic.startswith(DLQ_PREFIX):
        return "dead"
    return _STATE_OF_TOPIC.get(topic, "normal")


def group_of_topic(topic: str) -> str | None:
    """Consumer group of a retry or dead letter topic, None for any other."""
    for prefix in (RETRY_PREFIX, DLQ_PREFIX):
        if topic.startswith(prefix):
            return topic.removeprefix(prefix)
    return None
