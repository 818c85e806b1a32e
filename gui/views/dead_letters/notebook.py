"""`NoteBook`: what a person noted on dead letters and where they were sent again, kept in the settings of the window."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable

from PySide6.QtCore import QObject, QSettings, Signal

from broker_core.worker.questions.stored_messages import SendReceipt
from gui.views.dead_letters.columns import LetterRow
from monitoring.dead_letters import NEW, OPEN, RESENT, DeadLetter, Note, Notes

NOTES_KEY = "dead_letters/notes"
GROUP_NOTES_KEY = "dead_letters/group_notes"
GROUP_NOTES_MAX = 1_000


class NoteBook(QObject):
    """Writes all notes at each change, with what others have noted meanwhile: the page may be open in two tabs.

    Args:
        settings: Keep them.
        parent: Qt's owner.
        group: Of the settings, where they are kept: see `gui.connections.cluster.group_of_source`.

    Signals:
        changed: A note is another.
    """

    changed = Signal()

    def __init__(self, settings: QSettings, parent: QObject, *, group: str = "") -> None:
        super().__init__(parent)
        self._settings = settings
        self._key = group + NOTES_KEY
        self._text = str(settings.value(self._key, ""))
        self._notes = Notes(self._text)
        self._group_key = group + GROUP_NOTES_KEY
        self._group_text = ""
        self._of_groups: dict[str, str] = {}

    def of(self, letter: DeadLetter) -> Note:
        """The note on a dead letter."""
        return self._notes.of(letter.offset_message_id)

    def mark(self, rows: Iterable[LetterRow], mark: str) -> None:
        """Mark dead letters."""
        self._take_in()
        for one in rows:
            self._notes.change(one.letter.offset_message_id, mark=mark)
        self._keep()

    def write(self, letters: Iterable[DeadLetter], text: str) -> None:
        """Note the same on dead letters; those that were new are open then."""
        self._take_in()
        others = [letter for letter in letters if self.of(letter).text != text]
        for letter in others:
            note = self.of(letter)
            self._notes.change(letter.offset_message_id, text=text, mark=OPEN if note.mark == NEW else note.mark)
        if others:
            self._keep()

    def of_group(self, group: str) -> str:
        """The note on a whole group; empty for none."""
        return self._group_notes().get(group, "")

    def write_group(self, group: str, text: str) -> None:
        """Note something on a group, which stays whatever becomes of its dead letters; an empty text forgets it."""
        notes = self._group_notes()
        if not group or notes.get(group, "") == text:
            return
        others = {name: words for name, words in notes.items() if name != group}
        kept = list((others | {group: text} if text else others).items())[-GROUP_NOTES_MAX:]
        self._settings.setValue(self._group_key, json.dumps(dict(kept), ensure_ascii=False))
        self.changed.emit()

    def _group_notes(self) -> dict[str, str]:
        """Read anew each time: other windows write them, too. Of what somebody edited, what makes sense."""
        text = str(self._settings.value(self._group_key, ""))
        if text != self._group_text:
            try:
                found = json.loads(text) if text else {}
            except (ValueError, RecursionError):
                found = {}
            known = found.items() if isinstance(found, dict) else ()
            self._group_text, self._of_groups = text, {name: words for name, words in known if isinstance(words, str)}
        return self._of_groups

    def sent(self, letter: DeadLetter, topic: str, receipt: SendReceipt) -> None:
        """Note that it was sent again, and where to."""
        self._take_in()
        # Brokers elsewhere do not tell when they stored it.
        at_ms = receipt.store_ms if receipt.store_ms >= 0 else time.time_ns() // 1_000_000
        self._notes.change(
            letter.offset_message_id, mark=RESENT, topic=topic, queue_id=receipt.queue_id,
            queue_offset=receipt.queue_offset, at_ms=at_ms,
        )  # fmt: skip
        self._keep()

    def _take_in(self) -> None:
        text = str(self._settings.value(self._key, ""))
        if text != self._text:
            self._text, self._notes = text, Notes(text)

    def _keep(self) -> None:
        self._text = self._notes.as_text()
        self._settings.setValue(self._key, self._text)
        self.changed.emit()
