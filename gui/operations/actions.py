"""The action registry: each action of the window once, shared by menus, palette and shortcut sheet; calls to the frame."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from PySide6.QtCore import QObject, Signal

from gui.theme.tokens import State
from gui.words.text import Words, tr


class Navigate(Protocol):
    """Opens a page: ``navigate("messages", topic="orders", queue=3)``. The arguments reach the page's `open`."""

    def __call__(self, page_id: str, /, **arguments: object) -> None: ...


class Notify(Protocol):
    """Shows a toast and keeps it under the bell. ``action`` names what ``on_action`` does.

    Words that are a function are written again in another language; they keep their references as long as the notice.
    """

    def __call__(
        self, words: Words, *, state: State = State.INFO, action: Words = "", on_action: Callable[[], None] | None = None
    ) -> None: ...


@dataclass(frozen=True, slots=True)
class Action:
    action_id: str
    title: str
    """English, verb first; shown through `tr`."""
    run: Callable[[], None]
    section: str = "Window"
    """English name of its menu."""
    icon: str = ""
    shortcut: str = ""
    """As `QKeySequence` reads it; empty: none."""
    blocked: Callable[[], str] = str
    """Why it cannot run now, in words; empty when it can."""
    dangerous: bool = False
    """Marked in lists; it asks before it acts."""
    subject: str = ""
    """English; fills the field ``{subject}`` of the title."""

    @property
    def text(self) -> str:
        return tr(self.title, subject=tr(self.subject)) if self.subject else tr(self.title)


class ActionRegistry(QObject):
    """All actions by id, in the order in which they were added.

    Signals:
        changed: Actions were added or removed, or have other keys.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._actions: dict[str, Action] = {}
        self._shipped: dict[str, Action] = {}
        self._keys: dict[str, str] = {}

    def add(self, *actions: Action) -> None:
        """Add actions with new ids, with one signal for all."""
        for action in actions:
            assert action.action_id not in self._actions, f"action {action.action_id} is registered twice"
            self._shipped[action.action_id] = action
            self._actions[action.action_id] = self._with_key(action)
        self.changed.emit()

    def use_keys(self, keys: Mapping[str, str]) -> None:
        """Use the keys that the user chose, by action; an empty text: none. All others keep their shipped keys."""
        if keys == self._keys:
            return
        self._keys = dict(keys)
        for action_id, action in self._shipped.items():
            with_key = self._with_key(action)
            if with_key != self._actions[action_id]:
                self._actions[action_id] = with_key
        self.changed.emit()

    def shipped_key(self, action_id: str) -> str:
        return self._shipped[action_id].shortcut

    def _with_key(self, action: Action) -> Action:
        key = self._keys.get(action.action_id, action.shortcut)
        return action if key == action.shortcut else replace(action, shortcut=key)

    def actions(self) -> tuple[Action, ...]:
        return tuple(self._actions.values())

    def get(self, action_id: str) -> Action | None:
        return self._actions.get(action_id)

    def run(self, action_id: str) -> bool:
        """Run an action unless it is blocked; returns whether it ran."""
        action = self._actions[action_id]
        if action.blocked():
            return False
        action.run()
        return True
