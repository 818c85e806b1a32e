"""Hits of a filter on groups whose group is not certain, because several pairs of group and topic share their retry topic."""

from __future__ import annotations

from collections import Counter

from broker_core.counted import counted
from broker_core.protocol.retry_names import RetryOwner, owners_text
from broker_core.tools.search.expression import Expression, comparisons
from broker_core.tools.search.facts import MessageFacts

TOPICS_MAX = 20
"""Shared topics that are named; further ones are counted."""


def is_about_groups(expression: Expression) -> bool:
    """Whether a filter compares groups, so that the names of groups and topics decide what it finds."""
    return any(one.field.name == "group" for one in comparisons(expression))


class SharedRetries:
    """Counts such hits by their topic; counts nothing for a filter that compares no groups."""

    def __init__(self, expression: Expression) -> None:
        self.is_needed = is_about_groups(expression)
        self._hits: Counter[tuple[str, tuple[RetryOwner, ...]]] = Counter()

    def take(self, facts: MessageFacts) -> None:
        """Count a hit."""
        if self.is_needed and len(facts.owners) > 1:
            self._hits[facts.message.topic, facts.owners] += 1

    def notes(self) -> tuple[str, ...]:
        """A sentence for each shared topic."""
        found = sorted(self._hits.items())
        texts = [_sentence(topic, owners, hits) for (topic, owners), hits in found[:TOPICS_MAX]]
        if len(found) > TOPICS_MAX:
            more = counted(len(found) - TOPICS_MAX, "more retry topic fits", "more retry topics fit")
            texts.append(f"{more} several pairs of group and topic")
        return tuple(texts)


def _sentence(topic: str, owners: tuple[RetryOwner, ...], hits: int) -> str:
    verb = "is" if hits == 1 else "are"
    pairs = owners_text(owners)
    return f"{counted(hits, 'hit')} {verb} in retry topic {topic}, which fits several pairs of group and topic: {pairs}"
