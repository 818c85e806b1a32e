"""`HistoryGuest`: read access to a history that another process records. Alerts and notes can be changed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from broker_core.api import StoreError
from broker_core.worker.questions.alerts import AlertPage, AlertQuery
from broker_core.worker.questions.figures import HistorySample, Occurred
from broker_core.worker.questions.history import EventPage, HistoryLines, Ownership, ReadEvents, ReadHistory, ReadOwnership
from broker_core.worker.questions.letter_notes import LetterNotePage, NoteQuery
from broker_core.worker.questions.lifecycle import Done
from monitoring.alert_keeper import AlertKeeper
from monitoring.history.database import BUSY_SECONDS
from monitoring.history.notes import answer_on_notes
from monitoring.history.queries import HistoryQueries


class HistoryGuest:
    """Records no samples. The other process's memory, up to a minute of samples, is not visible here.

    Raises:
        StoreError: The history cannot be read.
    """

    def __init__(self, path: Path, alerts: AlertKeeper) -> None:
        self._path = path
        self._alerts = alerts
        try:
            self._queries = HistoryQueries(path, None)
        except sqlite3.Error as error:
            alerts.close()
            raise StoreError(f"the history {path} cannot be read: {error}", path=str(path)) from error

    def take(self, sample: HistorySample) -> None:
        """Ignore the sample; the other process records its own."""

    def answer(
        self, query: ReadHistory | ReadEvents | ReadOwnership | AlertQuery | NoteQuery
    ) -> HistoryLines | EventPage | Ownership | AlertPage | LetterNotePage | Done:
        """As `monitoring.history.keeper.HistoryKeeper.answer`."""
        try:
            if isinstance(query, NoteQuery):
                return answer_on_notes(self._path, query)
            if isinstance(query, ReadHistory | ReadEvents | ReadOwnership):
                return self._queries.answer(query)
            return self._answer_alerts(query)
        except (sqlite3.Error, ValueError) as error:
            raise StoreError(f"the history {self._path} cannot be read or written: {error}", path=str(self._path)) from error

    def _answer_alerts(self, query: AlertQuery) -> AlertPage | Done:
        answer = self._alerts.answer(query)
        self._write(self._alerts.events())
        return answer

    def _write(self, events: list[Occurred]) -> None:
        if not events:
            return
        rows = [(event.at_ms, event.kind, event.subject, event.text) for event in events]
        with closing(sqlite3.connect(self._path, timeout=BUSY_SECONDS)) as connection, connection:
            connection.executemany("INSERT INTO events (at_ms, kind, subject, text) VALUES (?, ?, ?, ?)", rows)

    def close(self) -> None:
        self._queries.close()
        self._alerts.close()
