"""`SettingsNotes`: the notes that an earlier Orbit stored in the settings of the window."""

from __future__ import annotations

from PySide6.QtCore import QSettings

from broker_core.worker.questions.letter_notes import AdoptNotes

NOTES_KEY = "dead_letters/notes"
GROUP_NOTES_KEY = "dead_letters/group_notes"


class SettingsNotes:
    """Removes them once the worker has them.

    Args:
        settings: Of the window.
        group: Of the settings, with the notes of one cluster: see `gui.connections.cluster.group_of_source`.
    """

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
