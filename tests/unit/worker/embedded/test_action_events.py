"""Recorded actions, alerts and notes as events."""

import asyncio

import pytest

from broker_core.engine.tables.action_journal import JournalEntry
from broker_core.errors import UsageError
from broker_core.worker.embedded.action_events import DETAIL_MAX, TEXT_MAX, action_event
from broker_core.worker.embedded.queries import Queries
from broker_core.worker.questions.history import NoteEvent
from broker_core.worker.questions.lifecycle import Done
from tests.support.engine import Engine


def test_an_action_tells_its_subject_and_details():
    event = action_event(JournalEntry(5, "delay.cancel", "level 3", {"count": 2, "remark": "", "offsets": []}))
    assert (event.kind, event.at_ms, event.subject, event.text) == ("action", 5, "level 3", "delay.cancel: level 3 (count=2)")


def test_a_long_detail_is_cut():
    event = action_event(JournalEntry(5, "delay.cancel", "level 3", {"offsets": list(range(1_000))}))
    assert len(event.text) < DETAIL_MAX + 60
    assert "…" in event.text


def noted(engine: Engine, note: NoteEvent) -> object:
    queries = Queries(engine, console=None, shut_down=lambda: None)
    try:
        return asyncio.run(queries.answer(note))
    finally:
        queries.close()


@pytest.mark.parametrize("kind", ["alert", "note"])
def test_a_note_of_the_window_becomes_an_event_of_its_kind(engine: Engine, kind: str):
    assert noted(engine, NoteEvent(kind, "orders", "lag above 15,000")) == Done()
    (event,) = map(action_event, engine.journal.take_untold())
    assert (event.kind, event.subject, event.text) == (kind, "orders", "lag above 15,000")


@pytest.mark.parametrize(
    "note",
    [NoteEvent("topic_deleted", "orders", "x"), NoteEvent("note", "", "  "), NoteEvent("note", "", "x" * (TEXT_MAX + 1))],
)
def test_other_kinds_and_empty_or_endless_notes_are_refused(engine: Engine, note: NoteEvent):
    with pytest.raises(UsageError):
        noted(engine, note)
    assert engine.journal.last(5) == []
