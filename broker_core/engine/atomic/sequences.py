"""Sequence numbers of producers in one queue: they detect repeated and missing messages.

Source: docs/spec/kafka.md §1.2. Unlike the reference all remembered batches survive a restart (§1.2.5).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from broker_core.protocol.atomic import BATCHES_REMEMBERED, SEQUENCE_MASK, AtomicRefusedError, Identity, Refusal


class StoredBatch(NamedTuple):
    """One request that was stored: sequence, queue offset and position in the commit log of its first message."""

    base_sequence: int
    messages: int
    offset: int
    physical: int
    stored_ms: int

    @property
    def next_sequence(self) -> int:
        return (self.base_sequence + self.messages) & SEQUENCE_MASK


class SequenceWindow:
    """The latest requests of one producer in one queue: the last five of ``epoch``, oldest first."""

    __slots__ = ("batches", "epoch")

    def __init__(self, epoch: int, batches: list[StoredBatch] | None = None) -> None:
        self.epoch = epoch
        self.batches = [] if batches is None else batches

    @property
    def stored_ms(self) -> int:
        """When it stored its last message."""
        return self.batches[-1].stored_ms if self.batches else 0


class QueueSequences:
    """Producers of one queue."""

    __slots__ = ("windows",)

    def __init__(self) -> None:
        self.windows: dict[int, SequenceWindow] = {}

    def check(self, identity: Identity, base_sequence: int, messages: int, *, transactional: bool) -> StoredBatch | None:
        """Check a request before it is stored: None when it is next, the batch that it repeats when it was stored already.

        Raises `AtomicRefusedError` where its epoch is old or its sequence is not the next.
        """
        window = self.windows.get(identity.producer_id)
        if window is None:
            if transactional and base_sequence:
                raise _out_of_order(base_sequence, 0)
            return None
        if identity.epoch < window.epoch:
            text = f"epoch {identity.epoch} of producer {identity.producer_id} is old, the queue knows {window.epoch}"
            raise AtomicRefusedError(Refusal.OLD_EPOCH, text)
        if identity.epoch > window.epoch:
            if base_sequence:
                raise _out_of_order(base_sequence, 0)
            return None
        for batch in window.batches:
            if batch.base_sequence == base_sequence and batch.messages == messages:
                return batch
        expected = window.batches[-1].next_sequence if window.batches else 0
        if base_sequence != expected:
            raise _out_of_order(base_sequence, expected)
        return None

    def stored(self, identity: Identity, batch: StoredBatch) -> None:
        """Remember a request that was stored."""
        window = self.windows.get(identity.producer_id)
        if window is None or window.epoch != identity.epoch:
            window = self.windows[identity.producer_id] = SequenceWindow(identity.epoch)
        window.batches.append(batch)
        del window.batches[:-BATCHES_REMEMBERED]

    def forget_last(self, producer_id: int) -> None:
        """Forget the last request: only its beginning survived a crash, and it was never acknowledged."""
        window = self.windows.get(producer_id)
        if window is not None and window.batches:
            window.batches.pop()

    def expire(self, before_ms: int, is_open: set[int]) -> None:
        """Forget producers that stored nothing since a time and have no open transaction."""
        for producer_id in [p for p, window in self.windows.items() if window.stored_ms < before_ms and p not in is_open]:
            del self.windows[producer_id]

    def __iter__(self) -> Iterator[tuple[int, SequenceWindow]]:
        return iter(self.windows.items())


def _out_of_order(base_sequence: int, expected: int) -> AtomicRefusedError:
    return AtomicRefusedError(Refusal.OUT_OF_ORDER, f"sequence {base_sequence} is not the next, {expected} is expected")
