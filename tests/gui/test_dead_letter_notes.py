"""Notes of the Dead letters page: read and changed in the worker, taken over from the settings of earlier windows."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import QObject
from shiboken6 import delete

from broker_core.api import WorkerError
from broker_core.worker.questions.letter_notes import (
    AdoptNotes,
    LetterNotePage,
    MarkLetters,
    NoteGroup,
    NoteLetters,
    NoteResends,
    ReadLetterNotes,
)
from gui.views.dead_letters.flow import CLOSE
from gui.views.dead_letters.notebook import GROUP_NOTES_KEY, NOTES_KEY, NoteBook
from gui.views.dead_letters.view import RETRIES_AGAIN_MS, DeadLettersView
from monitoring.letter_notes import HANDLED, OPEN, PARKED, RESENT, LetterNote
from tests.gui.test_dead_letters import DeadSource, letter, select, write
from tests.support.fake_source import TAKEN_MS, fake_state

pytestmark = [pytest.mark.qt_log_level_fail("WARNING")]

NO_HISTORY = WorkerError("no history is kept by this broker process")


@pytest.fixture
def source() -> DeadSource:
    return DeadSource(fake_state())


@pytest.fixture
def view(show_page, source):
    return show_page(DeadLettersView, source)


def asked(source, kind: type) -> list:
    return [query for query in source.asked_notes if isinstance(query, kind)]


def answer_next(source) -> None:
    source.held_notes.pop(0).release()


def stored_notes(source, *ids: str) -> dict[str, str]:
    """Texts by message id, as the worker has them."""
    answers = []
    source.ask(ReadLetterNotes(list(ids))).then(answers.append, answers.append)
    [page] = answers
    assert isinstance(page, LetterNotePage)
    return dict(zip(page.message_id, page.text, strict=True))


def id_of(view, offset: int) -> str:
    return letter(view, offset).letter.offset_message_id


def resent(view, offset: int) -> dict[str, LetterNote]:
    """A note on a dead letter that was sent again, to its own offset."""
    return {id_of(view, offset): LetterNote(RESENT, "", "orders", 0, offset, TAKEN_MS)}


# ---- changes -----------------------------------------------------------------------------------------------------------


def test_a_note_is_shown_when_the_worker_has_acknowledged_it(view, source):
    select(view, 3)
    source.hold_notes = True
    write(view, "warehouse 7 is closed")
    assert letter(view, 3).note.text == ""
    answer_next(source)
    assert letter(view, 3).note.text == "", "the notes are read again"
    answer_next(source)
    assert (letter(view, 3).note.text, letter(view, 3).note.mark) == ("warehouse 7 is closed", OPEN)


def test_the_notes_of_the_letters_shown_are_read_in_one_question(view, source):
    (query,) = asked(source, ReadLetterNotes)[:1]
    assert set(query.message_ids) == {row.letter.offset_message_id for row in view.letters.rows}


def test_changes_go_to_the_worker_one_after_another(view, source):
    source.hold_notes = True
    view.notes.mark([letter(view, 3)], HANDLED)
    view.notes.write([letter(view, 3).letter], "x")
    view.notes.write_group("stock-worker", "y")
    changes = (MarkLetters, NoteLetters, NoteGroup)
    assert [len(asked(source, kind)) for kind in changes] == [1, 0, 0]
    answer_next(source)
    assert [len(asked(source, kind)) for kind in changes] == [1, 1, 0]
    source.hold_notes = False
    while source.held_notes:
        answer_next(source)
    assert [len(asked(source, kind)) for kind in changes] == [1, 1, 1]
    assert (letter(view, 3).note.mark, letter(view, 3).note.text) == (HANDLED, "x")
    assert view.notes.of_group("stock-worker") == "y"


def test_a_change_that_the_worker_refuses_is_reported_and_not_shown(view, source, window):
    select(view, 3)
    source.fail_notes_with = WorkerError("the disk is full")
    write(view, "poison")
    assert letter(view, 3).note.text == ""
    assert "The note was not kept: the disk is full" in str(window.notices)
    source.fail_notes_with = None
    view.side.note.clearFocus()
    write(view, "poison")
    assert letter(view, 3).note.text == "poison"


def test_a_note_that_arrives_while_the_field_is_edited_is_not_replaced_by_what_nobody_wrote(view, source, show_page, qtbot):
    select(view, 3)
    view.side.note.setFocus()
    qtbot.waitUntil(view.side.note.hasFocus)
    other = show_page(DeadLettersView, source)
    other.notes.write([letter(other, 3).letter], "poison")
    view.refresh()
    view.side.note.editingFinished.emit()
    assert stored_notes(source, id_of(view, 3)) == {id_of(view, 3): "poison"}


# ---- resends -----------------------------------------------------------------------------------------------------------


def test_resends_are_shown_at_once_and_noted_in_one_command(view, source, qtbot):
    for offset in (3, 4, 5):
        view.notes.sent(resent(view, offset))
    assert {letter(view, offset).note.mark for offset in (3, 4, 5)} == {RESENT}
    assert asked(source, NoteResends) == []
    qtbot.waitUntil(lambda: bool(asked(source, NoteResends)))
    (command,) = asked(source, NoteResends)
    assert command.message_ids == [id_of(view, offset) for offset in (3, 4, 5)]
    assert command.queue_offset == [3, 4, 5]
    view.refresh()
    assert letter(view, 4).note.queue_offset == 4


def test_a_resend_stays_noted_when_a_reading_from_before_is_answered_after_it(view, source, qtbot):
    source.hold_notes = True
    view.notes.read_again()
    (earlier,) = source.held_notes
    view.notes.sent(resent(view, 3))
    qtbot.waitUntil(lambda: bool(asked(source, NoteResends)))
    source.hold_notes = False
    source.held_notes[1].release()
    earlier.release()
    assert (letter(view, 3).note.mark, letter(view, 3).note.queue_offset) == (RESENT, 3)


def test_a_mark_after_a_resend_stays(view, source):
    view.notes.sent(resent(view, 3))
    view.notes.mark([letter(view, 3)], HANDLED)
    assert [type(query) for query in source.asked_notes][-3:] == [NoteResends, MarkLetters, ReadLetterNotes]
    assert (letter(view, 3).note.mark, letter(view, 3).note.queue_offset) == (HANDLED, 3)


def test_resends_that_could_not_be_noted_stay_on_the_page_and_are_noted_later(view, source, qtbot):
    source.fail_notes_with = WorkerError("the disk is full")
    view.notes.sent(resent(view, 3))
    qtbot.waitUntil(lambda: bool(view.notes.refusal))
    assert letter(view, 3).note.mark == RESENT
    source.fail_notes_with = None
    view.refresh()
    assert view.notes.refusal == ""
    again = NoteBook(source, view.context.settings, view)
    again.read([letter(view, 3).letter])
    assert again.of(letter(view, 3).letter).queue_offset == 3


def test_resends_are_noted_also_when_the_page_is_closed_at_once(view, source):
    page = QObject()
    notes = NoteBook(source, view.context.settings, page)
    notes.sent(resent(view, 3))
    notes.sent(resent(view, 4))
    assert asked(source, NoteResends) == []
    delete(page)
    (command,) = asked(source, NoteResends)
    assert command.message_ids == [id_of(view, 3), id_of(view, 4)]


def test_an_answer_after_the_page_was_closed_does_no_harm(view, source):
    page = QObject()
    notes = NoteBook(source, view.context.settings, page)
    source.hold_notes = True
    notes.mark([letter(view, 3)], HANDLED)
    notes.write_group("stock-worker", "x")
    delete(page)
    while source.held_notes:
        answer_next(source)
    assert view.notes.of_group("stock-worker") == ""
    source.hold_notes = False
    view.refresh()
    assert (letter(view, 3).note.mark, view.notes.of_group("stock-worker")) == (HANDLED, "x")


# ---- notes in the settings of an earlier Orbit -------------------------------------------------------------------------


@pytest.fixture
def old_view(show_page, source, view):
    """Shows the page with notes in the settings, on stock-worker and its third dead letter."""

    def show():
        settings = view.context.settings
        settings.setValue(NOTES_KEY, json.dumps({id_of(view, 3): {"mark": PARKED, "text": "poison, 七"}}))
        settings.setValue(GROUP_NOTES_KEY, json.dumps({"stock-worker": "bank holiday"}))
        source.asked_notes.clear()
        return show_page(DeadLettersView, source)

    return show


def has_old(view) -> bool:
    return any(view.context.settings.contains(key) for key in (NOTES_KEY, GROUP_NOTES_KEY))


def test_the_notes_of_the_settings_are_taken_over_once(old_view, source, show_page):
    view = old_view()
    assert (letter(view, 3).note.text, letter(view, 3).note.mark) == ("poison, 七", PARKED)
    assert view.group_panel.note.text() == "bank holiday"
    assert not has_old(view)
    assert len(asked(source, AdoptNotes)) == 1
    show_page(DeadLettersView, source)
    assert len(asked(source, AdoptNotes)) == 1


def test_the_notes_stay_in_the_settings_until_the_worker_has_them(old_view, source):
    source.hold_notes = True
    view = old_view()
    assert has_old(view)
    source.hold_notes = False
    answer_next(source)
    assert not has_old(view)
    assert letter(view, 3).note.text == "poison, 七"


def test_no_note_of_the_settings_is_lost_where_the_worker_refuses(old_view, source):
    source.fail_notes_with = WorkerError("the disk is full")
    view = old_view()
    assert has_old(view)
    assert view.notes.refusal == "Notes are not kept: the disk is full"
    source.fail_notes_with = None
    view.refresh()
    assert not has_old(view)
    assert letter(view, 3).note.text == "poison, 七"


def test_what_an_older_window_writes_meanwhile_is_taken_over_later(old_view, source):
    source.hold_notes = True
    view = old_view()
    view.context.settings.setValue(NOTES_KEY, json.dumps({id_of(view, 4): {"text": "late"}}))
    source.hold_notes = False
    answer_next(source)
    assert has_old(view)
    view.refresh()
    assert not has_old(view)
    assert [letter(view, offset).note.text for offset in (3, 4)] == ["poison, 七", "late"]


# ---- no history --------------------------------------------------------------------------------------------------------


def test_where_no_history_is_kept_the_page_says_so_and_takes_no_notes(show_page, source):
    source.fail_notes_with = NO_HISTORY
    view = show_page(DeadLettersView, source)
    select(view, 3)
    words = "Notes are not kept: no history is kept by this broker process"
    for field in (view.side.note, view.group_panel.note):
        assert (field.isEnabled(), field.placeholderText(), field.toolTip()) == (False, words, words)
    assert {(button.isEnabled(), button.toolTip()) for button in view.side.marks.values()} == {(False, words)}
    view.flow.go_to(CLOSE)
    assert (view.flow.close.make().parked_button.isEnabled(), view.flow.close.make().parked_button.toolTip()) == (False, words)
    assert view.side.resend_button.isEnabled()


def test_notes_are_taken_again_when_the_history_is_there(show_page, source):
    source.fail_notes_with = NO_HISTORY
    view = show_page(DeadLettersView, source)
    view.flow.go_to(CLOSE)
    select(view, 3)
    source.fail_notes_with = None
    view.state_changed(fake_state(TAKEN_MS + RETRIES_AGAIN_MS))
    assert view.side.note.isEnabled()
    assert view.side.note.placeholderText() == "A note, kept on this computer"
    assert all(button.isEnabled() for button in view.side.marks.values())
    assert view.group_panel.note.isEnabled()
    assert view.flow.close.make().parked_button.isEnabled()
