"""Why a group's subscription rejects a message: topic, tag or properties. Pure."""

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
"""Characters that no expression of tags has."""


class Rejection(Enum):
    NONE = "none"
    TOPIC = "topic"
    """The group does not subscribe to the topic."""
    TAG = "tag"
    """The tag is none of those that it subscribes to."""
    PROPERTIES = "properties"
    """Its SQL92 filter is not true for the properties."""
    UNKNOWN = "unknown"
    """The filter cannot be evaluated: it cannot be read, or the properties are not known."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A group's subscription to a topic; ``kind`` is `TAG` or `SQL92`, as its consumers report; empty when unknown."""

    expression: str
    kind: str = ""

    @property
    def is_sql(self) -> bool:
        """Whether the expression is an SQL92 filter; judged by its form when ``kind`` is not known."""
        if self.kind:
            return self.kind == SQL92
        return bool(SQL_SIGNS & set(self.expression)) or len(self.expression.split("||")[0].split()) > 1


def wanted_topics(expressions: Mapping[str, str], kinds: Mapping[str, str]) -> dict[str, Wanted]:
    """Topic → subscription, from the expressions of a group and their kinds, as in `Members`."""
    return {topic: Wanted(expression, kinds.get(topic, "")) for topic, expression in expressions.items()}


def rejection(
    subscriptions: Mapping[str, Wanted], topic: str, tag: str, properties: Mapping[str, str] | None = None
) -> Rejection:
    """Whether and why a group's subscriptions reject a message; ``properties`` None: they are not known."""
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
    from broker_core.protocol.filter.evaluator import compile_filter

    try:
        compiled = compile_filter(text)
    except FilterSyntaxError:
        return Rejection.UNKNOWN
    return Rejection.NONE if compiled.matches(properties) else Rejection.PROPERTIES
