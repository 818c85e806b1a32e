"""Notes on dead letters in the database of the history."""

from __future__ import annotations

import json
import sqlite3

import pytest

from broker_core.api import StoreError, UsageError, WorkerError
from broker_core.worker.questions.letter_notes import (
    LETTERS_ASKED_MAX,
    AdoptNotes,
    LetterNotePage,
    MarkLetters,
    NoteGroup,
    NoteLetters,
    NoteResends,
    ReadLetterNotes,
)
from broker_core.worker.questions.lifecycle import Done
from monitoring.history import notes as notes_module
from monitoring.history.database import FILE_NAME, open_database
from monitoring.history.keeper import FOLDER, open_as_guest, open_history
from monitoring.history.notes import answer_on_notes, carried_out
from monitoring.letter_notes import HANDLED, NEW, OPEN, PARKED, RESENT, LetterNote
from tests.support.waiting import wait_until

TAKEN_MS = 1_700_000_000_000


@pytest.fixture
def path(tmp_path):
    open_database(tmp_path / FILE_NAME).close()
    return tmp_path / FILE_NAME


@pytest.fixture
def change(path):
    """Carries out commands one after another."""

    def change(*commands) -> None:
        for command in commands:
            assert answer_on_notes(path, command) == Done()

    return change


def read(path, *ids: str) -> dict[str, LetterNote]:
    return notes_of(answer_on_notes(path, ReadLetterNotes(list(ids))))


def notes_of(page) -> dict[str, LetterNote]:
    assert isinstance(page, LetterNotePage)
    rows = zip(page.mark, page.text, page.topic, page.queue_id, page.queue_offset, page.at_ms, strict=True)
    return {key: LetterNote(*row) for key, row in zip(page.message_id, rows, strict=True)}


def groups(path) -> dict[str, str]:
    page = answer_on_notes(path, ReadLetterNotes([]))
    return dict(zip(page.group, page.group_text, strict=True))


def test_marks_texts_and_places_of_resends_are_kept_side_by_side(path, change):
    change(
        NoteLetters(["A", "B"], "warehouse 七"),
        NoteResends(["A", "C"], ["orders", "%RETRY%g"], [2, 0], [40, 7], [TAKEN_MS, TAKEN_MS + 1]),
        MarkLetters(["B"], PARKED),
        NoteLetters(["B"], "late"),
    )
    assert read(path, "A", "B", "C", "D") == {
        "A": LetterNote(RESENT, "warehouse 七", "orders", 2, 40, TAKEN_MS),
        "B": LetterNote(PARKED, "late"),
        "C": LetterNote(RESENT, "", "%RETRY%g", 0, 7, TAKEN_MS + 1),
    }
    assert set(read(path, "C", "nobody")) == {"C"}


def test_a_text_opens_what_was_new_only(path, change):
    change(MarkLetters(["A"], NEW), MarkLetters(["B"], HANDLED), NoteLetters(["A", "B", "C"], "x"))
    assert {key: note.mark for key, note in read(path, "A", "B", "C").items()} == {"A": OPEN, "B": HANDLED, "C": OPEN}


def test_a_letter_that_is_sent_once_more_has_the_newest_place(path, change):
    change(
        NoteResends(["A"], ["orders"], [2], [40], [TAKEN_MS]),
        MarkLetters(["A"], HANDLED),
        NoteResends(["A"], ["other"], [1], [41], [TAKEN_MS + 5]),
    )
    assert read(path, "A") == {"A": LetterNote(RESENT, "", "other", 1, 41, TAKEN_MS + 5)}


def test_notes_on_groups_are_changed_and_removed(path, change):
    change(NoteGroup("a", "bank holiday"), NoteGroup("b", "x"), NoteGroup("a", "over"))
    assert groups(path) == {"a": "over", "b": "x"}
    change(NoteGroup("a", ""), NoteGroup("nobody", ""))
    assert groups(path) == {"b": "x"}


