"""What a program subscribes to: tags or a SQL92 filter (Source: docs/spec/remoting.md §4.5, §5.5)."""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.errors import CodecError, UsageError
from broker_core.protocol.filter.rejection import ALL_TAGS, SQL92
from broker_core.protocol.subscription import Subscription, parse_subscription


@dataclass(frozen=True, slots=True)
class Sql:
    """A SQL92 filter over message properties, such as ``price > 5 AND region = 'north'``; the broker applies it."""

    expression: str


Wanted = str | Sql
"""Tags (``*``, or tags with ``||`` between them), or a SQL92 filter."""


def subscribe(topic: str, wanted: Wanted, version: int) -> Subscription:
    """The subscription of tags or a SQL filter to a topic; raises `UsageError` when it names no tag, or is empty."""
    if isinstance(wanted, Sql):
        if not wanted.expression.strip():
            raise UsageError(f"the SQL filter on {topic} is empty: give a condition such as price > 5")
        return parse_subscription(topic, wanted.expression, expression_type=SQL92, version=version)
    try:
        return parse_subscription(topic, ALL_TAGS if wanted.strip() in ("", ALL_TAGS) else wanted, version=version)
    except CodecError as error:
        raise UsageError(f"“{wanted}” names no tag: give * for all, or tags as in “TagA || TagB”") from error
