"""What of a cluster is read: parts of queues with fixed ends, and how much may be asked of a broker. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from broker_core.protocol.json_body import MessageQueue

OFFSET_MAX = (1 << 63) - 1
MESSAGES_PER_SECOND = 50_000
BYTES_PER_SECOND = 32 << 20
"""What one broker is asked for a second unless something else is said; 0 means as fast as it gives."""
RETRY_SECONDS = 20.0
"""How long a broker that does not answer is asked again: about what a restart takes."""
CLOCK_MARGIN_MS = 10_000
"""How far a broker's clock may have been set back without a message of a time range being missed."""

Bounds = Callable[[str, str, int], tuple[int, int] | None]
"""Topic, broker and queue id → offsets that may be wanted, from ≤ offset < to; None: nothing of the queue."""


def whole_queue(_topic: str, _broker: str, _queue_id: int) -> tuple[int, int] | None:
    """All that a queue holds."""
    return 0, OFFSET_MAX


@dataclass(frozen=True, slots=True)
class QueueSlice:
    """Messages of one queue from ``first`` up to, not with, ``end``.

    Attributes:
        topic: As stored.
        broker: Name of the broker.
        address: Of the broker, as it registered.
        queue_id: Of that broker.
        first: Queue offset.
        end: Queue offset.
        singly: The broker lets nobody pull it; its records are asked for one by one.
    """

    topic: str
    broker: str
    address: str
    queue_id: int
    first: int
    end: int
    singly: bool = False

    @property
    def queue(self) -> MessageQueue:
        """The queue that it is a slice of."""
        return MessageQueue(self.topic, self.broker, self.queue_id)

    @property
    def messages(self) -> int:
        """Offsets covered."""
        return self.end - self.first

    @property
    def name(self) -> str:
        """For sentences."""
        return f"queue {self.queue_id} of {self.topic} on {self.broker}"


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """How much one broker is asked for, over all that read it for one purpose; 0 is no bound.

    Attributes:
        messages_per_second: Messages.
        bytes_per_second: Bytes of records.
        retry_seconds: How long a broker that does not answer is asked again.
    """

    messages_per_second: float = MESSAGES_PER_SECOND
    bytes_per_second: float = BYTES_PER_SECOND
    retry_seconds: float = RETRY_SECONDS

    def shared_by(self, readers: int) -> ReadLimits:
        """The share of one of so many that read a broker at the same time."""
        return ReadLimits(self.messages_per_second / readers, self.bytes_per_second / readers, self.retry_seconds)


@dataclass(frozen=True, slots=True)
class SurveyRequest:
    """What to look for in a cluster.

    Attributes:
        topics: As stored; None: all there are.
        with_internal: Also the topics in which messages of others wait or end: delayed, half and op, retried, dead.
        from_ms: Store time, inclusive, epoch milliseconds; None: from the oldest.
        to_ms: Exclusive; None: to the newest.
        bounds: Offsets of each queue.
        with_empty: Give slices also of queues that hold nothing wanted, so that what comes there later is known as new.
    """

    topics: tuple[str, ...] | None = None
    with_internal: bool = False
    from_ms: int | None = None
    to_ms: int | None = None
    bounds: Bounds = whole_queue
    with_empty: bool = False


@dataclass(frozen=True, slots=True)
class Unknown:
    """What could not be found out: of which broker (empty: none in particular), and why."""

    broker: str
    reason: str


@dataclass(frozen=True, slots=True)
class Survey:
    """What there is of what was wanted, with ends that do not move any more.

    Attributes:
        slices: One for each queue that holds something wanted, in order of topic, broker and queue.
        unknown: What is missing.
        brokers: Names of the cluster's brokers.
    """

    slices: tuple[QueueSlice, ...]
    unknown: tuple[Unknown, ...]
    brokers: tuple[str, ...]
