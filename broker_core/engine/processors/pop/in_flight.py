"""Messages in flight by group and queue: received by POP, neither acknowledged nor visible again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from broker_core.engine.processors.pop.checkpoint import PopCheckpoint
from broker_core.engine.processors.pop.handle import QueueOf
from broker_core.engine.processors.pop.ledger import PopLedger
from broker_core.engine.processors.pop.order_info import OrderInfo, OrderRecord

SLICE = 2_000
"""Checkpoints that one step of `counting` reads, about a millisecond of the loop."""


@dataclass(slots=True)
class QueueInFlight:
    """Messages of one queue.

    Attributes:
        next_due_ms: When the first of them becomes visible again.
        oldest_ms: When the one that is out longest was received.
        in_order: Whether they block the queue.
    """

    messages: int
    next_due_ms: int
    oldest_ms: int
    in_order: bool = False

    def add(self, messages: int, due_ms: int, popped_ms: int) -> None:
        """Count messages of another pop."""
        self.messages += messages
        self.next_due_ms = min(self.next_due_ms, due_ms)
        self.oldest_ms = min(self.oldest_ms, popped_ms)


InFlight = dict[QueueOf, QueueInFlight]


def counting(found: InFlight, ledger: PopLedger, orders: OrderInfo, *, group: str, now_ms: int) -> Iterator[None]:
    """Count the messages in flight of a group into ``found``; of all groups with an empty name.

    Each step reads `SLICE` checkpoints, so that the loop serves requests in between. A message that is received or acknowledged
    meanwhile may be counted or not.
    """
    for queue, record in orders.records():
        if group in ("", queue.group):
            _add_ordered(found, queue, record, now_ms)
    live = ledger.live()
    while some := list(islice(live, SLICE)):
        for checkpoint in some:
            if group in ("", checkpoint.key.group):
                _add(found, checkpoint)
        yield


def _add(found: InFlight, checkpoint: PopCheckpoint) -> None:
    pending, queue = len(checkpoint.pending()), checkpoint.key.queue
    if not pending:
        return
    known = found.get(queue)
    if known is None:
        found[queue] = QueueInFlight(pending, checkpoint.due_ms, checkpoint.key.pop_time_ms)
    else:
        known.add(pending, checkpoint.due_ms, checkpoint.key.pop_time_ms)


def _add_ordered(found: InFlight, queue: QueueOf, record: OrderRecord, now_ms: int) -> None:
    """Count what blocks a queue; messages that are visible again wait for the next pop."""
    due = [due_ms for due_ms in map(record.visible_at, record.pending) if due_ms > now_ms]
    if due:
        found[queue] = QueueInFlight(len(due), min(due), record.pop_time_ms, in_order=True)
