"""A group's subscription to a topic, as clients send it and brokers keep it: tag expressions and their hashes.

The broker compares tag *hashes* only; two tags with one hash both pass, and the client drops the one it did not request.

Source: docs/spec/remoting.md §5.5, docs/spec/broker.md §9.1, §10.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.errors import CodecError
from broker_core.protocol.filter.rejection import ALL_TAGS, TAG
from broker_core.protocol.message.tags import java_string_hash


@dataclass(frozen=True, slots=True)
class Subscription:
    """One topic of a group's subscription."""

    topic: str
    expression: str
    version: int = 0
    expression_type: str = TAG
    tags: frozenset[str] = frozenset()
    codes: frozenset[int] = frozenset()
    class_filter: bool = False

    @property
    def is_tag(self) -> bool:
        return self.expression_type == TAG

    def accepts_tag(self, tag: str | None) -> bool:
        """Whether a message with this tag matches; of a filter or without tags all that the broker returns."""
        return not self.tags or tag in self.tags

    def accepts(self) -> Callable[[int], bool] | None:
        """The test of a consume queue's tags code; None when everything passes."""
        if self.expression == ALL_TAGS or not self.codes:
            return None
        return self.codes.__contains__

    def to_json(self) -> dict[str, Any]:
        return {
            "classFilterMode": self.class_filter,
            "codeSet": sorted(self.codes),
            "expressionType": self.expression_type,
            "subString": self.expression,
            "subVersion": self.version,
            "tagsSet": sorted(self.tags),
            "topic": self.topic,
        }


def parse_subscription(
    topic: str, expression: str | None, *, expression_type: str | None = None, version: int = 0
) -> Subscription:
    """Parse an expression of a pull: ``*``, or tags divided by ``||``.

    Raises:
        CodecError: A tag expression without a tag in it.
    """
    kind = expression_type or TAG
    text = expression or ALL_TAGS
    if kind != TAG:
        return Subscription(topic, text, version, kind)
    if text == ALL_TAGS:
        return Subscription(topic, ALL_TAGS, version)
    tags = frozenset(tag.strip() for tag in text.split("||") if tag.strip())
    if not tags:
        raise CodecError(f"the tag expression “{text[:200]}” names no tag; write * for all, or tags divided by ||")
    return Subscription(topic, text, version, tags=tags, codes=frozenset(map(java_string_hash, tags)))


def subscription_from_json(value: Mapping[str, Any]) -> Subscription:
    """Read a SubscriptionData object of a heartbeat.

    Raises:
        CodecError: No topic, or a field of another type.
    """
    topic = value.get("topic")
    if not isinstance(topic, str) or not topic:
        raise CodecError("a subscription of a heartbeat names no topic")
    tags = frozenset(str(tag) for tag in _list(value.get("tagsSet")))
    try:
        # Some clients send tags without their hashes, so these are computed from the tags.
        codes = frozenset(int(code) for code in _list(value.get("codeSet"))) | frozenset(map(java_string_hash, tags))
        version = int(value.get("subVersion") or 0)
    except (TypeError, ValueError, OverflowError) as error:
        raise CodecError(f"the subscription of {topic} in a heartbeat holds no numbers where they belong") from error
    return Subscription(
        topic=topic,
        expression=str(value.get("subString") or ALL_TAGS),
        version=version,
        expression_type=str(value.get("expressionType") or TAG),
        tags=tags,
        codes=codes,
        class_filter=value.get("classFilterMode") is True,
    )


def _list(value: object) -> Iterable[Any]:
    return value if isinstance(value, list) else ()
