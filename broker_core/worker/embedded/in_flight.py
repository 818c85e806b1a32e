"""Messages in flight, as the window lists them."""

from __future__ import annotations

import asyncio

from broker_core.clock import wall_clock_ms
from broker_core.engine.processors.pop.in_flight import InFlight, counting
from broker_core.worker.embedded.engine import EngineView
from broker_core.worker.questions.in_flight import InFlightPage, ListInFlight
from broker_core.worker.questions.question import Handler
from broker_core.worker.refusals import files_refusal

QUEUES_MAX = 2_000
"""Queues of one answer."""


def in_flight_handlers(engine: EngineView) -> list[Handler]:
    """The handler on the engine's loop; it refuses where no broker serves."""

    async def read(query: ListInFlight) -> InFlightPage:
        pops = engine.pops
        if pops is None:
            raise files_refusal(engine.store.config.root)
        now_ms = wall_clock_ms()
        found: InFlight = {}
        ledger, orders = pops.outstanding.ledger, pops.orders
        for _step in counting(found, ledger, orders, group=query.group, now_ms=now_ms):
            await asyncio.sleep(0)
        return in_flight_page(found, now_ms)

    return [ListInFlight.answered_by(read)]


def in_flight_page(found: InFlight, now_ms: int) -> InFlightPage:
    """The queues in the order of their next due messages, at most `QUEUES_MAX`."""
    ordered = sorted(found.items(), key=lambda item: (item[1].next_due_ms, item[0]))
    shown = ordered[:QUEUES_MAX]
    return InFlightPage(
        taken_ms=now_ms,
        group=[queue.group for queue, _held in shown],
        topic=[queue.topic for queue, _held in shown],
        queue_id=[queue.queue_id for queue, _held in shown],
        messages=[held.messages for _queue, held in shown],
        next_due_ms=[held.next_due_ms for _queue, held in shown],
        oldest_ms=[held.oldest_ms for _queue, held in shown],
        in_order=[held.in_order for _queue, held in shown],
        left_out=len(ordered) - len(shown),
    )
