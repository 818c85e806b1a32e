"""Journal entries as events of the history: actions, alerts of the window, notes of a person."""

from __future__ import annotations

from functools import partial

from broker_core.engine.tables.action_journal import ActionJournal, JournalEntry
from broker_core.errors import UsageError
from broker_core.worker.questions.figures import Occurred
from broker_core.worker.questions.history import NoteEvent
from broker_core.worker.questions.lifecycle import Done
from broker_core.worker.questions.question import Handler

ACTION, ALERT, NOTE = "action", "alert", "note"
TEXT_MAX = 500
"""Characters of a note."""
DETAIL_MAX = 200
"""Characters of one detail, because a list of a thousand offsets says no more than its beginning."""


def action_event(entry: JournalEntry) -> Occurred:
    """An action of a person as an event: ``topic.delete: orders (count=2)``."""
    if entry.action in (ALERT, NOTE):
        return Occurred(entry.action, str(entry.details.get("text", "")), entry.at_ms, entry.subject)
    details = ", ".join(f"{name}={_short(value)}" for name, value in entry.details.items() if value not in ("", None, []))
    text = f"{entry.action}: {entry.subject}" + (f" ({details})" if details else "")
    return Occurred(ACTION, text, entry.at_ms, entry.subject)


def note_handlers(journal: ActionJournal) -> list[Handler]:
    return [NoteEvent.answered_by(partial(note_event, journal))]


async def note_event(journal: ActionJournal, note: NoteEvent) -> Done:
    """Record an alert or a note, which becomes an event with the next sample.

    Raises `UsageError` for another kind, an empty or too long text, `StoreError` where the journal cannot be written.
    """
    if note.kind not in (ALERT, NOTE):
        raise UsageError(f"events of the kind “{note.kind}” are noted by the broker itself", kind=note.kind)
    if not note.text.strip() or len(note.text) > TEXT_MAX or len(note.subject) > TEXT_MAX:
        raise UsageError(f"a note has 1 to {TEXT_MAX} characters, not {len(note.text)}")
    await journal.record(note.kind, note.subject, text=note.text)
    return Done()


def _short(value: object) -> str:
    text = " ".join(str(value).split())
    return text if len(text) <= DETAIL_MAX else f"{text[:DETAIL_MAX]}…"
