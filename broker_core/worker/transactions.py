"""The window's view of transactions: figures for snapshots, pages of undecided and ended ones, their history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Protocol

from broker_core.clock import wall_clock_ms
from broker_core.engine.transaction.engine import Ended, TransactionEngine
from broker_core.engine.transaction.history import HistoryPage, read_history
from broker_core.engine.transaction.messages import HalfMessage
from broker_core.errors import OrbitError, RecordError, RequestRefusedError, UsageError
from broker_core.protocol.message import properties as props
from broker_core.protocol.message.resent_properties import TIMED
from broker_core.worker.columns import columns_of
from broker_core.worker.handlers import Run, served
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Handler
from broker_core.worker.questions.stored_messages import SendMessage
from broker_core.worker.questions.transactions import (
    CheckTransaction,
    EndTransaction,
    ListTransactions,
    ReadTransactionHistory,
    ResumeTransaction,
    TransactionHistory,
    TransactionPage,
)
from broker_core.worker.transaction_search import HalfHead, half_head, with_words, words_of

if TYPE_CHECKING:
    from broker_core.engine.processors.transaction_actions import TransactionActions
    from broker_core.engine.store.message_store import MessageStore

PAGE_MAX = 1_000
COMMIT, ROLLBACK, UNDECIDED = "commit", "rollback", "unknown"
"""How a person's transaction ends, in the words of `SendMessage`."""
_HALF_COLUMNS = (
    "origin", "half_offset", "physical_offset", "group", "topic", "queue_id", "born_ms", "check_times", "asked_ms",
)  # fmt: skip
_LIFE_COLUMNS = (
    "origin", "group", "topic", "queue_id", "keys", "unique_key", "born_ms", "check_times", "op_offset",
)  # fmt: skip
CONSOLE_GROUP = "orbit-console"
"""Producer group of a person's transactions; only a person answers its checks."""


def half_of(message: SendMessage) -> SendMessage:
    """The half message of a message that a person sends in a transaction.

    Raises `UsageError` for an unknown end, or for a delay, which a half message cannot have.
    """
    if message.transaction not in (COMMIT, ROLLBACK, UNDECIDED):
        raise UsageError(f"a transaction ends with {COMMIT}, {ROLLBACK} or {UNDECIDED}, not “{message.transaction}”")
    timed = sorted(TIMED & message.properties.keys())
    if timed:
        raise UsageError(f"a message in a transaction cannot be delayed as well: leave out {', '.join(timed)}")
    properties = {props.PRODUCER_GROUP: CONSOLE_GROUP} | message.properties | {props.TRANSACTION_PREPARED: "true"}
    return replace(message, properties=properties, transaction="")


async def end_as_chosen(actions: TransactionActions, end: str, origin: int) -> None:
    """End a person's transaction, whose half message is stored, in one of the ways that `half_of` allows.

    Raises `RequestRefusedError` where that is not possible now; the text says that the half message is stored nevertheless.
    """
    if end == UNDECIDED:
        return
    try:
        await actions.end(origin, commit=end == COMMIT)
    except OrbitError as error:
        raise RequestRefusedError(
            f"the message is stored as transaction {origin:,} and is undecided, as its {end} failed: {error.message}. Do not "
            "send it again, but end it on the page of transactions",
            origin=origin,
        ) from error


class Transactions(Protocol):
    """The part of `broker_core.engine.processors.transaction_service.TransactionService` that is used here."""

    @property
    def engine(self) -> TransactionEngine: ...

    @property
    def actions(self) -> TransactionActions: ...

    @property
    def next_round_ms(self) -> int: ...

    def living(self, group: str) -> int: ...


NOT_SERVED = "the broker serves no transactions now: it is starting or stopping"


def transaction_handlers(transactions: Callable[[], Transactions | None], store: MessageStore, run: Run) -> list[Handler]:
    """Handlers of transactions with half messages, on the engine's loop."""
    serving = served(transactions, NOT_SERVED)

    async def read(query: ListTransactions) -> TransactionPage:
        return await list_transactions(query, serving(), store, now_ms=wall_clock_ms)

    async def look_back(query: ReadTransactionHistory) -> TransactionHistory:
        progress = serving().engine.ledger.half_progress
        read_page = partial(
            read_history,
            store,
            before=query.before,
            count=query.count,
            half_progress=progress,
            halves_back=query.halves_back,
        )
        return history_columns(await run(read_page))

    async def end(command: EndTransaction) -> Done:
        await serving().actions.end(command.origin, commit=command.commit)
        return Done()

    async def check(command: CheckTransaction) -> Done:
        await serving().actions.check(command.origin)
        return Done()

    async def resume(command: ResumeTransaction) -> Done:
        await serving().actions.resume(command.physical_offset)
        return Done()

    return [
        ListTransactions.answered_by(read),
        ReadTransactionHistory.answered_by(look_back),
        EndTransaction.answered_by(end),
        CheckTransaction.answered_by(check),
        ResumeTransaction.answered_by(resume),
    ]


def transaction_totals(transactions: Transactions) -> dict[str, float]:
    """Figures for `Snapshot.totals`; looks up each producer group with an undecided transaction."""
    engine = transactions.engine
    ledger, counters = engine.ledger, engine.counters
    waiting = sum(count for group, count in ledger.groups.items() if not transactions.living(group))
    return {
        "transactions_pending": len(ledger),
        "transactions_checking": ledger.checked,
        "transactions_waiting": waiting,
        "transactions_committed": counters.committed,
        "transactions_rolled_back": counters.rolled_back,
        "transactions_unknown": counters.unknown,
        "transactions_given_up": counters.given_up,
        "transactions_expired": counters.expired,
        "transactions_checks": counters.checks,
        "transactions_half_lag": ledger.half_end - ledger.half_progress,
        "transactions_half_end": ledger.half_end,
        "transactions_op_lag": ledger.op_end - ledger.op_progress + engine.owed_ops,
        "transactions_next_round_ms": transactions.next_round_ms,
        "transactions_unread": 0 if engine.is_loaded else engine.unread,
    }


