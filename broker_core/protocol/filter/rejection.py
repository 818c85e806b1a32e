"""What a group's subscription would reject: by topic, tag and properties. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final

from broker_core.errors import FilterSyntaxError

ALL_TAGS: Final = "*"
SQL92: Final = "SQL92"
TAG: Final = "TAG"
SQL_SIGNS: Final = frozenset("=<>()'")
"""In an expression of tags none of these can be."""


class Rejection(Enum):
    """Whether a group's subscription lets a message through."""

    NONE = "none"
    TOPIC = "topic"
    """The group does not subscribe to the topic."""
    TAG = "tag"
    """The tag is none of those that it subscribes to."""
    PROPERTIES = "properties"
    """Its SQL92 filter does not hold for the properties."""
    UNKNOWN = "unknown"
    """A filter that cannot be tried here: it cannot be read, or the properties are not known."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a group wants of a topic.

    Attributes:
        expression: Tags, or an SQL92 filter.
        kind: `TAG` or `SQL92`, as its consumers say; empty where that is not known.
    """

    expression: str
    kind: str = ""

    @property
    def is_sql(self) -> bool:
        """Whether the expression is a filter over properties; by its form where nobody says."""
        if self.kind:
            return self.kind == SQL92
        return bool(SQL_SIGNS & set(self.expression)) or len(self.expression.split("||")[0].split()) > 1


def wanted_topics(expressions: Mapping[str, str], kinds: Mapping[str, str]) -> dict[str, Wanted]:
    """By topic, from the expressions of a group and their kinds, as `Members` gives them."""
    return {topic: Wanted(expression, kinds.get(topic, "")) for topic, expression in expressions.items()}


def rejection(
    subscriptions: Mapping[str, Wanted], topic: str, tag: str, properties: Mapping[str, str] | None = None
) -> Rejection:
    """What a subscription says of a message.

    Args:
        subscriptions: What the group wants, by topic.
        topic: Of the message.
        tag: Of the message; empty: it has none.
        properties: All that the message will have; None: they are not known.
    """
    wanted = subscriptions.get(topic)
    if wanted is None:
        return Rejection.TOPIC
    expression = wanted.expression.strip()
    if expression in ("", ALL_TAGS):
        return Rejection.NONE
    if wanted.is_sql:
        return Rejection.UNKNOWN if properties is None else _by_filter(wanted.expression, properties)
    return Rejection.NONE if tag in (one.strip() for one in expression.split("||")) else Rejection.TAG


def _by_filter(text: str, properties: Mapping[str, str]) -> Rejection:
    from broker_core.protocol.filter.evaluator import compile_filter  # noqa: PLC0415  few groups have one

    try:
        compiled = compile_filter(text)
    except FilterSyntaxError:
        return Rejection.UNKNOWN
    return Rejection.NONE if compiled.matches(properties) else Rejection.PROPERTIES
