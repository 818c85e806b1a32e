"""A log, a clock and producers, all played: random histories of atomic transactions with crashes, beside a plain model."""

from __future__ import annotations

import contextlib
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from broker_core.engine.atomic.coordinator import Coordinator
from broker_core.engine.atomic.records import DecisionRecord, decode_state
from broker_core.engine.atomic.snapshot import decode_snapshot, encode_snapshot
from broker_core.engine.atomic.state import AppliedOffsets, AtomicState
from broker_core.protocol.atomic import AtomicRefusedError, Identity, OffsetKey, PendingOffset, QueueKey, Refusal, Stamp

QUEUES = [QueueKey("orders", 0), QueueKey("orders", 1), QueueKey("audit", 0)]
GROUP = "CG"


@dataclass
class Entry:
    """One record of the log: of a queue, or of the state topic."""

    physical: int
    stored_ms: int
    queue: QueueKey | None = None
    offset: int = 0
    stamp: Stamp | None = None
    transaction: int | None = None
    state: bytes = b""


@dataclass
class Transaction:
    """What the model knows of a transaction: who began it, and how it ended for sure, if it did."""

    name: str
    identity: Identity
    began_ms: int
    answered: str = ""
    positions: dict[OffsetKey, int] = field(default_factory=dict)


@dataclass
class Instance:
    """A producer. It may be a zombie without knowing it."""

    name: str
    timeout_ms: int
    identity: Identity | None = None
    sequences: dict[QueueKey, int] = field(default_factory=dict)
    sent: list[tuple[QueueKey, int, int, int]] = field(default_factory=list)
    transaction: int | None = None
    ending: tuple[Identity, bool, int] | None = None


