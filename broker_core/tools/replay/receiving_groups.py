"""Groups that would get replayed messages, and what their subscriptions reject: warnings before a send. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from broker_core.protocol.filter.rejection import Rejection, Wanted, rejection

Kind = tuple[str, str]
"""Topic and tag."""
KINDS_MAX = 10_000
"""Distinct pairs of topic and tag; messages of further ones are counted and not judged."""
SAMPLES_MAX = 10_000
"""Messages whose properties are kept for SQL92 filters; further ones are counted and not tried."""
GROUPS_ASKED_MAX = 20
"""Most groups of one topic to check."""


class Kinds:
    """Counts messages by what subscriptions filter: topic and tag as consumers see them, and properties."""

    def __init__(self) -> None:
        self.counts: Counter[Kind] = Counter()
        self.samples: dict[Kind, list[Mapping[str, str]]] = {}
        """Properties of the first messages of each kind."""
        self._sampled = 0
        self.left_out = 0
        """Messages of kinds beyond `KINDS_MAX`."""

    def add(self, topic: str, tag: str, properties: Mapping[str, str]) -> None:
        kind = topic, tag
        if kind not in self.counts and len(self.counts) >= KINDS_MAX:
            self.left_out += 1
            return
        self.counts[kind] += 1
        if self._sampled < SAMPLES_MAX:
            self._sampled += 1
            self.samples.setdefault(kind, []).append(properties)

    def of(self, topic: str) -> Kinds:
        found = Kinds()
        found.counts = Counter({kind: count for kind, count in self.counts.items() if kind[0] == topic})
        found.samples = self.samples
        return found


def rejected(subscriptions: Mapping[str, Wanted], kinds: Kinds) -> dict[Rejection, int]:
    """How many messages a subscription rejects, by reason; empty if it accepts all."""
    found: Counter[Rejection] = Counter()
    for (topic, tag), count in kinds.counts.items():
        verdict = rejection(subscriptions, topic, tag)
        untried = count
        if verdict is Rejection.UNKNOWN:
            samples = kinds.samples.get((topic, tag), [])
            found.update(rejection(subscriptions, topic, tag, properties) for properties in samples)
            untried -= len(samples)
        found[verdict] += untried
    return {verdict: count for verdict, count in found.items() if count and verdict is not Rejection.NONE}


def warnings(group: str, subscriptions: Mapping[str, Wanted] | None, kinds: Kinds, *, alone: bool) -> Iterator[str]:
    """Warnings before messages are sent to a group; without ``subscriptions`` none of its consumers is connected.

    If the messages are sent to this group ``alone``, its filters do not apply to the retry topic. A broker with
    filterSupportRetry applies those of SQL92 there, too (Source: docs/spec/broker.md §9.4).
    """
    counts = kinds.counts
    total = sum(counts.values())
    if subscriptions is None:
        if alone:
            yield f"warning: no consumer of {group} is connected, so what its subscription rejects is not known"
        return
    found = rejected(subscriptions, kinds)
    topics = sorted({topic for topic, _tag in counts if topic not in subscriptions})
    tags, filters = (
        sorted({f"{topic}: {subscriptions[topic].expression}" for topic, _tag in counts
                if topic in subscriptions and subscriptions[topic].is_sql is is_sql})
        for is_sql in (False, True)
    )  # fmt: skip
    reasons = (
        (Rejection.TOPIC, f"the group does not subscribe to {', '.join(topics[:5])}"),
        (Rejection.TAG, f"its filter takes other tags ({'; '.join(tags[:5])})"),
        (Rejection.PROPERTIES, f"their properties do not pass its filter ({'; '.join(filters[:5])})"),
    )
    parts = [f"{found[why]:,} as {words}" for why, words in reasons if why in found]
    count = sum(found.get(why, 0) for why, _words in reasons)
    if parts:
        end = "they reach it all the same, as they are sent to it alone" if alone else "it will not get them"
        if alone and Rejection.PROPERTIES in found:
            end += f"; with filterSupportRetry=true in its broker the {found[Rejection.PROPERTIES]:,} by properties do not"
        yield f"warning: {group} would reject {count:,} of {total:,} messages: {'; '.join(parts)}; {end}"
    if Rejection.UNKNOWN in found:
        count = found[Rejection.UNKNOWN]
        yield f"warning: {count:,} of {total:,} messages meet a filter of {group} that was not tried on them"
