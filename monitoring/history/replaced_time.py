"""`ReplacedTime`: deletes older runs' samples of the present run's time; they exist if the clock was wrong then or is now."""

from __future__ import annotations

import sqlite3

from monitoring.history.tiers import TIERS

STEP_MS = TIERS[0].step_ms
_HELD_BEFORE = """
SELECT old.subject, old.layout, old.data FROM subjects JOIN points AS old ON old.rowid=(
    SELECT rowid FROM points WHERE tier=0 AND subject=subjects.id AND start<? ORDER BY start DESC LIMIT 1
) WHERE old.held=1 AND old.start>=?
"""


class ReplacedTime:
    """Deletes older seconds as a run covers them, and continues held values of a longer run after it. Within transactions.

    The run begins with slot ``begin``.
    """

    def __init__(self, connection: sqlite3.Connection, begin: int) -> None:
        self._connection = connection
        self._begin = begin
        self._end = begin
        self._held: dict[int, tuple[int, bytes]] = {}
        """Held values, at the end, of the run around this one: layout and data by subject."""

    def go_on(self, end: int) -> None:
        """Cover the time until a slot."""
        begin_ms, end_ms = self._begin * STEP_MS, end * STEP_MS
        query = "SELECT begin_ms, end_ms FROM runs WHERE begin_ms<? AND end_ms>? AND begin_ms<>?"
        others = self._connection.execute(query, (end_ms, self._end * STEP_MS, begin_ms)).fetchall()
        if others:
            around_ms = max((other_ms for other_ms, _end_ms in others if other_ms < begin_ms), default=-1)
            if around_ms >= 0:
                self._follow(around_ms // STEP_MS, end)
            self._connection.execute("DELETE FROM points WHERE tier=0 AND start>=? AND start<?", (self._end, end))
            for other_begin_ms, other_end_ms in others:
                if other_begin_ms > begin_ms:
                    self._cut(other_begin_ms, other_end_ms, end_ms)
        self._end = end

    def end(self) -> None:
        """End the run at the last slot of `go_on`."""
        query = "SELECT 1 FROM runs WHERE begin_ms<? AND end_ms>? LIMIT 1"
        if self._held and self._connection.execute(query, (self._begin * STEP_MS, self._end * STEP_MS)).fetchone():
            rows = [(0, subject, self._end, 1, layout, data) for subject, (layout, data) in self._held.items()]
            self._connection.executemany("INSERT OR IGNORE INTO points VALUES (?, ?, ?, ?, ?, ?)", rows)

    def _follow(self, around: int, end: int) -> None:
        if self._end == self._begin:
            rows = self._connection.execute(_HELD_BEFORE, (self._begin, around))
            self._held = {subject: (layout, data) for subject, layout, data in rows}
        query = "SELECT subject, held, layout, data FROM points WHERE tier=0 AND start>=? AND start<? ORDER BY start"
        for subject, held, layout, data in self._connection.execute(query, (self._end, end)):
            if held:
                self._held[subject] = (layout, data)
            else:
                self._held.pop(subject, None)

    def _cut(self, other_begin_ms: int, other_end_ms: int, end_ms: int) -> None:
        """Keep only the later part of a run that began within this one."""
        self._connection.execute("DELETE FROM runs WHERE begin_ms=?", (other_begin_ms,))
        if other_end_ms > end_ms:
            self._connection.execute("INSERT OR IGNORE INTO runs VALUES (?, ?)", (end_ms, other_end_ms))
