"""Rows, columns and words of the Dead letters page."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from broker_core.api import addresses
from gui.models.table import CellKind, Column, known_number, number_column
from gui.theme.tokens import State
from gui.words.text import UNKNOWN, TimeZoneChoice, age_text, count_text, duration_text, tr
from monitoring.dead_letters import (
    CONSUMED,
    DIED_AGAIN,
    RETRYING,
    WAITING,
    DeadLetter,
    GroupFigures,
    WaitingRetry,
)
from monitoring.letter_notes import HANDLED, NEW, OPEN, PARKED, RESENT, LetterNote

MARKS = {
    NEW: ("New", State.CRITICAL),
    OPEN: ("Open", State.WARNING),
    PARKED: ("Parked", State.IDLE),
    HANDLED: ("Handled", State.HEALTHY),
    RESENT: ("Resent", State.PENDING),
}
PROOFS = {
    DIED_AGAIN: ("Died again", State.CRITICAL),
    CONSUMED: ("Consumed", State.HEALTHY),
    RETRYING: ("Retrying", State.RETRY),
    WAITING: ("Not read yet", State.PENDING),
    "unknown": ("Resent", State.PENDING),
}


BODY_SHOWN = 200
"""Characters of a body in the table."""


@dataclass(frozen=True, slots=True)
class DeadLetterGroup:
    """A group with its figures and the results of further reads. -1 is unknown."""

    figures: GroupFigures
    recent: int
    oldest_ms: int
    waiting: int
    is_cut: bool = False
    """Whether more retries may wait than were listed."""
    origins: tuple[tuple[str, int], ...] = ()
    """Most frequent origins of its newest dead letters, with counts."""
    first_due_ms: int = -1
    """When the next waiting retry is due."""
    note: str = ""
    """The user's note on the group."""


@dataclass(frozen=True, slots=True)
class LetterRow:
    """A dead letter with its note and the fate of its copy."""

    letter: DeadLetter
    note: LetterNote
    proof: str


def state_of(row: LetterRow) -> tuple[str, State]:
    """State of a dead letter in the language of the window, and its colour."""
    word, colour = (
        PROOFS[row.proof] if row.note.mark == RESENT and row.proof in PROOFS else MARKS.get(row.note.mark, MARKS[NEW])
    )
    return tr(word), colour


def group_columns(now_ms: Callable[[], int]) -> list[Column[DeadLetterGroup]]:
    return [
        Column("group", "Group", lambda row: row.figures.group, kind=CellKind.STRONG),
        # A number that is not known may be the highest, and comes before those of which 0 is known.
        Column("dead", "Dead", lambda row: count_text(row.figures.dead),
               sort=lambda row: math.inf if row.figures.dead < 0 else row.figures.dead,
               state=lambda row: State.CRITICAL if row.figures.dead > 0 else None, right=True, width=72),
        Column("recent", "Last 15 min", _recent_text, sort=lambda row: known_number(row.recent), right=True, width=92),
        Column("oldest", "Oldest", lambda row: age_text(row.oldest_ms, now_ms()) if row.oldest_ms >= 0 else UNKNOWN,
               sort=lambda row: known_number(row.oldest_ms), right=True, width=96),
        Column("newest", "Newest",
               lambda row: age_text(row.figures.last_died_ms, now_ms()) if row.figures.last_died_ms >= 0 else UNKNOWN,
               sort=lambda row: known_number(row.figures.last_died_ms), right=True, width=96),
        Column("waiting", "Retries waiting", _waiting_text, sort=lambda row: known_number(row.waiting),
               state=lambda row: State.RETRY if row.waiting > 0 else None, right=True, width=116,
               tip=lambda _row: tr("In delay levels before their next attempt")),
        Column("next", "Next attempt",
               lambda row: duration_text(max(0, row.first_due_ms - now_ms())) if row.first_due_ms >= 0 else UNKNOWN,
               sort=lambda row: known_number(row.first_due_ms), right=True, width=100),
        Column("unread", "Not read yet", _unread_text,
               sort=lambda row: known_number(row.figures.unread_retries), right=True, width=100, tip=_unread_tip),
        Column("origins", "Most from", _origins_text, tip=_origins_tip, dim=True, width=160, gives_way=1),
        Column("note", "Note", lambda row: row.note, dim=True, wants=120),
    ]  # fmt: skip


