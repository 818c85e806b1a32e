"""Whose messages a retry topic holds: the one place where names of retry topics are taken apart.

    %RETRY%<group>             messages that consumers of the group sent back, of all its topics
    %RETRY%<group>_<topic>     messages of one topic that a group popped and did not acknowledge (V1)
    %RETRY%<group>+<topic>     the same under the newer name (V2)

Names have underscores, so the topic of group ``g_a`` and topic ``t`` is also that of group ``g`` and topic ``a_t``, and may be
that of a group ``g_a_t``. Known groups and topics tell which one is meant. Where several fit equally well, all are returned:
a reader says so and picks none. Names have no plus sign, so a V2 name has one owner.

Source: docs/spec/remoting.md §2.6.1, docs/spec/broker.md §6.7, §8.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from broker_core.protocol.message import properties as props
from broker_core.protocol.names import DLQ_PREFIX, RETRY_PREFIX

ORIGIN_GROUP = "ORIGIN_GROUP"
"""Property of a popped message's copy that brokers of later versions set: its group."""
OWNERS_NAMED = 3
"""Owners that a text names."""
ALTERNATIVES = " / "
"""Between names of which one is meant; no name of a group or a topic has a slash."""
_V1, _V2 = "_", "+"
_BOTH_KNOWN = 2
"""Rank of a pair whose group and topic are known."""


class RetryOwner(NamedTuple):
    """A group, and the topic it popped; without a topic the messages were sent back and are of any topic of the group."""

    group: str
    topic: str = ""

    def __str__(self) -> str:
        return f"{self.group}+{self.topic}" if self.topic else self.group


@dataclass(frozen=True, slots=True)
class KnownNames:
    """Groups and topics that exist or existed, as far as the reader knows them."""

    groups: AbstractSet[str] = field(default_factory=frozenset)
    topics: AbstractSet[str] = field(default_factory=frozenset)

    def about(self, topics: Iterable[str]) -> KnownNames:
        """Only the names that tell the owners of some retry topics apart."""
        every = {owner for topic in topics for owner in possible_owners(topic)}
        groups = {owner.group for owner in every if owner.group in self.groups}
        return KnownNames(frozenset(groups), frozenset(owner.topic for owner in every if owner.topic in self.topics))


NOTHING_KNOWN = KnownNames()
FindKnown = Callable[[], KnownNames]
"""Returns the names that are known now."""


def known_names(groups: Iterable[str], topics: Iterable[str]) -> KnownNames:
    """Groups and topics as known names; dead letter topics name further groups."""
    every = frozenset(topics)
    dead = (topic.removeprefix(DLQ_PREFIX) for topic in every if topic.startswith(DLQ_PREFIX))
    return KnownNames(frozenset((*groups, *dead)), every)


def nothing_known() -> KnownNames:
    """The names that a reader without tables of groups and topics knows."""
    return NOTHING_KNOWN


def owners_of(name: str, known: KnownNames = NOTHING_KNOWN, *, popped: bool | None = None) -> tuple[RetryOwner, ...]:
    """The possible owners of a retry topic, by group; several where the name alone is ambiguous, none for another topic.

    Pairs of a known group and a known topic go before those of which one is known, and those before the others. A group's own
    retry topic counts as known with its group.

    Args:
        name: Of the topic.
        known: To tell them apart.
        popped: Whether the messages in question were popped (True) or sent back (False); None: either.
    """
    found = [owner for owner in possible_owners(name) if popped is None or popped is bool(owner.topic)]
    if not found and name.startswith(RETRY_PREFIX):
        found = [RetryOwner(name.removeprefix(RETRY_PREFIX))]
    ranks = [_rank(owner, known) for owner in found]
    best = max(ranks, default=0)
    return tuple(sorted(owner for owner, rank in zip(found, ranks, strict=True) if rank == best))


def owners_of_message(topic: str, properties: Mapping[str, str], known: KnownNames = NOTHING_KNOWN) -> tuple[RetryOwner, ...]:
    """The possible owners of a message in a retry or dead letter topic; none for a message in another topic.

    The properties of a message say whether it was popped or sent back, and those of later brokers name the group. A dead letter
    topic names its group alone.
    """
    if topic.startswith(DLQ_PREFIX):
        group = topic.removeprefix(DLQ_PREFIX)
        return (RetryOwner(group, origin_of(properties, group)),)
    if not topic.startswith(RETRY_PREFIX):
        return ()
    if props.RETRY_TOPIC in properties or props.ORIGIN_MESSAGE_ID in properties:
        return owners_of(topic, known, popped=False)
    group = properties.get(ORIGIN_GROUP, "")
    named = tuple(owner for owner in possible_owners(topic) if owner.topic and owner.group == group)
    return named or owners_of(topic, known, popped=True if props.FIRST_POP_TIME in properties else None)


