"""Rows of the queues whose messages a group holds. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.worker.questions.in_flight import InFlightPage


@dataclass(frozen=True, slots=True)
class InFlightRow:
    """Messages of one queue that a group received by POP and has not acknowledged. Times are ms since the epoch."""

    topic: str
    queue_id: int
    messages: int
    next_due_ms: int
    oldest_ms: int
    in_order: bool
    taken_ms: int

    @property
    def due_in_ms(self) -> int:
        """Time until the first of them is delivered again; 0 when it is due."""
        return max(0, self.next_due_ms - self.taken_ms)

    @property
    def out_for_ms(self) -> int:
        """For how long the oldest of them has been out."""
        return max(0, self.taken_ms - self.oldest_ms)


def in_flight_rows(page: InFlightPage) -> list[InFlightRow]:
    """One row a queue, the one that is due next first."""
    columns = zip(
        page.topic, page.queue_id, page.messages, page.next_due_ms, page.oldest_ms, page.in_order, strict=True
    )  # fmt: skip
    return [
        InFlightRow(topic, queue_id, messages, next_due_ms, oldest_ms, in_order, page.taken_ms)
        for topic, queue_id, messages, next_due_ms, oldest_ms, in_order in columns
    ]
