"""Queue locks of orderly consumers: one client of a group at a time may consume a queue (Source: docs/spec/broker.md §7.5)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from broker_core.protocol.json_body import MessageQueue

LOCK_LEASE_MS = 60_000


@dataclass(frozen=True, slots=True)
class _Lock:
    client_id: str
    taken_ms: int


class QueueLocks:
    """Group → queue → holder. Locks live in memory only; a holder must renew within the lease."""

    def __init__(self, *, lease_ms: int = LOCK_LEASE_MS) -> None:
        self._lease_ms = lease_ms
        self._locks: dict[str, dict[MessageQueue, _Lock]] = {}

    def lock(self, group: str, client_id: str, queues: Iterable[MessageQueue], *, now_ms: int) -> list[MessageQueue]:
        """Take or renew locks; returns those of ``queues`` that the client holds now."""
        held = self._locks.setdefault(group, {})
        granted = []
        for queue in queues:
            lock = held.get(queue)
            if lock is None or lock.client_id == client_id or now_ms - lock.taken_ms > self._lease_ms:
                held[queue] = _Lock(client_id, now_ms)
                granted.append(queue)
        if not held:
            del self._locks[group]
        return granted

    def holder(self, group: str, queue: MessageQueue, *, now_ms: int) -> str | None:
        """Client that holds a queue; None if it is free."""
        lock = self._locks.get(group, {}).get(queue)
        return None if lock is None or now_ms - lock.taken_ms > self._lease_ms else lock.client_id

    def unlock(self, group: str, client_id: str, queues: Iterable[MessageQueue]) -> None:
        """Release the client's locks; those of other clients stay."""
        held = self._locks.get(group, {})
        for queue in queues:
            lock = held.get(queue)
            if lock is not None and lock.client_id == client_id:
                del held[queue]
        if not held:
            self._locks.pop(group, None)

    def expire(self, now_ms: int) -> None:
        """Remove locks past their lease, so that groups that left use no memory."""
        for group in list(self._locks):
            held = self._locks[group]
            for queue in [q for q, lock in held.items() if now_ms - lock.taken_ms > self._lease_ms]:
                del held[queue]
            if not held:
                del self._locks[group]