class _EndedHalf(NamedTuple):
    half: HalfMessage
    ended: Ended | None


def check_page(start: int, count: int) -> None:
    """Raise `UsageError` for a page that is empty, too large, or before the first."""
    if not 1 <= count <= PAGE_MAX or start < 0:
        raise UsageError(f"a page has 1 to {PAGE_MAX:,} transactions from 0 on, not {count:,} from {start:,}")


async def list_transactions(
    query: ListTransactions, transactions: Transactions, store: MessageStore, *, now_ms: Callable[[], int]
) -> TransactionPage:
    """One page; reads the records of its rows, and for a search those of all. Raises `UsageError` for an impossible page."""
    check_page(query.start, query.count)
    words = words_of(query.words)
    if words:
        found = await with_words(_ended(query, transactions) if query.ended else _undecided(query, transactions), words, store)
        total, rows = len(found), _still(found, transactions)[query.start : query.start + query.count]
    else:
        total, rows = _ended_rows(query, transactions) if query.ended else _undecided_rows(query, transactions)
    return TransactionPage(
        total=total,
        check_times_max=transactions.engine.settings.check_times_max,
        **columns_of([row.half for row in rows], _HALF_COLUMNS),
        **columns_of([_head(store, row.half) for row in rows], HalfHead._fields),
        op_offset=[_op_offset(row, transactions) for row in rows],
        real_offset=[row.ended.real_offset if row.ended else row.half.real_offset for row in rows],
        state=[_state(row, transactions) for row in rows],
        producers=[transactions.living(row.half.group) for row in rows],
        next_check_ms=[_next_check_ms(row, transactions, now_ms()) for row in rows],
        ended_ms=[row.ended.at_ms if row.ended else -1 for row in rows],
    )


def _still(rows: list[_EndedHalf], transactions: Transactions) -> list[_EndedHalf]:
    """Rows that are still as they were when the search began."""
    return [row for row in rows if row.ended is not None or transactions.engine.ledger.is_undecided(row.half)]


def _undecided_rows(query: ListTransactions, transactions: Transactions) -> tuple[int, list[_EndedHalf]]:
    ledger = transactions.engine.ledger
    total = ledger.groups.get(query.group, 0) if query.group else len(ledger)
    return total, list(islice(_undecided(query, transactions), query.start, query.start + query.count))


def _undecided(query: ListTransactions, transactions: Transactions) -> Iterator[_EndedHalf]:
    # A copy, because the ledger changes between two rows of a search.
    halves = list(transactions.engine.ledger) if query.words else transactions.engine.ledger
    return (_EndedHalf(half, None) for half in halves if not query.group or half.group == query.group)


def _ended_rows(query: ListTransactions, transactions: Transactions) -> tuple[int, list[_EndedHalf]]:
    ended = list(_ended(query, transactions))
    return len(ended), ended[query.start : query.start + query.count]


def _ended(query: ListTransactions, transactions: Transactions) -> Iterator[_EndedHalf]:
    recent = list(reversed(transactions.engine.recent))
    return (_EndedHalf(item.half, item) for item in recent if not query.group or item.half.group == query.group)


def _state(row: _EndedHalf, transactions: Transactions) -> str:
    if row.ended is not None:
        return row.ended.outcome.value
    if row.half.real_offset >= 0:
        return "committed"
    if not transactions.living(row.half.group):
        return "waiting"
    return "checking" if row.half.check_times else "prepared"


def _op_offset(row: _EndedHalf, transactions: Transactions) -> int:
    return transactions.engine.ledger.op_end if row.ended is None else row.ended.op_offset


def _next_check_ms(row: _EndedHalf, transactions: Transactions, now_ms: int) -> int:
    """The first round in which a producer is asked."""
    engine, half = transactions.engine, row.half
    if row.ended is not None or half.real_offset >= 0 or not transactions.living(half.group):
        return -1
    first, interval = transactions.next_round_ms, engine.settings.check_interval_ms
    if engine.is_due(half, now_ms):
        return first
    due = half.born_ms + engine.wait_ms(half)
    return first if due <= first else first + -(-(due - first) // interval) * interval


def _head(store: MessageStore, half: HalfMessage) -> HalfHead:
    record = store.record_at(half.physical_offset)
    try:
        return HalfHead() if record is None else half_head(record)
    except RecordError:
        return HalfHead()


def history_columns(page: HistoryPage) -> TransactionHistory:
    lives = page.lives
    steps = [(row, step) for row, life in enumerate(lives) for step in life.steps]
    return TransactionHistory(
        next_before=page.next_before,
        **columns_of(lives, _LIFE_COLUMNS),
        state=[life.state.value for life in lives],
        tag=[life.tags for life in lives],
        deliveries=[len(life.real_offsets) for life in lives],
        step_row=[row for row, _step in steps],
        step_kind=[step.kind.value for _row, step in steps],
        step_ms=[step.at_ms for _row, step in steps],
        step_queue_offset=[step.queue_offset for _row, step in steps],
        step_physical_offset=[step.physical_offset for _row, step in steps],
        notice=page.notice,
    )
