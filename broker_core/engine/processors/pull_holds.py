"""Pulls that wait for a message, by queue, with their deadlines (Source: docs/spec/broker.md §5.4).

Pure bookkeeping: it reads no store and sends nothing; its owner answers the released pulls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from broker_core.engine.tables.peer import Peer

HOLDS_MAX = 100_000
"""Bound on all held pulls together; a pull beyond it is answered at once."""

HELD_BYTES = 768
"""Memory of one held pull, with its entry in the tables and its part of the terms; measured 270 to 770."""

HELD_BYTES_PER_PEER_MAX = 384 * 1024
"""Bound on the memory of the held pulls of one connection: with its buffers it stays below a mebibyte."""


@dataclass(frozen=True, slots=True, eq=False)
class HeldPull:
    """One held pull.

    Attributes:
        offset: Queue offset of the next message that the client wants.
        deadline_ms: When it is answered even without one.
        accepts: Test of a message's tags code; None lets everything pass.
        matches: Test of a message's record, after ``accepts``; None lets everything pass.
        filter_bytes: Memory of its tests, if the request brought them.
    """

    peer: Peer
    topic: str
    queue_id: int
    offset: int
    deadline_ms: int
    accepts: Callable[[int], bool] | None
    request: Any
    matches: Callable[[memoryview], bool] | None = None
    filter_bytes: int = 0

    @property
    def size(self) -> int:
        """Estimated memory in bytes."""
        return HELD_BYTES + self.filter_bytes


class PullHolds:
    """Held pulls by queue and by connection; bounded together by number, and for each connection by memory."""

    def __init__(self, *, holds_max: int = HOLDS_MAX, bytes_per_peer_max: int = HELD_BYTES_PER_PEER_MAX) -> None:
        self._holds_max = holds_max
        self._bytes_per_peer_max = bytes_per_peer_max
        self._queues: dict[tuple[str, int], list[HeldPull]] = {}
        self._peers: dict[Peer, int] = {}
        self._count = 0

    def bytes_of(self, peer: Peer) -> int:
        """Estimated memory of the held pulls of a connection."""
        return self._peers.get(peer, 0)

    def __len__(self) -> int:
        return self._count

    def waits_for(self, topic: str, queue_id: int) -> bool:
        """Whether a pull waits for messages of a queue."""
        return (topic, queue_id) in self._queues

    def hold(self, pull: HeldPull) -> bool:
        """Keep a pull; False when too many are held already."""
        of_peer = self._peers.get(pull.peer, 0)
        if self._count >= self._holds_max or of_peer + pull.size > self._bytes_per_peer_max:
            return False
        self._queues.setdefault((pull.topic, pull.queue_id), []).append(pull)
        self._peers[pull.peer] = of_peer + pull.size
        self._count += 1
        return True

    def arrived(
        self,
        topic: str,
        queue_id: int,
        queue_offset: int,
        tags_code: int,
        record: Callable[[], memoryview | None] = lambda: None,
    ) -> list[HeldPull]:
        """Release the pulls that a new message is for. Called for every message: costs one lookup when none is held.

        ``record`` returns the message's record, called only where a pull must see it; without one the pull is released.
        """
        held = self._queues.get((topic, queue_id))
        if held is None:
            return []
        woken = [pull for pull in held if queue_offset >= pull.offset and (pull.accepts is None or pull.accepts(tags_code))]
        if any(pull.matches is not None for pull in woken):
            found = record()
            woken = [pull for pull in woken if pull.matches is None or found is None or pull.matches(found)]
        return self._release(topic, queue_id, held, woken)

    def due(self, now_ms: int) -> list[HeldPull]:
        """Release the pulls past their deadlines."""
        released = []
        for (topic, queue_id), held in list(self._queues.items()):
            late = [pull for pull in held if pull.deadline_ms <= now_ms]
            released += self._release(topic, queue_id, held, late)
        return released

    def behind(self, newest: Callable[[str, int], int]) -> list[HeldPull]:
        """Release the pulls whose queue has any messages after their offset; ``newest`` returns the end of a queue."""
        released = []
        for (topic, queue_id), held in list(self._queues.items()):
            end = newest(topic, queue_id)
            released += self._release(topic, queue_id, held, [pull for pull in held if pull.offset < end])
        return released

    def drop_peer(self, peer: Peer) -> None:
        """Forget the pulls of a closed connection."""
        if peer not in self._peers:
            return
        for (topic, queue_id), held in list(self._queues.items()):
            self._release(topic, queue_id, held, [pull for pull in held if pull.peer is peer])

    def release_all(self) -> list[HeldPull]:
        """Release every pull."""
        released = [pull for held in self._queues.values() for pull in held]
        self._queues.clear()
        self._peers.clear()
        self._count = 0
        return released

    def _release(self, topic: str, queue_id: int, held: list[HeldPull], gone: list[HeldPull]) -> list[HeldPull]:
        if not gone:
            return gone
        leaving = set(gone)
        left = [pull for pull in held if pull not in leaving]
        if left:
            self._queues[topic, queue_id] = left
        else:
            del self._queues[topic, queue_id]
        for pull in gone:
            self._count -= 1
            self._peers[pull.peer] -= pull.size
            if not self._peers[pull.peer]:
                del self._peers[pull.peer]
        return gone
