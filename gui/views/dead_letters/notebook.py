"""`NoteBook`: notes on dead letters and their resends; the worker stores them beside the history."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from PySide6.QtCore import QObject, QSettings, QTimer, Signal
from shiboken6 import isValid

from broker_core.api import OrbitError
from broker_core.worker.questions.letter_notes import (
    LETTERS_ASKED_MAX,
    AdoptNotes,
    LetterNotePage,
    MarkLetters,
    NoteCommand,
    NoteGroup,
    NoteLetters,
    NoteResends,
    ReadLetterNotes,
)
from broker_core.worker.questions.lifecycle import Done
from gui.operations.queries import LatestQuery
from gui.views.dead_letters.columns import LetterRow
from gui.words.error_words import error_text
from gui.words.text import tr
from monitoring.dead_letters import DeadLetter
from monitoring.letter_notes import LetterNote
from monitoring.sources.base import ClusterSource

BATCH_MS = 500
"""How long resends are collected before one command stores them."""
NOTES_KEY = "dead_letters/notes"
GROUP_NOTES_KEY = "dead_letters/group_notes"
COMMANDS_MAX = 1_000
"""Bound of the pending commands; beyond it the oldest is dropped."""
_Command = tuple[NoteCommand, Callable[[Done], None], Callable[[OrbitError], None]]


class NoteCommands:
    """Sends commands to notes, each after the answer to the one before, because the worker answers questions concurrently.

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


class SettingsNotes:
    """Notes in the settings, written by an earlier Orbit; removed once the worker has them."""

    def __init__(self, settings: QSettings, group: str) -> None:
        self._settings = settings
        self._letters_key, self._groups_key = group + NOTES_KEY, group + GROUP_NOTES_KEY

    def adoption(self) -> AdoptNotes | None:
        """The command that passes them to the worker; None where the settings hold none."""
        found = AdoptNotes(self._text(self._letters_key), self._text(self._groups_key))
        return found if found.letters or found.groups else None

    def remove(self, adopted: AdoptNotes) -> None:
        """Remove them, unless another window wrote others after ``adopted`` was read."""
        if self.adoption() == adopted:
            self._settings.remove(self._letters_key)
            self._settings.remove(self._groups_key)

    def _text(self, key: str) -> str:
        return str(self._settings.value(key, ""))


