"""The window's view of atomic transactions: figures for snapshots, the open ones, an abort by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from broker_core.engine.store.message_store import MessageStore
from broker_core.protocol.atomic import AtomicPhase
from broker_core.worker.columns import columns_of
from broker_core.worker.handlers import served
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Handler
from broker_core.worker.questions.transactions import AbortAtomic, AtomicPage, ListAtomic
from broker_core.worker.transactions import check_page

if TYPE_CHECKING:
    from broker_core.engine.processors.atomic_service import AtomicService


def atomic_totals(atomic: AtomicService, store: MessageStore) -> dict[str, float]:
    """Figures for `Snapshot.totals`."""
    coordinator = atomic.coordinator
    started = [entry.start_ms for entry in coordinator.state.ids.values() if entry.state is AtomicPhase.ONGOING]
    held_back = 0
    for queue in coordinator.state.open_queues():
        first = coordinator.state.first_open_offset(queue)
        held_back += 0 if first is None else store.stored_max_offset(*queue) - first
    return {
        "atomic_open": len(started),
        "atomic_oldest_ms": min(started, default=-1),
        "atomic_held_back": held_back,
        "atomic_committed": coordinator.committed,
        "atomic_aborted": coordinator.aborted,
        "atomic_timed_out": coordinator.timed_out,
    }


def atomic_handlers(atomic: Callable[[], AtomicService | None], store: MessageStore) -> list[Handler]:
    """Handlers of atomic transactions, on the engine's loop."""
    serving = served(atomic, "atomic transactions are off: start the broker with orbitAtomicService=true")

    async def read(query: ListAtomic) -> AtomicPage:
        return list_atomic(query, serving(), store)

    async def abort(command: AbortAtomic) -> Done:
        await serving().abort_by_hand(command.name)
        return Done()

    return [ListAtomic.answered_by(read), AbortAtomic.answered_by(abort)]


def list_atomic(query: ListAtomic, atomic: AtomicService, store: MessageStore) -> AtomicPage:
    """One page: open transactions first, the oldest first, then ids by name. Raises `UsageError` for an impossible page."""
    check_page(query.start, query.count)
    entries = sorted(
        atomic.coordinator.state.ids.values(),
        key=lambda entry: (entry.state is not AtomicPhase.ONGOING, entry.start_ms, entry.name),
    )
    rows = entries[query.start : query.start + query.count]
    queues = [(row, queue, opened) for row, entry in enumerate(rows) for queue, opened in sorted(entry.queues.items())]
    return AtomicPage(
        total=len(entries),
        **columns_of(rows, ("name", "producer_id", "epoch", "start_ms", "update_ms", "timeout_ms")),
        state=["deciding" if entry.deciding else _WORDS[entry.state] for entry in rows],
        offsets=[len(entry.offsets) for entry in rows],
        queue_row=[row for row, _queue, _opened in queues],
        queue_topic=[queue.topic for _row, queue, _opened in queues],
        queue_id=[queue.queue_id for _row, queue, _opened in queues],
        queue_first_offset=[opened.first_offset for _row, _queue, opened in queues],
        queue_held_back=[store.stored_max_offset(*queue) - opened.first_offset for _row, queue, opened in queues],
    )


_WORDS = {
    AtomicPhase.EMPTY: "empty",
    AtomicPhase.ONGOING: "open",
    AtomicPhase.COMMITTED: "committed",
    AtomicPhase.ABORTED: "aborted",
}
