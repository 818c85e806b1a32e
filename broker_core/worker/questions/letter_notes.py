"""Notes of people on dead letters and on their groups; they are kept in the database of the history."""

from __future__ import annotations

from dataclasses import dataclass

LETTERS_ASKED_MAX = 5_000
"""Dead letters that one question names."""

# ---- window → worker ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ReadLetterNotes:
    """Notes on dead letters and on all groups. Answer: `LetterNotePage`.

    Attributes:
        message_ids: Offset message ids of up to `LETTERS_ASKED_MAX` dead letters, as in the questions below. Those without a
            note are not in the answer.
    """

    message_ids: list[str]


@dataclass(frozen=True, slots=True)
class MarkLetters:
    """Set the mark of dead letters. Answer: `Done`."""

    message_ids: list[str]
    mark: str
    """As `monitoring.letter_notes.Note.mark`."""


@dataclass(frozen=True, slots=True)
class NoteLetters:
    """Write the same text on dead letters; those marked new become open. Answer: `Done`."""

    message_ids: list[str]
    text: str


@dataclass(frozen=True, slots=True)
class NoteResends:
    """Note that dead letters were sent again, and where to. Parallel lists, one item a dead letter. Answer: `Done`."""

    message_ids: list[str]
    topic: list[str]
    queue_id: list[int]
    queue_offset: list[int]
    at_ms: list[int]


@dataclass(frozen=True, slots=True)
class NoteGroup:
    """Write the text on a whole group; an empty one removes it. Answer: `Done`."""

    group: str
    text: str


@dataclass(frozen=True, slots=True)
class AdoptNotes:
    """Take over the notes in the settings of a window; a note that the database has already stays. Answer: `Done`."""

    letters: str
    """JSON: offset message id → fields of the note; anything else is no notes."""
    groups: str
    """JSON: group → text; likewise."""


NoteCommand = MarkLetters | NoteLetters | NoteResends | NoteGroup | AdoptNotes
NoteQuery = ReadLetterNotes | NoteCommand


# ---- answers -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LetterNotePage:
    """Parallel lists: one item a dead letter with a note, and one item a group with a note."""

    message_id: list[str]
    mark: list[str]
    text: list[str]
    topic: list[str]
    """Where it was sent again; empty: it was not."""
    queue_id: list[int]
    queue_offset: list[int]
    at_ms: list[int]
    group: list[str]
    group_text: list[str]
