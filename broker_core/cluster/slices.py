"""Parts of queues with fixed ends to be read, and the limits on requests to a broker. Pure."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from broker_core.protocol.json_body import MessageQueue

OFFSET_MAX = (1 << 63) - 1
MESSAGES_PER_SECOND = 50_000
BYTES_PER_SECOND = 32 << 20
"""Default rates of requests to one broker; 0: no limit."""
RETRY_SECONDS = 20.0
"""How long requests to a broker that does not answer are repeated: about the time of a restart."""
CLOCK_MARGIN_MS = 10_000
"""How far a broker's clock may have been set back without a message of a time range being missed."""

Bounds = Callable[[str, str, int], tuple[int, int] | None]
"""Topic, broker and queue id → offsets that may be wanted, from ≤ offset < to; None: nothing of the queue."""


def whole_queue(_topic: str, _broker: str, _queue_id: int) -> tuple[int, int] | None:
    return 0, OFFSET_MAX


@dataclass(frozen=True, slots=True)
class QueueSlice:
    """Messages of one queue from ``first`` up to, not including, ``end``.

    Attributes:
        topic: As stored.
        address: Of the broker, as it registered.
        singly: The broker does not let clients pull it; its records are read one by one.
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
        return MessageQueue(self.topic, self.broker, self.queue_id)

    @property
    def messages(self) -> int:
        """Offsets covered."""
        return self.end - self.first

    @property
    def name(self) -> str:
        return f"queue {self.queue_id} of {self.topic} on {self.broker}"


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """Limits on requests to one broker, over all its readers for one purpose; 0 is no bound.

    Requests to a broker that does not answer are repeated for ``retry_seconds``.
    """

    messages_per_second: float = MESSAGES_PER_SECOND
    bytes_per_second: float = BYTES_PER_SECOND
    retry_seconds: float = RETRY_SECONDS

    def shared_by(self, readers: int) -> ReadLimits:
        """The share of one of several concurrent readers."""
        return ReadLimits(self.messages_per_second / readers, self.bytes_per_second / readers, self.retry_seconds)


@dataclass(frozen=True, slots=True)
class SurveyRequest:
    """What to look for in a cluster.

    Attributes:
        topics: As stored; None: all there are.
        with_internal: Also the topics of delayed, half and op, retried and dead messages.
        from_ms: Store time, inclusive, epoch milliseconds; None: from the oldest.
        to_ms: Exclusive; None: to the newest.
        bounds: Offsets of each queue.
        with_empty: Also return slices of queues without a wanted message, so that later messages there are known as new.
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
    """What was found of a request, with fixed ends; ``slices`` are in order of topic, broker and queue."""

    slices: tuple[QueueSlice, ...]
    unknown: tuple[Unknown, ...]
    brokers: tuple[str, ...]
