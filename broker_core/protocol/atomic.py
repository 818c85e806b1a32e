"""Values and numbers of atomic transactions: several messages in several queues, visible all together or never.

The second kind of transaction besides RocketMQ's half messages, after Kafka's. Messages are stored in their queue at once;
consumers read up to the last stable offset of the queue; one decision record in the commit log makes a transaction visible or
drops it.

Source: docs/spec/kafka.md §1, §3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from broker_core.errors import RemoteError
from broker_core.outside import whole_of

STATE_TOPIC = "ORBIT_SYS_TXN_STATE"
"""Where decisions and the states of transactional ids are stored; one queue, never listed to clients."""

PROPERTY = "KTX"
"""Of a stored message: ``pid:epoch:baseSequence:messages:flags``."""

TRANSACTIONAL_FLAG = 1

PRODUCER_IDS_PER_BLOCK = 1_000
EPOCH_LAST = 32_766
"""The last epoch that clients get; the next one only fences."""

SEQUENCE_MASK = 0x7FFF_FFFF
BATCHES_REMEMBERED = 5
TIMEOUT_MS_MAX = 900_000
PRODUCER_IDLE_MS_MAX = 86_400_000
ID_IDLE_MS_MAX = 604_800_000


class QueueKey(NamedTuple):
    topic: str
    queue_id: int


class OffsetKey(NamedTuple):
    group: str
    topic: str
    queue_id: int


class Refusal(IntEnum):
    """Why a request about an atomic transaction is refused; sent as response code.

    The client tries again, aborts and continues, or gives up (Source: docs/spec/kafka.md §1.2.7, §4.8).
    """

    FENCED = 30_101
    WRONG_STATE = 30_102
    OUT_OF_ORDER = 30_103
    CONCURRENT = 30_104
    WRONG_TIMEOUT = 30_105
    UNKNOWN_ID = 30_106
    NOT_ATOMIC_TOPIC = 30_107
    OLD_EPOCH = 30_108
    NOT_OWNER = 30_109
    UNSTABLE_OFFSET = 30_110
    NOT_STORED = 30_111


RETRIABLE = frozenset({Refusal.CONCURRENT, Refusal.UNSTABLE_OFFSET, Refusal.NOT_STORED})
ABORTABLE = frozenset({Refusal.OUT_OF_ORDER, Refusal.NOT_ATOMIC_TOPIC, Refusal.OLD_EPOCH, Refusal.NOT_OWNER})


class AtomicRefusedError(RemoteError):
    """A request about an atomic transaction was refused; ``refusal`` is the kind."""

    def __init__(self, refusal: Refusal, message: str) -> None:
        super().__init__(message, code=int(refusal))
        self.refusal = refusal


class AtomicPhase(IntEnum):
    """Phase of a transactional id; a decision is one record, so there is none between open and decided."""

    EMPTY = 0
    ONGOING = 1
    COMMITTED = 4
    ABORTED = 5


class Identity(NamedTuple):
    """Producer id and epoch, which a producer sends with every request."""

    producer_id: int
    epoch: int


class Stamp(NamedTuple):
    """The property of a stored message; ``base_sequence`` and ``messages`` are those of its send request, maybe a batch."""

    producer_id: int
    epoch: int
    base_sequence: int
    messages: int
    transactional: bool

    def text(self) -> str:
        flags = TRANSACTIONAL_FLAG if self.transactional else 0
        return f"{self.producer_id}:{self.epoch}:{self.base_sequence}:{self.messages}:{flags}"

    @classmethod
    def parse(cls, text: str) -> Stamp | None:
        """Read a property; None when Orbit did not write it."""
        numbers = [number for number in map(whole_of, text.split(":")) if number is not None]
        if len(numbers) != 5 or text.count(":") != 4:
            return None
        producer_id, epoch, base, messages, flags = numbers
        return cls(producer_id, epoch, base, messages, bool(flags & TRANSACTIONAL_FLAG)) if messages else None


@dataclass(slots=True)
class OpenQueue:
    """The messages of an open transaction in one queue.

    Attributes:
        first_physical: Commit log offset of its first message.
        spans: Ranges of queue offsets ``[first, last]``, ascending.
    """

    first_physical: int
    spans: list[list[int]]

    @property
    def first_offset(self) -> int:
        return self.spans[0][0]

    def add(self, first: int, last: int) -> None:
        """Add messages after the present ones."""
        if self.spans and self.spans[-1][1] + 1 == first:
            self.spans[-1][1] = last
        else:
            self.spans.append([first, last])


@dataclass(slots=True)
class PendingOffset:
    """A consumer offset that a transaction will set; ``physical`` is the commit log offset of its record."""

    offset: int
    physical: int


@dataclass(slots=True)
class Transactional:
    """A transactional id: a logical producer over all its restarts.

    Attributes:
        previous_id: The producer id before the epochs of that one were used up, -1 for none.
        last_epoch: The epoch before the last change, from which a request may be repeated, -1 for none.
        timed_out: Whether the last decision was an abort by timeout.
        start_ms: When the open transaction began.
        deciding_at: Commit log offset of its decision while that is not durable yet, else -1.
    """

    name: str
    producer_id: int
    epoch: int
    timeout_ms: int
    update_ms: int
    state: AtomicPhase = AtomicPhase.EMPTY
    previous_id: int = -1
    last_epoch: int = -1
    timed_out: bool = False
    start_ms: int = -1
    queues: dict[QueueKey, OpenQueue] = field(default_factory=dict)
    offsets: dict[OffsetKey, PendingOffset] = field(default_factory=dict)
    deciding_at: int = -1

    @property
    def identity(self) -> Identity:
        return Identity(self.producer_id, self.epoch)

    @property
    def deciding(self) -> bool:
        """Whether a decision is not durable yet."""
        return self.deciding_at >= 0

    @property
    def is_exhausted(self) -> bool:
        return self.epoch >= EPOCH_LAST
