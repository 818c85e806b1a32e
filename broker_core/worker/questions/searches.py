"""Searches of the store, and live tails.

Heads of messages are columns of three answers, here and of `MessagePage`. Each names them itself, because fields travel in
order: a base class of the three could get no new one without moving the later ones.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Question, question

# ---- answers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SearchStarted:
    """A search that can be continued. ``plan`` says in words what it will read, about ``total`` messages."""

    search_id: int
    plan: list[str]
    total: int


@dataclass(frozen=True, slots=True)
class SearchHits:
    """The hits of a moment of search: at most 511 heads, all lists with one item a message.

    Those of a store are in the order of its log; of a cluster, in the order in which queues answered.

    ``scanned`` of about ``total`` messages were examined so far, ``found`` passed. Once ``is_over``, ``reasons`` is empty where
    everything was found, and else says why not; ``notes`` say what is not certain of the hits, and what is no longer stored.
    """

    search_id: int
    topic: list[str]
    queue_id: list[int]
    queue_offset: list[int]
    physical_offset: list[int]
    store_ms: list[int]
    born_ms: list[int]
    body_bytes: list[int]
    tag: list[str]
    keys: list[str]
    unique_key: list[str]
    body_start: list[bytes]
    scanned: int
    total: int
    found: int
    is_over: bool = False
    reasons: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class FollowStarted:
    """A tail that can be continued, from ``position`` on (`StartFollow`)."""

    follow_id: int
    position: int


@dataclass(frozen=True, slots=True)
class Followed:
    """Arrived messages: at most 500 heads in the order of the log, one item a message in each list; none in a quiet second."""

    follow_id: int
    topic: list[str]
    queue_id: list[int]
    queue_offset: list[int]
    physical_offset: list[int]
    store_ms: list[int]
    born_ms: list[int]
    body_bytes: list[int]
    tag: list[str]
    keys: list[str]
    unique_key: list[str]
    body_start: list[bytes]
    rule: list[int]
    """Number of the first rule that a message passes, -1 for none."""
    left_out: int = 0
    """Messages beyond the limit of a batch; those whose verdict needs their bodies all count."""
    skipped_bytes: int = 0
    """Bytes of the log that were skipped unread, because reading fell behind."""
    position: int = -1
    """Where the next answer continues (`StartFollow`)."""
    is_over: bool = False


# ---- questions ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class FoundBound:
    """A time, ms since the epoch, and how many messages of the filter's queues lie on the wanted side of it."""

    at_ms: int
    messages: int


@question(acts=False)
class FindBound(Question[FoundBound]):
    """The time from which the newest ``count`` messages were stored, or before which the oldest ones.

    All messages count that are in queues in which the filter may have a match, also those that it does not pass.
    """

    filter: str
    count: int
    oldest: bool = False


@question(acts=False)
class StartSearch(Question[SearchStarted]):
    """Search the store for messages that pass a filter. ``limit`` -1: all of them.

    The search is idle until `ContinueSearch` asks for hits, so not asking is a pause.
    """

    filter: str
    limit: int = -1
    body_starts: bool = True
    """Whether the hits have the first bytes of their bodies; a long list reads them when they are visible (`ReadFields`)."""


@question(acts=False)
class ContinueSearch(Question[SearchHits]):
    """Continue a search for a moment."""

    search_id: int


@question(acts=False)
class EndSearch(Question[Done]):
    """End a search; one that has ended by itself is gone already."""

    search_id: int


@question(acts=False)
class StartFollow(Question[FollowStarted]):
    """Follow what arrives from now on.

    Attributes:
        topics: At most 100; empty: all, including system topics.
        filter: In the language of searches; empty: everything.
        rules: At most 8 filters; `Followed` says which of them a message passes first.
        position: Where to continue, from `FollowStarted` or `Followed`; -1: the end of the log. Of a store it is a physical
            offset; of a cluster, whose messages lie in many logs, the number of the tail to continue.
    """

    topics: list[str]
    filter: str = ""
    rules: list[str] = field(default_factory=list)
    position: int = -1


@question(acts=False)
class ContinueFollow(Question[Followed]):
    """Wait for messages, for a second at most. One question of a tail is open at a time."""

    follow_id: int


@question(acts=False)
class EndFollow(Question[Done]):
    follow_id: int
