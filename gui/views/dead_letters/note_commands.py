"""`NoteCommands`: sends changes of notes to the worker, one after another."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from broker_core.api import OrbitError
from broker_core.worker.questions.letter_notes import NoteCommand
from broker_core.worker.questions.lifecycle import Done
from monitoring.sources.base import ClusterSource

COMMANDS_MAX = 1_000
"""Bound of the pending commands; beyond it the oldest is dropped."""
_Command = tuple[NoteCommand, Callable[[Done], None], Callable[[OrbitError], None]]


class NoteCommands:
    """Keeps the order of the commands, because the worker answers questions concurrently.

    It is no `QObject`: pending commands are sent after the page is closed.
    """

    def __init__(self, source: ClusterSource) -> None:
        self._source = source
        self._waiting: deque[_Command] = deque(maxlen=COMMANDS_MAX)
        self._is_sending = False

    def send(self, command: NoteCommand, done: Callable[[Done], None], failed: Callable[[OrbitError], None]) -> None:
        """Send a command after the earlier ones are answered."""
        self._waiting.append((command, done, failed))
        if not self._is_sending:
            self._send_next()

    def _send_next(self) -> None:
        command, done, failed = self._waiting.popleft()
        self._is_sending = True

        def answered(value: Done) -> None:
            self._ended()
            done(value)

        def refused(error: OrbitError) -> None:
            self._ended()
            failed(error)

        self._source.ask(command).then(answered, refused)

    def _ended(self) -> None:
        self._is_sending = False
        if self._waiting:
            self._send_next()