def _recent_text(row: DeadLetterGroup) -> str:
    return UNKNOWN if row.recent < 0 else f"+{count_text(row.recent)}"


def _waiting_text(row: DeadLetterGroup) -> str:
    if row.waiting < 0:
        return UNKNOWN
    return f"≥ {count_text(row.waiting)}" if row.is_cut else count_text(row.waiting)


def _unread_text(row: DeadLetterGroup) -> str:
    unread = row.figures.unread_retries
    if unread < 0:
        return UNKNOWN
    return f"≤ {count_text(unread)}" if row.figures.shared and unread else count_text(unread)


def _unread_tip(row: DeadLetterGroup) -> str:
    shared = (
        tr("Some may be of group {groups}: retry topic {topic} has the name of both", groups=groups, topic=topic)
        for topic, groups in row.figures.shared
    )
    return "\n".join([tr("In the retry topic, due, and not taken by a consumer"), *shared])


def _origins_text(row: DeadLetterGroup) -> str:
    return ", ".join(topic for topic, _count in row.origins) or UNKNOWN


def _origins_tip(row: DeadLetterGroup) -> str:
    words = ", ".join(f"{topic} {count_text(count)}" for topic, count in row.origins)
    return tr("Of its newest dead letters: {topics}", topics=words) if words else ""


def letter_columns(times: TimeZoneChoice, now_ms: Callable[[], int]) -> list[Column[LetterRow]]:
    return [
        Column("died", "Died", lambda row: times.shown(row.letter.died_ms, now_ms()), sort=lambda row: row.letter.died_ms,
               tip=lambda row: times.full(row.letter.died_ms), width=108, whole=True),
        Column("origin", "Original topic", lambda row: row.letter.origin_text or UNKNOWN, kind=CellKind.STRONG,
               tip=_origin_tip, width=140),
        Column("key", "Key", lambda row: row.letter.keys or UNKNOWN, kind=CellKind.KEYS, width=130),
        Column("tag", "Tag", lambda row: row.letter.tag or UNKNOWN, width=80, gives_way=1),
        number_column("tries", "Tries", lambda row: row.letter.tries, tip=lambda _row: tr("Deliveries that failed"), width=52,
                      gives_way=2),
        Column("host", "Producer", lambda row: addresses.host_of(row.letter.host), kind=CellKind.MONO, dim=True,
               tip=lambda row: row.letter.host, width=92, gives_way=3),
        Column("state", "State", lambda row: state_of(row)[0], kind=CellKind.CHIP, state=lambda row: state_of(row)[1],
               width=104),
        Column("body", "Body", lambda row: " ".join(row.letter.body[:BODY_SHOWN].split()), kind=CellKind.MONO, dim=True,
               gives_way=4),
        Column("note", "Note", lambda row: row.note.text, dim=True),
    ]  # fmt: skip


def _origin_tip(row: LetterRow) -> str:
    return tr("One of them: pairs of group and topic share the retry topic of its pop") if len(row.letter.origins) > 1 else ""


def searched_text(row: LetterRow) -> str:
    letter = row.letter
    facts = (letter.origin_text, letter.keys, letter.tag, letter.host, letter.body, row.note.text, state_of(row)[0])
    return " ".join(facts)


def retry_columns(times: TimeZoneChoice, now_ms: Callable[[], int]) -> list[Column[WaitingRetry]]:
    return [
        Column("group", "Group", lambda row: row.group, kind=CellKind.STRONG, width=170),
        number_column("attempt", "Attempt", lambda row: row.attempt, known=True, width=76),
        Column("due", "Next attempt", lambda row: times.shown(row.due_ms, now_ms()), sort=lambda row: row.due_ms,
               width=160, whole=True),
        Column("in", "Due in", lambda row: duration_text(max(0, row.due_ms - now_ms())), sort=lambda row: row.due_ms,
               right=True, width=84),
        Column("key", "Key", lambda row: row.keys or UNKNOWN, kind=CellKind.KEYS),
        Column("tag", "Tag", lambda row: row.tag or UNKNOWN, width=110),
    ]  # fmt: skip
