"""Who would get replayed messages, and what of them the subscriptions of those groups reject: warnings before a send. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from broker_core.message.rejection import Rejection, rejection

KINDS_MAX = 10_000
"""Pairs of topic and tag that are told apart; further ones are counted and not judged."""
GROUPS_ASKED_MAX = 20
"""Groups of one topic that are looked at."""


class Kinds:
    """Counts messages by what subscriptions look at: topic and tag as consumers see them."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.left_out = 0
        """Messages of kinds that came when there was no room for more."""

    def add(self, topic: str, tag: str) -> None:
        """Count a message."""
        if (topic, tag) in self.counts or len(self.counts) < KINDS_MAX:
            self.counts[topic, tag] += 1
        else:
            self.left_out += 1

    def of(self, topic: str) -> Counter[tuple[str, str]]:
        """Those of one topic."""
        return Counter({kind: count for kind, count in self.counts.items() if kind[0] == topic})


def rejected(subscriptions: Mapping[str, str], counts: Mapping[tuple[str, str], int]) -> dict[Rejection, int]:
    """How many messages a subscription rejects, by why; nothing for those that it takes."""
    found: Counter[Rejection] = Counter()
    for (topic, tag), count in counts.items():
        found[rejection(subscriptions, topic, tag)] += count
    del found[Rejection.NONE]
    return dict(found)


def warnings(
    group: str, subscriptions: Mapping[str, str] | None, counts: Mapping[tuple[str, str], int], *, alone: bool
) -> Iterator[str]:
    """What a person should know before messages go to a group.

    Args:
        group: Its name.
        subscriptions: Topic to filter expression; None: none of its consumers is connected, so they are not known.
        counts: Messages by topic and tag.
        alone: Whether they are sent to this group alone: past its filters, which the retry topic does not know.
    """
    total = sum(counts.values())
    if subscriptions is None:
        if alone:
            yield f"warning: no consumer of {group} is connected, so what its subscription rejects is not known"
        return
    found = rejected(subscriptions, counts)
    topics = sorted({topic for topic, _tag in counts if topic not in subscriptions})
    filters = sorted({f"{topic}: {subscriptions[topic]}" for topic, _tag in counts if topic in subscriptions})
    reasons = (
        (Rejection.TOPIC, f"the group does not subscribe to {', '.join(topics[:5])}"),
        (Rejection.TAG, f"its filter takes other tags ({'; '.join(filters[:5])})"),
    )
    parts = [f"{found[why]:,} as {words}" for why, words in reasons if why in found]
    count = sum(found.get(why, 0) for why, _words in reasons)
    if parts:
        end = "they reach it all the same, as they are sent to it alone" if alone else "it will not get them"
        yield f"warning: {group} would reject {count:,} of {total:,} messages: {'; '.join(parts)}; {end}"
    if Rejection.UNKNOWN in found:
        count = found[Rejection.UNKNOWN]
        yield f"warning: {count:,} of {total:,} messages meet a filter of {group} that the broker alone can try"
