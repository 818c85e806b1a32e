"""The database of the history (docs/history.md): opening, its tables, and the numbers of subjects.

A row of ``points`` with ``held`` 1 has one number a figure (plain little-endian float64) that stayed the same until the next
row of the subject, or the end of the run. A constant figure thus takes almost no space.
"""

from __future__ import annotations

import json
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from monitoring.database_file import DatabaseForm, open_or_begin_anew
from monitoring.history.tiers import HOUR_MS

FORMAT = 1
FILE_NAME = "history.db"
BUSY_SECONDS = 10.0
OPENING_SECONDS = 0.25
"""How long each attempt to open waits for a lock; the caller tries again, and may have to stop meanwhile."""
PRESENT = "present"
"""Name in ``meta``: the end of the newest sample, ms. Runs that begin later were recorded while the clock was ahead."""
_TABLES = """
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs (begin_ms INTEGER PRIMARY KEY, end_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS subjects (id INTEGER PRIMARY KEY, kind TEXT NOT NULL, name TEXT NOT NULL, UNIQUE (kind, name));
CREATE TABLE IF NOT EXISTS layouts (id INTEGER PRIMARY KEY, figures TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS clients (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS points (
    tier INTEGER NOT NULL, subject INTEGER NOT NULL, start INTEGER NOT NULL,
    held INTEGER NOT NULL, layout INTEGER NOT NULL, data BLOB NOT NULL
);
CREATE UNIQUE INDEX IF NOT EXISTS points_by_subject ON points (tier, subject, start);
CREATE INDEX IF NOT EXISTS points_by_time ON points (tier, start, subject);
CREATE TABLE IF NOT EXISTS journal (start INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS events (
    id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL, text TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS events_by_time ON events (at_ms);
CREATE TABLE IF NOT EXISTS subscriptions (
    id INTEGER PRIMARY KEY, at_ms INTEGER NOT NULL, grp TEXT NOT NULL, data TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS subscriptions_by_group ON subscriptions (grp, id);
CREATE TABLE IF NOT EXISTS letter_notes (
    message_id TEXT PRIMARY KEY, mark TEXT NOT NULL, text TEXT NOT NULL, topic TEXT NOT NULL, queue_id INTEGER NOT NULL,
    queue_offset INTEGER NOT NULL, at_ms INTEGER NOT NULL, changed INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS letter_notes_by_change ON letter_notes (changed);
CREATE TABLE IF NOT EXISTS group_notes (grp TEXT PRIMARY KEY, text TEXT NOT NULL, changed INTEGER NOT NULL) WITHOUT ROWID;
"""
_FORM = DatabaseForm("history", FORMAT, _TABLES, "NORMAL", OPENING_SECONDS, page_bytes=8_192)


def open_database(path: Path) -> sqlite3.Connection:
    """Open the history for writing; a damaged file is renamed and a new one created. Lock waits are short until `be_patient`.

    Raises:
        StoreError: It cannot be opened, or a newer Orbit wrote it.
    """
    return open_or_begin_anew(path, _FORM)


def open_for_reading(path: Path) -> sqlite3.Connection:
    """A second connection, for queries; may be used by any one thread at a time."""
    connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA query_only=1")
    return connection


def be_patient(connection: sqlite3.Connection) -> None:
    """Raise the wait for locks to `BUSY_SECONDS`."""
    connection.execute(f"PRAGMA busy_timeout={round(BUSY_SECONDS * 1_000)}")


class Numbers:
    """Numbers of the names in rows. Used on the writing thread outside of transactions.

    A transaction may be rolled back, but the cached numbers must be on the disk.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._subjects: dict[str, dict[str, int]] = defaultdict(dict)
        self._next_subject = 1
        for number, kind, name in connection.execute("SELECT * FROM subjects"):
            self._note(number, kind, name)
        self._clients = {name: number for number, name in connection.execute("SELECT * FROM clients")}
        self._layouts = {text: number for number, text in connection.execute("SELECT * FROM layouts")}

    def subjects(self, kind: str, names: Iterable[str]) -> list[int]:
        """Numbers of subjects; new ones are stored."""
        known, wanted = self._subjects[kind], list(names)
        new = dict.fromkeys(name for name in wanted if name not in known)
        if new:
            rows = [(number, kind, name) for number, name in enumerate(new, self._next_subject)]
            with transaction(self._connection):
                self._connection.executemany("INSERT INTO subjects VALUES (?, ?, ?)", rows)
            for row in rows:
                self._note(*row)
        return [known[name] for name in wanted]

    def _note(self, number: int, kind: str, name: str) -> None:
        self._subjects[kind][sys.intern(name)] = number
        self._next_subject = max(self._next_subject, number + 1)

    def client(self, name: str) -> int:
        return self._number("clients", self._clients, name)

    def layout(self, figures: Sequence[str]) -> int:
        return self._number("layouts", self._layouts, json.dumps(list(figures)))

    def _number(self, table: str, known: dict[str, int], text: str) -> int:
        if text not in known:
            number = max(known.values(), default=0) + 1
            self._connection.execute(f"INSERT INTO {table} VALUES (?, ?)", (number, text))
            known[text] = number
        return known[text]


class transaction:  # noqa: N801  reads as a statement
    """``with transaction(connection):`` commits all or nothing."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def __exit__(self, kind: type[BaseException] | None, *_rest: object) -> None:
        try:
            if kind is None:
                self._connection.execute("COMMIT")
        finally:
            # A full disk may have rolled it back already, or have left it open at the commit.
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")


def layouts_of(connection: sqlite3.Connection) -> dict[int, list[str]]:
    return {number: json.loads(text) for number, text in connection.execute("SELECT id, figures FROM layouts")}


def meta(connection: sqlite3.Connection, name: str, default: int) -> int:
    """A number stored under a name."""
    row = connection.execute("SELECT value FROM meta WHERE name=?", (name,)).fetchone()
    return int(row[0]) if row else default


def set_meta(connection: sqlite3.Connection, name: str, value: int) -> None:
    connection.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (name, value))


def used_bytes(connection: sqlite3.Connection) -> int:
    """Bytes of the file in use; free pages are reused before the file grows."""
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    (free,) = connection.execute("PRAGMA freelist_count").fetchone()
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    return int((pages - free) * size)


def rolled_until_ms(connection: sqlite3.Connection, tier: int) -> int:
    """Time until which a tier is filled; -1 if nothing of it is. Tier 0 is always complete."""
    return meta(connection, f"rolled_{tier}", -1)


def retained_from_ms(connection: sqlite3.Connection, tier: int) -> int:
    """Time of the oldest samples that a tier keeps."""
    return meta(connection, f"retained_{tier}", -HOUR_MS)
