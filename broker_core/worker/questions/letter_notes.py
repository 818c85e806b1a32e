"""Notes of people on dead letters and on their groups; they are kept in the database of the history."""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Question, question

LETTERS_ASKED_MAX = 5_000


# ---- answers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LetterNotePage:
    """Parallel lists: one item a dead letter with a note, and one item a group with a note."""

    message_id: list[str]
    mark: list[str]
    text: list[str]
    topic: list[str]
    """Destination of the resend; empty without one."""
    queue_id: list[int]
    queue_offset: list[int]
    at_ms: list[int]
    group: list[str]
    group_text: list[str]


# ---- questions ---------------------------------------------------------------------------------------------------------


@question(acts=False)
class ReadLetterNotes(Question[LetterNotePage]):
    """Notes on dead letters and on all groups; the answer leaves out dead letters without a note.

    ``message_ids`` are offset message ids of up to `LETTERS_ASKED_MAX` dead letters, as in the questions below.
    """

    message_ids: list[str]


@question(acts=False)
class MarkLetters(Question[Done]):
    """Set the mark of dead letters."""

    message_ids: list[str]
    mark: str
    """As `monitoring.letter_notes.LetterNote.mark`."""


@question(acts=False)
class NoteLetters(Question[Done]):
    """Write the same text on dead letters; those marked new become open."""

    message_ids: list[str]
    text: str


@question(acts=False)
class NoteResends(Question[Done]):
    """Note that dead letters were sent again, and where to. Parallel lists, one item a dead letter."""

    message_ids: list[str]
    topic: list[str]
    queue_id: list[int]
    queue_offset: list[int]
    at_ms: list[int]


@question(acts=False)
class NoteGroup(Question[Done]):
    """Write a text on a whole group; an empty one removes it."""

    group: str
    text: str


@question(acts=False)
class AdoptNotes(Question[Done]):
    """Take over the notes in the settings of a window; a note that the database has already stays."""

    letters: str
    """JSON: offset message id → fields of the note; anything else is no notes."""
    groups: str
    """JSON: group → text; likewise."""


NoteCommand = MarkLetters | NoteLetters | NoteResends | NoteGroup | AdoptNotes
NoteQuery = ReadLetterNotes | NoteCommand
