"""The fields of the filter language, and the state of messages by their topic.

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
from broker_core.tools.search.expression import FieldKind, Operator

STATES = ("normal", "delayed", "half", "op", "retry", "dead", "trace", "timer")


_STATE_OF_TOPIC = {
    SCHEDULE_TOPIC: "delayed",
    HALF_TOPIC: "half",
    OP_TOPIC: "op",
    TRACE_TOPIC: "trace",
    WHEEL_TIMER_TOPIC: "timer",
}

KINDS = {
    "topic": FieldKind.TEXT,
    "queue": FieldKind.INTEGER,
    "offset": FieldKind.INTEGER,
    "position": FieldKind.INTEGER,
    "id": FieldKind.TEXT,
    "key": FieldKind.TEXT,
    "tag": FieldKind.TEXT,
    "prop": FieldKind.PROPERTY,
    "body": FieldKind.BODY,
    "body_bytes": FieldKind.SIZE,
    "size": FieldKind.SIZE,
    "host": FieldKind.TEXT,
    "born": FieldKind.TIME,
    "stored": FieldKind.TIME,
    "group": FieldKind.TEXT,
    "state": FieldKind.STATE,
    "reconsume": FieldKind.INTEGER,
    "delay_level": FieldKind.INTEGER,
}
"""Fields by name; a name must follow ``prop``, and a JSON path may follow ``body``."""

_EQUALITY = frozenset((Operator.EQUAL, Operator.NOT_EQUAL, Operator.IN))
_ORDER = frozenset((Operator.LESS, Operator.LESS_OR_EQUAL, Operator.GREATER, Operator.GREATER_OR_EQUAL))
_TEXTUAL = frozenset((Operator.MATCHES, Operator.CONTAINS))

OPERATORS = {
    FieldKind.TEXT: _EQUALITY | _ORDER | _TEXTUAL,
    FieldKind.INTEGER: _EQUALITY | _ORDER,
    FieldKind.SIZE: _EQUALITY | _ORDER,
    FieldKind.TIME: _EQUALITY | _ORDER,
    FieldKind.STATE: _EQUALITY,
    FieldKind.PROPERTY: _EQUALITY | _ORDER | _TEXTUAL,
    FieldKind.BODY: _EQUALITY | _TEXTUAL,
    FieldKind.JSON: _EQUALITY | _ORDER | _TEXTUAL,
}
"""Operators of each kind of field."""


def state_of_topic(topic: str) -> str:
    """State of the messages in a topic: one of `STATES`."""
    if topic.startswith(RETRY_PREFIX):
        return "retry"
    if topic.startswith(DLQ_PREFIX):
        return "dead"
    return _STATE_OF_TOPIC.get(topic, "normal")
