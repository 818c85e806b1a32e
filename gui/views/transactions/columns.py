"""Columns and state words of the Transactions page."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gui.models.table import CellKind, Column, known_number, number_column
from gui.models.transactions import (
    CHECKING,
    COMMITTED,
    EXPIRED,
    GIVEN_UP,
    PREPARED,
    ROLLED_BACK,
    WAITING,
    AtomicRow,
    TransactionRow,
    WaitingQueue,
)
from gui.theme.tokens import State
from gui.views.delay.columns import countdown_text
from gui.words.text import UNKNOWN, duration_text, tr

CHECKS_LOW_SHARE = 0.75
"""Share of the allowed checks from which the pips warn."""

STATE_WORDS = {
    PREPARED: ("Prepared", State.PENDING),
    CHECKING: ("Checking", State.CHECKING),
    WAITING: ("No producer", State.WARNING),
    COMMITTED: ("Committed", State.COMMITTED),
    ROLLED_BACK: ("Rolled back", State.IDLE),
    GIVEN_UP: ("Given up", State.CRITICAL),
    EXPIRED: ("Expired", State.CRITICAL),
    "done with": ("Done with", State.IDLE),
}
ATOMIC_WORDS = {
    "open": ("Open", State.PENDING),
    "deciding": ("Deciding", State.CHECKING),
    "committed": ("Committed", State.COMMITTED),
    "aborted": ("Aborted", State.IDLE),
    "empty": ("Not used yet", State.PLAIN),
}


def state_word(state: str) -> tuple[str, State]:
    """A state in the language of the window, and its colour; an unknown one unchanged."""
    word, colour = STATE_WORDS.get(state, (state, State.PLAIN))
    return tr(word), colour


def span_text(milliseconds: float) -> str:
    """A time span: ``84 ms`` below a second, else as any duration."""
    return duration_text(milliseconds) if milliseconds >= 1_000 else f"{milliseconds:.0f} ms"


def columns_to_hide(rows: Sequence[TransactionRow], *, is_outside: bool) -> set[str]:
    """Keys of columns that an attached cluster cannot fill; that nobody can be asked is known there, too."""
    if not is_outside:
        return set()
    return {"next"} if any(row.state == WAITING for row in rows) else {"next", "asked"}


def transaction_columns(now_ms: Callable[[], int]) -> list[Column[TransactionRow]]:
    """Columns of the list. ``now_ms`` is the broker's clock."""
    return [
        Column("state", "State", lambda row: state_word(row.state)[0], kind=CellKind.CHIP,
               state=lambda row: state_word(row.state)[1], width=112),
        Column("key", "Key", lambda row: row.name.split()[0] if row.name else UNKNOWN, kind=CellKind.KEYS,
               tip=lambda row: row.name, wants=126),
        Column("topic", "Real topic", lambda row: row.topic, kind=CellKind.STRONG, width=130),
        Column("group", "Producers", lambda row: row.group, width=96, gives_way=2),
        Column("age", "Age", lambda row: span_text(row.age_ms(now_ms())), sort=lambda row: -row.born_ms,
               tip=lambda row: tr("From birth to decision") if not row.is_undecided else "", right=True, width=70),
        Column("checks", "Checks", _checks_text, sort=lambda row: row.check_times, kind=CellKind.PIPS,
               value=lambda row: (row.check_times, max(row.check_times, row.check_times_max)), state=_pips_state, width=128),
        Column("next", "Next", lambda row: _next_text(row, now_ms()),
               sort=lambda row: known_number(row.next_check_ms), right=True, width=66),
        Column("asked", "Asked", lambda row: _asked_text(row, now_ms()), sort=lambda row: row.asked_ms,
               state=lambda row: State.WARNING if row.state == WAITING else None, dim=True, width=78, gives_way=1),
    ]  # fmt: skip


def _checks_text(row: TransactionRow) -> str:
    most = row.check_times_max if row.check_times_max >= 0 else UNKNOWN
    return tr("{count} of {most}", count=row.check_times, most=most)


def _pips_state(row: TransactionRow) -> State:
    is_low = 0 < CHECKS_LOW_SHARE * row.check_times_max <= row.check_times
    return State.WARNING if is_low else State.CHECKING


def _next_text(row: TransactionRow, now_ms: int) -> str:
    return UNKNOWN if row.next_check_ms < 0 else countdown_text(max(0, row.next_check_ms - now_ms) // 1000 * 1000)[:5]


def _asked_text(row: TransactionRow, now_ms: int) -> str:
    if row.state == WAITING:
        return tr("nobody")
    return UNKNOWN if row.asked_ms < 0 else tr("{age} ago", age=duration_text(max(0, now_ms - row.asked_ms)))


def atomic_columns(now_ms: Callable[[], int]) -> list[Column[AtomicRow]]:
    return [
        Column("state", "State", lambda row: tr(ATOMIC_WORDS.get(row.state, (row.state, State.PLAIN))[0]),
               kind=CellKind.CHIP, state=lambda row: ATOMIC_WORDS.get(row.state, (row.state, State.PLAIN))[1], width=116),
        Column("name", "Transactional ID", lambda row: row.name, kind=CellKind.MONO),
        Column("age", "Open for", lambda row: duration_text(now_ms() - row.start_ms) if row.is_open else UNKNOWN,
               sort=lambda row: -row.start_ms if row.is_open else None, right=True, width=92),
        number_column("timeout", "Timeout", lambda row: row.timeout_ms, duration_text, width=84),
        number_column("queues", "Queues", lambda row: len(row.queues), width=72),
        number_column("held", "Held back", lambda row: row.held_back, width=88),
        number_column("positions", "Positions", lambda row: row.positions,
                      tip=lambda _row: tr("Consumer positions that are committed with it"), width=84),
        Column("producer", "Producer ID", lambda row: f"{row.producer_id} / {row.epoch}", kind=CellKind.MONO, dim=True,
               tip=lambda _row: tr("Producer id and its epoch"), width=104),
    ]  # fmt: skip


def held_columns() -> list[Column[WaitingQueue]]:
    """Columns of the queues that an open atomic transaction holds back."""
    return [
        Column("topic", "Topic", lambda row: row.topic, kind=CellKind.STRONG),
        number_column("queue", "Queue", lambda row: row.queue_id, str, width=76),
        number_column("stable", "Stable to", lambda row: row.first_offset,
                      tip=lambda _row: tr("Readers of committed messages get no message from this offset on"), width=92),
        number_column("held", "Held back", lambda row: row.held_back, width=88),
    ]  # fmt: skip