def test_the_notes_that_were_changed_least_recently_go(path, change, monkeypatch):
    monkeypatch.setattr(notes_module, "LETTERS_MAX", 3)
    monkeypatch.setattr(notes_module, "GROUPS_MAX", 2)
    change(*(MarkLetters([name], OPEN) for name in "ABCAD"), *(NoteGroup(name, name * 2) for name in "abac"))
    assert set(read(path, *"ABCD")) == {"A", "C", "D"}
    assert groups(path) == {"a": "aa", "c": "cc"}


def test_notes_of_a_window_are_taken_over_and_replace_none(path, change):
    change(NoteLetters(["A"], "newer"), NoteGroup("a", "newer"))
    letters = {"A": {"mark": PARKED}, "B": {"mark": RESENT, "text": "x", "topic": "t", "queue_id": 1, "queue_offset": 9}}
    adoption = AdoptNotes(json.dumps(letters), json.dumps({"a": "older", "b": "words", "c": 7}))
    for _again in range(2):
        change(adoption)
        assert read(path, "A", "B") == {"A": LetterNote(OPEN, "newer"), "B": LetterNote(RESENT, "x", "t", 1, 9)}
        assert groups(path) == {"a": "newer", "b": "words"}


def test_all_notes_that_a_window_could_hold_are_taken_over(path, change):
    letters = {f"{number:032X}": {"mark": HANDLED, "text": "x" * 50} for number in range(5_000)}
    change(AdoptNotes(json.dumps(letters), ""))
    assert len(read(path, *letters)) == 5_000


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"A": 1}', "[" * 100_000])
def test_what_is_no_notes_adds_none(path, change, text):
    change(AdoptNotes(text, text))
    assert (read(path, "A"), groups(path)) == ({}, {})


def test_a_question_names_a_bounded_number_of_letters(path):
    ids = [str(number) for number in range(LETTERS_ASKED_MAX + 1)]
    for query in (ReadLetterNotes(ids), MarkLetters(ids, OPEN)):
        with pytest.raises(UsageError, match="5,000 dead letters at most, not 5,001"):
            answer_on_notes(path, query)


def test_a_command_that_fails_changes_nothing(path):
    connection = open_database(path)
    with pytest.raises(ValueError, match="zip"):
        carried_out(connection, NoteResends(["A", "B"], ["orders"], [2], [40], [TAKEN_MS]))
    connection.close()
    assert read(path, "A") == {}


def test_no_file_is_made_where_there_is_none(tmp_path):
    with pytest.raises(sqlite3.OperationalError):
        answer_on_notes(tmp_path / FILE_NAME, MarkLetters(["A"], OPEN))
    assert not (tmp_path / FILE_NAME).exists()


def test_the_process_that_records_and_its_guest_share_the_notes(tmp_path):
    keeper = open_history(tmp_path, clock=lambda: TAKEN_MS)
    keeper.answer(NoteLetters(["A"], "of the first"))
    guest = open_as_guest(tmp_path, clock=lambda: TAKEN_MS)
    assert notes_of(guest.answer(ReadLetterNotes(["A"]))) == {"A": LetterNote(OPEN, "of the first")}
    guest.answer(MarkLetters(["A"], PARKED))
    assert notes_of(keeper.answer(ReadLetterNotes(["A"]))) == {"A": LetterNote(PARKED, "of the first")}
    guest.close()
    keeper.close()
    again = open_history(tmp_path, clock=lambda: TAKEN_MS)
    assert notes_of(again.answer(ReadLetterNotes(["A"]))) == {"A": LetterNote(PARKED, "of the first")}
    again.close()


def test_a_history_that_cannot_be_opened_says_so(tmp_path):
    (tmp_path / FOLDER / FILE_NAME).mkdir(parents=True)
    keeper = open_history(tmp_path, clock=lambda: TAKEN_MS)
    with pytest.raises(StoreError, match="cannot be opened"):
        keeper.answer(MarkLetters(["A"], OPEN))
    keeper.close()


def test_a_history_that_was_closed_keeps_no_notes(tmp_path):
    keeper = open_history(tmp_path, clock=lambda: TAKEN_MS)
    wait_until(lambda: keeper.answer(ReadLetterNotes([])).group == [])
    keeper.close()
    with pytest.raises(WorkerError, match="not any more"):
        keeper.answer(MarkLetters(["A"], OPEN))
