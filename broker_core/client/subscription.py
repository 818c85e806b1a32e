"""What a consumer wants of a topic, as it tells brokers and as it checks itself (Source: spec remoting §4.5, §5.5)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from broker_core.errors import UsageError
from broker_core.message.tags import java_string_hash

ALL_TAGS = "*"


@dataclass(frozen=True, slots=True)
class TagSubscription:
    """One topic and the tags wanted of it; no tags means all."""

    topic: str
    expression: str
    tags: frozenset[str]
    version: int

    def accepts(self, tag: str | None) -> bool:
        """Whether a message with this tag is wanted; brokers compare hashes only, so clients check again."""
        return not self.tags or tag in self.tags

    def renewed(self, version: int) -> TagSubscription:
        """The same with a newer version, which brokers take over."""
        return replace(self, version=version)

    def to_json(self) -> dict[str, Any]:
        """SubscriptionData of a heartbeat."""
        return {
            "classFilterMode": False,
            "codeSet": sorted(java_string_hash(tag) for tag in self.tags),
            "expressionType": "TAG",
            "subString": self.expression,
            "subVersion": self.version,
            "tagsSet": sorted(self.tags),
            "topic": self.topic,
        }


def subscribe(topic: str, expression: str, version: int) -> TagSubscription:
    """Read a tag expression: ``*``, or tags with ``||`` between them.

    Raises:
        UsageError: It names no tag.
    """
    if expression.strip() in ("", ALL_TAGS):
        return TagSubscription(topic, ALL_TAGS, frozenset(), version)
    tags = frozenset(tag.strip() for tag in expression.split("||") if tag.strip())
    if not tags:
        raise UsageError(f"“{expression}” names no tag: give * for all, or tags as in “TagA || TagB”")
    return TagSubscription(topic, expression, tags, version)