def topic_popped_by(group: str, name: str) -> str:
    """The topic that a group popped, from the name of the pop's retry topic; empty where the name is none of that group."""
    for separator in (_V1, _V2):
        start = f"{RETRY_PREFIX}{group}{separator}"
        if name.startswith(start):
            return name.removeprefix(start)
    return ""


def origin_of(properties: Mapping[str, str], group: str = "") -> str:
    """The topic that a retry or a dead letter of a group was first sent to; empty if no property names it.

    A popped message names the retry topic of the pop where a client sent it back.
    """
    named = properties.get(props.RETRY_TOPIC) or properties.get(props.DLQ_ORIGIN_TOPIC) or ""
    return (topic_popped_by(group, named) if group and named.startswith(RETRY_PREFIX) else "") or named


def origins_of(properties: Mapping[str, str], group: str, known: KnownNames = NOTHING_KNOWN) -> tuple[str, ...]:
    """The topics of which one is that a dead letter of a group was first sent to; none if no property names it.

    A message in the retry topic of a pop is of the topic that the group popped. It may be of another one where a known group
    and a known topic share the retry topic.
    """
    topic = origin_of(properties, group)
    named = properties.get(props.RETRY_TOPIC) or properties.get(props.DLQ_ORIGIN_TOPIC) or ""
    sharing = (owner.topic for owner in possible_owners(named) if owner.topic and _rank(owner, known) == _BOTH_KNOWN)
    return tuple(sorted({topic, *sharing})) if topic else ()


def possible_groups(topic: str) -> tuple[str, ...]:
    """All groups whose retries or dead letters a topic may hold, each once; none for any other topic."""
    if topic.startswith(DLQ_PREFIX):
        return (topic.removeprefix(DLQ_PREFIX),)
    return groups_of(possible_owners(topic))


def first_topic(topic: str, properties: Mapping[str, str], known: KnownNames = NOTHING_KNOWN) -> str:
    """The topic that a retry or a dead letter was first sent to; empty if that is not certain, and for any other message."""
    if topic.startswith(DLQ_PREFIX):
        return _only(origins_of(properties, topic.removeprefix(DLQ_PREFIX), known))
    named = origin_of(properties)
    if named.startswith(RETRY_PREFIX):
        return _only({owner.topic for owner in owners_of(named, known, popped=True)})
    return named or _only({owner.topic for owner in owners_of_message(topic, properties, known)})


def _only(topics: Collection[str]) -> str:
    """The topic, where there is only one."""
    return next(iter(topics)) if len(topics) == 1 else ""


def groups_of(owners: Iterable[RetryOwner]) -> tuple[str, ...]:
    """Groups of owners, each once."""
    return tuple(dict.fromkeys(owner.group for owner in owners))


def owners_text(owners: Collection[RetryOwner]) -> str:
    """Owners in one text: ``g+a_t, g_a+t``; of many the first."""
    return ", ".join([*map(str, list(owners)[:OWNERS_NAMED]), *(["…"] if len(owners) > OWNERS_NAMED else [])])


def names_text(alternatives: Collection[str]) -> str:
    """Groups or topics of which one is meant, in one cell: ``g / g_a``; of many the first."""
    return ALTERNATIVES.join([*list(alternatives)[:OWNERS_NAMED], *(["…"] if len(alternatives) > OWNERS_NAMED else [])])


def shared_note(name: str, owners: Collection[RetryOwner]) -> str:
    """The sentence about a retry topic with several possible owners."""
    return f"Retry topic {name} fits several pairs of group and topic: {owners_text(owners)}."


def possible_owners(name: str) -> list[RetryOwner]:
    """All owners that the name of a retry topic fits: the group's own, and pairs; none for another topic."""
    if not name.startswith(RETRY_PREFIX):
        return []
    rest = name.removeprefix(RETRY_PREFIX)
    group, plus, topic = rest.partition(_V2)
    if plus and group and topic:
        return [RetryOwner(group, topic)]
    places = [place for place in range(1, len(rest) - 1) if rest[place] == _V1]
    return [RetryOwner(rest), *(RetryOwner(rest[:place], rest[place + 1 :]) for place in places)]


def _rank(owner: RetryOwner, known: KnownNames) -> int:
    if not owner.topic:
        return _BOTH_KNOWN if owner.group in known.groups else 0
    return (owner.group in known.groups) + (owner.topic in known.topics)
