"""Held pops and notifications, by topic and group (Source: docs/spec/broker.md §6.7). Pure bookkeeping.

A message is for one consumer of each group, so it wakes one held request per group, the oldest that accepts it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from broker_core.engine.tables.peer import Peer

ANY_QUEUE = -1
HELD_BYTES_PER_PEER_MAX = 192 * 1024
"""Bound on the bytes of one connection's requests, for pops and notifications each; held pulls have a bound of their own."""


@dataclass(slots=True, eq=False)
class HeldPop:
    """One held request.

    Attributes:
        topics: The topic, and the group's retry topics of it, whose messages wake the request too.
        queue_id: The queue, -1 for any.
        deadline_ms: When it is answered without a message.
        retry_ms: When an orderly pop is tried again, because its blocked queue is free then; 0 for never.
        accepts: Test of a message's tags code; None accepts all.
        request: For the owner.
        size: Approximate bytes.
    """

    peer: Peer
    group: str
    topics: tuple[str, ...]
    queue_id: int
    deadline_ms: int
    accepts: Callable[[int], bool] | None
    request: Any
    retry_ms: int = 0
    size: int = 0

    def wants(self, topic: str, queue_id: int, tags_code: int) -> bool:
        """Whether the request accepts a new message. Retry topics have queues of their own."""
        if self.queue_id not in (ANY_QUEUE, queue_id) and topic == self.topics[0]:
            return False
        return self.accepts is None or self.accepts(tags_code)


class PopHolds:
    """Held requests by topic and group; ``per_queue_max`` bounds those of one topic, group and queue, ``holds_max`` all."""

    def __init__(self, *, per_queue_max: int, holds_max: int) -> None:
        self.per_queue_max = per_queue_max
        self.holds_max = holds_max
        self._topics: dict[str, dict[str, dict[HeldPop, None]]] = {}
        self._all: dict[HeldPop, None] = {}
        self._queues: dict[tuple[str, str, int], int] = {}
        self._peers: dict[Peer, int] = {}
        """Approximate bytes by connection."""

    def bytes_of(self, peer: Peer) -> int:
        """Approximate bytes of one connection's requests."""
        return self._peers.get(peer, 0)

    def __len__(self) -> int:
        return len(self._all)

    def __iter__(self) -> Iterator[HeldPop]:
        return iter(list(self._all))

    def hold(self, held: HeldPop) -> bool:
        """Add a request; False beyond a bound."""
        queue = (held.topics[0], held.group, held.queue_id)
        if self._queues.get(queue, 0) >= self.per_queue_max or len(self._all) >= self.holds_max:
            return False
        of_peer = self._peers.get(held.peer, 0)
        if of_peer + held.size > HELD_BYTES_PER_PEER_MAX:
            return False
        self._all[held] = None
        self._queues[queue] = self._queues.get(queue, 0) + 1
        self._peers[held.peer] = of_peer + held.size
        for topic in held.topics:
            self._topics.setdefault(topic, {}).setdefault(held.group, {})[held] = None
        return True

    def count(self, topic: str, group: str, queue_id: int) -> int:
        """Requests for one queue; for -1, those for any queue."""
        return self._queues.get((topic, group, queue_id), 0)

    def waits_for(self, topic: str, queue_id: int) -> bool:  # noqa: ARG002  whichever queue of the topic
        """Whether a request waits for messages of a topic, of any of its queues."""
        return topic in self._topics

    def wakened(self, topic: str, queue_id: int, tags_code: int) -> list[HeldPop]:
        """The requests that a new message wakes, one of each group; they stay held until `release`."""
        groups = self._topics.get(topic)
        if groups is None:
            return []
        found = (next((held for held in holds if held.wants(topic, queue_id, tags_code)), None) for holds in groups.values())
        return [held for held in found if held is not None]

    def waiting(self, topic: str, group: str) -> list[HeldPop]:
        """Requests of a group for a topic, the oldest first."""
        return list(self._topics.get(topic, {}).get(group, ()))

    def to_try(self, now_ms: int) -> list[HeldPop]:
        """Requests whose blocked queue is free by now."""
        return [held for held in self._all if held.retry_ms and held.retry_ms <= now_ms]

    def late(self, now_ms: int) -> list[HeldPop]:
        """Requests past their deadline."""
        return [held for held in self._all if held.deadline_ms <= now_ms]

    def release(self, held: HeldPop) -> None:
        """Remove a request, if held."""
        if held not in self._all:
            return
        del self._all[held]
        _count_down(self._queues, (held.topics[0], held.group, held.queue_id), 1)
        _count_down(self._peers, held.peer, held.size)
        for topic in held.topics:
            groups = self._topics[topic]
            del groups[held.group][held]
            if not groups[held.group]:
                del groups[held.group]
            if not groups:
                del self._topics[topic]

    def drop_peer(self, peer: Peer) -> None:
        """Remove the requests of a connection that ended."""
        if peer in self._peers:
            for held in [held for held in self._all if held.peer is peer]:
                self.release(held)


def _count_down(counts: dict[Any, int], key: object, amount: int) -> None:
    counts[key] -= amount
    if not counts[key]:
        del counts[key]
