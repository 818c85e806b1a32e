"""Messages that consumers have received by POP and not acknowledged yet."""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.worker.questions.question import Question, question


@dataclass(frozen=True, slots=True)
class InFlightPage:
    """Parallel lists, one item a queue of a group that has such messages; the queue with the next due message first.

    Times are ms since the epoch. A message that is due is delivered again.
    """

    taken_ms: int
    group: list[str]
    topic: list[str]
    """As stored: a topic of retries for messages that were delivered before."""
    queue_id: list[int]
    messages: list[int]
    next_due_ms: list[int]
    """When the first of them becomes visible again, unless it is acknowledged before."""
    oldest_ms: list[int]
    """When the one that is out longest was received."""
    in_order: list[bool]
    """Whether they block their queue, because the group consumes it in order."""
    left_out: int = 0
    """Further queues, whose messages are due later."""


@question(acts=False)
class ListInFlight(Question[InFlightPage]):
    """Messages in flight of one group; of all groups with an empty name."""

    group: str = ""
