"""Transactions with half messages, and atomic ones."""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Question, question

# ---- answers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TransactionPage:
    """Parallel lists, one item a transaction; -1 for a value that is unknown or missing."""

    total: int
    """Transactions that match the query, not only those of this page."""
    check_times_max: int
    origin: list[int]
    """Half offset of the first half: its name in commands."""
    half_offset: list[int]
    op_offset: list[int]
    """Op record that decided it; of an undecided one, where the next one will be."""
    physical_offset: list[int]
    """Of the half message, for `ReadMessage`; of a given-up one, that of its half."""
    real_offset: list[int]
    state: list[str]
    """``prepared``, ``checking``, ``waiting`` (no producer is connected), ``committed``, ``rolled back``, ``given up``,
    ``expired``."""
    group: list[str]
    producers: list[int]
    topic: list[str]
    queue_id: list[int]
    keys: list[str]
    tag: list[str]
    unique_key: list[str]
    body_bytes: list[int]
    born_ms: list[int]
    check_times: list[int]
    asked_ms: list[int]
    next_check_ms: list[int]
    """When a producer is asked next; -1 where none can be asked, and for ended ones."""
    ended_ms: list[int]
    notice: str = ""


@dataclass(frozen=True, slots=True)
class TransactionHistory:
    """Transactions, newest first, and their steps. The first lists have one item a transaction, the last ones one a step."""

    next_before: int
    """For the next page; -1 when this is the last."""
    origin: list[int]
    state: list[str]
    """``prepared``, ``checking``, ``committed``, ``rolled back``, ``given up``, ``done with``."""
    group: list[str]
    topic: list[str]
    queue_id: list[int]
    keys: list[str]
    tag: list[str]
    unique_key: list[str]
    born_ms: list[int]
    check_times: list[int]
    op_offset: list[int]
    deliveries: list[int]
    """Real messages; more than one where consumers got it again."""
    step_row: list[int]
    """Index of the transaction of each step; steps of a transaction are together, in the order of time."""
    step_kind: list[str]
    """``prepared``, ``checked``, ``postponed``, ``resumed``, ``decided``, ``delivered``, ``given up``."""
    step_ms: list[int]
    step_queue_offset: list[int]
    step_physical_offset: list[int]
    notice: str = ""


@dataclass(frozen=True, slots=True)
class AtomicPage:
    """Parallel lists: the first have one item a transactional id, those that begin with ``queue`` one a queue it holds back."""

    total: int
    name: list[str]
    producer_id: list[int]
    epoch: list[int]
    state: list[str]
    """``empty``, ``open``, ``deciding``, ``committed``, ``aborted``: of the open or the last transaction."""
    start_ms: list[int]
    """When the open one began, -1 where none is open."""
    update_ms: list[int]
    timeout_ms: list[int]
    offsets: list[int]
    queue_row: list[int]
    """Index into the first lists."""
    queue_topic: list[str]
    queue_id: list[int]
    queue_first_offset: list[int]
    """Readers get no message from here on."""
    queue_held_back: list[int]
    """Messages stored from there on."""


# ---- questions ---------------------------------------------------------------------------------------------------------


@question(acts=False)
class ListTransactions(Question[TransactionPage]):
    """Undecided transactions in the order of their half offsets, or those that ended last.

    Attributes:
        start: Rows to skip.
        count: Rows at most, 1 to 1,000.
        group: Only of this producer group; empty for all.
        ended: Whether to list ended ones, the newest first, instead of undecided ones.
        words: Only those with all these words in key, unique key, tag, topic or group, letter case aside; empty for all. Every
            transaction is searched, not only those of the page.
    """

    start: int
    count: int
    group: str = ""
    ended: bool = False
    words: str = ""


@question(acts=True)
class EndTransaction(Question[Done]):
    """Commit or roll back an undecided transaction by hand. Recorded in the journal of actions."""

    origin: int
    commit: bool


@question(acts=True)
class CheckTransaction(Question[Done]):
    """Ask a producer about an undecided transaction now. Recorded."""

    origin: int


@question(acts=True)
class ResumeTransaction(Question[Done]):
    """Put a given-up message back into the half topic, to be checked again. Recorded.

    ``physical_offset`` is that of the message in the discard topic.
    """

    physical_offset: int


@question(acts=False)
class ReadTransactionHistory(Question[TransactionHistory]):
    """Transactions of the store whose first half lies before a half offset (-1: the end).

    Half messages are read from ``halves_back`` before that place to the end of their queue: the fewer, the cheaper.
    """

    before: int = -1
    count: int = 100
    halves_back: int = 20_000


@question(acts=False)
class ListAtomic(Question[AtomicPage]):
    """Transactional ids of producers with atomic transactions, open ones first. ``count`` ≤ 1,000."""

    start: int
    count: int


@question(acts=True)
class AbortAtomic(Question[Done]):
    """Abort an open atomic transaction by the transactional id. Recorded in the journal of actions."""

    name: str
