"""Values and numbers of atomic transactions: several messages in several queues, visible all together or never.

The second kind of transaction beside RocketMQ's half messages, after Kafka's. Data lies in place in its queue at once; readers
get no further than the last stable offset of the queue; one decision record in the commit log makes a transaction visible or
drops it.

Source: docs/spec/kafka.md §1, §3.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from broker_core.errors import RemoteError

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
    """One queue."""

    topic: str
    queue_id: int


class OffsetKey(NamedTuple):
    """One position of a consumer group."""

    group: str
    topic: str
    queue_id: int


class Refusal(IntEnum):
    """Why a request about an atomic transaction is refused; travels as response code.

    What a client does about it (Source: docs/spec/kafka.md §1.2.7, §4.8): tries again, aborts and goes on, or gives up.
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
    """A request about an atomic transaction cannot be served; ``refusal`` says of which kind."""

    def __init__(self, refusal: Refusal, message: str) -> None:
        super().__init__(message, code=int(refusal))
        self.refusal = refusal


class AtomicPhase(IntEnum):
    """Where a transactional id stands; a decision is one record, so there is nothing between open and decided."""

    EMPTY = 0
    ONGOING = 1
    COMMITTED = 4
    ABORTED = 5


class Identity(NamedTuple):
    """Producer id and epoch: what a producer shows with every request."""

    producer_id: int
    epoch: int


class Stamp(NamedTuple):
    """The property of a stored message.

    ``base_sequence`` and ``messages`` are those of the request that brought it: a batch is one request.
    """

    producer_id: int
    epoch: int
    base_sequence: int
    messages: int
    transactional: bool

    def text(self) -> str:
        """As the property holds it."""
        flags = TRANSACTIONAL_FLAG if self.transactional else 0
        return f"{self.producer_id}:{self.epoch}:{self.base_sequence}:{self.messages}:{flags}"

    @classmethod
    def parse(cls, text: str) -> Stamp | None:
        """Read a property; None when it is none of ours."""
        parts = text.split(":")
        if len(parts) != 5 or not all(part.isascii() and part.isdigit() for part in parts):
            return None
        producer_id, epoch, base, messages, flags = map(int, parts)
        return cls(producer_id, epoch, base, messages, bool(flags & TRANSACTIONAL_FLAG)) if messages else None


@dataclass(slots=True)
class OpenQueue:
    """What an open transaction has in one queue.

    Attributes:
        spans: Ranges of queue offsets ``[first, last]``, ascending.
        first_physical: Where its first message lies in the commit log.
    """

    first_physical: int
    spans: list[list[int]]

    @property
    def first_offset(self) -> int:
        return self.spans[0][0]

    def add(self, first: int, last: int) -> None:
        """Add messages behind those there are."""
        if self.spans and self.spans[-1][1] + 1 == first:
            self.spans[-1][1] = last
        else:
            self.spans.append([first, last])


@dataclass(slots=True)
class PendingOffset:
    """A consumer position that a transaction will set.

    Attributes:
        physical: Position of the record that brought it.
    """

    offset: int
    physical: int


@dataclass(slots=True)
class Transactional:
    """A transactional id: a logical producer over all its restarts.

    Attributes:
        previous_id: The producer id before the epochs of that one were used up, -1 for none.
        last_epoch: The epoch that the last change of epoch replaced and that may ask again, -1 for none.
        timed_out: Whether the last decision was an abort that nobody asked for.
        start_ms: When the open transaction began.
        deciding_at: Position of its decision while that is not durable yet, -1 otherwise.
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
        """Whether a decision is on its way to the disk."""
        return self.deciding_at >= 0

    @property
    def is_exhausted(self) -> bool:
        return self.epoch >= EPOCH_LAST
