"""What a group's subscription would reject: by topic and tag. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

ALL_TAGS = "*"
SQL_SIGNS = frozenset("=<>()'")
"""In an expression of tags none of these can be."""


class Rejection(Enum):
    """Whether a group's subscription lets a message through."""

    NONE = "none"
    TOPIC = "topic"
    """The group does not subscribe to the topic."""
    TAG = "tag"
    """The tag is none of those that it subscribes to."""
    UNKNOWN = "unknown"
    """A filter over properties, which only the broker can try."""


def rejection(subscriptions: Mapping[str, str], topic: str, tag: str) -> Rejection:
    """What a subscription says of a message.

    Args:
        subscriptions: Topic to filter expression, as `Members` gives them.
        topic: Of the message.
        tag: Of the message; empty: it has none.
    """
    if topic not in subscriptions:
        return Rejection.TOPIC
    expression = subscriptions[topic].strip()
    if expression in ("", ALL_TAGS):
        return Rejection.NONE
    if SQL_SIGNS & set(expression) or len(expression.split("||")[0].split()) > 1:
        return Rejection.UNKNOWN
    return Rejection.NONE if tag in (one.strip() for one in expression.split("||")) else Rejection.TAG
