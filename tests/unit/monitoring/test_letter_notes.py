"""Notes as the settings of earlier windows hold them."""

import json

import pytest

from monitoring.letter_notes import HANDLED, RESENT, LetterNote, notes_from_json


def test_notes_are_read_as_windows_wrote_them():
    kept = {
        "A": {"mark": HANDLED, "text": "warehouse 七"},
        "B": {"mark": RESENT, "topic": "t", "queue_id": 2, "queue_offset": 40},
    }
    assert notes_from_json(json.dumps(kept)) == {
        "A": LetterNote(HANDLED, "warehouse 七"),
        "B": LetterNote(RESENT, "", "t", 2, 40),
    }


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"A": 1}', '{"A": {"colour": "red"}}', "[" * 100_000])
def test_what_is_no_notes_is_none(text):
    assert notes_from_json(text) == {}


@pytest.mark.parametrize("field", [{"mark": 7}, {"text": None}, {"queue_id": "1"}, {"at_ms": True}, {"queue_offset": 2**63}])
def test_a_note_that_somebody_edited_into_nonsense_is_left_out(field):
    assert set(notes_from_json(json.dumps({"A": field, "B": {}}))) == {"B"}
