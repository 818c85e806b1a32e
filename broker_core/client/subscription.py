"""Subscriptions, for the heartbeat and for the consumer's own check (Source: docs/spec/remoting.md §4.5, §5.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from broker_core.errors import UsageError
from broker_core.protocol.filter.rejection import ALL_TAGS, SQL92, TAG
from broker_core.protocol.message.tags import java_string_hash


@dataclass(frozen=True, slots=True)
class Sql:
    """A SQL92 filter over message properties, such as ``price > 5 AND region = 'north'``; the broker applies it."""

    expression: str


Wanted = str | Sql
"""Tags (``*``, or tags with ``||`` between them), or a SQL92 filter."""


@dataclass(frozen=True, slots=True)
class Subscription:
    """Subscription to one topic; without tags the consumer accepts all that the broker returns."""

    topic: str
    expression: str
    tags: frozenset[str]
    version: int
    expression_type: str = TAG

    def accepts(self, tag: str | None) -> bool:
        """Whether a message with this tag matches; brokers compare only hashes, so clients check again."""
        return not self.tags or tag in self.tags

    def renewed(self, version: int) -> Subscription:
        """The same with a newer version, which brokers adopt."""
        return replace(self, version=version)

    def to_json(self) -> dict[str, Any]:
        """SubscriptionData of a heartbeat."""
        return {
            "classFilterMode": False,
            "codeSet": sorted(java_string_hash(tag) for tag in self.tags),
            "expressionType": self.expression_type,
            "subString": self.expression,
            "subVersion": self.version,
            "tagsSet": sorted(self.tags),
            "topic": self.topic,
        }


def subscribe(topic: str, wanted: Wanted, version: int) -> Subscription:
    """The subscription of tags or a SQL filter to a topic; raises `UsageError` when it names no tag, or is empty."""
    if isinstance(wanted, Sql):
        if not wanted.expression.strip():
            raise UsageError(f"the SQL filter on {topic} is empty: give a condition such as price > 5")
        return Subscription(topic, wanted.expression, frozenset(), version, SQL92)
    if wanted.strip() in ("", ALL_TAGS):
        return Subscription(topic, ALL_TAGS, frozenset(), version)
    tags = frozenset(tag.strip() for tag in wanted.split("||") if tag.strip())
    if not tags:
        raise UsageError(f"“{wanted}” names no tag: give * for all, or tags as in “TagA || TagB”")
    return Subscription(topic, wanted, tags, version)
