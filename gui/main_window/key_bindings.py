"""The keys of the actions, in the main window and in torn-off windows."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QWidget

from gui.operations.actions import Action, ActionRegistry

_MODIFIERS = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.MetaModifier
"""Without Shift, which some keyboards need to type ``?``."""


class KeyBindings(QObject):
    """Keeps Qt's shortcuts in step with the registry."""

    def __init__(self, registry: ActionRegistry, parent: QObject) -> None:
        super().__init__(parent)
        self._registry = registry
        self._windows: list[QWidget] = []
        self._made: dict[str, tuple[Action, QAction]] = {}
        registry.changed.connect(self._bind)
        self._bind()

    def serve(self, window: QWidget) -> None:
        """Enable the keys in a window until it is deleted."""
        self._windows.append(window)
        window.destroyed.connect(lambda _gone=None: self._forget(window))
        window.addActions([made for _, made in self._made.values()])

    def plain_key(self, event: QKeyEvent) -> bool:
        """Run the action of a key without modifier; returns whether there is one.

        Such a key acts only when the focused widget ignores it, so it cannot be a `QAction`.
        """
        if event.modifiers() & _MODIFIERS:
            return False
        for action in self._registry.actions():
            if is_plain_key(action.shortcut) and (
                event.text() == action.shortcut or QKeySequence(event.key()) == QKeySequence(action.shortcut)
            ):
                self._registry.run(action.action_id)
                return True
        return False

    def _forget(self, window: QWidget) -> None:
        self._windows = [known for known in self._windows if known is not window]

    def _bind(self) -> None:
        """Update the shortcuts that changed: pages add actions while the window is used."""
        by_key: dict[str, Action] = {}
        for action in self._registry.actions():
            if action.shortcut and not is_plain_key(action.shortcut):
                # The settings may hold one key twice: Qt would run neither.
                by_key.setdefault(action.shortcut, action)
        wanted = {action.action_id: action for action in by_key.values()}
        for action_id, (action, made) in list(self._made.items()):
            if wanted.get(action_id) is not action:
                del self._made[action_id]
                for window in self._windows:
                    window.removeAction(made)
                made.deleteLater()
        for action_id, action in wanted.items():
            if action_id not in self._made:
                self._made[action_id] = (action, self._key_of(action))

    def _key_of(self, action: Action) -> QAction:
        made = QAction(self)
        made.setShortcut(QKeySequence(action.shortcut))
        made.triggered.connect(lambda _checked=False: self._registry.run(action.action_id))
        for window in self._windows:
            window.addAction(made)
        return made


def is_plain_key(shortcut: str) -> bool:
    """Whether a text field would take this key as text."""
    is_one = bool(shortcut) and (len(shortcut) == 1 or "+" not in shortcut)
    return is_one and not (shortcut.startswith("F") and shortcut[1:].isdigit())
