"""Decides about producers and transactions: checks requests, appends decisions to the log, applies them.

A decision counts when its record is durable; until then the transaction is open for readers and busy for its producer. Log and
clock are parameters, so that tests can replace both.

Source: docs/spec/kafka.md §1.3 to §1.10 in the second version of the protocol (a new epoch per transaction, a send adds its
queue), with the steps between open and decided collapsed into one record (docs/spec/kafka.md §3.3).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from typing import Protocol

from broker_core.engine.atomic.records import DecisionRecord, IdBlock, OffsetsRecord, ProducerRecord, StateRecord, encode_state
from broker_core.engine.atomic.sequences import QueueSequences, StoredBatch
from broker_core.engine.atomic.state import AppliedOffsets, AtomicState
from broker_core.protocol.atomic import (
    PRODUCER_IDS_PER_BLOCK,
    TIMEOUT_MS_MAX,
    AtomicPhase,
    AtomicRefusedError,
    Identity,
    OffsetKey,
    QueueKey,
    Refusal,
    Stamp,
    Transactional,
)

logger = logging.getLogger(__name__)

NAME_LENGTH_MAX = 255

Answered = Callable[[Identity | AtomicRefusedError], None]


class StateLog(Protocol):
    def append(self, body: bytes) -> tuple[int, int, int]:
        """Store one record; returns its position in the commit log, the position after it, and its store time in ms.

        Raises:
            AtomicRefusedError: With `Refusal.NOT_STORED`: the store refuses it.
        """

    def when_durable(self, end: int, done: Callable[[bool], None]) -> None:
        """Call ``done`` when the log is durable up to ``end``, or with False when it will never be."""


class Coordinator:
    """Serves requests of producers.

    ``decided`` is called with the queues that readers may continue, and the consumer positions to set.
    """

    def __init__(
        self,
        state: AtomicState,
        log: StateLog,
        *,
        clock: Callable[[], int],
        is_atomic: Callable[[str], bool],
        decided: Callable[[list[QueueKey], AppliedOffsets], None],
    ) -> None:
        self.state = state
        self._log = log
        self._clock = clock
        self._is_atomic = is_atomic
        self._decided = decided
        self._next_id = state.ids_end
        self.committed = 0
        self.aborted = 0
        self.timed_out = 0

    def begin(self) -> None:
        """Record what a crash left unfinished; to be called once, before anything else. Raises `AtomicRefusedError`."""
        cut = self.state.unfinished_batch()
        if cut is not None:
            self._append(cut)

    # ---- producers ----

    def init_producer(self, name: str | None, timeout_ms: int, answered: Answered, *, known: Identity | None = None) -> None:
        """Give a producer its identity.

        Args:
            name: The transactional id; None for a producer that is idempotent only.
            timeout_ms: After so long without a decision its transactions are aborted.
            answered: Called once, when no other producer can get the identity any more.
            known: The producer's present identity, if it asks again after an error.
        """
        try:
            if name is None:
                producer_id, end = self._new_producer_id()
                self._answer_when_durable(end, Identity(producer_id, 0), answered)
                return
            self._init_transactional(name, timeout_ms, answered, known)
        except AtomicRefusedError as refusal:
            answered(refusal)

    def _init_transactional(self, name: str, timeout_ms: int, answered: Answered, known: Identity | None) -> None:
        if not name or len(name) > NAME_LENGTH_MAX:
            raise AtomicRefusedError(Refusal.WRONG_STATE, f"a transactional id has 1 to {NAME_LENGTH_MAX} characters")
        if not 0 < timeout_ms <= TIMEOUT_MS_MAX:
            text = f"the time-out of transactions is {timeout_ms:,} ms, allowed are 1 to {TIMEOUT_MS_MAX:,}"
            raise AtomicRefusedError(Refusal.WRONG_TIMEOUT, text)
        entry = self.state.ids.get(name)
        if entry is None:
            producer_id, _ = self._new_producer_id()
            self._new_epoch(ProducerRecord(name, producer_id, 0, timeout_ms, -1, -1), answered)
            return
        if entry.deciding:
            raise _busy(name)
        if known is not None:
            if _is_repeated(entry, known):
                _, end, _ = self._append(_same(entry))
                self._answer_when_durable(end, entry.identity, answered)
                return
            if known != entry.identity:
                raise _fenced(entry, known)
        if entry.state is AtomicPhase.ONGOING:
            # The transaction of the former instance is aborted, with an epoch of its own; then this one gets the next.
            def aborted(outcome: Identity | AtomicRefusedError) -> None:
                if isinstance(outcome, AtomicRefusedError):
                    answered(outcome)
                else:
                    self.init_producer(name, timeout_ms, answered)

            self._decide(entry, committed=False, timed_out=False, answered=aborted)
            return
        self._new_epoch(self._next_producer(entry, timeout_ms, keeps_epoch=known is not None), answered)

    def _next_producer(self, entry: Transactional, timeout_ms: int, *, keeps_epoch: bool) -> ProducerRecord:
        last_epoch = entry.epoch if keeps_epoch else -1
        if entry.is_exhausted:
            producer_id, _ = self._new_producer_id()
            return ProducerRecord(entry.name, producer_id, 0, timeout_ms, entry.producer_id, last_epoch)
        return ProducerRecord(entry.name, entry.producer_id, entry.epoch + 1, timeout_ms, entry.previous_id, last_epoch)

    def _new_epoch(self, record: ProducerRecord, answered: Answered) -> None:
        _, end, _ = self._append(record)
        self._answer_when_durable(end, Identity(record.producer_id, record.epoch), answered)

    def _answer_when_durable(self, end: int, identity: Identity, answered: Answered) -> None:
        self._log.when_durable(end, lambda durable: answered(identity if durable else _not_durable()))

    def _new_producer_id(self) -> tuple[int, int]:
        """A producer id that was never used before, and the end of the log that ensures that."""
        if self._next_id >= self.state.ids_end:
            self._next_id = self.state.ids_end
            _, self._block_end, _ = self._append(IdBlock(self._next_id + PRODUCER_IDS_PER_BLOCK))
        producer_id, self._next_id = self._next_id, self._next_id + 1
        return producer_id, self._block_end

    _block_end = 0

    # ---- sends ----

    def admit(
        self, name: str | None, identity: Identity, queue: QueueKey, base_sequence: int, messages: int
    ) -> StoredBatch | None:
        """Check messages before they are stored: None when they are to be stored, their place when they were stored already.

        ``name`` is None for a producer that is idempotent only; ``base_sequence`` is the number of the first message in this
        queue. Raises `AtomicRefusedError` where they may not be stored.
        """
        if name is not None:
            entry = self._entry(name, identity)
            if entry.deciding:
                raise _busy(name)
            if identity != entry.identity:
                raise _old_epoch(entry, identity)
            if not self._is_atomic(queue.topic):
                text = f"topic {queue.topic} takes no part in atomic transactions: switch them on for it, or send without one"
                raise AtomicRefusedError(Refusal.NOT_ATOMIC_TOPIC, text)
        elif self.state.by_producer(identity.producer_id) is not None:
            text = f"producer {identity.producer_id} is transactional and sends outside of a transaction"
            raise AtomicRefusedError(Refusal.WRONG_STATE, text)
        elif identity.producer_id >= self.state.ids_end or identity.producer_id < 0:
            raise AtomicRefusedError(
                Refusal.UNKNOWN_ID, f"producer {identity.producer_id} was never given: ask for an identity"
            )
        sequences = self.state.sequences.get(queue) or QueueSequences()
        return sequences.check(identity, base_sequence, messages, transactional=name is not None)

    def stored(self, queue: QueueKey, first_offset: int, physical_offsets: Iterable[int], stamp: Stamp, stored_ms: int) -> None:
        """Admitted messages were stored."""
        for number, physical in enumerate(physical_offsets):
            self.state.data(queue, first_offset + number, physical, stamp, stored_ms)

    def add_offsets(self, name: str, identity: Identity, offsets: Iterable[tuple[OffsetKey, int]]) -> None:
        """Let consumer positions join the transaction. Raises `AtomicRefusedError` where they may not."""
        entry = self._entry(name, identity)
        if entry.deciding:
            raise _busy(name)
        if identity != entry.identity:
            raise _old_epoch(entry, identity)
        self._append(OffsetsRecord(name, identity.producer_id, identity.epoch, tuple(offsets)))

    # ---- how it ends ----

    def end(self, name: str, identity: Identity, *, commit: bool, answered: Answered) -> None:
        """Commit or abort; ``answered`` gets the identity for the next transaction once the decision is durable."""
        try:
            entry = self._entry(name, identity)
            if entry.deciding:
                raise _busy(name)
            if identity == entry.identity:
                self._end_current(entry, commit=commit, answered=answered)
            elif _is_repeated(entry, identity):
                answered(self._end_again(entry, commit=commit))
            else:
                raise _fenced(entry, identity)
        except AtomicRefusedError as refusal:
            answered(refusal)

    def _end_current(self, entry: Transactional, *, commit: bool, answered: Answered) -> None:
        if entry.state is not AtomicPhase.ONGOING and commit:
            text = f"the transaction of {entry.name} cannot be committed: nothing was sent in it"
            raise AtomicRefusedError(Refusal.WRONG_STATE, text)
        # An abort may arrive for a transaction whose first send never arrived: it still needs a new epoch.
        self._decide(entry, committed=commit, timed_out=False, answered=answered)

    def _end_again(self, entry: Transactional, *, commit: bool) -> Identity:
        """The answer to a producer that repeats the end, because the first answer was lost."""
        if entry.timed_out:
            text = f"the transaction of {entry.name} was aborted: it was open for longer than {entry.timeout_ms:,} ms"
            raise AtomicRefusedError(Refusal.OLD_EPOCH, text)
        if entry.state is (AtomicPhase.COMMITTED if commit else AtomicPhase.ABORTED):
            return entry.identity
        if entry.state in (AtomicPhase.COMMITTED, AtomicPhase.ABORTED):
            text = f"the transaction of {entry.name} is {entry.state.name.lower()} already"
            raise AtomicRefusedError(Refusal.WRONG_STATE, text)
        raise AtomicRefusedError(Refusal.FENCED, f"the transaction of {entry.name} ended, and another one has begun")

    def tick(self) -> None:
        """Abort transactions past their time-out; to be called about once a second."""
        for entry in list(self.state.overdue(self._clock())):
            self.abort(entry, f"it was open for longer than {entry.timeout_ms:,} ms")

    def abort(self, entry: Transactional, reason: str) -> None:
        """Abort an open transaction that its producer does not end; does nothing for one that is not open."""
        if entry.state is not AtomicPhase.ONGOING or entry.deciding:
            return
        logger.warning("the atomic transaction of %s is aborted: %s", entry.name, reason)
        try:
            self._decide(entry, committed=False, timed_out=True, answered=lambda _outcome: None)
        except AtomicRefusedError as refusal:
            logger.warning("the atomic transaction of %s stays open: %s", entry.name, refusal)

    def _decide(self, entry: Transactional, *, committed: bool, timed_out: bool, answered: Answered) -> None:
        if entry.is_exhausted:
            next_id, _ = self._new_producer_id()
            following = Identity(next_id, 0)
        else:
            following = Identity(entry.producer_id, entry.epoch + 1)
        queues = tuple((queue, opened.first_offset) for queue, opened in entry.queues.items())
        record = DecisionRecord(entry.name, *entry.identity, *following, committed, timed_out, queues)
        physical, end, stored_ms = self._log.append(encode_state(record))
        entry.deciding_at = physical

        def durable(yes: bool) -> None:
            if not yes:
                # Whether the log has the decision is unknown before the next start; until then the id is busy.
                answered(_not_durable())
                return
            released = list(entry.queues)
            applied = self.state.record(record, physical, stored_ms)
            self._count(committed=committed, timed_out=timed_out)
            self._decided(released, applied)
            answered(following)

        self._log.when_durable(end, durable)

    def _count(self, *, committed: bool, timed_out: bool) -> None:
        self.committed += committed
        self.aborted += not committed
        self.timed_out += timed_out

    # ---- inside ----

    def _append(self, record: StateRecord) -> tuple[int, int, int]:
        physical, end, stored_ms = self._log.append(encode_state(record))
        self.state.record(record, physical, stored_ms)
        return physical, end, stored_ms

    def _entry(self, name: str, identity: Identity) -> Transactional:
        entry = self.state.ids.get(name)
        if entry is None:
            text = f"the transactional id {name} is not known: ask for an identity first"
            raise AtomicRefusedError(Refusal.UNKNOWN_ID, text)
        if identity.producer_id not in (entry.producer_id, entry.previous_id):
            raise AtomicRefusedError(Refusal.UNKNOWN_ID, f"producer {identity.producer_id} is not that of {name}")
        return entry


def _is_repeated(entry: Transactional, identity: Identity) -> bool:
    """Whether a producer sent its identity before the last change, because the answer to that request was lost."""
    if entry.last_epoch < 0 or identity.epoch != entry.last_epoch:
        return False
    rotated = entry.previous_id >= 0 and entry.epoch == 0
    return identity.producer_id == (entry.previous_id if rotated else entry.producer_id)


def _same(entry: Transactional) -> ProducerRecord:
    identity = (entry.producer_id, entry.epoch)
    return ProducerRecord(entry.name, *identity, entry.timeout_ms, entry.previous_id, entry.last_epoch)


def _busy(name: str) -> AtomicRefusedError:
    return AtomicRefusedError(Refusal.CONCURRENT, f"the last transaction of {name} is being decided: try again")


def _fenced(entry: Transactional, identity: Identity) -> AtomicRefusedError:
    text = f"another instance of {entry.name} took over: epoch {entry.epoch}, this one has {identity.epoch}"
    return AtomicRefusedError(Refusal.FENCED, text)


def _old_epoch(entry: Transactional, identity: Identity) -> AtomicRefusedError:
    if entry.timed_out and _is_repeated(entry, identity):
        text = f"the transaction of {entry.name} was aborted: it was open for longer than {entry.timeout_ms:,} ms"
        return AtomicRefusedError(Refusal.OLD_EPOCH, text)
    return _fenced(entry, identity)


def _not_durable() -> AtomicRefusedError:
    return AtomicRefusedError(Refusal.NOT_STORED, "the disk did not take it; whether it counts is known after a restart")