class NoteBook(QObject):
    """Shows notes that the worker has acknowledged. A resend is shown at once, because it has happened.

    The worker takes over notes of an earlier Orbit from the settings.

    Signals:
        changed: A note or `refusal` changed.
        refused: A change was not stored; carries the error.
    """

    changed = Signal()
    refused = Signal(object)

    def __init__(self, source: ClusterSource, settings: QSettings, parent: QObject, *, group: str = "") -> None:
        super().__init__(parent)
        self._source = source
        self._commands = NoteCommands(source)
        self._old = SettingsNotes(settings, group)
        self._query: LatestQuery[LetterNotePage] = LatestQuery(self)
        self._ids: list[str] = []
        self._notes: dict[str, LetterNote] = {}
        self._of_groups: dict[str, str] = {}
        self._unsaved: dict[str, LetterNote] = {}
        """Resends without acknowledgement, by offset message id of the dead letter."""
        self._unsent: set[str] = set()
        """Those of them that no command carries."""
        self._error: OrbitError | None = None
        self._batch = QTimer(self, interval=BATCH_MS, singleShot=True)
        self._batch.timeout.connect(self._send_resends)
        parent.destroyed.connect(self._send_resends)

    @property
    def refusal(self) -> str:
        """Why notes cannot be stored; empty where they can."""
        return "" if self._error is None else tr("Notes are not kept: {reason}", reason=error_text(self._error))

    def read(self, letters: Sequence[DeadLetter]) -> None:
        """Read the notes on dead letters and on all groups."""
        self._ids = [letter.offset_message_id for letter in letters]
        self.read_again()

    def read_again(self) -> None:
        """Read the same notes again, because other windows may have changed them."""
        self._send_resends()
        adoption = self._old.adoption()
        if adoption is None:
            self._read()
        else:
            self._commands.send(adoption, lambda _done: self._adopted(adoption), self._failed)

    def of(self, letter: DeadLetter) -> LetterNote:
        note, sent = self._notes.get(letter.offset_message_id, LetterNote()), self._unsaved.get(letter.offset_message_id)
        return note if sent is None else replace(sent, text=note.text)

    def of_group(self, group: str) -> str:
        """The note on a whole group; empty for none."""
        return self._of_groups.get(group, "")

    def _adopted(self, adoption: AdoptNotes) -> None:
        self._old.remove(adoption)
        self._read()

    def _read(self) -> None:
        if isValid(self):
            self._query.ask(self._source.ask(ReadLetterNotes(self._ids)), self._show, self._failed)

    def _show(self, page: LetterNotePage) -> None:
        values = zip(page.mark, page.text, page.topic, page.queue_id, page.queue_offset, page.at_ms, strict=True)
        self._notes = {key: LetterNote(*note) for key, note in zip(page.message_id, values, strict=True)}
        self._of_groups = dict(zip(page.group, page.group_text, strict=True))
        self._error = None
        self.changed.emit()

    def _failed(self, error: OrbitError) -> None:
        if isValid(self):
            self._error = error
            self.changed.emit()

    def mark(self, rows: Iterable[LetterRow], mark: str) -> None:
        """Mark dead letters."""
        ids = [one.letter.offset_message_id for one in rows]
        if ids:
            self._change(MarkLetters(ids, mark))

    def write(self, letters: Iterable[DeadLetter], text: str) -> None:
        """Write the same note on dead letters; new letters become open."""
        others = [letter.offset_message_id for letter in letters if self.of(letter).text != text]
        if others:
            self._change(NoteLetters(others, text))

    def write_group(self, group: str, text: str) -> None:
        """Write a note on a group, which outlives its dead letters; an empty text removes the note."""
        if group and self.of_group(group) != text:
            self._change(NoteGroup(group, text))

    def sent(self, notes: Mapping[str, LetterNote]) -> None:
        """Note that dead letters were sent again, and where to: notes without text, by offset message id."""
        for key, note in notes.items():
            self._unsaved.pop(key, None)
            self._unsaved[key] = note
            self._unsent.add(key)
        if len(self._unsaved) >= LETTERS_ASKED_MAX:
            self._send_resends()
        elif not self._batch.isActive():
            self._batch.start()
        self.changed.emit()

    def _change(self, command: NoteCommand) -> None:
        self._send_resends()
        self._commands.send(command, lambda _done: self._read(), self._not_kept)

    def _not_kept(self, error: OrbitError) -> None:
        if isValid(self):
            self.refused.emit(error)
            self.changed.emit()

    def _send_resends(self) -> None:
        """Send the collected resends; also when the page is closed."""
        ids, self._unsent = [key for key in self._unsaved if key in self._unsent][-LETTERS_ASKED_MAX:], set()
        if not ids:
            return
        notes = [self._unsaved[key] for key in ids]
        command = NoteResends(
            ids,
            topic=[note.topic for note in notes],
            queue_id=[note.queue_id for note in notes],
            queue_offset=[note.queue_offset for note in notes],
            at_ms=[note.at_ms for note in notes],
        )
        self._commands.send(command, partial(self._saved, ids, notes), partial(self._unsaved_resends, ids))

    def _saved(self, ids: list[str], notes: list[LetterNote], _done: object) -> None:
        for key, note in zip(ids, notes, strict=True):
            if self._unsaved.get(key) is note:
                del self._unsaved[key]
                self._notes[key] = replace(note, text=self._notes.get(key, LetterNote()).text)
        if self._query.waiting:
            self._read()  # the open read may be from before the worker stored them

    def _unsaved_resends(self, ids: list[str], error: OrbitError) -> None:
        """Report the error; the next read sends these resends again."""
        self._unsent |= set(ids) & self._unsaved.keys()
        self._failed(error)
