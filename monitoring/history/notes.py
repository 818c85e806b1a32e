"""Notes on dead letters in the database of the history: reading, changing, and importing those of a window's settings.

Each question opens its own connection, because both the recording process and its guests change notes.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from broker_core.api import UsageError
from broker_core.outside import read_json
from broker_core.worker.questions.letter_notes import (
    LETTERS_ASKED_MAX,
    AdoptNotes,
    LetterNotePage,
    MarkLetters,
    NoteCommand,
    NoteGroup,
    NoteLetters,
    NoteQuery,
    NoteResends,
    ReadLetterNotes,
)
from broker_core.worker.questions.lifecycle import Done
from monitoring.history.database import BUSY_SECONDS, transaction
from monitoring.letter_notes import NEW, OPEN, RESENT, LetterNote, notes_from_json

LETTERS_MAX = 50_000
"""Limit of dead letters with a note; beyond it the least recently changed notes are removed."""
GROUPS_MAX = 1_000

_LETTER = """
INSERT INTO letter_notes (message_id, mark, text, topic, queue_id, queue_offset, at_ms, changed)
VALUES (?, ?, ?, ?, ?, ?, ?, (SELECT COALESCE(MAX(changed), 0) + 1 FROM letter_notes)) ON CONFLICT (message_id) DO """
_KEEP = _LETTER + "NOTHING"
_MARK = _LETTER + "UPDATE SET mark=excluded.mark, changed=excluded.changed"
_TEXT = (
    _LETTER
    + f"UPDATE SET text=excluded.text, changed=excluded.changed, mark=CASE mark WHEN '{NEW}' THEN '{OPEN}' ELSE mark END"
)
_SENT = (
    _LETTER + "UPDATE SET mark=excluded.mark, topic=excluded.topic, queue_id=excluded.queue_id, "
    "queue_offset=excluded.queue_offset, at_ms=excluded.at_ms, changed=excluded.changed"
)
_GROUP = """
INSERT INTO group_notes (grp, text, changed)
VALUES (?, ?, (SELECT COALESCE(MAX(changed), 0) + 1 FROM group_notes)) ON CONFLICT (grp) DO """
_TRIM_LETTERS = (
    "DELETE FROM letter_notes WHERE message_id IN (SELECT message_id FROM letter_notes ORDER BY changed DESC LIMIT -1 OFFSET ?)"
)
_TRIM_GROUPS = "DELETE FROM group_notes WHERE grp IN (SELECT grp FROM group_notes ORDER BY changed DESC LIMIT -1 OFFSET ?)"


def answer_on_notes(path: Path, query: NoteQuery) -> LetterNotePage | Done:
    """Answer a question on notes. The database of the history exists.

    Raises:
        UsageError: The question names too many dead letters.
        sqlite3.Error: The database cannot be read or written.
    """
    address = f"{path.absolute().as_uri()}?mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=BUSY_SECONDS, isolation_level=None)) as connection:
        return carried_out(connection, query)


def carried_out(connection: sqlite3.Connection, query: NoteQuery) -> LetterNotePage | Done:
    """`answer_on_notes` with a connection of the caller."""
    ids = [] if isinstance(query, NoteGroup | AdoptNotes) else query.message_ids
    if len(ids) > LETTERS_ASKED_MAX:
        raise UsageError(f"one question has {LETTERS_ASKED_MAX:,} dead letters at most, not {len(ids):,}")
    if isinstance(query, ReadLetterNotes):
        return _read(connection, ids)
    with transaction(connection):
        _change(connection, query)
        connection.execute(_TRIM_LETTERS, (LETTERS_MAX,))
        connection.execute(_TRIM_GROUPS, (GROUPS_MAX,))
    return Done()


def _read(connection: sqlite3.Connection, ids: list[str]) -> LetterNotePage:
    letters = connection.execute(
        "SELECT message_id, mark, text, topic, queue_id, queue_offset, at_ms FROM letter_notes "
        "WHERE message_id IN (SELECT value FROM json_each(?))",
        (json.dumps(ids),),
    ).fetchall()
    groups = connection.execute("SELECT grp, text FROM group_notes ORDER BY grp").fetchall()
    return LetterNotePage(*_columns(letters, 7), *_columns(groups, 2))


def _columns(rows: list[Any], count: int) -> list[Any]:
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(count)]


def _change(connection: sqlite3.Connection, command: NoteCommand) -> None:
    match command:
        case MarkLetters(ids, mark):
            _write(connection, _MARK, ((one, LetterNote(mark)) for one in ids))
        case NoteLetters(ids, text):
            _write(connection, _TEXT, ((one, LetterNote(OPEN, text)) for one in ids))
        case NoteResends(ids, topics, queue_ids, offsets, times):
            notes = map(partial(LetterNote, RESENT, ""), topics, queue_ids, offsets, times)
            _write(connection, _SENT, zip(ids, notes, strict=True))
        case NoteGroup(group, ""):
            connection.execute("DELETE FROM group_notes WHERE grp=?", (group,))
        case NoteGroup(group, text):
            connection.execute(_GROUP + "UPDATE SET text=excluded.text, changed=excluded.changed", (group, text))
        case AdoptNotes(letters, groups):
            _write(connection, _KEEP, notes_from_json(letters).items())
            connection.executemany(_GROUP + "NOTHING", _group_texts(groups))


def _write(connection: sqlite3.Connection, statement: str, notes: Iterable[tuple[str, LetterNote]]) -> None:
    connection.executemany(
        statement,
        ((one, note.mark, note.text, note.topic, note.queue_id, note.queue_offset, note.at_ms) for one, note in notes),
    )


def _group_texts(text: str) -> list[tuple[str, str]]:
    try:
        found = read_json(text)
    except ValueError:
        return []
    known = found.items() if isinstance(found, dict) else ()
    return [(group, words) for group, words in known if isinstance(words, str)]
