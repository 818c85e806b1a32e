"""The state of all atomic transactions, as read from the commit log.

`AtomicState.data` and `AtomicState.record` are called for every stored message and state record in the order of the log: while
the broker runs, right after it stored them, and after a restart by the reader of the log. So both reach the same state.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from contextlib import contextmanager

from broker_core.engine.atomic.records import CutRecord, DecisionRecord, IdBlock, OffsetsRecord, ProducerRecord, StateRecord
from broker_core.engine.atomic.sequences import QueueSequences, StoredBatch
from broker_core.protocol.atomic import (
    ID_IDLE_MS_MAX,
    PRODUCER_IDLE_MS_MAX,
    AtomicPhase,
    Identity,
    OffsetKey,
    OpenQueue,
    PendingOffset,
    QueueKey,
    Stamp,
    Transactional,
)

AppliedOffsets = list[tuple[OffsetKey, PendingOffset]]


class AtomicState:
    """Producers, transactional ids, open and aborted messages.

    Attributes:
        ids: By transactional id.
        sequences: Queue → its producers.
        aborted: Queue → ranges of offsets of aborted messages, ascending, ``[first, last]``.
        ids_end: Producer ids below were or may have been used.
    """

    def __init__(self) -> None:
        self.ids: dict[str, Transactional] = {}
        self.sequences: dict[QueueKey, QueueSequences] = {}
        self.aborted: dict[QueueKey, list[list[int]]] = {}
        self.ids_end = 0
        self._by_producer: dict[int, str] = {}
        self._open: dict[QueueKey, dict[str, int]] = {}
        self._arriving: tuple[QueueKey, int] | None = None
        self._partial: tuple[QueueKey, Stamp, int, int] | None = None

    # ---- entries of the log ----

    def data(self, queue: QueueKey, offset: int, physical: int, stamp: Stamp, stored_ms: int) -> None:
        """A message with a stamp was stored; called for each message of a batch."""
        batch_start = self._batch_start(queue, offset, stamp)
        if batch_start == offset:
            batch = StoredBatch(stamp.base_sequence, stamp.messages, offset, physical, stored_ms)
            identity = Identity(stamp.producer_id, stamp.epoch)
            self.sequences.setdefault(queue, QueueSequences()).stored(identity, batch)
        if not stamp.transactional:
            return
        entry = self.by_producer(stamp.producer_id)
        if entry is None or entry.epoch != stamp.epoch:
            return
        if entry.state is not AtomicPhase.ONGOING:
            self._begin(entry, stored_ms)
        opened = entry.queues.get(queue)
        if opened is None:
            entry.queues[queue] = OpenQueue(physical, [[offset, offset]])
            self._open.setdefault(queue, {})[entry.name] = offset
        else:
            opened.add(offset, offset)

    def _batch_start(self, queue: QueueKey, offset: int, stamp: Stamp) -> int:
        partial, self._partial = self._partial, None
        start, seen = offset, 1
        if partial is not None and partial[:2] == (queue, stamp) and partial[2] + partial[3] == offset:
            start, seen = partial[2], partial[3] + 1
        if seen < stamp.messages:
            self._partial = (queue, stamp, start, seen)
        return start

    def record(self, record: StateRecord, physical: int, stored_ms: int) -> AppliedOffsets:
        """A state record was stored; returns the consumer positions that it sets."""
        match record:
            case IdBlock(end):
                self.ids_end = max(self.ids_end, end)
            case ProducerRecord():
                self._producer(record, stored_ms)
            case CutRecord():
                self._cut(record)
            case OffsetsRecord():
                self._offsets(record, physical, stored_ms)
            case DecisionRecord():
                return self._decision(record, stored_ms)
        return []

    def _producer(self, record: ProducerRecord, stored_ms: int) -> None:
        old = self.ids.get(record.name)
        if old is not None:
            self._by_producer.pop(old.producer_id, None)
        entry = Transactional(
            record.name,
            record.producer_id,
            record.epoch,
            record.timeout_ms,
            stored_ms,
            previous_id=record.previous_id,
            last_epoch=record.last_epoch,
        )
        self.ids[record.name] = entry
        self._by_producer[entry.producer_id] = entry.name

    def _offsets(self, record: OffsetsRecord, physical: int, stored_ms: int) -> None:
        entry = self.ids.get(record.name)
        if entry is None or entry.identity != (record.producer_id, record.epoch):
            return
        if entry.state is not AtomicPhase.ONGOING:
            self._begin(entry, stored_ms)
        for key, offset in record.offsets:
            entry.offsets[key] = PendingOffset(offset, physical)

    def _decision(self, record: DecisionRecord, stored_ms: int) -> AppliedOffsets:
        entry = self.ids.get(record.name)
        if entry is None or entry.identity != (record.producer_id, record.epoch):
            return []
        for queue, opened in entry.queues.items():
            self._close(queue, entry.name)
            if not record.committed:
                self._abort(queue, opened.spans)
        applied = list(entry.offsets.items()) if record.committed else []
        if record.next_id != entry.producer_id:
            self._by_producer.pop(entry.producer_id, None)
            entry.previous_id, entry.producer_id = entry.producer_id, record.next_id
            self._by_producer[entry.producer_id] = entry.name
        entry.last_epoch, entry.epoch = record.epoch, record.next_epoch
        entry.state = AtomicPhase.COMMITTED if record.committed else AtomicPhase.ABORTED
        entry.timed_out, entry.deciding_at = record.timed_out, -1
        entry.start_ms, entry.update_ms = -1, stored_ms
        entry.queues, entry.offsets = {}, {}
        return applied

    def unfinished_batch(self) -> CutRecord | None:
        """The batch of which the log has only the beginning at its end; to be recorded before anything else."""
        if self._partial is None:
            return None
        queue, stamp, start, seen = self._partial
        return CutRecord(queue, stamp.producer_id, start, seen)

    def _cut(self, record: CutRecord) -> None:
        queue, start, seen = record.queue, record.first, record.messages
        self._partial = None
        if queue in self.sequences:
            self.sequences[queue].forget_last(record.producer_id)
        entry = self.by_producer(record.producer_id)
        opened = None if entry is None else entry.queues.get(queue)
        if entry is None or opened is None or opened.spans[-1][1] != start + seen - 1:
            return
        last = opened.spans[-1]
        last[1] = start - 1
        if last[1] < last[0]:
            opened.spans.pop()
        if not opened.spans:
            del entry.queues[queue]
            self._close(queue, entry.name)
        self._abort(queue, [[start, start + seen - 1]])

    def _begin(self, entry: Transactional, now_ms: int) -> None:
        entry.state, entry.start_ms, entry.update_ms = AtomicPhase.ONGOING, now_ms, now_ms
        entry.timed_out = False

    def _close(self, queue: QueueKey, name: str) -> None:
        opened = self._open.get(queue)
        if opened is not None:
            opened.pop(name, None)
            if not opened:
                del self._open[queue]

    def _abort(self, queue: QueueKey, spans: list[list[int]]) -> None:
        self.aborted[queue] = merged([*self.aborted.get(queue, []), *(list(span) for span in spans)])

    def restore_id(self, entry: Transactional) -> None:
        """Enter a transactional id from a snapshot."""
        self.ids[entry.name] = entry
        self._by_producer[entry.producer_id] = entry.name
        for queue, opened in entry.queues.items():
            self._open.setdefault(queue, {})[entry.name] = opened.first_offset

    # ---- questions of readers ----

    def by_producer(self, producer_id: int) -> Transactional | None:
        """The transactional id that has a producer id."""
        name = self._by_producer.get(producer_id)
        return None if name is None else self.ids[name]

    def first_open_offset(self, queue: QueueKey) -> int | None:
        """Offset of the first undecided message of a queue; None when all are decided."""
        opened = self._open.get(queue)
        first = min(opened.values()) if opened else None
        if self._arriving is not None and self._arriving[0] == queue:
            return self._arriving[1] if first is None else min(first, self._arriving[1])
        return first

    @contextmanager
    def arriving(self, queue: QueueKey, offset: int) -> Iterator[None]:
        """Hold a queue back from an offset on while messages of a transaction are being stored there."""
        self._arriving = (queue, offset)
        try:
            yield
        finally:
            self._arriving = None

    def is_aborted(self, queue: QueueKey, offset: int) -> bool:
        """Whether a message belongs to an aborted transaction."""
        spans = self.aborted.get(queue)
        if not spans:
            return False
        index = bisect_right(spans, offset, key=lambda span: span[0]) - 1
        return index >= 0 and offset <= spans[index][1]

    def open_queues(self) -> list[QueueKey]:
        """Queues that are held back."""
        return list(self._open)

    def pending_offset(self, key: OffsetKey) -> bool:
        """Whether an open transaction may set a consumer position."""
        return any(key in entry.offsets for entry in self.ids.values() if entry.offsets)

    def overdue(self, now_ms: int) -> Iterator[Transactional]:
        """Open transactions past their time-out."""
        for entry in self.ids.values():
            if entry.state is AtomicPhase.ONGOING and not entry.deciding and entry.start_ms + entry.timeout_ms < now_ms:
                yield entry

    # ---- expiry ----

    def override_offset(self, key: OffsetKey, log_end: int) -> None:
        """A consumer position was set outside of transactions: earlier positions of transactions do not replace it."""
        for entry in self.ids.values():
            pending = entry.offsets.get(key)
            if pending is not None and pending.physical < log_end:
                del entry.offsets[key]

    def remove_topic(self, topic: str) -> None:
        """A topic was deleted: its queues leave open transactions."""
        for entry in self.ids.values():
            for queue in [queue for queue in entry.queues if queue.topic == topic]:
                del entry.queues[queue]
                self._close(queue, entry.name)
        for table in (self.sequences, self.aborted):
            for queue in [queue for queue in table if queue.topic == topic]:
                del table[queue]

    def expire(self, now_ms: int) -> None:
        """Forget producers that are idle for a day and transactional ids that are idle for a week."""
        open_ids = {entry.producer_id for entry in self.ids.values() if entry.state is AtomicPhase.ONGOING}
        for queue, sequences in list(self.sequences.items()):
            sequences.expire(now_ms - PRODUCER_IDLE_MS_MAX, open_ids)
            if not sequences.windows:
                del self.sequences[queue]
        idle = [
            entry
            for entry in self.ids.values()
            if entry.state is not AtomicPhase.ONGOING and not entry.deciding and entry.update_ms < now_ms - ID_IDLE_MS_MAX
        ]
        for entry in idle:
            del self.ids[entry.name]
            self._by_producer.pop(entry.producer_id, None)

    def trim(self, queue: QueueKey, min_offset: int) -> None:
        """Forget aborted messages that retention has deleted."""
        spans = self.aborted.get(queue)
        if spans and spans[0][1] < min_offset:
            left = [span for span in spans if span[1] >= min_offset]
            if left:
                self.aborted[queue] = left
            else:
                del self.aborted[queue]


def merged(spans: list[list[int]]) -> list[list[int]]:
    """Ranges in ascending order, touching ones joined."""
    result: list[list[int]] = []
    for first, last in sorted((span[0], span[1]) for span in spans):
        if result and result[-1][1] + 1 >= first:
            result[-1][1] = max(result[-1][1], last)
        else:
            result.append([first, last])
    return result
