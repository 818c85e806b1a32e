"""`KeyChoices`: the user's keys for actions, stored in the settings, and why a key is refused.

Only differences from the shipped keys are stored, so that a later version may ship others.
"""

from __future__ import annotations

from PySide6.QtCore import QSettings
from PySide6.QtGui import QKeySequence

from gui.operations.actions import ActionRegistry
from gui.operations.page_keys import PAGE_KEYS
from gui.words.text import tr

KEYS_GROUP = "keys"
_NEEDED = (
    "Tab", "Shift+Tab", "Return", "Enter", "Esc", "Backspace", "Up", "Down", "Left", "Right", "Home", "End", "PgUp", "PgDown",
)  # fmt: skip
"""Keys that move the focus and the selection, or end a dialog; with Shift they extend the selection."""
_OF_FIELDS = ("Ctrl+A", "Ctrl+C", "Ctrl+V", "Ctrl+X", "Ctrl+Z", "Ctrl+Y")
_MODIFIERS = ("Ctrl", "Shift", "Alt", "Meta", "AltGr")


class KeyChoices:
    def __init__(self, registry: ActionRegistry, settings: QSettings) -> None:
        self._registry = registry
        self._settings = settings

    def load(self) -> None:
        """Use the stored keys; invalid entries of an edited file are ignored."""
        self._registry.use_keys(self.kept())

    def kept(self) -> dict[str, str]:
        """Action → key, of those that were changed."""
        self._settings.beginGroup(KEYS_GROUP)
        try:
            texts = {action_id: str(self._settings.value(action_id, "")) for action_id in self._settings.allKeys()}
        finally:
            self._settings.endGroup()
        read = {action_id: (text, standard(text)) for action_id, text in texts.items()}
        return {action_id: key for action_id, (text, key) in read.items() if key or not text}

    def is_changed(self, action_id: str) -> bool:
        """Whether an action has another key than its shipped one."""
        action = self._registry.get(action_id)
        return action is not None and standard(action.shortcut) != standard(self._registry.shipped_key(action_id))

    def refusal(self, action_id: str, key: str) -> str:
        """Why an action cannot have a key, with its current owner; empty where it can. No key is always possible."""
        wanted = standard(key)
        if not wanted:
            return tr("This is no key that the window can use.") if key else ""
        for action in self._registry.actions():
            if action.action_id != action_id and standard(action.shortcut) == wanted:
                return tr(
                    "{key} is taken by “{action}”. Change or clear that one first.", key=shown(wanted), action=action.text
                )
        return "" if wanted == standard(self._registry.shipped_key(action_id)) else _needed_elsewhere(wanted)

    def change(self, action_id: str, key: str) -> str:
        """Set or remove the key of an action; returns why it was refused."""
        refusal = self.refusal(action_id, key)
        if not refusal:
            wanted, place = standard(key), f"{KEYS_GROUP}/{action_id}"
            if wanted == standard(self._registry.shipped_key(action_id)):
                self._settings.remove(place)
            else:
                self._settings.setValue(place, wanted)
            self._use()
        return refusal

    def reset(self, action_id: str) -> str:
        """Restore the shipped key of an action; returns why it was refused: another action may have it now."""
        return self.change(action_id, self._registry.shipped_key(action_id))

    def reset_all(self) -> None:
        self._settings.remove(KEYS_GROUP)
        self._use()

    def _use(self) -> None:
        self._settings.sync()  # other windows take them from there
        self.load()


def _needed_elsewhere(wanted: str) -> str:
    """Why a key belongs to lists, fields or the focus; empty where it does not."""
    if wanted.removeprefix("Shift+") in map(standard, _NEEDED):
        return tr("{key} is needed to move within the window, and is not given away.", key=shown(wanted))
    for title, keys in PAGE_KEYS:
        for text, taken in keys:
            if standard(taken) == wanted:
                words = "{key} is taken by “{action}” ({where}), which cannot be changed."
                return tr(words, key=shown(wanted), action=tr(text), where=tr(title))
    return tr("{key} is needed in text fields.", key=shown(wanted)) if wanted in map(standard, _OF_FIELDS) else ""


def standard(key: str) -> str:
    """The stored and compared form of a key; empty for none, an invalid key or a sequence of keys."""
    sequence = QKeySequence(key)
    text = sequence.toString(QKeySequence.SequenceFormat.PortableText) if sequence.count() == 1 else ""
    return "" if text in _MODIFIERS else text


def shown(key: str) -> str:
    """A key as this system writes it."""
    return QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)
