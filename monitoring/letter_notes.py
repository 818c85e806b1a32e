"""Notes on dead letters, and their form in the settings of earlier windows. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.outside import read_json

NEW, OPEN, PARKED, HANDLED, RESENT = "new", "open", "parked", "handled", "resent"
_NUMBER_MAX = 2**63 - 1


@dataclass(frozen=True, slots=True)
class LetterNote:
    """A user's note on a dead letter, and where it was sent again.

    Attributes:
        mark: ``new``, ``open``, ``parked``, ``handled`` or ``resent``.
        topic, queue_id, queue_offset, at_ms: Place and time of the new message, if it was sent again.
    """

    mark: str = NEW
    text: str = ""
    topic: str = ""
    queue_id: int = -1
    queue_offset: int = -1
    at_ms: int = -1


def notes_from_json(text: str) -> dict[str, LetterNote]:
    """Notes by offset message id, from the settings of earlier windows: JSON, offset message id → fields of `LetterNote`.

    A text of another form holds no notes.
    """
    try:
        notes = {str(key): LetterNote(**values) for key, values in read_json(text).items()}
    except (ValueError, OverflowError, TypeError, AttributeError):
        return {}
    return {key: note for key, note in notes.items() if _is_sound(note)}


def _is_sound(note: LetterNote) -> bool:
    """Whether the database takes the values; a user may have edited the settings."""
    texts, numbers = (note.mark, note.text, note.topic), (note.queue_id, note.queue_offset, note.at_ms)
    return all(type(one) is str for one in texts) and all(type(one) is int and abs(one) <= _NUMBER_MAX for one in numbers)
