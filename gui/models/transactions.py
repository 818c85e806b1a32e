"""Rows and figures of the Transactions page. Pure: no widget, no text, no I/O. Times in ms since the epoch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from broker_core.worker.questions.transactions import AtomicPage, TransactionHistory, TransactionPage
from monitoring.payload.listed import ListMask, MaskOf

PREPARED, CHECKING, WAITING = "prepared", "checking", "waiting"
COMMITTED, ROLLED_BACK, GIVEN_UP, EXPIRED = "committed", "rolled back", "given up", "expired"
UNDECIDED = frozenset({PREPARED, CHECKING, WAITING})
LOST = frozenset({GIVEN_UP, EXPIRED})
HALF_STEPS = frozenset({"prepared", "checked", "postponed", "resumed"})
"""Steps that are a record in the half queue."""


@dataclass(frozen=True, slots=True)
class TransactionRow:
    """One transaction. -1 is unknown or missing."""

    origin: int
    half_offset: int
    op_offset: int
    physical_offset: int
    real_offset: int
    state: str
    group: str
    producers: int
    topic: str
    queue_id: int
    keys: str
    tag: str
    unique_key: str
    body_bytes: int
    born_ms: int
    check_times: int
    check_times_max: int
    asked_ms: int
    next_check_ms: int
    ended_ms: int

    @property
    def name(self) -> str:
        """Its key, else its unique id."""
        return self.keys or self.unique_key

    @property
    def is_undecided(self) -> bool:
        return self.ended_ms < 0

    def age_ms(self, now_ms: int) -> int:
        """Time since its birth; of an ended one, until its end."""
        return max(0, (now_ms if self.is_undecided else self.ended_ms) - self.born_ms)


def transaction_rows(page: TransactionPage, mask_of: MaskOf) -> list[TransactionRow]:
    """Rows of a page, masked."""
    tags, keys = ([mask_of(topic).text(text) for topic, text in zip(page.topic, texts, strict=True)]
                  for texts in (page.tag, page.keys))  # fmt: skip
    columns = zip(
        page.origin, page.half_offset, page.op_offset, page.physical_offset, page.real_offset, page.state, page.group,
        page.producers, page.topic, page.queue_id, keys, tags, page.unique_key, page.body_bytes, page.born_ms,
        page.check_times, [page.check_times_max] * len(page.origin), page.asked_ms, page.next_check_ms, page.ended_ms,
        strict=True,
    )  # fmt: skip
    return [TransactionRow(*values) for values in columns]


@dataclass(frozen=True, slots=True)
class BoardFigures:
    """Counts by state; rates in messages/s. NaN is unknown.

    Attributes:
        op_lag: Op records that are not processed yet.
        unread: Records that a start has still to read before all undecided transactions are known.
    """

    prepared: float
    checking: float
    without_producer: float
    committed: float
    rolled_back: float
    given_up: float
    commit_rate: float
    rollback_rate: float
    checks: float
    next_round_ms: float
    unknown_rate: float = math.nan
    op_lag: float = math.nan
    unread: float = 0

    @property
    def undecided(self) -> float:
        return self.prepared + self.checking


def board_figures(totals: Mapping[str, float]) -> BoardFigures:

    def total(name: str) -> float:
        return totals.get(name, math.nan)

    checking = total("transactions_checking")
    return BoardFigures(
        prepared=total("transactions_pending") - checking,
        checking=checking,
        without_producer=total("transactions_waiting"),
        committed=total("transactions_committed"),
        rolled_back=total("transactions_rolled_back"),
        given_up=total("transactions_given_up") + total("transactions_expired"),
        commit_rate=total("transaction_commit_rate"),
        rollback_rate=total("transaction_rollback_rate"),
        checks=total("transactions_checks"),
        next_round_ms=total("transactions_next_round_ms"),
        unknown_rate=total("transaction_unknown_rate"),
        op_lag=total("transactions_op_lag"),
        unread=totals.get("transactions_unread", 0),
    )


def decision_times(rows: Sequence[TransactionRow]) -> tuple[float, float]:
    """Median and 99th percentile of the time from birth to decision, in ms; NaN where nothing was decided."""
    decided = [row.ended_ms - row.born_ms for row in rows if row.state in (COMMITTED, ROLLED_BACK) and row.ended_ms >= 0]
    if not decided:
        return math.nan, math.nan
    p50, p99 = np.percentile(np.array(decided, np.float64), (50, 99)).tolist()
    return p50, p99


# ---- the life of one ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TransactionStep:
    """A record of a transaction in the store, at ``at_ms`` since the epoch."""

    kind: str
    at_ms: int
    queue_offset: int
    physical_offset: int


@dataclass(frozen=True, slots=True)
class TransactionLife:
    """A transaction as the store records it."""

    origin: int
    state: str
    op_offset: int
    deliveries: int
    steps: tuple[TransactionStep, ...]


def lives(history: TransactionHistory) -> list[TransactionLife]:
    """All transactions of a page of history, newest first."""
    steps: dict[int, list[TransactionStep]] = {}
    columns = zip(
        history.step_row, history.step_kind, history.step_ms, history.step_queue_offset, history.step_physical_offset,
        strict=True,
    )  # fmt: skip
    for row, kind, at_ms, queue_offset, physical_offset in columns:
        steps.setdefault(row, []).append(TransactionStep(kind, at_ms, queue_offset, physical_offset))
    return [
        TransactionLife(origin, history.state[i], history.op_offset[i], history.deliveries[i], tuple(steps.get(i, ())))
        for i, origin in enumerate(history.origin)
    ]


def past_rows(history: TransactionHistory, mask_of: MaskOf) -> list[TransactionRow]:
    """Transactions of the store as rows; facts that only the running broker knows are unknown."""
    return [_past_row(history, i, life, mask_of(history.topic[i])) for i, life in enumerate(lives(history))]


def _past_row(history: TransactionHistory, i: int, life: TransactionLife, mask: ListMask) -> TransactionRow:
    half = next((step for step in reversed(life.steps) if step.kind in HALF_STEPS), TransactionStep("", -1, -1, -1))
    real = next((step.physical_offset for step in life.steps if step.kind == "delivered"), -1)
    given_up = next((step.physical_offset for step in life.steps if step.kind == "given up"), half.physical_offset)
    return TransactionRow(
        origin=life.origin,
        half_offset=half.queue_offset,
        op_offset=life.op_offset,
        physical_offset=given_up if life.state in LOST else half.physical_offset,
        real_offset=real,
        state=life.state,
        group=history.group[i],
        producers=-1,
        topic=history.topic[i],
        queue_id=history.queue_id[i],
        keys=mask.text(history.keys[i]),
        tag=mask.text(history.tag[i]),
        unique_key=history.unique_key[i],
        body_bytes=-1,
        born_ms=history.born_ms[i],
        check_times=history.check_times[i],
        check_times_max=-1,
        asked_ms=-1,
        next_check_ms=-1,
        ended_ms=-1 if life.state in UNDECIDED or not life.steps else life.steps[-1].at_ms,
    )


# ---- half queue and op queue -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueueRecord:
    """One record of the half or the op queue. ``state`` is empty for a half record that a later copy replaced."""

    offset: int
    origin: int
    state: str


@dataclass(frozen=True, slots=True)
class HalfOpPicture:
    """The ends of both queues, and which op record closes which half record.

    Attributes:
        halves: Rising by offset.
        ops: Rising by offset.
        half_progress: First half record that is not processed; -1 unknown.
        op_progress: First op record that is not read; -1 unknown.
        is_end: Whether these are the newest records.
    """

    halves: tuple[QueueRecord, ...] = ()
    ops: tuple[QueueRecord, ...] = ()
    half_progress: int = -1
    op_progress: int = -1
    is_end: bool = True

    def links(self) -> list[tuple[QueueRecord, QueueRecord]]:
        """Half records with the op record that closes them."""
        last = {cell.origin: cell for cell in self.halves if cell.state}
        return [(last[op.origin], op) for op in self.ops if op.origin in last]


def half_op_picture(
    found: Sequence[TransactionLife], half_lag: float, op_lag: float, count: int, *, before: int = -1
) -> HalfOpPicture:
    """The last ``count`` records of each queue, as far as the lives have them.

    Args:
        found: Lives.
        half_lag: Records between the progress of the half queue and its end.
        op_lag: The same of the op queue.
        count: Cells of each queue at most.
        before: Exclusive end of the half records; -1: the end of the queue. Only then is the progress known.
    """
    halves: dict[int, QueueRecord] = {}
    ops: dict[int, QueueRecord] = {}
    for life in found:
        places = [step.queue_offset for step in life.steps if step.kind in HALF_STEPS]
        for place in [place for place in places if before < 0 or place < before]:
            halves[place] = QueueRecord(place, life.origin, life.state if place == max(places) else "")
        if life.op_offset >= 0 and life.state in (COMMITTED, ROLLED_BACK):
            ops[life.op_offset] = QueueRecord(life.op_offset, life.origin, life.state)
    return HalfOpPicture(
        halves=tuple(halves[offset] for offset in sorted(halves)[-count:]),
        ops=tuple(ops[offset] for offset in sorted(ops)[-count:]),
        half_progress=_progress(halves, half_lag) if before < 0 else -1,
        op_progress=_progress(ops, op_lag) if before < 0 else -1,
        is_end=before < 0,
    )


def _progress(cells: Mapping[int, QueueRecord], lag: float) -> int:
    return -1 if not cells or math.isnan(lag) else max(cells) + 1 - int(lag)


# ---- atomic transactions -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class WaitingQueue:
    """A queue whose readers wait for an open atomic transaction."""

    topic: str
    queue_id: int
    first_offset: int
    held_back: int


@dataclass(frozen=True, slots=True)
class AtomicRow:
    """A producer with atomic transactions, and its open or last one."""

    name: str
    producer_id: int
    epoch: int
    state: str
    start_ms: int
    update_ms: int
    timeout_ms: int
    positions: int
    queues: tuple[WaitingQueue, ...]

    @property
    def is_open(self) -> bool:
        return self.start_ms >= 0

    @property
    def held_back(self) -> int:
        """Messages that readers do not receive yet."""
        return sum(queue.held_back for queue in self.queues)


def atomic_rows(page: AtomicPage) -> list[AtomicRow]:
    held: dict[int, list[WaitingQueue]] = {}
    columns = zip(page.queue_row, page.queue_topic, page.queue_id, page.queue_first_offset, page.queue_held_back, strict=True)
    for row, topic, queue_id, first_offset, held_back in columns:
        held.setdefault(row, []).append(WaitingQueue(topic, queue_id, first_offset, held_back))
    return [
        AtomicRow(
            name, page.producer_id[i], page.epoch[i], page.state[i], page.start_ms[i], page.update_ms[i], page.timeout_ms[i],
            page.offsets[i], tuple(held.get(i, ())),
        )
        for i, name in enumerate(page.name)
    ]  # fmt: skip