class World:
    """One history. Everything random comes from ``seed``."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.now = 1_000_000
        self.log: list[Entry] = []
        self.durable = 0
        self.waiting: list[tuple[int, Callable[[bool], None]]] = []
        self.ends: dict[QueueKey, int] = defaultdict(int)
        self.offsets: dict[OffsetKey, int] = {}
        self.beside: dict[OffsetKey, int] = {}
        self.snapshots: list[bytes] = []
        self.transactions: list[Transaction] = []
        self.instances: list[Instance] = []
        self.identities: set[Identity] = set()
        self.refused: set[Refusal] = set()
        self.stable: dict[QueueKey, int] = dict.fromkeys(QUEUES, 0)
        self.generation = 0
        self._open(AtomicState())

    def _open(self, state: AtomicState) -> None:
        self.state = state
        self.generation += 1
        self.coordinator = Coordinator(
            state, self, clock=lambda: self.now, is_atomic=lambda topic: topic != "plain", decided=self._decided
        )

    # ---- the log, as the coordinator sees it ----

    def append(self, body: bytes) -> tuple[int, int, int]:
        if self.random.random() < 0.01:
            raise AtomicRefusedError(Refusal.NOT_STORED, "the disk is full")
        entry = Entry(len(self.log), self.now, state=body)
        self.log.append(entry)
        return entry.physical, entry.physical + 1, self.now

    def when_durable(self, end: int, done: Callable[[bool], None]) -> None:
        generation = self.generation
        self.waiting.append((end, lambda yes: done(yes) if self.generation == generation else None))

    def sync(self) -> None:
        """Bring the log to the disk; whoever waits is told."""
        self.durable = len(self.log)
        while self.waiting and self.durable >= len(self.log):
            waiting, self.waiting = self.waiting, []
            for _, done in waiting:
                done(True)
            self.durable = len(self.log)

    def _decided(self, _queues: list[QueueKey], applied: AppliedOffsets) -> None:
        for key, pending in applied:
            if self.beside.get(key, -1) <= pending.physical:
                self.offsets[key] = pending.offset

    # ---- what happens ----

    def instance(self) -> Instance:
        """A producer, most of the time one that is there."""
        if not self.instances or self.random.random() < 0.05:
            name = self.random.choice(["a", "b", "c"])
            self.instances.append(Instance(name, self.random.choice([2_000, 60_000])))
        return self.random.choice(self.instances[-4:])

    def init(self, instance: Instance, *, again: bool = False) -> None:
        known = instance.identity if again else None

        def answered(outcome: Identity | AtomicRefusedError) -> None:
            if isinstance(outcome, AtomicRefusedError):
                self.refused.add(outcome.refusal)
                return
            if known is None:
                assert outcome not in self.identities, "an identity is given once (5, 6)"
            self.identities.add(outcome)
            self._became(instance, outcome)

        self.coordinator.init_producer(instance.name, instance.timeout_ms, answered, known=known)

    def _became(self, instance: Instance, identity: Identity) -> None:
        instance.identity, instance.sequences, instance.sent = identity, {}, []
        instance.transaction, instance.ending = None, None

    def send(self, instance: Instance, queue: QueueKey, messages: int) -> None:
        if instance.identity is None or instance.ending is not None:
            return
        base = instance.sequences.get(queue, 0)
        before = self._bytes()
        try:
            repeated = self.coordinator.admit(instance.name, instance.identity, queue, base, messages)
        except AtomicRefusedError as refusal:
            self.refused.add(refusal.refusal)
            assert self._bytes() == before, "a refused send changes nothing (30)"
            return
        assert repeated is None
        entry = self.state.ids[instance.name]
        assert entry.identity == instance.identity, "no append with an old epoch (4, 19)"
        if instance.transaction is None:
            instance.transaction = len(self.transactions)
            self.transactions.append(Transaction(instance.name, instance.identity, self.now))
        stamp = Stamp(*instance.identity, base, messages, transactional=True)
        first, physical = self.ends[queue], len(self.log)
        for number in range(messages):
            self.log.append(Entry(physical + number, self.now, queue, first + number, stamp, instance.transaction))
        self.ends[queue] += messages
        self.coordinator.stored(queue, first, range(physical, physical + messages), stamp, self.now)
        instance.sequences[queue] = base + messages
        instance.sent.append((queue, base, messages, first))

    def resend(self, instance: Instance) -> None:
        """Send one of the last requests again, as if its answer had been lost."""
        if instance.identity is None or not instance.sent:
            return
        queue = self.random.choice(instance.sent)[0]
        of_queue = [item for item in instance.sent if item[0] == queue]
        _, base, messages, first = self.random.choice(of_queue[-5:])
        refused = None
        try:
            repeated = self.coordinator.admit(instance.name, instance.identity, queue, base, messages)
        except AtomicRefusedError as refusal:
            refused = refusal.refusal
        if refused is not None:
            assert refused is not Refusal.OUT_OF_ORDER, "one of the last five is known again (2, 3)"
            self.refused.add(refused)
            return
        assert repeated is not None
        assert repeated.offset == first, "a repeated request has its first answer (2)"

    def skip(self, instance: Instance, queue: QueueKey) -> None:
        """Send with a gap in the sequence."""
        if instance.identity is None or instance.ending is not None:
            return
        base = instance.sequences.get(queue, 0) + 1 + self.random.randrange(3)
        before = self._bytes()
        try:
            repeated = self.coordinator.admit(instance.name, instance.identity, queue, base, 1)
        except AtomicRefusedError as refusal:
            self.refused.add(refusal.refusal)
            assert self._bytes() == before
            return
        raise AssertionError(f"a gap was accepted: {repeated} (1)")

    def plain(self, queue: QueueKey) -> None:
        self.log.append(Entry(len(self.log), self.now, queue, self.ends[queue]))
        self.ends[queue] += 1

    def add_offsets(self, instance: Instance) -> None:
        if instance.identity is None or instance.transaction is None or instance.ending is not None:
            return
        key, offset = OffsetKey(GROUP, "in", self.random.randrange(2)), self.random.randrange(1000)
        try:
            self.coordinator.add_offsets(instance.name, instance.identity, [(key, offset)])
        except AtomicRefusedError as refusal:
            self.refused.add(refusal.refusal)
            return
        self.transactions[instance.transaction].positions[key] = offset

    def commit_plain_offset(self) -> None:
        key = OffsetKey(GROUP, "in", self.random.randrange(2))
        self.offsets[key] = self.random.randrange(1000, 2000)
        if self.state.pending_offset(key):
            self.beside[key] = len(self.log)
            self.state.override_offset(key, len(self.log))

    def end(self, instance: Instance, *, commit: bool) -> None:
        """Ask for the end, or ask again if the answer did not come."""
        if instance.identity is None:
            return
        if instance.ending is None:
            if instance.transaction is None:
                return
            instance.ending = (instance.identity, commit, instance.transaction)
        identity, commit, number = instance.ending
        transaction = self.transactions[number]
        is_lost = self.random.random() < 0.2

        def answered(outcome: Identity | AtomicRefusedError) -> None:
            if isinstance(outcome, AtomicRefusedError):
                self.refused.add(outcome.refusal)
                if outcome.refusal in (Refusal.FENCED, Refusal.UNKNOWN_ID):
                    instance.identity = None
                elif outcome.refusal is Refusal.OLD_EPOCH:
                    assert self.outcome(number) == "aborted"
                    instance.ending = None
                    self.init(instance, again=True)
                return
            assert self.outcome(number) == ("committed" if commit else "aborted")
            transaction.answered = "committed" if commit else "aborted"
            if not is_lost and instance.ending is not None and instance.ending[0] == identity:
                self._became(instance, outcome)

        self.coordinator.end(instance.name, identity, commit=commit, answered=answered)

    def snapshot(self) -> None:
        if not any(entry.deciding for entry in self.state.ids.values()):
            self.snapshots.append(encode_snapshot(self.state, len(self.log)))

    def crash(self) -> None:
        """Lose some of what is not durable, perhaps in the middle of a batch; start again."""
        self.log = self.log[: self.random.randint(self.durable, len(self.log))]
        self.restart()

    def restart(self) -> None:
        end = len(self.log)
        self.waiting.clear()
        self.ends = defaultdict(int)
        for entry in self.log:
            if entry.queue is not None:
                self.ends[entry.queue] = entry.offset + 1
        self.snapshots = [data for data in self.snapshots if decode_snapshot(data)[1] <= end]
        states = [self.replayed(data) for data in [None, *self.snapshots]]
        for state, _ in states:
            for key, log_end in self.beside.items():
                state.override_offset(key, log_end)
        assert len({encode_snapshot(state, 0) for state, _ in states}) == 1, "any snapshot leads to the same state (23)"
        applied = states[0][1]
        self.durable = end
        self._open(states[0][0])
        while self.state.unfinished_batch() is not None:
            with contextlib.suppress(AtomicRefusedError):
                self.coordinator.begin()
        self.offsets = {}
        for _, key, pending in applied:
            if self.beside.get(key, -1) <= pending.physical:
                self.offsets[key] = pending.offset
        self.stable = {queue: min(self.stable[queue], self.ends[queue]) for queue in QUEUES}
        for instance in self.instances:
            instance.sent = [item for item in instance.sent if item[3] + item[2] <= self.ends[item[0]]]

    def replayed(self, snapshot: bytes | None) -> tuple[AtomicState, list[tuple[int, OffsetKey, PendingOffset]]]:
        state, start = (AtomicState(), 0) if snapshot is None else decode_snapshot(snapshot)
        applied = []
        for entry in self.log[start:]:
            if entry.queue is None:
                changes = state.record(decode_state(entry.state), entry.physical, entry.stored_ms)
                applied += [(entry.physical, key, pending) for key, pending in changes]
            elif entry.stamp is not None:
                state.data(entry.queue, entry.offset, entry.physical, entry.stamp, entry.stored_ms)
        return state, applied

    # ---- what must be true ----

    def check(self) -> None:
        decisions = self._decisions()
        applied = {number for number in range(len(self.transactions)) if self.outcome(number)}
        for queue in QUEUES:
            self._check_queue(queue, decisions, applied)
        for number, transaction in enumerate(self.transactions):
            if transaction.answered:
                assert self.outcome(number) == transaction.answered, "an answered end never changes (15)"

    def _check_queue(self, queue: QueueKey, decisions: dict[int, str], applied: set[int]) -> None:
        data = [entry for entry in self.log if entry.queue == queue]
        open_offsets = [
            entry.offset
            for entry in data
            if entry.transaction is not None and entry.transaction not in applied and not self._is_cut(entry)
        ]
        stable = min(open_offsets, default=self.ends[queue])
        first = self.state.first_open_offset(queue)
        assert (self.ends[queue] if first is None else first) == stable, "the last stable offset (7, 33)"
        assert stable >= self.stable[queue], "it never goes back (8)"
        self.stable[queue] = stable
        seen = [entry.offset for entry in data if entry.offset < stable and not self.state.is_aborted(queue, entry.offset)]
        wanted = [
            entry.offset
            for entry in data
            if entry.offset < stable
            and (entry.stamp is None or (entry.transaction in applied and decisions[entry.transaction] == "committed"))
            and not self._is_cut(entry)
        ]
        assert seen == wanted, "committed readers get every committed message once and no other (9, 10, 11, 26)"

    def _is_cut(self, entry: Entry) -> bool:
        """Whether a crash left only the beginning of its batch, so that nobody was told of it."""
        stamp = entry.stamp
        if stamp is None:
            return False
        same = [other for other in self.log if other.queue == entry.queue and other.stamp == stamp]
        run = [other for other in same if abs(other.physical - entry.physical) < stamp.messages]
        return len(run) < stamp.messages

    def _decisions(self) -> dict[int, str]:
        found: dict[int, str] = {}
        for entry in self.log:
            if entry.queue is not None:
                continue
            record = decode_state(entry.state)
            if isinstance(record, DecisionRecord):
                for number, transaction in enumerate(self.transactions):
                    if transaction.name == record.name and transaction.identity == (record.producer_id, record.epoch):
                        assert number not in found, "a transaction is decided once (18)"
                        found[number] = "committed" if record.committed else "aborted"
        return found

    def outcome(self, number: int) -> str:
        """How a transaction ended, as far as the state has applied it."""
        transaction = self.transactions[number]
        entry = self.state.ids.get(transaction.name)
        if entry is None or (entry.identity == transaction.identity):
            return ""
        return self._decisions().get(number, "")

    def _bytes(self) -> bytes:
        return encode_snapshot(self.state, 0)

    # ---- a history ----

    def step(self) -> None:
        self.now += self.random.choice([0, 1, 10, 300])
        instance = self.instance()
        choose = self.random.random()
        queue = self.random.choice(QUEUES)
        if choose >= 0.88:
            self.sync()
        elif instance.identity is None or choose < 0.05:
            self.init(instance)
        elif choose < 0.40:
            self.send(instance, queue, self.random.choice([1, 1, 1, 3]))
        elif choose < 0.48:
            self.plain(queue)
        elif choose < 0.54:
            self.resend(instance)
        elif choose < 0.58:
            self.skip(instance, queue)
        elif choose < 0.64:
            self.add_offsets(instance)
        elif choose < 0.67:
            self.commit_plain_offset()
        elif choose < 0.80:
            self.end(instance, commit=self.random.random() < 0.7)
        elif choose < 0.83:
            self.coordinator.tick()
        elif choose < 0.86:
            self.snapshot()
        else:
            self.crash()
