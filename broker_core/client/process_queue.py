"""The fetched, unconsumed messages of one queue. Sans-I/O (Source: docs/spec/broker.md §6.1, §6.2)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from broker_core.client.message import ReceivedMessage
from broker_core.config import ClientConfig
from broker_core.protocol.json_body import MessageQueue


class ProcessQueue:
    """Fetched messages of one queue, and the offset up to which all are consumed.

    Attributes:
        next_offset: Where the next pull begins.
        dropped: Another member owns the queue now; running calls of the listener no longer count.
        committed_offset: The last offset sent to the broker; None before the first time.
        last_pull_ms: Time of the last answer to a pull; 0 before the first.
        last_consume_ms: Time of the last call of a listener; 0 before the first.
    """

    __slots__ = (
        "_bytes",
        "_waiting",
        "committed_offset",
        "dropped",
        "last_consume_ms",
        "last_pull_ms",
        "next_offset",
        "queue",
    )

    def __init__(self, queue: MessageQueue, start_offset: int) -> None:
        self.queue = queue
        self.next_offset = start_offset
        self.dropped = False
        self.committed_offset: int | None = None
        self.last_pull_ms = 0
        self.last_consume_ms = 0
        self._waiting: dict[int, ReceivedMessage] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def committable_offset(self) -> int:
        """The lowest unconsumed offset: one slow message holds it, so that a crash loses none."""
        # Messages are in the order of their offset, so the first one left is the lowest.
        return next(iter(self._waiting), self.next_offset)

    @property
    def waiting_bytes(self) -> int:
        """Size of the fetched, unconsumed records."""
        return self._bytes

    @property
    def offsets(self) -> tuple[int, int]:
        """First and last fetched, unconsumed offset; zeros when there is none."""
        return (next(iter(self._waiting)), next(reversed(self._waiting))) if self._waiting else (0, 0)

    def add(self, messages: Sequence[ReceivedMessage], next_offset: int) -> None:
        """Add the messages of one pull, in order, and set where the next pull begins."""
        for message in messages:
            self._waiting[message.queue_offset] = message
            self._bytes += message.stored.store_size
        self.next_offset = next_offset

    def first(self, count: int) -> list[ReceivedMessage]:
        """The unconsumed messages with the lowest offsets."""
        return list(islice(self._waiting.values(), count))

    def remove(self, messages: Sequence[ReceivedMessage]) -> None:
        """Forget consumed messages; unknown ones are ignored."""
        for message in messages:
            if self._waiting.pop(message.queue_offset, None) is not None:
                self._bytes -= message.stored.store_size

    def has_room(self, config: ClientConfig) -> bool:
        """Whether more may be fetched under the bounds of ``config``."""
        span = self.next_offset - self.committable_offset
        return (
            len(self._waiting) < config.queue_messages_max
            and self._bytes < config.queue_bytes_max
            and span < config.queue_span_max
        )
